//! Internal crate of `inmost`, for its workspace alone: no promise of semantic versioning is made.
//!
//! The seam between the store and the place where its bytes live.
//!
//! [`Storage`] is the place of one store: its two header copies, its lock, its generations. [`Engine`]
//! is one generation: a flat map from 32-byte addresses to sealed values. Both see ciphertext only
//! and know nothing of keys; nothing in [`Engine`] is local, so a networked one fits the same seam.

#![allow(
    clippy::missing_errors_doc,
    reason = "every failure is a StorageError, which says what it means"
)]

pub mod limits;
mod untrusted_file;
#[cfg(any(test, feature = "testing"))]
mod variants;

use std::{fmt, io};

pub use untrusted_file::{FileProblem, UntrustedFile};

/// The engine's key: a keyed hash, so neither order nor grouping of addresses means anything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(pub [u8; 32]);

/// One atomic change of a generation.
#[derive(Default)]
pub struct Batch {
    /// The root as the writer last saw it: its address and the whole value, `None` for a new generation.
    /// The batch is refused with [`StorageError::Conflict`] when the engine holds something else, so
    /// two writers can never build on different pasts.
    pub expect: Option<(Address, Option<Vec<u8>>)>,
    /// Values to write, at most one per address.
    pub puts: Vec<(Address, Vec<u8>)>,
    /// Addresses to remove; removing what is absent is no error.
    pub deletes: Vec<Address>,
}

impl Batch {
    /// Refuses what no engine may be asked to write. Does no I/O.
    pub fn check_bounds(&self) -> Result<(), StorageError> {
        let within = self.puts.iter().all(|(_, value)| value.len() <= limits::RECORD_VALUE_BYTES)
            && self.puts.len().saturating_add(self.deletes.len()) <= limits::BATCH_RECORDS_MAX;
        if within { Ok(()) } else { Err(StorageError::TooLarge) }
    }
}

/// One generation of sealed records.
///
/// A failed [`apply`](Engine::apply) or [`sync`](Engine::sync) poisons the engine: every later call answers
/// [`StorageError::Poisoned`], because what a failed write left behind is known only after reopening.
/// A refused precondition or an oversized batch has written nothing and poisons nothing.
pub trait Engine: Send + Sync {
    /// The values at `addresses`, in their order; `None` where there is none.
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError>;

    /// Up to `limit` records in address order after `after`; a page, not a snapshot.
    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError>;

    /// Applies the batch as a whole or not at all. Visible to readers when it returns, durable only
    /// after the next [`sync`](Engine::sync).
    fn apply(&self, batch: &Batch) -> Result<(), StorageError>;

    /// Makes everything applied so far survive power loss.
    fn sync(&self) -> Result<(), StorageError>;

    /// Bytes this generation takes on disk.
    fn size(&self) -> Result<u64, StorageError>;

    /// Syncs and releases every handle and lock.
    fn close(self: Box<Self>) -> Result<(), StorageError>;
}

/// The two copies of the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderCopy {
    /// Written first.
    A,
    /// Written second.
    B,
}

impl HeaderCopy {
    /// The other of the two.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// The slots of the anchor, written in turn, so that a torn write leaves the other whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnchorSlot {
    /// For commits of an even number.
    Even,
    /// For the others.
    Odd,
}

