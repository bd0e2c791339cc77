//! A copy of the store in a folder of its own.

use std::path::Path;

use inmost_engines::local::LocalStorage;

use super::copy::{CopyTree, strict};
use super::rewrite::write_generation;
use crate::session::anchor::{Anchor, Mark};
use crate::session::generation::{FIRST_GENERATION, NextGeneration, write_headers};
use crate::session::{Session, StoreError, occupied};

impl Session {
    /// Writes a consistent copy of the store to a new folder. It opens with the same credentials, holds the same state,
    /// and has a data key of its own. Writers wait meanwhile, readers do not.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`]; [`StoreError::Tampered`] if a live record is damaged; [`StoreError::Io`]. Then there is no
    /// copy, and this store is as it was. A store in memory has no header to copy: [`StoreError::InMemory`].
    ///
    /// # Security
    /// A purge of this store does not reach its backups, and a keyslot removed here still opens them.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<(), StoreError> {
        self.backup_telling(path.as_ref(), &mut |_| {})
    }

    pub(super) fn backup_telling(
        &self,
        path: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        self.exclusive(|_| {
            let storage = LocalStorage::create(path).map_err(occupied)?;
            self.read(|open| {
                let keys = open.keys().ok_or(StoreError::InMemory)?;
                let engine = keys.header().engine();
                let next = NextGeneration::generation(keys, FIRST_GENERATION, engine)?;
                let commit = open.root().commit;
                let copy: CopyTree<'_> = &mut strict;
                let written = write_generation(open, &storage, &next, commit, copy, progress)?;
                written.engine.close()?;
                let mark = Mark::of(commit, FIRST_GENERATION, &written.root_value);
                if let Some(mark) = mark {
                    Anchor::new(keys, None).remember(&storage, &mark);
                }
                write_headers(&storage, next.header())
            })?;
            storage.publish().map_err(occupied)?;
            Ok(())
        })
    }
}
