//! The store as a whole, from its header down, against tampering and interruptions.

pub(crate) mod store;
