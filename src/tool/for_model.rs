//! The texts that the model reads in place of a store error.

use super::result::ToolResult;
use super::wording;
use crate::session::StoreError;

impl StoreError {
    /// The result that the model reads in place of this error. It reports a locked store or an unknown outcome, and no
    /// other reason.
    #[must_use]
    pub fn for_model(&self) -> ToolResult {
        self.for_model_with(None)
    }

    /// As [`for_model`](Self::for_model), with the host's sentence on how to unlock a locked store.
    pub(crate) fn for_model_with(&self, locked_hint: Option<&str>) -> ToolResult {
        ToolResult::failure(match self {
            Self::Locked => wording::locked(locked_hint),
            Self::OutcomeUnknown | Self::CommitUnknown => {
                wording::outcome_unknown().to_owned().into()
            }
            _ => wording::unavailable().to_owned().into(),
        })
    }
}
