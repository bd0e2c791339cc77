//! The vault layer.

#[cfg(test)]
mod fixtures;
pub(crate) mod header;
pub(crate) mod label;
mod layout;
pub(crate) mod slots;
pub(crate) mod unlocked;
