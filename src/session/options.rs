//! Options of a store and of a session.

use std::time::Duration;

use crate::limits;
use inmost_storage::EngineKind;

/// The engine that stores the records on disk. It is chosen at creation, and the store's header names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum StorageEngine {
    /// sled 0.34.7, in every build.
    #[default]
    Sled,
    /// redb 4, in builds with the feature `redb`. Other builds return
    /// [`StoreError::EngineNotBuilt`](crate::StoreError::EngineNotBuilt).
    Redb,
    /// `PostgreSQL`, in builds with the feature `postgres`: a store that several hosts use at once. It has no folder.
    Postgres,
}

impl StorageEngine {
    pub(crate) fn kind(self) -> EngineKind {
        match self {
            Self::Sled => EngineKind::Sled,
            Self::Redb => EngineKind::Redb,
            Self::Postgres => EngineKind::Postgres,
        }
    }

    pub(crate) fn of(kind: EngineKind) -> Option<Self> {
        match kind {
            EngineKind::Sled => Some(Self::Sled),
            EngineKind::Redb => Some(Self::Redb),
            EngineKind::Postgres => Some(Self::Postgres),
            EngineKind::Memory => None,
        }
    }
}

/// Quotas of a session, and limits on the memory it uses.
#[derive(Clone, Debug)]
#[must_use]
pub struct SessionOptions {
    pub(crate) quotas: Quotas,
    /// A bound on the cache of this session alone, instead of the shared one.
    pub(crate) cache_bytes: Option<usize>,
    pub(crate) idle_lock: Option<Duration>,
    /// How long a change waits for the server of a shared store, to find out whether it is stored.
    pub(crate) outcome_timeout: Duration,
}

/// Quotas of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub(crate) struct Quotas {
    /// Bytes of one file.
    pub(crate) file_bytes: u64,
    /// Files.
    pub(crate) store_files: u64,
    /// Bytes of text of all files.
    pub(crate) store_bytes: u64,
}

impl Quotas {
    /// No quotas.
    pub(crate) const NONE: Self =
        Self { file_bytes: u64::MAX, store_files: u64::MAX, store_bytes: u64::MAX };

    /// The lower ones of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            file_bytes: self.file_bytes.min(other.file_bytes),
            store_files: self.store_files.min(other.store_files),
            store_bytes: self.store_bytes.min(other.store_bytes),
        }
    }
}

impl SessionOptions {
    /// Starts from the defaults: 16 MiB a file, 1,000,000 files, 4 GiB of text, and the cache that sessions share.
    pub fn new() -> Self {
        let quotas = Quotas {
            file_bytes: limits::FILE_BYTES,
            store_files: limits::STORE_FILES,
            store_bytes: limits::STORE_BYTES,
        };
        Self { quotas, cache_bytes: None, idle_lock: None, outcome_timeout: OUTCOME_TIMEOUT }
    }

    /// Sets the most bytes of one file; 16 MiB by default.
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.quotas.file_bytes = bytes;
        self
    }

    /// Sets the most files in the store; 1,000,000 by default.
    pub fn max_files(mut self, files: u64) -> Self {
        self.quotas.store_files = files;
        self
    }

    /// Sets the most bytes of text in the store; 4 GiB by default.
    pub fn max_store_bytes(mut self, bytes: u64) -> Self {
        self.quotas.store_bytes = bytes;
        self
    }

    /// Sets the most bytes of decrypted nodes that this session caches, apart from all others, and the most bytes of
    /// notes on texts that were searched, which let later searches skip files. Both are wiped when it locks.
    ///
    /// By default a session caches 16 MiB at most, less in a store of many files, and within the bound that the sessions of
    /// a process share ([`set_shared_cache_bytes`](crate::set_shared_cache_bytes)). The notes of all sessions of a process
    /// take 40 MiB at most.
    pub fn max_cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = Some(bytes);
        self
    }

    /// Sets how long a change on a shared store may take to find out whether it is stored, if the connection is lost meanwhile;
    /// 30 seconds by default. Then it returns [`StoreError::CommitUnknown`](crate::StoreError::CommitUnknown).
    pub fn outcome_timeout(mut self, limit: Duration) -> Self {
        self.outcome_timeout = limit;
        self
    }

    /// Locks the session once it has been unused for this long; off by default.
    ///
    /// Time is measured by the monotonic and by the wall clock, so time in suspend counts. The lock comes at most one
    /// second late. It never interrupts a call in progress. [`Session::status`](crate::session::Session::status) does not count
    /// as use.
    pub fn idle_lock(mut self, after: Duration) -> Self {
        self.idle_lock = Some(after);
        self
    }
}

/// A failover of a database takes half a minute with usual settings.
const OUTCOME_TIMEOUT: Duration = Duration::from_secs(30);

impl Default for SessionOptions {
    fn default() -> Self {
        Self::new()
    }
}
