//! The part of the tree that paths lead into: all of it, or one folder that stands as `/memories`.
//!
//! Paths are resolved from here, so nothing that is said of them has to be translated, and nothing can be forgotten.

use std::sync::Arc;

use inmost_format::limits::PATH_DEPTH;
use inmost_format::secret::Wiped;

use crate::limits::PATH_BYTES;

/// The path that stands for the whole tree, or for the folder of a subtree.
pub(super) const ROOT: &str = "/memories";

/// The tree as senders of paths see it. The default is all of it.
///
/// The folder need not exist: until something is written below it, it is an empty `/memories`, and so it is again
/// after it was deleted or moved away.
#[derive(Clone, Default)]
pub(crate) struct Subtree(Option<Arc<Wiped<String>>>);

impl Subtree {
    /// The subtree below a folder, given by its canonical path in the whole store.
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

    /// The names that lead from the root of the store to the folder.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let below = self.folder().strip_prefix(ROOT).unwrap_or_default();
        below.split('/').filter(|name| !name.is_empty())
    }

    /// The most bytes that a path may have here: what the limit of the store leaves, so that the owner of the whole store
    /// can reach everything in it.
    pub(crate) fn path_bytes(&self) -> usize {
        (PATH_BYTES + ROOT.len()).saturating_sub(self.folder().len())
    }

    /// The most names that a path may have here, for the same reason.
    pub(crate) fn path_depth(&self) -> usize {
        PATH_DEPTH.saturating_sub(self.names().count())
    }
}
