//! Encrypted memory store for AI agents.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
#![allow(dead_code, reason = "layers land one after the other; removed with the last one")]

mod crypto;
mod limits;
mod record;
mod secret;
mod storage;
mod tool;
mod vault;
mod vfs;

pub use crypto::cost::{KdfCost, KdfLimits, KdfOutOfBounds};
pub use crypto::keys::{Keyfile, RawKey, RecoveryKey};
pub use crypto::passphrase::{Passphrase, PassphraseError};
pub use tool::{
    Command, Expected, Full, MemoryTool, MemoryToolBuilder, ToolError, ToolResult, ViewRange,
};
pub use vault::{
    AnchorStatus, CheckReport, Credential, FreshnessAnchor, KeyfileBytes, KeyfileError, LabelError,
    NewSlot, Problem, RecoveryKeyError, RecoveryKeyText, Session, SessionOptions, SlotInfo,
    SlotKind, SlotLabel, Status, StoreError, Vault, VaultOptions,
};
pub use vfs::{Entry, EntryKind, FileError, FileText, Files, Lost, SalvageReport};
