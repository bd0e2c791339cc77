//! The list of peers, by the names of results and command lines.

use std::error::Error;
use std::path::Path;

use crate::bare_sled::BareSled;
use crate::folder::Folder;
use crate::memory::Memory;
use crate::peer::Peer;
#[cfg(feature = "sqlcipher")]
use crate::sqlcipher::SqlCipher;

/// One of the peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// inmost on sled, with its default options.
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
    /// Every peer of this build.
    pub const ALL: &[Self] = &[
        Self::Inmost,
        Self::InmostRedb,
        Self::Folder,
        Self::BareSled,
        #[cfg(feature = "sqlcipher")]
        Self::SqlCipher,
    ];

    /// Returns its name in results and on command lines.
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

    /// Finds a peer by its name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Creates an empty peer in a folder that does not exist yet.
    ///
    /// # Errors
    /// The errors of the peer.
    pub fn begin(self, path: &Path) -> Result<Box<dyn Peer>, Box<dyn Error>> {
        Ok(match self {
            Self::Inmost => Box::new(Memory::begin(path, inmost::StorageEngine::Sled)?),
            Self::InmostRedb => Box::new(Memory::begin(path, inmost::StorageEngine::Redb)?),
            Self::Folder => Box::new(Folder::begin(path)?),
            Self::BareSled => Box::new(BareSled::begin(path)?),
            #[cfg(feature = "sqlcipher")]
            Self::SqlCipher => Box::new(SqlCipher::begin(path)?),
        })
    }

    /// Creates an empty peer that this many threads can use at once. Returns a connection for each thread, or
    /// one peer for all of them if it needs no connections.
    ///
    /// # Errors
    /// The errors of the peer.
    pub fn begin_shared(
        self,
        path: &Path,
        threads: usize,
    ) -> Result<Vec<Box<dyn Peer>>, Box<dyn Error>> {
        #[cfg(feature = "sqlcipher")]
        if self == Self::SqlCipher {
            let mut peers: Vec<Box<dyn Peer>> = vec![Box::new(SqlCipher::begin(path)?)];
            for _ in 1..threads {
                peers.push(Box::new(SqlCipher::connect(path)?));
            }
            return Ok(peers);
        }
        let _ = threads;
        Ok(vec![self.begin(path)?])
    }
}
