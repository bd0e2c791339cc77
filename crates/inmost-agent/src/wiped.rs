//! Bytes that are wiped on drop.

/// A buffer for text and secrets.
pub(crate) type Wiped = inmost::Wiped<Vec<u8>>;
