//! Internals for this workspace's own fuzz targets. Not for users; semver does not cover them.
//!
//! The feature `internals` adds this module, and a clock that a thread can stop through it. It changes nothing else. Each
//! item wraps one internal function, in types of `std`, of `inmost-format` or of the public API, so nothing else in the
//! crate has to be public.
#![allow(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "the only callers are the fuzz targets"
)]

use std::sync::Arc;

use inmost_format::crypto::passphrase::Passphrase;
use inmost_format::record::node::{File, Node, Root};
use inmost_format::record::{NodeSource, ObjectId, RecordError, RecordId, Tag};
use inmost_format::secret::Wiped;
use inmost_storage::{Address, EngineKind, Storage};

pub use crate::session::anchor::fuzzed::{OpenAnchor, recode_slot, seal_slot};
use crate::session::{
    Open, Session, StoreError, Vault, VaultOptions, freeze_clock, show_all as show_all_versions,
};
use crate::vfs::FileError;
use crate::vfs::file;
use crate::vfs::listing::{self, Item};
use crate::vfs::path::{self, MemoryPath};
use crate::vfs::search::{Occurrences, SearchResult, Searcher};
use crate::vfs::text::{self, Extent, Shown};

// Stores on a storage that the caller chooses.

/// Writes a new store.
pub fn create(
    options: &VaultOptions,
    storage: &dyn Storage,
    passphrase: &Passphrase,
) -> Result<(), StoreError> {
    options.fill(storage, EngineKind::Memory, passphrase).map(drop)
}

/// Opens a store.
pub fn open(options: &VaultOptions, storage: Arc<dyn Storage>) -> Result<Vault, StoreError> {
    options.open_storage(storage)
}

/// Sets whether versions whose time is over count for this thread, as far as they are still there.
pub fn show_all(shows: bool) {
    show_all_versions(shows);
}

/// Stops the clock of this thread at a time, in milliseconds since 1970. Changes that this thread makes have this time.
pub fn stop_clock(milliseconds: u64) {
    freeze_clock(milliseconds);
}

/// Runs `work` on the committed state, which does not change meanwhile.
pub fn read<T>(session: &Session, work: impl FnOnce(&Committed<'_>) -> T) -> Result<T, StoreError> {
    session.read_once(|open| Ok(work(&Committed(open))))
}

/// The committed state of an unlocked store.
pub struct Committed<'a>(&'a Open);

impl Committed<'_> {
    /// The root.
    pub fn root(&self) -> &Root {
        self.0.root()
    }

    /// Whether the engine has a record of this name.
    pub fn is_stored(&self, id: RecordId) -> Result<bool, StoreError> {
        let values = self.0.engine().get_many(&[self.address(id)]).map_err(StoreError::from)?;
        Ok(values.iter().flatten().count() > 0)
    }

    /// The address of a record.
    pub fn address(&self, id: RecordId) -> Address {
        self.0.sealer().address(id)
    }
}

impl NodeSource for Committed<'_> {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        self.0.load(id, tag)
    }
}

// Tool calls and paths.

/// A canonical path.
pub struct Path(MemoryPath);

impl Path {
    /// Parses a path.
    pub fn parse(sent: &str) -> Result<Self, FileError> {
        Ok(Self(MemoryPath::parse(sent)?))
    }

    /// The text of the path.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The names below the root.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.segments()
    }

    /// The number of names.
    pub fn depth(&self) -> usize {
        self.0.depth()
    }

    /// The folder that contains the path; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        self.0.parent().map(Self)
    }

    /// Whether `folder` is this path or one of its ancestors.
    pub fn starts_with(&self, folder: &Self) -> bool {
        self.0.starts_with(&folder.0)
    }
}

/// A path as error messages show it.
pub fn echo(sent: &str) -> &str {
    path::echo(sent)
}

// Views and listings.

