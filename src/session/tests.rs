//! Tests of the whole store, from its header down, against tampering and interruptions.

mod anchor;
mod close;
mod folder;
mod header;
mod leftovers;
mod protections;
pub(crate) mod store;
mod succession;
mod unlock;
pub(crate) mod watched;