/// The place of one store. Holding a value of this type is holding the store's lock.
pub trait Storage: Send + Sync {
    /// The bytes of a header copy, `None` if there is no such copy. At most 64 KiB are ever read.
    fn read_header(&self, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError>;

    /// Replaces a header copy atomically and durably; the old bytes are overwritten, best effort.
    fn write_header(&self, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError>;

    /// What the two slots of the anchor hold, of those that there are; at most 4 KiB each.
    fn read_anchor(&self) -> Result<Vec<Vec<u8>>, StorageError>;

    /// Writes one slot of the anchor, at most 4 KiB. Only the first write is synced.
    fn write_anchor(&self, slot: AnchorSlot, bytes: &[u8]) -> Result<(), StorageError>;

    /// Numbers of the generations present, ascending.
    fn generations(&self) -> Result<Vec<u64>, StorageError>;

    /// Creates a generation that must not exist yet; durable, empty.
    fn create_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError>;

    /// Opens a generation.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if there is none of this number.
    fn open_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError>;

    /// Removes a generation and everything in it; absent is no error.
    fn remove_generation(&self, number: u64) -> Result<(), StorageError>;

    /// Bytes the whole store takes on disk, less what is only set aside for a full one.
    fn size(&self) -> Result<u64, StorageError>;

    /// Whether the disk has run full and changes are down to what was kept back for that: then nothing that
    /// can wait should be written.
    fn is_short_of_room(&self) -> bool {
        false
    }
}

/// The engines a store can name in its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineKind {
    /// sled 0.34.7, the default.
    Sled,
    /// redb 4, behind the feature of that name.
    Redb,
    /// A map in memory that lives as long as its store.
    Memory,
}

/// What storage can answer besides the bytes.
#[derive(Debug)]
pub enum StorageError {
    /// The root is not what the batch expects.
    Conflict,
    /// The engine's files are damaged, in the words of whoever noticed.
    Corrupt(String),
    /// Another process holds the store; its process id where known.
    InUse(Option<u32>),
    /// The operating system failed.
    Io(io::Error),
    /// There is nothing at this place.
    Missing,
    /// The engine that the store names is not part of this build.
    NotBuilt,
    /// What has the name of a file of the store is none that may be used.
    UntrustedFile(UntrustedFile),
    /// A write or sync failed earlier; only reopening tells what is there.
    Poisoned,
    /// The disk is full.
    Full,
    /// A batch or value beyond the bounds of `limits`; a bug above, refused before it is written.
    TooLarge,
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("the root is not what the batch expects"),
            Self::Corrupt(what) => write!(f, "the engine's files are damaged: {what}"),
            Self::InUse(Some(pid)) => write!(f, "process {pid} holds the store"),
            Self::InUse(None) => f.write_str("another process holds the store"),
            Self::Io(error) => write!(f, "input/output error: {error}"),
            Self::Missing => f.write_str("nothing is stored there"),
            Self::NotBuilt => f.write_str("this build lacks the engine that the store names"),
            Self::UntrustedFile(file) => file.fmt(f),
            Self::Poisoned => f.write_str("an earlier write failed"),
            Self::Full => f.write_str("the disk is full"),
            Self::TooLarge => f.write_str("a batch beyond its bound"),
        }
    }
}

impl From<io::Error> for StorageError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => error.downcast().map_or_else(Self::Io, Self::UntrustedFile),
        }
    }
}

impl std::error::Error for StorageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::path::Path;

    use super::StorageError as E;
    use super::*;
    use crate::FileProblem;
    use crate::every_variant;

    #[test]
    fn every_error_says_what_happened() {
        let odd = UntrustedFile::new(Path::new("/a/header.a"), FileProblem::Link);
        let table = every_variant!(StorageError {
            E::Conflict => [E::Conflict, "the root is not what the batch expects"];
            E::Corrupt(_) => [E::Corrupt("why".into()), "the engine's files are damaged: why"];
            E::InUse(_) => [E::InUse(Some(7)), "process 7 holds the store"], [
                E::InUse(None),
                "another process holds the store"
            ];
            E::Io(_) => [io::Error::other("why").into(), "input/output error: why"];
            E::Missing => [E::Missing, "nothing is stored there"];
            E::NotBuilt => [E::NotBuilt, "this build lacks the engine that the store names"];
            E::UntrustedFile(_) => [E::UntrustedFile(odd), "header.a is a symbolic link"];
            E::Poisoned => [E::Poisoned, "an earlier write failed"];
            E::Full => [io::Error::from(io::ErrorKind::StorageFull).into(), "the disk is full"], [
                io::Error::from(io::ErrorKind::QuotaExceeded).into(),
                "the disk is full"
            ];
            E::TooLarge => [E::TooLarge, "a batch beyond its bound"];
        });
        for (error, phrase) in table {
            let from_the_system = matches!(error, E::Io(_));
            assert_eq!(
                (error.to_string().as_str(), error.source().is_some()),
                (phrase, from_the_system)
            );
        }
    }
}
