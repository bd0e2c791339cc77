//! The memory tool as a model knows it: commands in, exact sentences out.

mod command;
mod commands;
#[cfg(test)]
mod engine_tests;
mod error;
mod fields;
mod json;
mod memory_tool;
pub(crate) mod parse;
mod result;
mod wording;

pub use command::{Command, ViewRange};
pub use error::{Expected, Full, ToolError};
pub use memory_tool::{MemoryTool, MemoryToolBuilder};
pub use result::ToolResult;
