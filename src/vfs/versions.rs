//! Versions of files: what changed, the text then, and going back.
//!
//! The history has one entry for each change. Version n is the state that change n made, and the file's next change holds
//! its text. So a version is found by following the history forward from its entry, through renames of the file and of the
//! folders above it.

mod entries;
mod exchange;
mod find;
mod forget;
mod forget_search;
mod info;
mod list;
mod restore;

pub(crate) use entries::{below, moved};
pub(crate) use exchange::revert_together;
pub(crate) use find::text;
pub(crate) use forget::{delete, forget, forget_before, forget_files, forget_first};
pub use info::{
    HistoryStatus, UndoStep, VersionChannel, VersionInfo, VersionKind, VersionPage, VersionQuery,
    VersionText,
};
pub(crate) use list::{list, status};
pub(crate) use restore::{restore, revert};
