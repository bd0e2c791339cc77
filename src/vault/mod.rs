//! The store as a whole: locked and unlocked, its header and keyslots, its commits and what they leave behind.

mod anchor;
mod cache;
mod check;
mod commit;
mod company;
mod copy;
mod create;
mod credential;
mod error;
#[cfg(test)]
mod export;
mod file_anchor;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod format_example;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzz;
mod header;
mod idle;
mod keyfile;
mod keyslots;
mod label;
mod layout;
mod open;
mod options;
mod overlay;
mod raw;
pub(crate) mod reap;
mod recovery;
mod repair;
mod rewrite;
mod session;
mod slots;
#[cfg(test)]
pub(crate) mod tests;
mod trials;
mod unlock;
mod unlocked;

pub use anchor::{AnchorStatus, FreshnessAnchor};
pub(crate) use check::list;
pub use check::{CheckReport, Problem};
pub(crate) use commit::Exclusive;
pub use credential::{Credential, NewSlot, SlotKind};
pub use error::StoreError;
pub use file_anchor::FileAnchor;
pub use keyfile::{KeyfileBytes, KeyfileError};
pub use keyslots::SlotInfo;
pub use label::{LabelError, SlotLabel};
pub(crate) use open::Open;
pub(crate) use options::Quotas;
pub use options::{SessionOptions, StorageEngine};
pub(crate) use overlay::Txn;
pub(crate) use raw::RawStore;
pub use recovery::{RecoveryKeyError, RecoveryKeyText};
pub use repair::RepairReport;
pub use session::{Session, Status};
pub use unlock::{Vault, VaultOptions};
