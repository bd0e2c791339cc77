//! A client for the key daemon in a library: opens a store that `inmost unlock` holds, without a passphrase.
//!
//! A key daemon is a process in the background that holds a store unlocked for all programs of its user. A [`Client`] is a
//! connection to it. It is an [`UnlockedStore`](inmost::UnlockedStore), so [`Files`](inmost::Files) and
//! [`MemoryTool`](inmost::MemoryTool) work on it as they do on a session of this process.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use inmost::{Files, MemoryTool};
//! use inmost_keyd::Client;
//!
//! let client = Client::connect("claude.inmost")?.ok_or("Run `inmost unlock` first.")?;
//! println!("{}", Files::new(&client).read("/memories/todo.md")?.as_str());
//! let memory = MemoryTool::new(client);
//! let reply = memory.run_json(r#"{"command": "view", "path": "/memories"}"#);
//! # Ok(())
//! # }
//! ```
//!
//! The other half is the daemon itself: [`serve`] holds a store in this process; [`start`] starts another process of the
//! same program, which calls [`run_in_background`] and holds it there.
//!
//! # Security
//! The daemon listens on a socket, on Windows a named pipe, that only its user can access; both ends ask the system who is at
//! the other one. It holds keys, never a passphrase, and writes nothing to a
//! disk. Through it, every program of the user can do what it could do with the passphrase.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod address;
mod background;
mod body;
mod circle;
mod client;
mod connection;
mod error;
mod facts;
mod frame;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod open_store;
mod peer;
mod protocol;
mod request;
mod requests;
mod rounds;
mod running;
mod secret;
mod server;
mod stream;

pub use background::{run_in_background, start};
pub use circle::OpenSync;
pub use client::Client;
pub use connection::{ConnectOptions, lock, lock_all};
pub use error::DaemonError;
pub use facts::{DaemonFacts, DaemonOptions, Limits, SyncFacts};
pub use open_store::OpenStore;
pub use secret::{Secret, SlotOptions};
pub use server::serve;
