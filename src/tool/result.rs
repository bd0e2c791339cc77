//! What goes back to the model.

use super::error::ToolError;
use inmost_format::secret::Wiped;
use std::fmt;

/// The content of a tool result, and whether it reports a failure.
///
/// Wiped on drop unless the content is taken out. `Debug` does not show it.
pub struct ToolResult {
    content: Wiped<String>,
    is_error: bool,
    tool_use_id: Option<String>,
}

impl ToolResult {
    /// The answer to a call that did what was asked.
    pub(crate) fn success(content: Wiped<String>) -> Self {
        Self { content, is_error: false, tool_use_id: None }
    }

    /// The answer to a call after which nothing has changed.
    pub(crate) fn failure(content: Wiped<String>) -> Self {
        Self { content, is_error: true, tool_use_id: None }
    }

    /// As the answer to the `tool_use` block of this id.
    pub(crate) fn with_tool_use_id(mut self, id: Option<String>) -> Self {
        self.tool_use_id = id;
        self
    }

    /// The id of the `tool_use` block that this answers, if a whole block was sent and had one.
    #[must_use]
    pub fn tool_use_id(&self) -> Option<&str> {
        self.tool_use_id.as_deref()
    }

    /// The text for the model.
    #[must_use]
    pub fn content(&self) -> &str {
        &self.content
    }

    /// Whether the tool result is to be marked as an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The text for the model, without a copy.
    ///
    /// # Security
    /// From here on wiping it is up to the caller.
    #[must_use]
    pub fn into_content(mut self) -> String {
        std::mem::take(&mut *self.content)
    }
}

impl From<ToolError> for ToolResult {
    fn from(error: ToolError) -> Self {
        Self::failure(error.sentence())
    }
}

impl fmt::Debug for ToolResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolResult").field("is_error", &self.is_error).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_the_text_of_its_error() {
        let result = ToolResult::from(ToolError::ReadOnly);
        assert!(result.is_error());
        assert_eq!(result.content(), "Error: Memory is read-only.");
        assert_eq!(result.into_content(), "Error: Memory is read-only.");
    }

    #[test]
    fn debug_shows_no_content() {
        let result = ToolResult::success("a secret".to_owned().into());
        assert_eq!(format!("{result:?}"), "ToolResult { is_error: false, .. }");
    }
}
