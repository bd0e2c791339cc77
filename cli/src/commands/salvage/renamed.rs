//! Files that could not be saved under their own path.

/// The path in the damaged store, and the path that the file was saved under.
pub(super) struct Renamed {
    pub(super) from: String,
    pub(super) to: String,
}
