//! What a tool call should return.

/// The outcome of a tool call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// A success with exactly this text.
    Done(String),
    /// A failure with exactly this text.
    Failed(String),
    /// A failure whose text begins like this and continues with any reason.
    FailedFor(String),
}

impl Outcome {
    /// Returns whether the tool's result matches this outcome.
    pub(crate) fn is(&self, content: &str, is_error: bool) -> bool {
        match self {
            Self::Done(text) => !is_error && content == text,
            Self::Failed(text) => is_error && content == text,
            Self::FailedFor(start) => {
                is_error && content.strip_prefix(start.as_str()).is_some_and(|why| !why.is_empty())
            }
        }
    }
}
