//! The result of a tool call, for the model.

use super::error::ToolError;
use inmost_format::secret::Wiped;
use std::fmt;

/// The content of a tool result, and whether it reports a failure.
///
/// It is wiped on drop unless the content is taken out. `Debug` does not show it.
pub struct ToolResult {
    content: Wiped<String>,
    is_error: bool,
    tool_use_id: Option<String>,
}

impl ToolResult {
    /// Creates a result with this text for the model, for implementations of [`UnlockedStore`](crate::UnlockedStore).
    #[must_use]
    pub fn new(content: String, is_error: bool) -> Self {
        Self { content: Wiped::new(content), is_error, tool_use_id: None }
    }

    /// The result of a successful call.
    pub(crate) fn success(content: Wiped<String>) -> Self {
        Self { content, is_error: false, tool_use_id: None }
    }

    /// The result of a failed call, which has changed nothing.
    pub(crate) fn failure(content: Wiped<String>) -> Self {
        Self { content, is_error: true, tool_use_id: None }
    }

    /// Sets the id of the `tool_use` block that this is the result of.
    pub(crate) fn with_tool_use_id(mut self, id: Option<&str>) -> Self {
        self.tool_use_id = id.map(str::to_owned);
        self
    }

    /// The id of the `tool_use` block that this is the result of, if a whole block with an id was sent.
    #[must_use]
    pub fn tool_use_id(&self) -> Option<&str> {
        self.tool_use_id.as_deref()
    }

    /// The text for the model.
    #[must_use]
    pub fn content(&self) -> &str {
        &self.content
    }

    /// Whether the tool result must be marked as an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The result as a `tool_result` block for a request to the model, as JSON.
    ///
    /// # Security
    /// The caller must wipe the text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings and booleans always serialize.
        serde_json::to_string(&Block::of(self)).unwrap_or_default()
    }

    /// Takes the text for the model without a copy.
    ///
    /// # Security
    /// The caller must wipe the text.
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
    /// Serializes the result as a `tool_result` block.
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
