//! Several devices, no server: what a store shows after its devices have exchanged their changes.
//!
//! [`tree`] is a pure function from heads, the states that nothing known replaces, to files with texts and paths. It uses no
//! clock, locale, Unicode table or random number, so devices that know the same heads show the same files. docs/SYNC.md
//! specifies it for a second implementation, and `tests/vectors.json` has examples of it.

mod chains;
mod diff;
mod merge;
mod names;
mod tree;

pub use chains::{Chains, Dot, LogId, Tag, Vector};
pub use merge::merge;
pub use tree::{Base, FileHeads, FileId, Heads, PathHead, Text, TextHead, TreeFile, tree};
