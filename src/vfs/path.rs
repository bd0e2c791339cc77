//! Memory paths: parsed once, and unable to leave `/memories` from then on.
//!
//! Parsing makes every decision about a path that needs no store. It does not know which paths exist. Its errors
//! contain no text: the caller that reports one has the path as it was sent.

use super::escape::{Meaning, meaning};
use super::name::{self, InvalidPath};
use crate::limits::{PATH_BYTES, SEGMENT_BYTES};
use inmost_format::limits::PATH_DEPTH;
use inmost_format::secret::{self, Wiped};
use std::fmt;
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

/// A canonical path as its sender knows it, and the [`Subtree`] that it belongs to. For every value:
///
/// - it is `/memories`, or `/memories/` and names joined by single `/`;
/// - each name is not empty, is in Unicode NFC, and has at most [`SEGMENT_BYTES`] bytes;
/// - no name is or percent-decodes to `.` or `..`, or contains or decodes to `/`, `\` or NUL;
/// - no character is a control, format (except U+200C and U+200D), line or paragraph separator;
/// - no name begins or ends with white space, and each has a visible character;
/// - its path in the whole store has at most [`PATH_DEPTH`] names and [`PATH_BYTES`]
///   bytes;
/// - parsing it again gives the same path.
///
/// Its text never contains the folder of the subtree; only [`Subtree::names`] has that folder, for resolving.
///
/// Names are plaintext: the buffer is wiped on drop and `Debug` does not show it. Paths have no ordering, because the
/// order of a tree (by names) differs from that of the strings (`/` sorts after `-`).
#[derive(Clone)]
pub(crate) struct MemoryPath {
    text: Wiped<String>,
    subtree: Subtree,
}

/// The reason why a path is refused, in order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathError {
    /// Its first segment is not `memories`.
    Prefix,
    /// A segment could lead out of the tree.
    Escape,
    /// The path is inside the tree but breaks a rule for paths.
    Invalid(InvalidPath),
}

impl MemoryPath {
    /// The root of the store, which always exists.
    #[cfg(test)]
    pub(crate) fn root() -> Self {
        Self::top(&Subtree::default())
    }

    /// The path that senders in `subtree` know as `/memories`.
    pub(super) fn top(subtree: &Subtree) -> Self {
        // Capacity for the longest path, so that no growth leaves an unwiped copy behind.
        let mut text = Wiped::new(String::with_capacity(PATH_BYTES));
        text.push_str(ROOT);
        Self { text, subtree: subtree.clone() }
    }

    /// Parses a path of the whole store.
    ///
    /// # Errors
    /// Those of [`parse_in`](Self::parse_in).
    pub(crate) fn parse(sent: &str) -> Result<Self, PathError> {
        Self::parse_in(&Subtree::default(), sent)
    }

    /// Parses a path that a model or host sent, in time linear in its length. Does no I/O.
    ///
    /// # Errors
    /// The first of these: a path outside the root, an escape in any segment, an invalid segment or an exceeded limit.
    pub(crate) fn parse_in(subtree: &Subtree, sent: &str) -> Result<Self, PathError> {
        let below = sent.strip_prefix(ROOT).ok_or(PathError::Prefix)?;
        if !below.is_empty() && !below.starts_with('/') {
            return Err(PathError::Prefix);
        }
        let names = || below.split('/').filter(|name| !name.is_empty());

        // Every segment is checked for an escape before any is called invalid, however long the path. The check runs on
        // the text as sent, before NFC: normalization never creates a character that matters here (a test checks this),
        // but it can hide one, as in `%2f` before a combining dot.
        let mut holds_nul = false;
        for name in names() {
            match meaning(name) {
                Meaning::Escape => return Err(PathError::Escape),
                Meaning::Nul => holds_nul = true,
                Meaning::Name => {}
            }
        }
        if holds_nul {
            return Err(PathError::Invalid(InvalidPath::Nul));
        }

        let mut path = Self::top(subtree);
        let most = subtree.path_depth();
        for (depth, name) in names().enumerate() {
            if depth >= most {
                return Err(PathError::Invalid(InvalidPath::Deep(most)));
            }
            path.push(name).map_err(PathError::Invalid)?;
        }
        Ok(path)
    }

    /// The path of `name` in this folder.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse), for a name with several segments or a path beyond the limits.
    #[cfg(test)]
    pub(crate) fn join(&self, name: &str) -> Result<Self, PathError> {
        match meaning(name) {
            Meaning::Escape => return Err(PathError::Escape),
            Meaning::Nul => return Err(PathError::Invalid(InvalidPath::Nul)),
            Meaning::Name => {}
        }
        if self.depth() >= self.subtree.path_depth() {
            return Err(PathError::Invalid(InvalidPath::Deep(self.subtree.path_depth())));
        }
        let mut path = Self::top(&self.subtree);
        path.text.push_str(self.below_root());
        path.push(name).map_err(PathError::Invalid)?;
        Ok(path)
    }

    /// The folder that contains this path; `None` for the root.
    pub(crate) fn parent(&self) -> Option<Self> {
        let (folder, _) = self.below_root().rsplit_once('/')?;
        let mut path = Self::top(&self.subtree);
        path.text.push_str(folder);
        Some(path)
    }

