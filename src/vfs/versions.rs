//! Versions of files: what changed, the text then, and going back.
//!
//! The history has one entry for each change. Version n is the state that change n made, and the file's next change holds
//! its text. So a version is found by following the history forward from its entry, through renames of the file and of the
//! folders above it.

mod exchange;
mod files;
mod forget;
mod inside;
mod kinds;
mod list;
mod locate;
mod now;
mod past;
mod redact;
mod release;
mod restore;
mod rests;
mod returned;
mod set_aside;
mod texts;
mod types;
mod unkept;

pub(crate) use exchange::revert_together;
pub(crate) use forget::forget;
pub use kinds::{VersionChannel, VersionKind, VersionText};
pub(crate) use list::{list, status};
pub(crate) use locate::text;
pub(crate) use past::{below, moved};
pub(crate) use redact::redact;
pub(crate) use restore::{restore, revert};
pub use types::{HistoryStatus, UndoStep, VersionInfo, VersionPage, VersionQuery};
pub(crate) use unkept::{delete, drop_text};
