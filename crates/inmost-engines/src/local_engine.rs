//! What a journal needs of the engine behind it, besides what every engine offers.

use inmost_storage::{Address, Batch, Engine, StorageError};

/// An engine with files on a local disk, behind a journal.
pub(crate) trait LocalEngine: Engine {
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
pub(crate) struct Frontier {
    /// Bytes of the engine's log, through all times. 0 for none.
    pub(crate) position: u64,
    /// What the engine compares with the files when it opens them.
    pub(crate) proof: [u8; 24],
}

/// What must hold of an engine's files, before anything writes to them.
#[derive(Clone, Copy)]
pub(crate) struct Expected<'a> {
    /// The last position that was known to be on the disk.
    pub(crate) frontier: Frontier,
    /// The bytes that the journal's mark begins with.
    pub(crate) mark: &'a [u8; 16],
    /// Decides about the mark, if it could be read without opening the files.
    pub(crate) admit: &'a Admit<'a>,
}

/// Takes the value of a mark, or `None` if it could not be read.
type Admit<'a> = dyn Fn(Option<&[u8]>) -> Result<(), StorageError> + 'a;

#[cfg(test)]
impl Expected<'static> {
    /// What holds of any sound files.
    pub(crate) fn anything() -> Self {
        Self { frontier: Frontier::default(), mark: &[0xFF; 16], admit: &|_| Ok(()) }
    }
}