    /// The last segment; `None` for the root.
    #[cfg(test)]
    pub(crate) fn name(&self) -> Option<&str> {
        self.below_root().rsplit_once('/').map(|(_, name)| name)
    }

    /// The names below the path's root, from the top down.
    pub(crate) fn segments(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.below_root().split('/').filter(|name| !name.is_empty())
    }

    /// All names from the root of the store, from the top down: those of the subtree, then the
    /// [`segments`](Self::segments).
    pub(super) fn all_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.subtree.names().chain(self.segments())
    }

    /// The canonical path in the whole store.
    pub(super) fn in_store(&self) -> Wiped<String> {
        secret::join(&[self.subtree.folder(), self.below_root()])
    }

    /// The subtree of this folder, which must be a path of the whole store.
    pub(crate) fn to_subtree(&self) -> Subtree {
        Subtree::below(self.as_str())
    }

    /// The number of [`segments`](Self::segments).
    pub(crate) fn depth(&self) -> usize {
        self.below_root().bytes().filter(|byte| *byte == b'/').count()
    }

    /// The subtree that the path belongs to.
    pub(crate) fn subtree(&self) -> &Subtree {
        &self.subtree
    }

    /// Whether this is the root of the store or of the subtree.
    pub(crate) fn is_root(&self) -> bool {
        self.below_root().is_empty()
    }

    /// Whether `folder`, a path of the same subtree, is this path or one of its ancestors. Compares whole segments.
    pub(crate) fn starts_with(&self, folder: &Self) -> bool {
        self.as_str()
            .strip_prefix(folder.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The canonical text, such as `/memories/a/b`. It never ends in `/`.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    fn below_root(&self) -> &str {
        self.text.strip_prefix(ROOT).unwrap_or_default()
    }

    /// Appends a segment that was checked for escapes. Stops at the first byte beyond a limit.
    fn push(&mut self, name: &str) -> Result<(), InvalidPath> {
        if name.is_empty() {
            return Err(InvalidPath::EmptyName);
        }
        let end = self.text.len().saturating_add(1).saturating_add(name.len());
        let fits = name.len() <= SEGMENT_BYTES && end <= self.subtree.path_bytes();
        // The characters that names mostly have are allowed, and in NFC.
        if fits && name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            name::check_ends(name)?;
            self.text.push('/');
            self.text.push_str(name);
            return Ok(());
        }
        self.push_character('/')?;
        let start = self.text.len();
        for character in name.nfc() {
            name::check(character)?;
            self.push_character(character)?;
            if self.text.len().saturating_sub(start) > SEGMENT_BYTES {
                return Err(InvalidPath::LongName);
            }
        }
        name::check_ends(self.text.get(start..).unwrap_or_default())
    }

    fn push_character(&mut self, character: char) -> Result<(), InvalidPath> {
        let most = self.subtree.path_bytes();
        if self.text.len().saturating_add(character.len_utf8()) > most {
            return Err(InvalidPath::LongPath(most));
        }
        self.text.push(character);
        Ok(())
    }
}

#[cfg(test)]
impl PartialEq for MemoryPath {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() && self.subtree.names().eq(other.subtree.names())
    }
}

impl fmt::Debug for MemoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryPath").finish_non_exhaustive()
    }
}

/// A path as errors echo it to its sender: with exactly one final `/` removed, except that `/` alone stays.
pub(crate) fn echo(sent: &str) -> &str {
    match sent.strip_suffix('/') {
        Some("") | None => sent,
        Some(shorter) => shorter,
    }
}

/// The path of the root, of the whole tree or of a subtree.
pub(super) const ROOT: &str = "/memories";

/// The tree as senders of paths see it; the whole tree by default.
///
/// The folder need not exist. Until something is written below it, and after it was deleted or moved, it is an empty
/// `/memories`.
#[derive(Clone, Default)]
pub(crate) struct Subtree(Option<Arc<Wiped<String>>>);

impl Subtree {
    /// The subtree of a folder, given by its canonical path in the whole store.
    pub(super) fn below(folder: &str) -> Self {
        Self((folder != ROOT).then(|| Arc::new(Wiped::new(folder.to_owned()))))
    }

    /// Whether it is the whole store.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.is_none()
    }

    /// The canonical path of the folder in the whole store.
    pub(crate) fn folder(&self) -> &str {
        self.0.as_ref().map_or(ROOT, |folder| folder.as_str())
    }

    /// The names from the root of the store down to the folder.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let below = self.folder().strip_prefix(ROOT).unwrap_or_default();
        below.split('/').filter(|name| !name.is_empty())
    }

    /// The most bytes that a path may have here: the store's limit minus the folder's own path, so that the owner of
    /// the whole store can reach everything in it.
    pub(crate) fn path_bytes(&self) -> usize {
        (PATH_BYTES + ROOT.len()).saturating_sub(self.folder().len())
    }

    /// The most names that a path may have here, for the same reason.
    pub(crate) fn path_depth(&self) -> usize {
        PATH_DEPTH.saturating_sub(self.names().count())
    }
}

#[cfg(test)]
mod tests;
