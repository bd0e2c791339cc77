//! Files that could not be saved under their own path.

use serde::Serialize;

/// The path in the damaged store, and the path that the file was saved under.
#[derive(Serialize)]
pub(super) struct Renamed {
    pub(super) from: String,
    pub(super) to: String,
}
