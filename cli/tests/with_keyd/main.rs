//! Runs the tests of the program with a key daemon that holds each store: commands must behave the same through it.
//!
//! Tests of credentials, of work that needs the store in the same process, and of the daemon itself are left out. A test
//! that does such work among other things locks its store first.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test stops at an unexpected value"
)]
#![allow(dead_code, reason = "what they share has parts that only the other tests use")]

#[path = "../program/call.rs"]
mod call;
#[path = "../program/commands.rs"]
mod commands;
#[path = "../program/conversation.rs"]
mod conversation;
#[path = "../program/damage.rs"]
mod damage;
#[path = "../program/expire.rs"]
mod expire;
#[path = "../program/first_session.rs"]
mod first_session;
#[path = "../program/freshness.rs"]
mod freshness;
#[path = "../program/grep.rs"]
mod grep;
#[path = "../program/history.rs"]
mod history;
#[path = "../program/inmost.rs"]
mod inmost;
#[path = "../program/interrupted.rs"]
mod interrupted;
#[path = "../program/keyslots.rs"]
mod keyslots;
#[path = "../program/reading.rs"]
mod reading;
#[path = "../program/rewrite.rs"]
mod rewrite;
#[path = "../program/sync.rs"]
mod sync;
#[path = "../program/transfer.rs"]
mod transfer;

/// A key daemon holds every store from its creation.
pub(crate) const WITH_DAEMON: bool = true;
