//! Encrypted memory store for AI agents. Agents use Claude's memory tool (`memory_20250818`) unchanged; everything it
//! stores is encrypted on disk.
//!
//! # Which type for which need
//!
//! - [`Vault`] is a locked store in a folder. [`Vault::create`] makes a store, [`Vault::open`] finds one and
//!   [`Vault::unlock`] returns a [`Session`]. [`VaultOptions`] sets the cost of key derivation and the limits on it.
//!   [`Vault::salvage`] extracts files from a damaged store, and [`Vault::repair`] rebuilds it from what is left.
//! - [`VaultOptions::open_url`] opens a store that several hosts share in a `PostgreSQL` database, in builds with the feature
//!   `postgres`; an application with many of them keeps one `Postgres`, a pool of connections.
//! - [`Session`] is an unlocked store: a cheap handle that threads share. [`Session::lock`] wipes the keys.
//!   [`Session::purge`], [`Session::backup`], [`Session::migrate`] and [`Session::check`] maintain the
//!   store, and [`Session::set_aside`] lists records that were kept. [`Session::in_memory`] makes a store that never
//!   touches the disk. [`SessionOptions`] sets quotas.
//! - [`MemoryTool`] runs an agent's calls: it takes JSON and returns the exact text for the model. [`ToolCommand`] is a
//!   call as a type. A [`Screen`], such as that of the crate `inmost-screen`, looks at what the model writes before it is saved.
//! - [`Files`] is for programs that are not agents: read, write, list, search. Its errors are [`FileError`].
//! - [`History`] lists changes, brings earlier texts back and forgets them; [`Expiry`] deletes files that nobody uses. Both are
//!   off by default.
//! - [`UnlockedStore`] is the trait below both of them, for a store that another process has unlocked: the
//!   crate `inmost-keyd` connects to one.
//! - [`ToolError`] is an error that the model can act on; [`StoreError`] is one that the application must act on.
//!   Neither converts into the other.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("claude.inmost");
//! use inmost::{MemoryTool, Passphrase, Vault};
//!
//! let passphrase = Passphrase::new("correct horse battery staple")?;
//! # Vault::create(&path, &passphrase)?.lock();
//! let session = Vault::open(&path)?.unlock(&passphrase)?;
//! let memory = MemoryTool::new(session.clone());
//! let result = memory.try_run_json(r#"{"command": "view", "path": "/memories"}"#)?;
//! assert!(result.content().ends_with("\n0B\t/memories"));
//! session.lock();
//! # Ok(())
//! # }
//! ```
//!
//! # Caution
//!
//! If the passphrase is forgotten and no other keyslot was added, the store is lost. While a session is unlocked, anyone
//! who controls the process can read its content, and everything an agent reads is sent to its model. Deleted text that
//! the history does not keep stays on disk as ciphertext until the next [`Session::compact`] or [`Session::purge`].
//! Replacing the whole folder by an older copy is detected only with a [`FreshnessAnchor`] such as [`FileAnchor`]. Nobody
//! outside the project has reviewed this code; SECURITY.md says what may be relied on.
//!
//! Calls block, on the disk or on key derivation. In an asynchronous program, run them on a thread for blocking work.
//!
//! # Features
//!
//! `redb` adds a second engine for stores in folders, `postgres` stores in a database, and `serde` the serialization of reports
//! and facts. `ring` encrypts the same bytes with ring instead of the crate chacha20poly1305, which is faster. All are off by
//! default.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod api;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod limits;
mod maintenance;
mod printable;
mod session;
mod tool;
mod vfs;

// Passphrases and the cost of guessing them.
pub use inmost_format::crypto::cost::{KdfCost, KdfLimits, KdfOutOfBounds};
pub use inmost_format::crypto::passphrase::{Passphrase, PassphraseError};
pub use inmost_format::crypto::rng::RandomnessFailed;

// Other credentials, and the keyslots.
pub use inmost_format::crypto::keys::{Keyfile, RawKey, RecoveryKey};
pub use inmost_format::header::{
    Credential, KeyfileBytes, KeyfileError, LabelError, NewSlot, RecoveryKeyError, RecoveryKeyText,
    SlotInfo, SlotKind, SlotLabel,
};

// Entry points: the memory tool and files, on a session or a key daemon.
pub use api::{
    Expiry, ExpiryStore, Files, History, HistoryStore, MemoryTool, Pages, ToolReply, UndoPlan,
    Undone, UnlockedStore,
};

// The memory tool.
pub use tool::{
    ExceededQuota, TOOL_DEFINITION, ToolCall, ToolCommand, ToolError, ToolOptions, ToolResult,
    ViewRange,
};

// Screening of what a model writes.
pub use tool::{Screen, ScreenFind, ScreenInput, ScreenVerdict};

// Stores, locked and unlocked.
pub use session::{
    AnchorStatus, ExpirySettings, FileAnchor, FreshnessAnchor, FreshnessMark, HistorySettings,
    Session, SessionOptions, SessionStatus, StorageEngine, StoreError, Vault, VaultOptions,
    set_shared_cache_bytes,
};

// Stores in a PostgreSQL database.
#[cfg(feature = "postgres")]
pub use inmost_postgres::{
    InvalidVaultId, PasswordFileError, PostgresConfig, PostgresUrl, Schema as PostgresSchema,
    SchemaError as PostgresSchemaError, ServerFacts, UrlError as PostgresUrlError, VaultId,
};
#[cfg(feature = "postgres")]
pub use session::Postgres;

// Reports of maintenance.
pub use maintenance::{
    BackupInfo, BackupOptions, BackupReport, Backups, CheckReport, OlderVersion, RecoveryReport,
    SetAside, StoreProblem, VerifiedCopy,
};

// Protection of keys against swap and core dumps.
pub use inmost_format::secret::{Protections, harden_process, protections};

// Buffers of the key daemon and the program. Not for users: without any promise of semver.
#[doc(hidden)]
pub use inmost_format::secret::Wiped;

// Files with their numbers. For synchronisation: without any promise of semver.
#[doc(hidden)]
pub use api::NumberedFile;

// Escapes what a terminal would obey. For the key daemon and the program: without any promise of semver.
#[doc(hidden)]
pub use printable::{is_unprintable, printable};

// Files, for programs that are not agents.
pub use vfs::{
    EntryKind, ExpiredFile, ExpiryHindrance, ExpiryReport, ExpiryStatus, FileError, FileText,
    FileVersion, FolderEntry, HistoryStatus, LineRange, Metadata, NewFile, Page, PageCursor,
    Precondition, RankQuery, Ranked, RankedFile, SearchMatch, SearchQuery, UndoStep,
    VersionChannel, VersionInfo, VersionKind, VersionPage, VersionQuery, VersionText, WalkEntry,
    WriteOutcome, human_size,
};

/// Runs the examples of the README and of the page on the library as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../docs/LIBRARY.md")]
struct Readme;
