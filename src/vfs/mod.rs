//! Paths, folders and files on top of a session; knows nothing of how the tool words things.

mod escape;
pub(crate) mod listing;
pub(crate) mod name;
pub(crate) mod path;
pub(crate) mod search;
pub(crate) mod text;
