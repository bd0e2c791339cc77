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
    /// A result with this text for the model, for implementations of [`UnlockedStore`](crate::UnlockedStore).
    #[must_use]
    pub fn new(content: String, is_error: bool) -> Self {
        Self { content: Wiped::new(content), is_error, tool_use_id: None }
    }

    /// The result of a call that did what was asked.
    pub(crate) fn success(content: Wiped<String>) -> Self {
        Self { content, is_error: false, tool_use_id: None }
    }

    /// The result of a call after which nothing has changed.
    pub(crate) fn failure(content: Wiped<String>) -> Self {
        Self { content, is_error: true, tool_use_id: None }
    }

    /// As the result of the `tool_use` block of this id.
    pub(crate) fn with_tool_use_id(mut self, id: Option<&str>) -> Self {
        self.tool_use_id = id.map(str::to_owned);
        self
    }

    /// The id of the `tool_use` block that this is the result of, if a whole block was sent and had one.
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

    /// The result as a `tool_result` block for a request to the model.
    ///
    /// # Security
    /// The caller wipes it.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings and a truth value; they cannot fail.
        serde_json::to_string(&Block::of(self)).unwrap_or_default()
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

/// A result in the form of a `tool_result` block.
#[derive(serde::Serialize)]
struct Block<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_use_id: Option<&'a str>,
    content: &'a str,
    is_error: bool,
}

impl<'a> Block<'a> {
    fn of(result: &'a ToolResult) -> Self {
        Self {
            r#type: "tool_result",
            tool_use_id: result.tool_use_id(),
            content: result.content(),
            is_error: result.is_error,
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for ToolResult {
    /// As a `tool_result` block.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Block::of(self).serialize(serializer)
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
    fn a_result_is_a_block_for_the_request() {
        let result = ToolResult::new("a \"b\"".to_owned(), true);
        let json = r#"{"type":"tool_result","content":"a \"b\"","is_error":true}"#;
        assert_eq!(result.to_json(), json);
        let result = result.with_tool_use_id(Some("toolu_1"));
        let json =
            r#"{"type":"tool_result","tool_use_id":"toolu_1","content":"a \"b\"","is_error":true}"#;
        assert_eq!(result.to_json(), json);
    }

    #[test]
    fn debug_shows_no_content() {
        let result = ToolResult::success("a secret".to_owned().into());
        assert_eq!(format!("{result:?}"), "ToolResult { is_error: false, .. }");
    }
}
