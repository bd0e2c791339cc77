//! The tests of the program once more, with a key agent that holds each store: commands do the same through it.
//!
//! Left out are those about what opens a store, which a command does not need here, those of what only a process can do
//! that has the store itself, and those of the agent. A test that is about such a thing among others locks its store first.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that meets the unexpected should stop there and say so"
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
#[path = "../program/first_session.rs"]
mod first_session;
#[path = "../program/freshness.rs"]
mod freshness;
#[path = "../program/grep.rs"]
mod grep;
#[path = "../program/inmost.rs"]
mod inmost;
#[path = "../program/keyslots.rs"]
mod keyslots;
#[path = "../program/reading.rs"]
mod reading;
#[path = "../program/rewrite.rs"]
mod rewrite;
#[path = "../program/transfer.rs"]
mod transfer;

/// Every store of these tests is unlocked by an agent as soon as it is made.
pub(crate) const WITH_AGENT: bool = true;
