//! Subtrees: the part of the tree that paths refer to, either all of it or one folder that is shown as `/memories`.
//!
//! Paths are resolved from the subtree's folder, so no path has to be translated back and no translation can be
//! forgotten.

use std::sync::Arc;

use inmost_format::limits::PATH_DEPTH;
use inmost_format::secret::Wiped;

use crate::limits::PATH_BYTES;

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
