//! The requests that a client can send to the daemon.

pub(crate) mod conditional;
pub(crate) mod expiry;
pub(crate) mod file;
pub(crate) mod history;
pub(crate) mod keyslot;
pub(crate) mod maintenance;
pub(crate) mod search;
pub(crate) mod tool;
pub(crate) mod write_many;
