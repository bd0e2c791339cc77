//! The vault layer.

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod format_example;
pub(crate) mod header;
pub(crate) mod label;
mod layout;
pub(crate) mod slots;
pub(crate) mod unlocked;
