//! The interface that all peers share.

use std::error::Error;

/// The text for the model, or the reason for its absence.
///
/// A failed call of a trace ends the benchmark, because its time would count for work that was not done.
pub type CallResult = Result<String, Box<dyn Error + Send + Sync>>;

/// A store that executes the calls of the tool, durably.
pub trait Peer: Send + Sync {
    /// Executes one call, given as JSON text, and returns the text for the model. A change is then on the disk.
    ///
    /// # Errors
    /// Every failure, and every refusal that the model would read as an error.
    fn call(&self, json: &str) -> CallResult;

    /// Returns the whole text of a file, or `None` from a peer that keeps no text.
    ///
    /// # Errors
    /// If the file does not exist.
    fn text(&self, path: &str) -> Option<CallResult>;
}
