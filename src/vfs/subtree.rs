//! The part of the tree that paths lead into: all of it, or one folder that stands as `/memories`.
//!
//! Paths are resolved from here, so nothing that is said of them has to be translated, and nothing can be forgotten.

use super::path::{MemoryPath, PathError, ROOT};
use crate::limits::PATH_BYTES;
use inmost_format::limits::PATH_DEPTH;
use std::sync::Arc;

/// The tree as those see it who send paths. The default is all of it.
///
/// A folder need not be there: until something is written below it, it is an empty `/memories`, and so it is again
/// when it was deleted or moved away.
#[derive(Clone, Default)]
pub(crate) struct Subtree(Option<Arc<MemoryPath>>);

impl Subtree {
    /// The subtree below a folder that is named as in the whole store.
    ///
    /// # Errors
    /// Those of a path.
    pub(crate) fn parse(folder: &str) -> Result<Self, PathError> {
        let folder = MemoryPath::parse(folder)?;
        Ok(Self((!folder.is_root()).then(|| Arc::new(folder))))
    }

    /// Whether it is all there is.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.is_none()
    }

    /// The names that lead from the root of the store to the folder.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.iter().flat_map(|folder| folder.segments())
    }

    /// Bytes that a path may have here: what the limit of the store leaves, so that all of the store stays within reach
    /// of those who see the whole.
    pub(crate) fn path_bytes(&self) -> usize {
        let folder = self.0.as_ref().map_or(ROOT, |folder| folder.as_str());
        (PATH_BYTES + ROOT.len()).saturating_sub(folder.len())
    }

    /// Names that a path may have here, by the same reckoning.
    pub(crate) fn path_depth(&self) -> usize {
        PATH_DEPTH.saturating_sub(self.names().count())
    }
}
