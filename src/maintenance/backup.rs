//! A backup of the store in another folder.

use std::path::Path;

use inmost_engines::local::LocalStorage;

use super::copy::{Uncached, strict};
use super::rewrite::write_generation;
use crate::session::generation::{FIRST_GENERATION, NextGeneration, write_headers};
use crate::session::{Session, StoreError, occupied};

impl Session {
    /// Writes a consistent copy of the store to a new folder. The copy opens with the same credentials, holds the same
    /// state, and has a data key of its own. Writers wait meanwhile; readers do not.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, copy) = (folder.path().join("claude.inmost"), folder.path().join("copy.inmost"));
    /// use inmost::{Passphrase, Vault};
    ///
    /// let passphrase = Passphrase::new("correct horse battery staple")?;
    /// let session = Vault::create(&path, &passphrase)?;
    /// session.files().write("/memories/notes.md", "Dig.\n")?;
    /// session.backup(&copy)?;
    ///
    /// let restored = Vault::open(&copy)?.unlock(&passphrase)?;
    /// assert_eq!(restored.files().read("/memories/notes.md")?.as_str(), "Dig.\n");
    /// # restored.lock();
    /// # session.lock();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`]; [`StoreError::Tampered`] if a live record is damaged; [`StoreError::Io`];
    /// [`StoreError::InMemory`] for a store in memory, which has no header to copy. On an error there is no copy, and
    /// this store is unchanged.
    ///
    /// # Security
    /// A purge of this store does not reach its backups. A keyslot that is removed from this store still opens them.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<(), StoreError> {
        self.backup_reporting(path.as_ref(), &mut |_| {})
    }

    pub(super) fn backup_reporting(
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
                let (from, root) = (Uncached(open), open.root());
                let written =
                    write_generation(&from, root, &storage, &next, &mut strict, progress)?;
                written.engine.close()?;
                open.anchor_copy(&storage, FIRST_GENERATION, &written.root, &written.root_value);
                write_headers(&storage, next.header())
            })?;
            storage.publish().map_err(occupied)?;
            Ok(())
        })
    }
}
