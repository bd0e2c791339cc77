//! Paths, folders and files on top of a session; knows nothing of how the tool words things.

pub(crate) mod arrange;
pub(crate) mod edit;
mod error;
mod escape;
pub(crate) mod file;
mod files;
mod folder;
pub(crate) mod list;
pub(crate) mod listing;
pub(crate) mod name;
pub(crate) mod path;
pub(crate) mod rope;
#[cfg(test)]
mod samples;
pub(crate) mod search;
mod staged;
pub(crate) mod subtree;
#[cfg(test)]
mod tests;
pub(crate) mod text;

pub use error::FileError;
pub use files::{Entry, EntryKind, FileText, Files};
