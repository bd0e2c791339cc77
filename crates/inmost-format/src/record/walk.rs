//! Bounds of a walk over a whole tree, which a holder of the keys may have forged.
//!
//! A valid tree has each record once, decreasing levels, and no folder deeper than the longest path. A walk that enforces
//! this takes at most as many steps as there are records, and does not overflow the stack.

use std::collections::HashSet;

use super::tree::LEVELS;
use super::{Flaw, Kind, Node, RecordError, RecordId};
use crate::limits::PATH_DEPTH;

/// The records that a walk has reached.
#[derive(Default)]
pub struct Reached(HashSet<RecordId>);

impl Reached {
    /// Marks a record, before it is read.
    ///
    /// # Errors
    /// [`Flaw::Repeated`] if the walk has reached it before.
    pub fn mark(&mut self, id: RecordId) -> Result<(), RecordError> {
        if self.0.insert(id) { Ok(()) } else { Err(damaged(id.kind, Flaw::Repeated)) }
    }

    /// The number of records reached.
    pub fn count(&self) -> u64 {
        u64::try_from(self.0.len()).unwrap_or(u64::MAX)
    }
}

/// The depth of a node.
#[derive(Clone, Copy)]
pub struct Depth {
    /// The number of folders from the top to the node, including its own.
    folders: usize,
    /// Levels of tree below the node.
    level: u8,
}

impl Depth {
    /// The depth of the root record, above every folder.
    pub const TOP: Self = Self { folders: 0, level: 0 };

    /// The depth of a node that a node at this depth refers to. Does no I/O.
    ///
    /// # Errors
    /// [`Flaw::Malformed`] if its level is not the next one down, [`Flaw::TooDeep`] for a folder that is deeper than
    /// any path.
    pub fn below(self, node: &Node) -> Result<Self, RecordError> {
        let head = |kind, folders, level| {
            if level > LEVELS {
                return Err(damaged(kind, Flaw::Malformed));
            }
            Ok(Self { folders, level })
        };
        let inner = |kind, level: u8| {
            if level.checked_add(1) != Some(self.level) {
                return Err(damaged(kind, Flaw::Malformed));
            }
            Ok(Self { level, ..self })
        };
        match node {
            Node::Root(_) => Ok(Self::TOP),
            Node::Folder(_) if self.folders >= FOLDERS => Err(damaged(Kind::Folder, Flaw::TooDeep)),
            Node::Folder(folder) => head(Kind::Folder, self.folders + 1, folder.body.level()),
            Node::File(file) => head(Kind::File, self.folders, file.body.level()),
            Node::History(history) => head(Kind::History, self.folders, history.body.level()),
            Node::FolderInner(node) => inner(Kind::FolderInner, node.level()),
            Node::HistoryInner(node) => inner(Kind::HistoryInner, node.level()),
            Node::FileInner(node) => inner(Kind::FileInner, node.level()),
            Node::FolderLeaf(_) | Node::Chunk(_) | Node::HistoryLeaf(_) => {
                Ok(Self { level: 0, ..self })
            }
        }
    }
}

fn damaged(kind: Kind, flaw: Flaw) -> RecordError {
    RecordError::Damaged { kind, flaw }
}

/// The maximum of nested folders: the top one and those that a path can name. An object that waits to be reaped is no
/// deeper in the system folder than it was in its own folder.
const FOLDERS: usize = PATH_DEPTH + 1;