/// The part of a text that a view shows.
#[derive(PartialEq, Eq)]
pub struct Cut<'t> {
    /// The text to show.
    pub text: &'t str,
    /// The number of the last line shown, if whole lines after it are missing.
    pub last_line: Option<u64>,
    /// The characters of the first line and how many of them are shown, if not even one whole line fits.
    pub part_of_line: Option<(u64, u64)>,
}

/// Cuts a text to `limit` characters. Its first line has the number `first`.
pub fn cut(requested: &str, first: u64, limit: usize) -> Cut<'_> {
    let text::Cut { text, shown } = text::cut(requested, first, limit);
    let (last_line, part_of_line) = match shown {
        Shown::All => (None, None),
        Shown::Lines { last } => (Some(last), None),
        Shown::PartOfFirstLine { characters, shown } => (None, Some((characters, shown))),
    };
    Cut { text, last_line, part_of_line }
}

/// The number of pieces after which a lazy reader can stop, because more cannot change the [`cut`].
pub fn enough_pieces(pieces: &[String], limit: usize) -> Option<usize> {
    let mut extent = Extent::default();
    let last = pieces.iter().position(|piece| extent.is_enough_after(piece, limit));
    last.map(|last| last.saturating_add(1))
}

/// The number of lines.
pub fn count_lines(text: &str) -> u64 {
    text::count_lines(text)
}

/// The first lines, and the number of `\n` in them.
pub fn first_lines(text: &str, lines: u64) -> (&str, u64) {
    text::first_lines(text, lines)
}

/// Numbered lines, and the size of the buffer that a view reserves for them.
pub fn number_lines(first: u64, text: &str) -> (String, usize) {
    let mut out = String::new();
    text::number_lines(first, text, &mut out);
    (out, text::numbered_size(text))
}

/// The text that `insert` splices in. `at_open_end` means the end of a file without a final `\n`.
pub fn insertion(text: &str, at_open_end: bool) -> Wiped<String> {
    text::insertion(text, at_open_end)
}

/// The line of an entry in a folder's listing, with the `\n` before it. The entry lies in the sub-folder `between`, or
/// directly in the viewed folder.
pub fn listing_line(
    viewed: &Path,
    between: Option<&str>,
    name: &str,
    is_folder: bool,
    bytes: u64,
) -> String {
    let mut out = Wiped::new(String::new());
    let item = Item { folder: between, name, is_folder, bytes };
    listing::push_item(&viewed.0, &item, &mut out);
    std::mem::take(&mut *out)
}

// Ropes.

/// Reads the lines of a range, until a view of `limit` characters is certain to be cut.
pub fn read_lines(
    source: &impl NodeSource,
    object: ObjectId,
    head: &File,
    range: (u64, u64),
    limit: usize,
) -> Result<Wiped<String>, RecordError> {
    file::lines(source, object, head, range, limit)
}

/// The hits of a search.
pub struct Hits {
    /// The offset and line of each hit, overlapping ones included.
    pub all: Vec<(u64, u64)>,
    /// The only hit, which an edit may replace.
    pub only: Option<(u64, u64)>,
    /// The lines that an edit's error names if there are several hits; at most 100.
    pub lines_of_several: Vec<u64>,
}

/// Searches a text that arrives in pieces. Returns `None` for an empty needle.
pub fn search(needle: &str, pieces: &[String]) -> Option<Hits> {
    let mut searcher = Searcher::new(needle)?;
    let (mut all, mut occurrences) = (Vec::new(), Occurrences::default());
    for piece in pieces {
        searcher.feed(piece.as_bytes(), |hit| {
            all.push((hit.offset, hit.line));
            occurrences.add(hit);
        });
    }
    let (only, lines_of_several) = match occurrences.result() {
        SearchResult::Nowhere => (None, Vec::new()),
        SearchResult::Once(hit) => (Some((hit.offset, hit.line)), Vec::new()),
        SearchResult::Several { lines, .. } => (None, lines),
    };
    Some(Hits { all, only, lines_of_several })
}
