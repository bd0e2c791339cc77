//! Encrypted memory store for AI agents: Claude's memory tool (`memory_20250818`) on an unlocked store, and nothing
//! readable on disk.
//!
//! # Which type for which need
//!
//! - [`Vault`] is a locked store in a folder; [`Vault::create`] makes one and [`Vault::unlock`] gives a [`Session`].
//!   [`VaultOptions`] sets what guessing and unlocking may cost; [`Vault::salvage`] is for a store too damaged to unlock.
//! - [`Session`] is an unlocked store, a cheap handle that threads share. [`Session::lock`] wipes the keys;
//!   [`Session::purge`], [`Session::backup`], [`Session::migrate`], [`Session::check`] and [`Session::repair`] look after it;
//!   [`Session::in_memory`] leaves nothing behind. [`SessionOptions`] sets quotas.
//! - [`MemoryTool`] answers an agent: JSON in, the exact text for the model out. [`Command`] is a call as a type.
//! - [`Files`] is for hosts that are not agents: read, write, list; its errors are [`FileError`].
//! - [`ToolError`] is what a model can act on, [`StoreError`] what the application must; neither becomes the other.
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
//! let result = memory.call(r#"{"command": "view", "path": "/memories"}"#)?;
//! assert!(result.content().ends_with("\n0B\t/memories"));
//! session.lock();
//! # Ok(())
//! # }
//! ```
//!
//! # Caution
//!
//! Whoever forgets the passphrase, and made no recovery key, has lost the store. While a session is unlocked, its
//! content is within reach of
//! whoever controls the process, and what an agent reads goes to its model. Old ciphertext outlives a deletion until
//! the next purge, and a whole folder that is put back from an older copy is noticed only with a [`FreshnessAnchor`] such as [`FileAnchor`].
//! Nobody outside the project has reviewed this code; SECURITY.md says what may be relied on. Calls block, for the
//! disk or for key derivation: in an asynchronous program they belong on a thread for blocking work.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod host;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod limits;
mod maintenance;
mod session;
mod tool;
mod vfs;

// Passphrases, and what guessing them costs.
pub use inmost_format::crypto::cost::{KdfCost, KdfLimits, KdfOutOfBounds};
pub use inmost_format::crypto::passphrase::{Passphrase, PassphraseError};
pub use inmost_format::crypto::rng::RandomnessFailed;

// What else opens a store, and the keyslots.
pub use inmost_format::crypto::keys::{Keyfile, RawKey, RecoveryKey};
pub use inmost_format::header::{
    Credential, KeyfileBytes, KeyfileError, LabelError, NewSlot, RecoveryKeyError, RecoveryKeyText,
    SlotInfo, SlotKind, SlotLabel,
};

// What an application holds: the memory tool and files, on a session or a key agent.
pub use host::{Files, MemoryTool, MemoryToolBuilder, Pages, ToolReply, UnlockedStore};

// The memory tool.
pub use tool::{
    ExceededQuota, ExpectedType, TOOL_DEFINITION, ToolCall, ToolCommand, ToolError, ToolOptions,
    ToolResult, ViewRange,
};

// Stores, locked and unlocked.
pub use session::{
    AnchorStatus, FileAnchor, FreshnessAnchor, Session, SessionOptions, SessionStatus,
    StorageEngine, StoreError, Vault, VaultOptions,
};

// What looks after a store.
pub use maintenance::{
    CheckReport, RepairReport, SalvageLoss, SalvageReport, StoreProblem, WithProgress,
};

// How far keys are kept out of swap and core dumps.
pub use inmost_format::secret::{Protections, harden_process, protections};

// Files, for hosts that are not agents.
pub use vfs::{
    EntryKind, FileError, FileText, FolderEntry, LineRange, Metadata, Page, PageCursor,
    SearchMatch, SearchQuery, WalkEntry, human_size,
};

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
