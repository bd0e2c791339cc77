//! Several devices: the memory stores of a person, kept in step through a folder, a bucket or a WebDAV server that nobody has to
//! trust.
//!
//! [`Sync`] is what a store takes part with: it publishes what was changed as sealed objects in a [`Place`], reads those of the other
//! devices, and shows what follows from all of them. No text that a device has published is lost: changes of different lines are
//! merged, and others are shown side by side, as conflict copies. docs/SYNC.md says what is promised and what is not.
//!
//! [`tree`] is the pure function behind it, from heads, the states that nothing known replaces, to files with texts and paths. It
//! uses no clock, locale, Unicode table or random number, so devices that know the same heads show the same files.
//! `tests/vectors.jsonl` has examples of it.

mod apply;
mod capture;
mod chains;
mod device;
mod diff;
mod error;
mod exchange;
mod forget;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod invitation;
mod merge;
mod names;
mod object;
mod place;
mod pool;
mod rules;
mod snapshot;
mod state_file;
mod store;
mod sync;
#[cfg(test)]
mod tests;
mod tree;

pub use chains::{Chains, Dot, LogId, Tag, Vector};
pub use error::SyncError;
pub use merge::merge;
pub use place::open::{is_remote, open_place};
pub use place::{FolderPlace, Place};
pub use sync::{Member, Report, Status, Sync};
pub use tree::{Base, FileHeads, FileId, Heads, PathHead, Text, TextHead, TreeFile, tree};
