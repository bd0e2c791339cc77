//! What the model reads in place of an error of the store.

use super::result::ToolResult;
use super::wording;
use crate::session::StoreError;

impl StoreError {
    /// What the model reads in place of this error: whether the store is locked, and nothing else of the reason.
    #[must_use]
    pub fn for_model(&self) -> ToolResult {
        self.for_model_with(None)
    }

    /// The same with a sentence of the host on how a locked store is unlocked.
    pub(crate) fn for_model_with(&self, locked_hint: Option<&str>) -> ToolResult {
        ToolResult::failure(match self {
            Self::Locked => wording::locked(locked_hint),
            Self::OutcomeUnknown => wording::outcome_unknown().to_owned().into(),
            _ => wording::unavailable().to_owned().into(),
        })
    }
}
