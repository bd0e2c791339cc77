//! The store as a whole: locked and unlocked, its header and keyslots, its commits and what they leave behind.

mod cache;
mod commit;
mod create;
mod error;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod format_example;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzz;
mod header;
mod label;
mod layout;
mod open;
mod options;
mod overlay;
pub(crate) mod reap;
mod session;
mod slots;
mod unlock;
mod unlocked;

pub(crate) use commit::Exclusive;
pub use error::StoreError;
pub(crate) use open::Open;
pub(crate) use options::Quotas;
pub use options::SessionOptions;
pub(crate) use overlay::Txn;
pub use session::{Session, Status};
pub use unlock::{Vault, VaultOptions};
