//! The reply to one call of the memory tool.

use std::fmt;

use crate::session::StoreError;
use crate::tool::ToolResult;

/// The reply to a call: always a result for the model, and the store's error if the store failed.
#[must_use]
pub struct ToolReply {
    result: ToolResult,
    store_error: Option<StoreError>,
}

impl ToolReply {
    pub(super) fn new(result: ToolResult, store_error: Option<StoreError>) -> Self {
        Self { result, store_error }
    }

    /// The result to send to the model.
    #[must_use]
    pub fn result(&self) -> &ToolResult {
        &self.result
    }

    /// The reason why the store failed. The model reads only that memory is locked or unavailable, or
    /// that it is unknown whether a change was made.
    #[must_use]
    pub fn store_error(&self) -> Option<&StoreError> {
        self.store_error.as_ref()
    }

    /// Returns both parts.
    #[must_use]
    pub fn into_parts(self) -> (ToolResult, Option<StoreError>) {
        (self.result, self.store_error)
    }

    /// Returns the result, or the store's error if there is one.
    ///
    /// # Errors
    /// [`store_error`](ToolReply::store_error).
    pub fn into_result(self) -> Result<ToolResult, StoreError> {
        self.store_error.map_or(Ok(self.result), Err)
    }
}

impl fmt::Debug for ToolReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolReply")
            .field("result", &self.result)
            .field("store_error", &self.store_error)
            .finish()
    }
}
