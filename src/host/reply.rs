//! What came of a call of the memory tool.

use std::fmt;

use crate::session::StoreError;
use crate::tool::ToolResult;

/// What came of a call: what the model is told in any case, and beside it what the host must act on.
#[must_use]
pub struct ToolReply {
    result: ToolResult,
    store_error: Option<StoreError>,
}

impl ToolReply {
    pub(super) fn new(result: ToolResult, store_error: Option<StoreError>) -> Self {
        Self { result, store_error }
    }

    /// What to send to the model.
    #[must_use]
    pub fn result(&self) -> &ToolResult {
        &self.result
    }

    /// Why the store could not do what was asked; the model is told no more than that memory is locked or unavailable.
    #[must_use]
    pub fn store_error(&self) -> Option<&StoreError> {
        self.store_error.as_ref()
    }

    /// Both parts.
    #[must_use]
    pub fn into_parts(self) -> (ToolResult, Option<StoreError>) {
        (self.result, self.store_error)
    }

    /// The error of the store, if there was one, in place of what the model would be told.
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
