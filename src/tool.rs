//! The memory tool as a model knows it: takes commands and returns the exact texts of the contract.

mod call;
mod command;
mod commands;
mod error;
mod exceeded_quota;
mod expected_type;
mod failure;
mod fields;
mod for_model;
mod json;
mod options;
mod parse;
mod result;
mod screen;
#[cfg(feature = "serde")]
mod value;
mod wording;

pub use call::ToolCall;
pub use command::{ToolCommand, ViewRange};
pub(crate) use commands::run;
pub use error::ToolError;
pub use exceeded_quota::ExceededQuota;
pub use expected_type::ExpectedType;
pub use options::ToolOptions;
pub use result::ToolResult;
pub use screen::{Screen, ScreenFind, ScreenInput, ScreenVerdict};

/// The result of clearing the memory.
pub(crate) fn cleared() -> ToolResult {
    ToolResult::success(wording::cleared().to_owned().into())
}

/// The definition of the tool for a request to the model, as JSON.
pub const TOOL_DEFINITION: &str = r#"{"type": "memory_20250818", "name": "memory"}"#;
