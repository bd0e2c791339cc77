//! A store, locked ([`Vault`]) and unlocked ([`Session`]): commits, cache, keyslots and the rollback anchor.

pub(crate) mod anchor;
mod cache;
mod clock;
mod commit;
pub(crate) mod engines;
mod error;
mod expiry_settings;
mod forgets;
mod history_settings;
mod idle;
pub(crate) mod open;
mod options;
mod shared;
mod sync;
#[cfg(test)]
pub(crate) mod tests;
mod transaction;
mod upkeep;
mod vault;

pub use anchor::file_anchor::FileAnchor;
pub(crate) use anchor::freshness;
pub use anchor::{AnchorStatus, FreshnessAnchor, FreshnessMark};
pub(crate) use cache::notes::{SearchNotes, Trigrams};
pub use cache::set_shared_cache_bytes;
#[cfg(any(test, feature = "internals"))]
pub(crate) use clock::freeze_clock;
#[cfg(test)]
pub(crate) use clock::shift_clock;
#[cfg(feature = "internals")]
pub(crate) use clock::show_all;
pub(crate) use clock::{check_clock, milliseconds, now, time_of};
pub(crate) use commit::exclusive::Exclusive;
pub use commit::handle::{Session, SessionStatus};
pub use error::StoreError;
#[cfg(feature = "serde")]
pub(crate) use error::wire::phrase;
pub use expiry_settings::ExpirySettings;
pub(crate) use forgets::{Forgets, open_state, seal_state};
pub use history_settings::HistorySettings;
pub(crate) use open::Open;
pub(crate) use open::generation::{self, sealer};
pub(crate) use open::read_ahead::{ReadAhead, Scope};
pub(crate) use options::Quotas;
pub use options::{SessionOptions, StorageEngine};
pub(crate) use shared::renew_lease;
pub(crate) use transaction::Txn;
pub(crate) use transaction::overlay::VERSIONS_OF_GROUP;
pub(crate) use upkeep::{history, ledger, reap};
#[cfg(feature = "postgres")]
pub use vault::database::Postgres;
#[cfg(feature = "postgres")]
pub(crate) use vault::database::locate;
pub use vault::{Vault, VaultOptions};
pub(crate) use vault::{leftovers, occupied};
