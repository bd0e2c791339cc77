//! A parsed tool call: its command or the error for the model.

use std::fmt;

use super::command::ToolCommand;
use super::error::ToolError;

/// A parsed call of the memory tool: its command, or the reason why it is invalid. It comes from JSON or, with the
/// feature `serde`, from any other source of a map.
pub struct ToolCall {
    pub(super) tool_use_id: Option<String>,
    pub(super) command: Result<ToolCommand, ToolError>,
}

impl ToolCall {
    /// The id of the `tool_use` block, if a whole block with an id was sent. It is known even if the call is refused.
    #[must_use]
    pub fn tool_use_id(&self) -> Option<&str> {
        self.tool_use_id.as_deref()
    }

    /// The command of the call.
    ///
    /// # Errors
    /// The reason why the call is invalid, in the tool's words for the model.
    pub fn command(&self) -> Result<&ToolCommand, &ToolError> {
        self.command.as_ref()
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall").finish_non_exhaustive()
    }
}
