//! Internal crate of `inmost`, for this workspace only. It promises no semantic versioning.
//!
//! Vaults in a `PostgreSQL` database that several hosts share.
//!
//! A [`Server`] is the bounded pool of connections of a process, for all of its vaults. [`PostgresStorage`] is one vault in it.
//! The server sees ciphertext only. What it returns is checked for length here, and authenticated above.
//!
//! Every statement names its tables with their schema, is unnamed, and depends on no setting of its connection, so connection
//! pools in transaction mode work. Calls block, and have a deadline. It ends a call by closing the socket: a commit that is
//! cancelled while it waits for a standby would be reported as a success.

#![allow(
    clippy::missing_errors_doc,
    reason = "every failure is a StorageError, which says what it means"
)]

mod bare;
mod config;
mod connection;
mod engine;
mod failure;
mod generation;
mod login;
mod opening;
mod password;
mod place;
mod plain;
mod pool;
mod rows;
mod schema;
mod statements;
mod storage;
#[cfg(test)]
mod tests;
mod tls;
mod transaction;
mod url;
mod vault_id;

pub use config::PostgresConfig;
pub use password::PasswordFileError;
pub use pool::{Server, ServerFacts};
pub use schema::{Schema, SchemaError};
pub use storage::PostgresStorage;
pub use url::{PostgresUrl, UrlError};
pub use vault_id::{InvalidVaultId, VaultId};
