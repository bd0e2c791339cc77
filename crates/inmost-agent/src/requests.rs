//! The requests: what a client of the agent can ask for.

pub(crate) mod file;
pub(crate) mod keyslot;
pub(crate) mod maintenance;
pub(crate) mod search;
pub(crate) mod tool;
