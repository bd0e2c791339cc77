//! Entry points for applications: files and the memory tool, on a store that this process or another one has unlocked.

mod clear;
#[cfg(test)]
mod engine_tests;
mod expiry;
mod files;
#[cfg(test)]
mod forgetful_tests;
mod history;
mod memory_tool;
mod reply;
mod session;
#[cfg(test)]
mod shared_tests;
mod store;
mod synced;
mod unlock;

pub use expiry::{Expiry, ExpiryStore};
pub use files::{Files, Pages};
pub use history::{History, HistoryStore, UndoPlan, Undone};
pub use memory_tool::MemoryTool;
pub use reply::ToolReply;
pub use store::UnlockedStore;
pub use synced::NumberedFile;
