//! What a folder and its journal need of the engine behind them, besides what every engine offers.

use std::path::Path;

use inmost_storage::{Address, Batch, Engine, EngineKind, Extent, StorageError};

/// An engine as [`LocalStorage`](crate::local::LocalStorage) uses it. A program passes a list of those that it has.
pub struct LocalKind {
    /// Its name in the header.
    pub kind: EngineKind,
    /// Creates an empty generation in a new folder.
    pub create: fn(&Path) -> Opened,
    /// Opens a generation whose files are as expected, and writes nothing if they are not.
    pub open: fn(&Path, &Expected<'_>) -> Opened,
    /// The last resort on a full disk: frees files that the engine can rebuild, and opens the generation.
    pub open_in_no_room: fn(&Path, &Expected<'_>) -> Opened,
    /// The most records in one batch of a checkpoint.
    pub batch_records: usize,
    /// The engine's index is brought up to date after this many batches of checkpoints.
    pub index_after: Option<u32>,
    /// The name of the file with its records.
    pub file: &'static str,
    /// Divides that file, of this length, into parts by the time of their writing. The number of the file is set later.
    pub written: fn(&mut ReadAt<'_>, u64) -> Vec<Extent>,
}

/// An engine that was created or opened.
pub type Opened = Result<Box<dyn LocalEngine>, StorageError>;

/// Reads the bytes of a file at an offset; zeros where it cannot.
pub type ReadAt<'a> = dyn FnMut(u64, &mut [u8]) + 'a;

/// A whole file of an engine that does not say when a part of it was written: after everything that the journal says is in
/// the engine, and before the rest of the journal.
#[must_use]
pub fn undated(length: u64) -> Vec<Extent> {
    vec![Extent { file: 0, offset: 0, length, written: 1 << 62, is_ordered: false }]
}

/// An engine with files on a local disk, behind a journal.
pub trait LocalEngine: Engine {
    /// Applies changes of which a crash may leave any part until the next [`sync`](Engine::sync), for a journal that can make
    /// them again. `expect` must be `None`. Returns whether the engine had to sync. The default applies the batch as a whole
    /// and syncs it.
    fn apply_loosely(&self, batch: &Batch) -> Result<bool, StorageError> {
        self.apply(batch)?;
        self.sync().map(|()| true)
    }

    /// Adds records to a new generation that nothing names yet: in the order of their addresses, and behind those that are
    /// there. A crash may leave any part of them until the next [`sync`](Engine::sync). The default applies them as a batch and
    /// syncs it.
    fn fill(&self, records: &[(Address, Vec<u8>)]) -> Result<(), StorageError> {
        self.apply(&Batch { puts: records.to_vec(), ..Batch::default() })?;
        self.sync()
    }

    /// Brings the index that the next opening uses up to date with what was synced. Readers need not wait. Returns whether that
    /// was possible; if not, closing the engine and opening it again does it. The default has no index.
    fn index(&self) -> Result<bool, StorageError> {
        Ok(true)
    }

    /// Returns the position of the last [`sync`](Engine::sync), for the next opening to verify. The default is the empty
    /// frontier.
    fn frontier(&self) -> Frontier {
        Frontier::default()
    }
}

/// A position in an engine's files, and a proof that what is before it is complete. All zeros for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frontier {
    /// Bytes of the engine's log, through all times. 0 for none.
    pub position: u64,
    /// What the engine compares with the files when it opens them.
    pub proof: [u8; 24],
}

/// What must hold of an engine's files, before anything writes to them.
#[derive(Clone, Copy)]
pub struct Expected<'a> {
    /// The last position that was known to be on the disk.
    pub frontier: Frontier,
    /// The bytes that the journal's mark begins with.
    pub mark: &'a [u8; 16],
    /// Decides about the mark, if it could be read without opening the files.
    pub admit: &'a Admit<'a>,
}

/// Takes the value of a mark, or `None` if it could not be read.
type Admit<'a> = dyn Fn(Option<&[u8]>) -> Result<(), StorageError> + 'a;

#[cfg(any(test, feature = "testing"))]
impl Expected<'static> {
    /// What holds of any sound files.
    #[must_use]
    pub fn anything() -> Self {
        Self { frontier: Frontier::default(), mark: &[0xFF; 16], admit: &|_| Ok(()) }
    }
}
