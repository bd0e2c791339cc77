//! The path of a memory: parsed once, after which it cannot leave `/memories`.
//!
//! Parsing decides everything about a path that needs no store. It does not know what exists, and its
//! errors hold no text: whoever reports them has the path as it was sent.

use super::escape::{Meaning, meaning};
use super::name::{self, InvalidPath};
use super::subtree::{ROOT, Subtree};
use crate::limits::{PATH_BYTES, SEGMENT_BYTES};
use inmost_format::secret::Wiped;
use std::fmt;
use unicode_normalization::UnicodeNormalization;

/// A canonical path, as whoever sent it knows it, and the [`Subtree`] it is a path of. Holds, for every value:
///
/// - it is `/memories`, or `/memories/` and names joined by single `/`;
/// - each name is non-empty, in Unicode NFC, and at most [`SEGMENT_BYTES`] bytes;
/// - no name is or percent-decodes to `.` or `..`, nor holds or decodes to `/`, `\` or NUL;
/// - no character is a control, format (but U+200C and U+200D), line or paragraph separator;
/// - what it stands for in the store has at most [`PATH_DEPTH`](inmost_format::limits::PATH_DEPTH) names and [`PATH_BYTES`] bytes;
/// - parsing it again gives the same path.
///
/// Its text never names the folder that a subtree is: that is only in [`Subtree::names`], which finding uses.
///
/// Names are plaintext: the buffer is wiped on drop and `Debug` does not show it. There is no order,
/// because the order of a tree (by names) is not that of the strings (`/` sorts after `-`).
#[derive(Clone)]
pub(crate) struct MemoryPath {
    text: Wiped<String>,
    subtree: Subtree,
}

/// Why a path is refused, in the order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathError {
    /// Its first segment is not `memories`.
    Prefix,
    /// Some segment could lead out of the tree.
    Escape,
    /// It is inside the tree but no path can look like that.
    Invalid(InvalidPath),
}

impl MemoryPath {
    /// The root of the store, which always exists.
    #[cfg(test)]
    pub(crate) fn root() -> Self {
        Self::top(&Subtree::default())
    }

    /// What senders of paths of `subtree` know as `/memories`.
    pub(super) fn top(subtree: &Subtree) -> Self {
        // Room for the longest path, so that no growth leaves an unwiped copy behind.
        let mut text = Wiped::new(String::with_capacity(PATH_BYTES));
        text.push_str(ROOT);
        Self { text, subtree: subtree.clone() }
    }

    /// Parses a path of the whole store.
    ///
    /// # Errors
    /// As for [`parse_in`](Self::parse_in).
    pub(crate) fn parse(sent: &str) -> Result<Self, PathError> {
        Self::parse_in(&Subtree::default(), sent)
    }

    /// Parses what a model or host sent, in time linear in its length. Does no I/O.
    ///
    /// # Errors
    /// The first of: not below the root, an escape in any segment, an invalid segment or a limit.
    pub(crate) fn parse_in(subtree: &Subtree, sent: &str) -> Result<Self, PathError> {
        let below = sent.strip_prefix(ROOT).ok_or(PathError::Prefix)?;
        if !below.is_empty() && !below.starts_with('/') {
            return Err(PathError::Prefix);
        }
        let names = || below.split('/').filter(|name| !name.is_empty());

        // All segments are judged before any is called invalid, however long the path. They are
        // judged as sent, not as folded: folding never makes one of the characters that matter
        // here (a test checks it), but can hide one, as in `%2f` before a combining dot.
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
    /// As for [`parse`](Self::parse), for a name that is no single segment or a path beyond the limits.
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

    /// The folder this path lies in; `None` for the root.
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

    /// The names below what stands for the root, downwards.
    pub(crate) fn segments(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.below_root().split('/').filter(|name| !name.is_empty())
    }

    /// All names from the root of the store, downwards: those of the subtree, then the [`segments`](Self::segments).
    pub(super) fn all_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.subtree.names().chain(self.segments())
    }

    /// The subtree below this folder, a path of the whole store.
    pub(crate) fn to_subtree(&self) -> Subtree {
        Subtree::below(self.as_str())
    }

    /// The number of [`segments`](Self::segments).
    pub(crate) fn depth(&self) -> usize {
        self.below_root().bytes().filter(|byte| *byte == b'/').count()
    }

    /// The tree that it is a path of.
    pub(crate) fn subtree(&self) -> &Subtree {
        &self.subtree
    }

    /// Whether this is the root, or stands for it.
    pub(crate) fn is_root(&self) -> bool {
        self.below_root().is_empty()
    }

    /// Whether `folder`, a path of the same subtree, is this path or one of its parents; whole segments count.
    pub(crate) fn starts_with(&self, folder: &Self) -> bool {
        self.as_str()
            .strip_prefix(folder.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The canonical text, such as `/memories/a/b`; never ends in `/`.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    fn below_root(&self) -> &str {
        self.text.strip_prefix(ROOT).unwrap_or_default()
    }

    /// Appends a segment that is no escape, and stops at the first byte beyond a limit.
    fn push(&mut self, name: &str) -> Result<(), InvalidPath> {
        if name.is_empty() {
            return Err(InvalidPath::EmptyName);
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
        Ok(())
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

/// How a path is echoed to whoever sent it: with exactly one final `/` removed, though `/` alone stays.
pub(crate) fn echo(sent: &str) -> &str {
    match sent.strip_suffix('/') {
        Some("") | None => sent,
        Some(shorter) => shorter,
    }
}

#[cfg(test)]
mod tests;
