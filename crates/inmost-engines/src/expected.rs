//! What a journal knows about its engine before the engine opens its files.

use inmost_storage::{Frontier, StorageError};

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
