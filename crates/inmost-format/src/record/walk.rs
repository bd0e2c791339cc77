//! Bounds of a walk over a whole tree, which a holder of the keys may have forged.
//!
//! An honest tree has each record once, levels that count down, and no folder deeper than a path reaches. A walk that
//! enforces this takes no more steps than there are records, and no more stack than a thread has.

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

    /// How many records were reached.
    pub fn count(&self) -> u64 {
        u64::try_from(self.0.len()).unwrap_or(u64::MAX)
    }
}

/// The depth of a node.
#[derive(Clone, Copy)]
pub struct Depth {
    /// Folders from the top to the node, its own included.
    folders: usize,
    /// Levels of tree below the node.
    level: u8,
}

impl Depth {
    /// The depth of the root record, above every folder.
    pub const TOP: Self = Self { folders: 0, level: 0 };

    /// The depth of a node that one at this depth refers to. Does no I/O.
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
            Node::FolderInner(node) => inner(Kind::FolderInner, node.level()),
            Node::FileInner(node) => inner(Kind::FileInner, node.level()),
            Node::FolderLeaf(_) | Node::Chunk(_) => Ok(Self { level: 0, ..self }),
        }
    }
}

fn damaged(kind: Kind, flaw: Flaw) -> RecordError {
    RecordError::Damaged { kind, flaw }
}

/// Folders below each other: the top one and those a path can name. An object that waits to be reaped lies no deeper in
/// the system folder than it did in its own.
const FOLDERS: usize = PATH_DEPTH + 1;
