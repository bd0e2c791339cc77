//! The memory tool as a model knows it: takes commands and returns the exact texts of the contract.

mod command;
mod commands;
mod error;
mod failure;
mod fields;
mod json;
mod options;
mod parse;
mod result;
mod screen;
#[cfg(feature = "serde")]
mod value;
mod wording;

pub use command::{ToolCall, ToolCommand, ViewRange};
pub(crate) use commands::run;
pub use error::{ExceededQuota, ToolError};
pub use options::ToolOptions;
pub use result::ToolResult;
pub use screen::{Screen, ScreenFind, ScreenInput, ScreenVerdict};

/// The result of clearing the memory.
pub(crate) fn cleared() -> ToolResult {
    ToolResult::success(wording::cleared().to_owned().into())
}

/// The definition of the tool for a request to the model, as JSON.
pub const TOOL_DEFINITION: &str = r#"{"type": "memory_20250818", "name": "memory"}"#;
