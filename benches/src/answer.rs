//! What a peer answers.

use std::error::Error;

/// The text for the model, or why there is none. A call of a trace that fails ends the benchmark: it would be timed for
/// work that it did not do.
pub type Answer = Result<String, Box<dyn Error + Send + Sync>>;
