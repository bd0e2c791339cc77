//! Bytes that are wiped on drop.

/// A path of the memory: names are as private as texts.
pub(crate) type WipedPath = inmost::Wiped<String>;

/// A buffer for text and secrets.
pub(crate) type Wiped = inmost::Wiped<Vec<u8>>;
