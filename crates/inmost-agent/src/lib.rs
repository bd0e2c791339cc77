//! A client for the key agent in a library: opens a store that `inmost unlock` holds, without a passphrase.
//!
//! A key agent is a process in the background that holds a store unlocked for all programs of its user. A [`Client`] is a
//! connection to it. It is an [`UnlockedStore`](inmost::UnlockedStore), so [`Files`](inmost::Files) and
//! [`MemoryTool`](inmost::MemoryTool) work on it as they do on a session of this process.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use inmost::{Files, MemoryTool};
//! use inmost_agent::Client;
//!
//! let client = Client::connect("claude.inmost")?.ok_or("Run `inmost unlock` first.")?;
//! println!("{}", Files::new(&client).read("/memories/todo.md")?.as_str());
//! let memory = MemoryTool::new(client);
//! let reply = memory.run_json(r#"{"command": "view", "path": "/memories"}"#);
//! # Ok(())
//! # }
//! ```
//!
//! The other half is the agent itself: [`serve`] holds a store in this process; [`start`] starts another process of the
//! same program, which calls [`run_in_background`] and holds it there. Systems without Unix sockets have no key agent.
//!
//! # Security
//! The agent listens on a socket that only its user can access. It holds keys, never a passphrase, and writes nothing to a
//! disk. Through it, every program of the user can do what it could do with the passphrase.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

#[cfg(unix)]
mod address;
#[cfg(unix)]
mod background;
mod client;
#[cfg(unix)]
mod connection;
mod error;
mod facts;
#[cfg(unix)]
mod frame;
mod message;
mod open_store;
#[cfg(unix)]
mod peer;
#[cfg(unix)]
mod protocol;
mod request;
mod requests;
mod secret;
#[cfg(unix)]
mod server;
mod texts;
#[cfg(not(unix))]
mod unsupported;
mod wiped;
mod wire_path;

#[cfg(unix)]
pub use background::{run_in_background, start};
pub use client::{Client, ConnectOptions};
#[cfg(unix)]
pub use connection::{lock, lock_all};
pub use error::AgentError;
pub use facts::{AgentFacts, AgentOptions, Limits};
pub use open_store::OpenStore;
pub use secret::{Secret, SlotOptions};
#[cfg(unix)]
pub use server::serve;
#[cfg(not(unix))]
pub use unsupported::{lock, lock_all, run_in_background, serve, start};
