//! The names of records: kind, object and index.
//!
//! The engine never sees these names, only their keyed hash.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};

/// The kinds of record. The number is stored and authenticated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// The single record that leads to all others.
    Root,
    /// A folder: totals, and its entries or the top of their tree.
    Folder,
    /// An inner node of a folder's tree.
    FolderInner,
    /// Entries of a folder.
    FolderLeaf,
    /// A file: its text or the top of its rope.
    File,
    /// An inner node of a rope.
    FileInner,
    /// A piece of a long file.
    Chunk,
    /// The head of a history.
    History,
    /// An inner node of a history.
    HistoryInner,
    /// Entries of a history.
    HistoryLeaf,
}

impl Kind {
    /// The stored number.
    pub fn code(self) -> u8 {
        match self {
            Self::Root => 1,
            Self::Folder => 2,
            Self::FolderInner => 3,
            Self::FolderLeaf => 4,
            Self::File => 5,
            Self::FileInner => 6,
            Self::Chunk => 7,
            Self::History => 8,
            Self::HistoryInner => 9,
            Self::HistoryLeaf => 10,
        }
    }

    /// The kind of a stored number.
    pub fn from_code(code: u8) -> Option<Self> {
        [
            Self::Root,
            Self::Folder,
            Self::FolderInner,
            Self::FolderLeaf,
            Self::File,
            Self::FileInner,
            Self::Chunk,
            Self::History,
            Self::HistoryInner,
            Self::HistoryLeaf,
        ]
        .into_iter()
        .find(|kind| kind.code() == code)
    }

    /// A phrase for reports.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Root => "the root record",
            Self::Folder => "a folder",
            Self::FolderInner | Self::FolderLeaf => "a part of a folder",
            Self::File => "a file",
            Self::FileInner | Self::Chunk => "a part of a long file",
            Self::History | Self::HistoryInner | Self::HistoryLeaf => "the history",
        }
    }
}

/// The name of a folder or file: random, except for the two folders that every store has. A rename does not change it.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct ObjectId(pub [u8; 16]);

impl ObjectId {
    /// The root folder. It can be found without the root record.
    pub const TREE: Self = Self([0xff; 16]);
    /// The system folder.
    pub const SYSTEM: Self = Self([0xfe; 16]);
}

/// The full name of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordId {
    /// Its kind.
    pub kind: Kind,
    /// The folder or file it belongs to.
    pub object: ObjectId,
    /// 0 for the head of a folder or history. The head of a file and all other nodes have the numbers of their object, which
    /// count upwards. No number is reused in one generation, but by the head of a file that keeps no versions.
    pub index: u64,
}

/// Something by record, with a faster hash than the standard library's. That one withstands keys that an attacker chooses, and
/// without the keys of a store nobody chooses the names of its objects.
pub type ByRecord<V> = HashMap<RecordId, V, RandomState>;

/// Hashes one number instead of 26 bytes, because a commit looks up every entry of the folders that it changes. Names of
/// objects are random and authenticated, so half of one is as good as the whole.
impl Hash for RecordId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [start @ .., _, _, _, _, _, _, _, _] = self.object.0;
        let place = self.index.rotate_left(8) ^ u64::from(self.kind.code());
        state.write_u64(u64::from_le_bytes(start) ^ place);
    }
}

impl RecordId {
    /// The root record.
    pub const ROOT: Self = Self { kind: Kind::Root, object: ObjectId([0; 16]), index: 0 };

    /// The head of a folder.
    pub fn folder(object: ObjectId) -> Self {
        Self { kind: Kind::Folder, object, index: 0 }
    }

    /// The head of a file at this index.
    pub fn file(object: ObjectId, index: u64) -> Self {
        Self { kind: Kind::File, object, index }
    }

    /// The head of a history.
    pub fn history(object: ObjectId) -> Self {
        Self { kind: Kind::History, object, index: 0 }
    }
}
