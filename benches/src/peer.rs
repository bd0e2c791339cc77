//! The interface that all peers share.

use crate::answer::Answer;

/// A store that executes the calls of the tool, durably.
pub trait Peer: Send + Sync {
    /// Executes one call, given as JSON text, and returns the text for the model. A change is on the disk by then.
    ///
    /// # Errors
    /// Every failure, and every refusal that the model would read as an error.
    fn call(&self, json: &str) -> Answer;

    /// Returns the whole text of a file, or `None` from a peer that keeps no text.
    ///
    /// # Errors
    /// If there is no such file.
    fn text(&self, path: &str) -> Option<Answer>;
}
