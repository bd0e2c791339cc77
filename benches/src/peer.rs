//! The peers behind one interface.

use std::path::Path;

use crate::answer::Answer;
use crate::bare_sled::BareSled;
use crate::folder::Folder;
use crate::memory::Memory;

/// Something that answers the calls of the tool, durably.
pub trait Peer: Send + Sync {
    /// Answers one call, given as JSON text. A change is on the disk when it returns.
    ///
    /// # Errors
    /// Whatever the model would have been told as an error, and every failure.
    fn call(&self, json: &str) -> Answer;

    /// The whole text of a file; none of a peer that keeps no text.
    ///
    /// # Errors
    /// If there is no such file.
    fn text(&self, path: &str) -> Option<Answer>;
}

/// Which peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// inmost on sled, as it comes.
    Inmost,
    /// inmost on redb.
    InmostRedb,
    /// A plain folder; files and folders are synced.
    Folder,
    /// Records like inmost's in sled, without encryption or anything else.
    BareSled,
    /// A table in SQLCipher.
    #[cfg(feature = "sqlcipher")]
    SqlCipher,
}

impl Kind {
    /// All that this build has.
    pub const ALL: &[Self] = &[
        Self::Inmost,
        Self::InmostRedb,
        Self::Folder,
        Self::BareSled,
        #[cfg(feature = "sqlcipher")]
        Self::SqlCipher,
    ];

    /// Its name in results and on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Inmost => "inmost",
            Self::InmostRedb => "inmost-redb",
            Self::Folder => "folder",
            Self::BareSled => "bare-sled",
            #[cfg(feature = "sqlcipher")]
            Self::SqlCipher => "sqlcipher",
        }
    }

    /// The peer of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Begins with nothing, in a folder that does not exist yet.
    ///
    /// # Errors
    /// Those of the peer.
    pub fn begin(self, path: &Path) -> Result<Box<dyn Peer>, Box<dyn std::error::Error>> {
        Ok(match self {
            Self::Inmost => Box::new(Memory::begin(path, inmost::StorageEngine::Sled)?),
            Self::InmostRedb => Box::new(Memory::begin(path, inmost::StorageEngine::Redb)?),
            Self::Folder => Box::new(Folder::begin(path)?),
            Self::BareSled => Box::new(BareSled::begin(path)?),
            #[cfg(feature = "sqlcipher")]
            Self::SqlCipher => Box::new(crate::sqlcipher::SqlCipher::begin(path)?),
        })
    }
}
