//! The bounds of the tool and of a session, each with its reason.

use inmost_format::limits::CHUNK_BYTES;

/// Bytes in one path segment, so that a name is always a small part of a folder node.
pub(crate) const SEGMENT_BYTES: usize = 255;
/// Bytes of a canonical path, `/memories/` included. Equal to the limit of the hosted memory stores, so data can move
/// there.
pub(crate) const PATH_BYTES: usize = 1_024;
/// Lines that `view` numbers at most: the documented limit of the tool.
pub(crate) const VIEW_LINES: u64 = 999_999;
/// Characters of file text that an unranged `view` shows before it cuts, by default.
pub(crate) const VIEW_CHARACTERS: usize = 16_000;
/// Characters of file text that a ranged `view` shows before it cuts, by default.
pub(crate) const RANGE_CHARACTERS: usize = 64_000;
/// Entries that a folder listing shows before it cuts, by default. The first line is not counted.
pub(crate) const LISTING_ENTRIES: usize = 1_000;
/// Bytes of one file, by default.
pub(crate) const FILE_BYTES: u64 = 16 << 20;
/// Files in one store, by default.
pub(crate) const STORE_FILES: u64 = 1_000_000;
/// Bytes of text in one store, by default.
pub(crate) const STORE_BYTES: u64 = 4 << 30;
/// Bytes of earlier texts that a history keeps, by default.
pub(crate) const HISTORY_BYTES: u64 = 256 << 20;
/// Bytes of decoded nodes that a session keeps, by default.
pub(crate) const CACHE_BYTES: usize = 16 << 20;
/// What the session of a store with many files keeps of that at least.
pub(crate) const CACHE_BYTES_LEAST: usize = 4 << 20;
/// Bytes by which each file of a store lowers [`CACHE_BYTES`]. The index of the engine grows by more than that: with 1,000,000 files,
/// sled takes 55 MiB before anything is read.
pub(crate) const INDEX_BYTES_OF_FILE: usize = 12;
/// Bytes of decoded nodes that the sessions of a process keep together, by default: a few busy sessions, or the paths to
/// the files of a thousand.
pub(crate) const SHARED_CACHE_BYTES: usize = 64 << 20;
/// Bytes of what searches note of texts that the sessions of a process keep together: signatures of 100,000 files of 2 KiB, or the
/// terms of 20,000.
pub(crate) const SEARCH_NOTES_BYTES: usize = 40 << 20;
/// Bytes of text that one ordinary call may add or remove; more is written in steps. Together with the path to it, this
/// stays within the part of a batch that calls may use.
pub(crate) const STAGE_BYTES: usize = 32 << 10;
/// Bytes of text in one step of a long write: full chunks that fit in one batch.
pub(crate) const STAGE_STEP_BYTES: usize = 20 * CHUNK_BYTES;
/// Bytes of text on each side of a change that a screen looks at, and that may not change meanwhile: a secret that a model writes
/// in two pieces is seen as a whole. A side may be shorter by a part of a character.
pub(crate) const SURROUNDING_BYTES: u64 = 4 << 10;
