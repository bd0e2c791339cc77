//! Screening: a look at what a model is about to write, before it is saved.

mod review;

pub(crate) use review::{Cleared, Refused, UNSCREENED, review};

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use inmost_format::secret::{self, Wiped};

/// Decides what a model may write. The memory tool asks it before `create`, `str_replace`, `insert` and `rename` change
/// anything.
///
/// It gets the new text with up to 4 KiB of the text that will then stand on both sides, so a find whose pieces are
/// written in several calls is visible where they meet. A screen runs outside the lock of the store and must be fast:
/// linear in the length of the text. It may run more than once for one call. If it panics, the call is refused. The crate
/// `inmost-screen` has one that finds keys, card numbers and IBANs.
///
/// ```
/// use inmost::{MemoryTool, Screen, ScreenFind, ScreenInput, ScreenVerdict, Session, ToolOptions};
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
/// let memory = MemoryTool::with_options(session.clone(), ToolOptions::new().screen(NoCodeName));
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

    /// The name by which the process that holds the store knows this screen. Without one, as by default, the screen runs in
    /// the process of the application only, and not through a key daemon.
    fn name(&self) -> Option<&'static str> {
        None
    }
}

impl<S: Screen + ?Sized> Screen for Arc<S> {
    fn screen(&self, input: &ScreenInput<'_>) -> ScreenVerdict {
        (**self).screen(input)
    }

    fn name(&self) -> Option<&'static str> {
        (**self).name()
    }
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
    /// A new text at a path, between the texts on both sides. For tests of a screen.
    #[must_use]
    pub fn of_text(path: &'a str, before: &str, new: &str, after: &str) -> Self {
        let start = before.len();
        let end = start.saturating_add(new.len());
        Self {
            path,
            is_new_path: false,
            text: secret::join(&[before, new, after]),
            new: start..end,
        }
    }

    /// A new path, with the whole text of the file if that is new too. For tests of a screen.
    #[must_use]
    pub fn of_path(path: &'a str, text: &str) -> Self {
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

    /// What is saved in its place: `[redacted: {kind}]`.
    #[must_use]
    pub fn mark(&self) -> String {
        format!("[redacted: {}]", self.kind)
    }
}

/// The screen of a tool; none by default.
#[derive(Clone, Default)]
pub(crate) enum ScreenSetting {
    /// Nothing is screened.
    #[default]
    Off,
    /// This screen.
    On(Arc<dyn Screen>),
    /// The screen that another process has sent by its name. Everything is refused until it is found.
    #[cfg(feature = "serde")]
    Named(String),
}

impl ScreenSetting {
    /// The screen, if there is one.
    pub(crate) fn screen(&self) -> Option<&dyn Screen> {
        match self {
            Self::Off => None,
            Self::On(screen) => Some(screen.as_ref()),
            #[cfg(feature = "serde")]
            Self::Named(_) => Some(&serialized::NotFound),
        }
    }

    /// Whether nothing is screened.
    pub(crate) fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }
}

/// Serializes a screen as its name. A screen without a name is an error: without it, the other process would save what it
/// refuses.
#[cfg(feature = "serde")]
mod serialized {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error};

    use super::{Screen, ScreenInput, ScreenSetting, ScreenVerdict, UNSCREENED};

    impl Serialize for ScreenSetting {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let name = match self {
                Self::Off => return serializer.serialize_none(),
                Self::On(screen) => screen.name(),
                Self::Named(name) => Some(name.as_str()),
            };
            let name = name.ok_or_else(|| S::Error::custom("a screen without a name"))?;
            serializer.serialize_some(name)
        }
    }

    impl<'de> Deserialize<'de> for ScreenSetting {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Ok(Option::<String>::deserialize(deserializer)?.map_or(Self::Off, Self::Named))
        }
    }

    /// Stands in for a screen that this process does not have.
    pub(super) struct NotFound;

    impl Screen for NotFound {
        fn screen(&self, _: &ScreenInput<'_>) -> ScreenVerdict {
            ScreenVerdict::Refuse(vec![UNSCREENED])
        }
    }
}
