//! The errors of a storage and its engines.

use std::io;

use crate::UntrustedFile;

/// The errors of a storage and its engines.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The stored root differs from the root that the batch expects.
    #[error("the stored root differs from the root that the batch expects")]
    Conflict,
    /// The engine's files are damaged; the text describes the damage.
    #[error("the engine's files are damaged: {0}")]
    Corrupt(String),
    /// The generation is damaged and was not opened; the text describes the damage.
    #[error("the engine's files are damaged and were not opened: {0}")]
    Damaged(String),
    /// Another process holds the store. The value is its process id, if known.
    #[error("{} holds the store", holder(*.0))]
    InUse(Option<u32>),
    /// The operating system returned an error.
    #[error("input/output error: {0}")]
    Io(#[source] io::Error),
    /// The store, generation or file does not exist.
    #[error("no such store, generation or file exists")]
    Missing,
    /// This build does not include the engine that the store names.
    #[error("this build does not include the engine that the store names")]
    NotBuilt,
    /// The store, or a file of it, belongs to another user. Nothing was opened or written.
    #[error("{} belongs to user {owner}", owned(.file))]
    OtherOwner {
        /// The file below the folder of the store; empty for the folder itself.
        file: String,
        /// The number of its user.
        owner: u32,
    },
    /// Another program has replaced, moved, removed or linked a file of the store while it was open. The text says which. What was
    /// written since may be in files that are no longer the store's.
    #[error("{0} while the store was open")]
    Replaced(String),
    /// A file with one of the store's names must not be used; see [`FileProblem`](crate::FileProblem).
    #[error("{0}")]
    UntrustedFile(UntrustedFile),
    /// An earlier write or sync failed. The generation must be reopened to learn its state.
    #[error("an earlier write failed; reopen the store")]
    Poisoned,
    /// A write in the background failed, for the reason that is the value. One call returns it, and later ones
    /// [`Poisoned`](Self::Poisoned).
    #[error("an earlier write failed: {0}")]
    WriteFailed(Box<Self>),
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The engine was used in the process that this one was forked from, and cannot be used in both.
    #[error("the engine was used in the process that this one was forked from")]
    Forked,
    /// A batch or value exceeds the bounds of [`limits`](crate::limits). This is a bug in the caller; nothing was written.
    #[error("a batch exceeds its size limit")]
    TooLarge,
    /// The server of a shared store cannot be reached, or cannot take part now; the text says why. Nothing was written. The
    /// same call may succeed later.
    #[error("the server is not available: {0}")]
    Unavailable(String),
    /// The connection was lost after a change was sent, or the server did not vouch for it; the text says what happened. The
    /// change may be there, may not be there, or may still arrive. The same batch may be submitted again: it expects a root,
    /// so it lands once at most.
    #[error("it is unknown whether the change was stored: {0}")]
    Unknown(String),
}

/// Who holds a store.
fn holder(process: Option<u32>) -> String {
    process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"))
}

/// What belongs to another user.
fn owned(file: &str) -> &str {
    if file.is_empty() { "the folder of the store" } else { file }
}

impl From<io::Error> for StorageError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => error.downcast().map_or_else(Self::Io, Self::UntrustedFile),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::path::Path;

    use super::StorageError as E;
    use super::*;
    use crate::{FileProblem, every_variant};

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
            E::OtherOwner { .. } => [
                E::OtherOwner { file: String::new(), owner: 7 },
                "the folder of the store belongs to user 7"
            ], [
                E::OtherOwner { file: "header.a".to_owned(), owner: 7 },
                "header.a belongs to user 7"
            ];
            E::NotBuilt => [E::NotBuilt, "this build does not include the engine that the store names"];
            E::Replaced(_) => [E::Replaced("anchor was replaced".into()), "anchor was replaced while the store was open"];
            E::UntrustedFile(_) => [E::UntrustedFile(odd), "header.a is a symbolic link"];
            E::Poisoned => [E::Poisoned, "an earlier write failed; reopen the store"];
            E::WriteFailed(_) => [E::WriteFailed(E::Full.into()), "an earlier write failed: the disk is full"];
            E::Full => [io::Error::from(io::ErrorKind::StorageFull).into(), "the disk is full"], [
                io::Error::from(io::ErrorKind::QuotaExceeded).into(),
                "the disk is full"
            ];
            E::Forked => [E::Forked, "the engine was used in the process that this one was forked from"];
            E::TooLarge => [E::TooLarge, "a batch exceeds its size limit"];
            E::Unavailable(_) => [E::Unavailable("why".into()), "the server is not available: why"];
            E::Unknown(_) => [E::Unknown("why".into()), "it is unknown whether the change was stored: why"];
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
