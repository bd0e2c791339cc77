//! A backup of the store in another folder, which can be read back.

use std::path::Path;
use std::sync::Arc;

use inmost_engines::local::LocalStorage;
use inmost_format::record::node::Root;
use inmost_storage::{EngineKind, HeaderCopy, Storage};

use super::copy::strict;
use super::rewrite::{Versions, write_generation};
use crate::session::engines::LOCAL;
use crate::session::generation::{FIRST_GENERATION, NextGeneration, write_headers};
use crate::session::{ReadAhead, Session, StoreError, occupied};

impl Session {
    /// Writes a consistent copy of the store to a new folder. The copy opens with the same credentials, holds the same
    /// files, and has a data key of its own. It has no versions and no record of readings;
    /// [`backup_with_versions`](Session::backup_with_versions) copies both. Writers wait meanwhile; readers do not.
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
        self.write_copy(path.as_ref(), Versions::Drop, &mut |_| {}).map(drop)
    }

    /// As [`backup`](Session::backup), with the versions that the store keeps and its record of readings. Then reads the copy back
    /// from its files: opens it with its own keys, authenticates every record, and compares the files and bytes with those that
    /// were copied. No passphrase is needed for that.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, copy) = (folder.path().join("claude.inmost"), folder.path().join("copy.inmost"));
    /// # let passphrase = inmost::Passphrase::new("correct horse battery staple")?;
    /// # let session = inmost::Vault::create(&path, &passphrase)?;
    /// session.files().write("/memories/notes.md", "Dig.\n")?;
    /// let verified = session.backup_with_versions(&copy)?;
    /// assert_eq!((verified.files, verified.bytes), (1, 5));
    /// # session.lock();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`backup`](Session::backup), and [`StoreError::CopyNotVerified`] if the copy was written but does not read
    /// back. The copy is still there then. This store is unchanged.
    pub fn backup_with_versions(&self, path: impl AsRef<Path>) -> Result<VerifiedCopy, StoreError> {
        self.backup_with_versions_reporting(path.as_ref(), &mut |_| {})
    }

    /// As [`backup_with_versions`](Session::backup_with_versions), with a callback that gets the number of records written, then the number read.
    /// It must not use the session: a store that several hosts share is locked meanwhile, and it would wait for itself.
    ///
    /// # Errors
    /// Those of [`backup_with_versions`](Session::backup_with_versions).
    pub fn backup_with_versions_reporting(
        &self,
        path: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<VerifiedCopy, StoreError> {
        verified(self.write_copy(path, Versions::Keep, progress)?, path, progress)
    }

    /// Writes and publishes a copy. The exclusive access ends with it.
    fn write_copy(
        &self,
        path: &Path,
        versions: Versions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<WrittenCopy, StoreError> {
        self.exclusive(|_| {
            let storage = LocalStorage::create(path, LOCAL).map_err(occupied)?;
            let (next, root) = self.read_everything(|open| {
                let keys = open.keys().ok_or(StoreError::InMemory)?;
                // What is in a database is copied to a folder, with the default engine.
                let engine = match keys.header().engine() {
                    EngineKind::Sled | EngineKind::Redb => keys.header().engine(),
                    EngineKind::Postgres | EngineKind::Memory => EngineKind::Sled,
                };
                let next = NextGeneration::generation(keys, FIRST_GENERATION, engine)?;
                let (from, root) = (ReadAhead::once(open), versions.root(open.root()));
                let written =
                    write_generation(&from, &root, &storage, &next, &mut strict, &mut *progress)?;
                written.engine.close()?;
                open.anchor_copy(&storage, FIRST_GENERATION, &written.root, &written.root_value);
                write_headers(&storage, next.header())?;
                Ok::<_, StoreError>((next, open.root().clone()))
            })?;
            let storage = storage.publish().map_err(occupied)?;
            Ok(WrittenCopy { storage, next, root })
        })
    }
}

/// Verifies a copy, with an error that names it.
fn verified(
    written: WrittenCopy,
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<VerifiedCopy, StoreError> {
    written.verify(progress).map_err(|why| StoreError::CopyNotVerified {
        copy: path.display().to_string(),
        why: why.to_string(),
    })
}

/// A copy that was read back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VerifiedCopy {
    /// Records that were read and authenticated.
    pub records: u64,
    /// Files in the copy.
    pub files: u64,
    /// Bytes of text in the copy.
    pub bytes: u64,
}

impl VerifiedCopy {
    /// Reads all of a copy, compares it with the root of what was copied, and locks it.
    pub(super) fn read(
        copy: &Session,
        root: &Root,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self, StoreError> {
        let report = copy.check_reporting(progress)?;
        let commit = copy.status()?.commit;
        copy.lock();
        let differs = |how| Err(StoreError::Tampered { what: "the copy", how });
        if !report.is_readable() {
            return differs("has records that cannot be read");
        }
        if (report.files, report.bytes, commit) != (root.files, root.bytes, root.commit) {
            return differs("holds other files than the store");
        }
        Ok(Self { records: report.records, files: report.files, bytes: report.bytes })
    }
}

/// A copy in its place, and what it should hold.
struct WrittenCopy {
    storage: LocalStorage,
    next: NextGeneration,
    /// The root of the store that was copied.
    root: Root,
}

impl WrittenCopy {
    /// Reads the copy back from its files.
    fn verify(self, progress: &mut dyn FnMut(u64)) -> Result<VerifiedCopy, StoreError> {
        let Self { storage, next, root } = self;
        // Everything is synced, so what is read now comes from the disk and not from the memory of the system. Best
        // effort: not every system does so.
        storage.forget_cached();
        for copy in [HeaderCopy::A, HeaderCopy::B] {
            // Equal bytes have the same keyslots, the same sealed data key and a MAC that verifies.
            if storage.read_header(copy)?.as_deref() != Some(next.header()) {
                return Err(StoreError::HeaderDamaged);
            }
        }
        let mac = next.sealer.journal();
        let engine = storage.open_generation_with(next.generation, next.engine, mac)?;
        let copy = Session::of_copy(Arc::new(storage), engine, next.sealer)?;
        VerifiedCopy::read(&copy, &root, progress)
    }
}

#[cfg(test)]
mod tests;
