//! A call of the tool as far as it could be read.

use std::fmt;

use super::command::ToolCommand;
use super::error::ToolError;

/// A call of the memory tool as far as it could be read, from JSON or, with the feature `serde`, from any other source of
/// a map.
pub struct ToolCall {
    pub(super) tool_use_id: Option<String>,
    pub(super) command: Result<ToolCommand, ToolError>,
}

impl ToolCall {
    /// The id of the `tool_use` block, if a whole block was sent and had one; known also if the call is refused.
    #[must_use]
    pub fn tool_use_id(&self) -> Option<&str> {
        self.tool_use_id.as_deref()
    }

    /// The command that was read.
    ///
    /// # Errors
    /// Why the call is not one, in the words for the model.
    pub fn command(&self) -> Result<&ToolCommand, &ToolError> {
        self.command.as_ref()
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall").finish_non_exhaustive()
    }
}
