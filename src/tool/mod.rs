//! The memory tool as a model knows it: commands in, exact sentences out.

mod command;
mod error;
mod fields;
mod json;
mod parse;
mod result;
mod wording;

pub use command::{Command, ViewRange};
pub use error::{Expected, Full, ToolError};
pub use result::ToolResult;
