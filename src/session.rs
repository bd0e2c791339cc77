//! A store, locked ([`Vault`]) and unlocked ([`Session`]): commits, cache, keyslots and the rollback anchor.

pub(crate) mod anchor;
mod author;
mod cache;
mod clock;
mod commit;
mod create;
#[cfg(feature = "postgres")]
mod database;
mod error;
mod exclusive;
mod expiry_settings;
mod file_anchor;
#[cfg(test)]
mod format_example;
pub(crate) mod freshness;
pub(crate) mod generation;
mod group_commit;
mod handle;
pub(crate) mod history;
mod history_settings;
mod hosts;
mod idle;
mod idle_lock;
mod keyslots;
mod leader;
pub(crate) mod ledger;
pub(crate) mod leftovers;
mod node_cache;
pub(crate) mod open;
mod options;
mod overlay;
#[cfg(feature = "serde")]
mod phrase;
pub(crate) mod process;
mod queue;
mod read_ahead;
pub(crate) mod reap;
mod sealed_group;
mod series;
mod settle;
mod signatures;
#[cfg(test)]
pub(crate) mod tests;
mod trim;
mod txn;
mod unlock;
mod url;

pub use anchor::{AnchorStatus, FreshnessAnchor, FreshnessMark};
pub use cache::set_shared_cache_bytes;
#[cfg(any(test, feature = "internals"))]
pub(crate) use clock::freeze_clock;
#[cfg(test)]
pub(crate) use clock::shift_clock;
pub(crate) use clock::{milliseconds, now, time_of};
#[cfg(feature = "postgres")]
pub use database::Postgres;
pub use error::StoreError;
pub(crate) use exclusive::Exclusive;
pub use expiry_settings::ExpirySettings;
pub use file_anchor::FileAnchor;
pub(crate) use generation::sealer;
pub use handle::{Session, SessionStatus};
pub use history_settings::HistorySettings;
pub(crate) use hosts::{NewGeneration, is_taken, renew_lease};
pub(crate) use open::Open;
pub(crate) use options::Quotas;
pub use options::{SessionOptions, StorageEngine};
#[cfg(feature = "serde")]
pub(crate) use phrase::phrase;
pub(crate) use read_ahead::{ReadAhead, Scope};
pub(crate) use series::Series;
pub(crate) use signatures::{Signatures, Trigrams};
pub(crate) use txn::{Txn, VERSIONS_OF_GROUP};
pub(crate) use unlock::occupied;
pub use unlock::{Vault, VaultOptions};
