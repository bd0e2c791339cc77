//! Internal crate of `inmost`, for this workspace only. It promises no semantic versioning.
//!
//! The traits between the store and the place where its bytes live.
//!
//! [`Storage`] is the place of one store: two header copies, a lock, an anchor and generations. [`Engine`] is
//! one generation: a flat map from 32-byte addresses to sealed values. Both see only ciphertext and hold no
//! keys. [`Engine`] assumes nothing about the local machine, so a networked engine can implement it.

#![allow(
    clippy::missing_errors_doc,
    reason = "every failure is a StorageError, which says what it means"
)]

mod bare;
pub mod limits;
mod rewriting;
mod untrusted_file;
#[cfg(any(test, feature = "testing"))]
mod variants;

use std::{fmt, io};

pub use bare::{BareFiles, Extent};
pub use rewriting::{Leftover, Rewriting, SetAside};
pub use untrusted_file::{FileProblem, UntrustedFile};

/// The key of a record in an engine.
///
/// It is a keyed hash, so the order and the grouping of addresses carry no information.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(pub [u8; 32]);

/// An atomic change to one generation.
#[derive(Default)]
pub struct Batch {
    /// The root as the writer last saw it: its address and its whole value, or `None` for a new generation.
    /// The engine refuses the batch with [`StorageError::Conflict`] if it holds anything else. Two writers
    /// therefore cannot both build on the same root.
    pub expect: Option<(Address, Option<Vec<u8>>)>,
    /// Values to write, at most one per address.
    pub puts: Vec<(Address, Vec<u8>)>,
    /// Addresses to remove. An absent address is not an error.
    pub deletes: Vec<Address>,
}

impl Batch {
    /// Checks the lengths and counts of the batch against [`limits`]. Does no I/O.
    ///
    /// # Errors
    /// [`StorageError::TooLarge`] if a value or the number of records exceeds its limit.
    pub fn check_bounds(&self) -> Result<(), StorageError> {
        let within = self.puts.iter().all(|(_, value)| value.len() <= limits::RECORD_VALUE_BYTES)
            && self.puts.len().saturating_add(self.deletes.len()) <= limits::BATCH_RECORDS_MAX;
        if within { Ok(()) } else { Err(StorageError::TooLarge) }
    }
}

/// One generation of sealed records.
///
/// A failed [`apply`](Engine::apply) or [`sync`](Engine::sync) poisons the engine: every later call returns
/// [`StorageError::Poisoned`]. The state after a failed write is unknown until the generation is reopened. A
/// batch refused with `Conflict` or `TooLarge` has written nothing and does not poison the engine. The same holds for
/// `Full` from an engine with a journal, which decides about room before it writes.
pub trait Engine: Send + Sync {
    /// Returns the values at `addresses`, in the same order; `None` for an absent record.
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError>;

    /// Returns up to `limit` records after `after`, in address order. Successive pages are not one snapshot.
    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError>;

    /// Applies the whole batch or nothing. The change is visible to readers at once and durable after the
    /// next [`sync`](Engine::sync).
    fn apply(&self, batch: &Batch) -> Result<(), StorageError>;

    /// Makes everything applied so far durable: it survives a power loss.
    fn sync(&self) -> Result<(), StorageError>;

    /// Returns the position of the last [`sync`](Engine::sync), for the next opening to verify. The default is the empty frontier.
    fn frontier(&self) -> Frontier {
        Frontier::default()
    }

    /// Returns the bytes that this generation occupies on disk.
    fn size(&self) -> Result<u64, StorageError>;

    /// Checks what the engine keeps beside its records, such as a journal. Changes nothing.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] with what is damaged.
    fn verify(&self) -> Result<(), StorageError> {
        Ok(())
    }

    /// Syncs, then releases every handle and lock.
    fn close(self: Box<Self>) -> Result<(), StorageError>;

    /// Releases every handle and lock, for a generation that is removed next. What was not synced may be lost.
    fn discard(self: Box<Self>);
}

/// A position in an engine's files, and a proof that what is before it is complete. All zeros for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frontier {
    /// Bytes of the engine's log, through all times. 0 for none.
    pub position: u64,
    /// What the engine compares with the files when it opens them.
    pub proof: [u8; 24],
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
    /// Returns the other copy.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// The place of one store. A value of this type holds the store's lock.
