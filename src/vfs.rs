//! Paths, folders and files on top of a session. This layer contains none of the tool's texts for the model.

pub(crate) mod arrange;
mod change;
pub(crate) mod conditional;
pub(crate) mod edit;
mod entry;
mod error;
mod escape;
pub(crate) mod expire;
pub(crate) mod file;
mod file_text;
mod folder;
pub(crate) mod grep;
pub(crate) mod guard;
pub(crate) mod list;
pub(crate) mod listing;
pub(crate) mod many;
pub(crate) mod name;
mod new_file;
mod new_text;
mod page;
pub(crate) mod path;
mod precondition;
pub(crate) mod rank;
pub(crate) mod replace;
#[cfg(test)]
mod samples;
pub(crate) mod search;
mod staged;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod text;
pub(crate) mod versions;
pub(crate) mod walk;

pub use entry::{EntryKind, FolderEntry, Metadata};
pub use error::FileError;
pub use expire::{ExpiredFile, ExpiryHindrance, ExpiryReport, ExpiryStatus};
pub use file::LineRange;
pub use file_text::FileText;
pub use grep::{SearchMatch, SearchQuery};
pub use listing::human_size;
pub use new_file::{NewFile, WriteOutcome};
pub use page::{Page, PageCursor};
pub use precondition::{FileVersion, Precondition};
pub use rank::{RankQuery, Ranked, RankedFile};
pub use versions::{
    HistoryStatus, UndoStep, VersionChannel, VersionInfo, VersionKind, VersionPage, VersionQuery,
    VersionText,
};
pub use walk::WalkEntry;
