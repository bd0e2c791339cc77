//! The native half of the npm package `inmost`: the store, its files, its history and the memory tool, as promises.
//!
//! Every call that can block runs on a thread of libuv. A failed call rejects with an object (`errors.rs`), which the
//! TypeScript half in `lib/` makes an exception. That half also checks arguments, and has the documentation that users
//! read. Nothing here is public API.
#![allow(unsafe_code, reason = "the macros of napi generate it, and one conversion needs it")]
#![allow(clippy::needless_pass_by_value, reason = "napi converts arguments to owned values")]
#![allow(
    unreachable_pub,
    missing_docs,
    reason = "napi needs public items; the TypeScript half documents them"
)]
#![allow(clippy::trivially_copy_pass_by_ref, reason = "napi lends `Env` by reference to tasks")]
#![cfg_attr(
    test,
    allow(dead_code, reason = "napi registers nothing in tests, which are in JavaScript")
)]

mod credential;
mod errors;
mod expiry;
mod files;
mod history;
mod options;
mod pages;
mod place;
mod progress;
mod records;
mod store;
mod sync;
mod task;
mod text;
mod tool;
mod upkeep;