pub trait Storage: Send + Sync {
    /// Returns the bytes of a header copy, or `None` if it does not exist. Reads at most 64 KiB.
    fn read_header(&self, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError>;

    /// Replaces a header copy atomically and durably. The old bytes are overwritten, best effort.
    fn write_header(&self, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError>;

    /// Returns the anchor, or `None` if it does not exist. Reads at most 512 bytes.
    fn read_anchor(&self) -> Result<Option<Vec<u8>>, StorageError>;

    /// Writes the anchor, 512 bytes. After a crash it is there as a whole or not at all. Only the first write of a
    /// session is synced.
    fn write_anchor(&self, bytes: &[u8]) -> Result<(), StorageError>;

    /// Returns the numbers of the existing generations, ascending.
    fn generations(&self) -> Result<Vec<u64>, StorageError>;

    /// Creates an empty, durable generation. It must not exist yet.
    fn create_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError>;

    /// Opens a generation.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if no generation has this number. [`StorageError::Damaged`] if its files are not complete.
    fn open_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError>;

    /// Returns the files of a generation as bare bytes. Files that are missing are left out.
    fn bare_files(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn BareFiles>, StorageError>;

    /// Removes a generation and everything in it. An absent generation is not an error.
    fn remove_generation(&self, number: u64) -> Result<(), StorageError>;

    /// Returns the note of the last rewrite, or `None` if it is absent or cannot be understood. It is not
    /// authenticated.
    fn rewriting(&self) -> Result<Option<Rewriting>, StorageError>;

    /// Notes a rewrite durably, in place of an earlier note.
    fn begin_rewrite(&self, rewriting: &Rewriting) -> Result<(), StorageError>;

    /// Removes the note durably, overwriting it, best effort. An absent note is not an error.
    fn finish_rewrite(&self) -> Result<(), StorageError>;

    /// Moves a generation out of the way durably, and stores a header beside its records if one is given. Never replaces
    /// a generation that was set aside before. No engine may have the generation open.
    fn set_aside(&self, number: u64, header: Option<&[u8]>) -> Result<(), StorageError>;

    /// Returns the generations that were set aside, ascending.
    fn set_aside_generations(&self) -> Result<Vec<SetAside>, StorageError>;

    /// Removes a generation that was set aside, with its header, which is overwritten, best effort. An absent one is not
    /// an error.
    fn discard_set_aside(&self, number: u64) -> Result<(), StorageError>;

    /// Returns the bytes that the store occupies on disk, without the ballast that is reserved for a full disk and
    /// without what was set aside.
    fn size(&self) -> Result<u64, StorageError>;

    /// Returns whether the disk is full and changes depend on the reserved ballast. Writes that can wait
    /// should then wait.
    fn is_short_of_room(&self) -> bool {
        false
    }
}

/// The engines that a store can name in its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineKind {
    /// sled 0.34.7, the default.
    Sled,
    /// redb 4, behind the feature of that name.
    Redb,
    /// A map in memory. It lives as long as its storage.
    Memory,
}

/// The errors of a storage and its engines.
#[derive(Debug)]
pub enum StorageError {
    /// The stored root differs from the root that the batch expects.
    Conflict,
    /// The engine's files are damaged; the text describes the damage.
    Corrupt(String),
    /// The generation is damaged and was not opened; the text describes the damage.
    Damaged(String),
    /// Another process holds the store. The value is its process id, if known.
    InUse(Option<u32>),
    /// The operating system returned an error.
    Io(io::Error),
    /// The store, generation or file does not exist.
    Missing,
    /// This build does not include the engine that the store names.
    NotBuilt,
    /// A file with one of the store's names must not be used; see [`FileProblem`].
    UntrustedFile(UntrustedFile),
    /// An earlier write or sync failed. The generation must be reopened to learn its state.
    Poisoned,
    /// The disk is full.
    Full,
    /// The engine was used in the process that this one was forked from, and cannot be used in both.
    Forked,
    /// A batch or value exceeds the bounds of [`limits`]. This is a bug in the caller; nothing was written.
    TooLarge,
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => {
                f.write_str("the stored root differs from the root that the batch expects")
            }
            Self::Corrupt(what) => write!(f, "the engine's files are damaged: {what}"),
            Self::Damaged(what) => {
                write!(f, "the engine's files are damaged and were not opened: {what}")
            }
            Self::InUse(Some(pid)) => write!(f, "process {pid} holds the store"),
            Self::InUse(None) => f.write_str("another process holds the store"),
            Self::Io(error) => write!(f, "input/output error: {error}"),
            Self::Missing => f.write_str("no such store, generation or file exists"),
            Self::NotBuilt => {
                f.write_str("this build does not include the engine that the store names")
            }
            Self::UntrustedFile(file) => file.fmt(f),
            Self::Poisoned => f.write_str("an earlier write failed; reopen the store"),
            Self::Full => f.write_str("the disk is full"),
            Self::Forked => {
                f.write_str("the engine was used in the process that this one was forked from")
            }
            Self::TooLarge => f.write_str("a batch exceeds its size limit"),
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
            E::Conflict => [E::Conflict, "the stored root differs from the root that the batch expects"];
            E::Corrupt(_) => [E::Corrupt("why".into()), "the engine's files are damaged: why"];
            E::Damaged(_) => [E::Damaged("why".into()), "the engine's files are damaged and were not opened: why"];
            E::InUse(_) => [E::InUse(Some(7)), "process 7 holds the store"], [
                E::InUse(None),
                "another process holds the store"
            ];
            E::Io(_) => [io::Error::other("why").into(), "input/output error: why"];
            E::Missing => [E::Missing, "no such store, generation or file exists"];
            E::NotBuilt => [E::NotBuilt, "this build does not include the engine that the store names"];
            E::UntrustedFile(_) => [E::UntrustedFile(odd), "header.a is a symbolic link"];
            E::Poisoned => [E::Poisoned, "an earlier write failed; reopen the store"];
            E::Full => [io::Error::from(io::ErrorKind::StorageFull).into(), "the disk is full"], [
                io::Error::from(io::ErrorKind::QuotaExceeded).into(),
                "the disk is full"
            ];
            E::Forked => [E::Forked, "the engine was used in the process that this one was forked from"];
            E::TooLarge => [E::TooLarge, "a batch exceeds its size limit"];
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
