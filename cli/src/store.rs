//! The open store that a command works on: a session of this process, or a client of the key daemon.

pub(crate) mod database;
mod holder;
pub(crate) mod naming;
pub(crate) mod no_store;
pub(crate) mod opening;
pub(crate) mod place;
pub(crate) mod restrictions;
pub(crate) mod sealed_copy;
pub(crate) mod unlocking;

pub(crate) use inmost_keyd::OpenStore;
