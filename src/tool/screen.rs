//! Screening: a look at what a model is about to write, before it is saved.

mod review;
mod secrets;
mod setting;

pub(crate) use review::{Cleared, Refused, UNSCREENED, review};
pub use secrets::SecretScreen;
pub(crate) use setting::ScreenSetting;

use std::fmt;
use std::ops::Range;

use inmost_format::secret::{self, Wiped};

/// Decides what a model may write. The memory tool asks it before `create`, `str_replace`, `insert` and `rename` change
/// anything.
///
/// It gets the new text with up to 4 KiB of the text that will then stand on both sides, so a find whose pieces are
/// written in several calls is visible where they meet. A screen runs outside the lock of the store and must be fast:
/// linear in the length of the text. It may run more than once for one call. If it panics, the call is refused.
///
/// ```
/// use std::sync::Arc;
/// use inmost::{MemoryTool, Screen, ScreenFind, ScreenInput, ScreenVerdict, Session};
///
/// /// Keeps the name of a project that is not public yet out of the memory.
/// struct NoCodeName;
///
/// impl Screen for NoCodeName {
///     fn screen(&self, input: &ScreenInput<'_>) -> ScreenVerdict {
///         let find = |(at, name): (usize, &str)| ScreenFind::new(at..at + name.len(), "code name");
///         let finds: Vec<_> = input.text().match_indices("Bluebird").map(find).collect();
///         if finds.is_empty() { ScreenVerdict::Allow } else { ScreenVerdict::Redact(finds) }
///     }
/// }
///
/// # fn main() -> Result<(), inmost::StoreError> {
/// let session = Session::in_memory()?;
/// let memory = MemoryTool::builder(session.clone()).custom_screen(Arc::new(NoCodeName)).build();
/// let create = r#"{"command": "create", "path": "/memories/a", "file_text": "Ask about Bluebird."}"#;
/// let reply = memory.run_json(create);
/// assert!(reply.result().content().ends_with("\n[1 redacted: code name]"));
/// assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "Ask about [redacted: code name].");
/// # Ok(())
/// # }
/// ```
pub trait Screen: Send + Sync {
    /// Examines what is about to be written.
    fn screen(&self, input: &ScreenInput<'_>) -> ScreenVerdict;
}

/// What a model is about to write, as a [`Screen`] sees it.
///
/// # Security
/// It is memory text. `Debug` shows none of it.
pub struct ScreenInput<'a> {
    path: &'a str,
    is_new_path: bool,
    text: Wiped<String>,
    new: Range<usize>,
}

impl<'a> ScreenInput<'a> {
    /// A new text at a path, between the texts on both sides.
    pub(crate) fn of_text(path: &'a str, before: &str, new: &str, after: &str) -> Self {
        let start = before.len();
        let end = start.saturating_add(new.len());
        Self {
            path,
            is_new_path: false,
            text: secret::join(&[before, new, after]),
            new: start..end,
        }
    }

    /// A new path, with the whole text of the file if that is new too.
    pub(crate) fn of_path(path: &'a str, text: &str) -> Self {
        Self { is_new_path: true, ..Self::of_text(path, "", text, "") }
    }

    /// The path of the file or folder, as the model knows it.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path
    }

    /// Whether the path is written too, by `create` or `rename`.
    #[must_use]
    pub fn is_new_path(&self) -> bool {
        self.is_new_path
    }

    /// The text as it will stand: the [new text](Self::new_range), with up to 4 KiB of old text on both sides.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of [`text`](Self::text) that are new. They may be none, as in a deletion.
    #[must_use]
    pub fn new_range(&self) -> Range<usize> {
        self.new.clone()
    }

    /// Whether a range of [`text`](Self::text) holds a part of the new text, or the seam that a deletion leaves.
    #[must_use]
    pub fn concerns(&self, range: &Range<usize>) -> bool {
        range.start < self.new.end && self.new.start < range.end
    }
}

impl fmt::Debug for ScreenInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScreenInput").finish_non_exhaustive()
    }
}

/// What a [`Screen`] decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScreenVerdict {
    /// Saves everything as it is.
    Allow,
    /// Saves `[redacted: {kind}]` in place of each find, and tells the model so.
    ///
    /// Finds that lie in old text alone are ignored. The call is refused if a find reaches into old text, or if its
    /// range does not lie on characters of the text.
    Redact(Vec<ScreenFind>),
    /// Saves nothing, and tells the model these kinds.
    Refuse(Vec<&'static str>),
}

/// Something that must not be saved.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ScreenFind {
    /// Its bytes in [`ScreenInput::text`].
    pub range: Range<usize>,
    /// What it is, in words that the model reads, such as `API key`. Never the find itself.
    pub kind: &'static str,
}

impl ScreenFind {
    /// A find of a kind.
    #[must_use]
    pub fn new(range: Range<usize>, kind: &'static str) -> Self {
        Self { range, kind }
    }
}
