//! Tests of the program from outside: arguments, streams and exit codes.
//!
//! What is about Unix runs there alone: signals, sockets, links, modes, terminals, descriptors and scripts of `sh`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test stops at an unexpected value"
)]
mod call;
mod commands;
mod conversation;
mod damage;
mod destroy;
mod edit;
mod expire;
mod failures;
mod first_session;
mod freshness;
#[cfg(target_os = "linux")]
mod full_disk;
mod grep;
mod hints;
mod history;
mod history_settings;
mod inmost;
mod interrupted;
#[cfg(unix)]
mod keyd;
mod keyslots;
mod limits;
#[cfg(unix)]
mod lists;
mod manners;
mod manual;
mod mcp;
#[cfg(unix)]
mod odd_files;
#[cfg(unix)]
mod passphrase;
mod passphrase_command;
#[cfg(unix)]
mod prompts;
mod reading;
mod readme;
mod rewrite;
mod search;
#[cfg(unix)]
mod streams;
mod sync;
mod terminal;
mod transfer;
mod waiting;

/// Every command opens its store itself here. `tests/with_keyd` runs the same tests with a key daemon.
pub(crate) const WITH_DAEMON: bool = false;
