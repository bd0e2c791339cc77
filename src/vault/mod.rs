//! The store as a whole: locked and unlocked, its commits and what they leave behind.

mod cache;
mod commit;
mod create;
mod error;
mod open;
mod options;
mod overlay;
pub(crate) mod reap;
mod session;

pub(crate) use commit::Exclusive;
pub use error::StoreError;
pub(crate) use open::Open;
pub(crate) use options::Quotas;
pub use options::SessionOptions;
pub(crate) use overlay::Txn;
pub use session::{Session, Status};
