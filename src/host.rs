//! What an application holds: files and the memory tool on a store, whether this process has unlocked it or another one.

mod files;
mod memory_tool;
mod reply;
mod session;
mod store;

pub use files::{Files, Pages};
pub use memory_tool::{MemoryTool, MemoryToolBuilder};
pub use reply::ToolReply;
pub use store::UnlockedStore;
