//! Moves a new store to its final place, and removes the folder of a store. Both depend on what a system does with a folder
//! in which a file is open.

use std::fs;
use std::io;
use std::sync::Arc;

use super::anchor::AnchorFile;
use super::ballast::Ballast;
use super::folder::{self, check_vacant};
use super::lock::{self, Lock};
use super::{LocalStorage, creation, header_file, watch};
use crate::files;
use inmost_storage::StorageError;

impl LocalStorage {
    /// Moves a new store to its final place, durably, and keeps holding its lock. Never replaces an existing
    /// store.
    ///
    /// Every engine must be closed before, because engines keep paths.
    ///
    /// # Errors
    /// `AlreadyExists` if the place has been taken in the meantime. Nothing there has changed. [`StorageError::InUse`]
    /// on Windows only, if another process opened the store as soon as it was there. The store is complete.
    pub fn publish(self) -> Result<Self, StorageError> {
        self.publish_with(cfg!(windows))
    }

    /// [`publish`](Self::publish); `let_go` says that no file in the folder may be open while it moves. Windows refuses to
    /// rename a folder otherwise ([MS-FSA] 2.1.5.15.11).
    pub fn publish_with(mut self, let_go: bool) -> Result<Self, StorageError> {
        let Some(target) = self.target.clone() else { return Ok(self) };
        files::sync_folder(&self.folder)?;
        check_vacant(&target)?;
        if let_go {
            self.let_go();
        }
        let moved = folder::rename(&self.folder, &target);
        if moved.is_ok() {
            self.folder.clone_from(&target);
            // The anchor is opened again, by its new path.
            self.anchor = AnchorFile::default();
            self.ballast = Arc::new(Ballast::of(&target));
            self.target = None;
        }
        let held = self.hold();
        moved?;
        held?;
        self.watched = watch(&self.folder)?;
        files::sync_folder(target.parent().unwrap_or(&target))?;
        Ok(self)
    }

    /// Closes every file that is open in the folder, and so releases the lock.
    pub fn let_go(&mut self) {
        self.anchor = AnchorFile::default();
        self.lock = None;
    }

    /// Takes the lock again if it was released.
    pub fn hold(&mut self) -> Result<(), StorageError> {
        if self.lock.is_none() {
            self.lock = Some(Lock::take(&self.folder)?);
        }
        Ok(())
    }

    /// Removes the lock file and the folder. Returns the error of the folder, if it stays.
    pub(super) fn remove_folder(&mut self) -> (io::Result<()>, io::Result<()>) {
        if cfg!(windows) {
            // There the name of an open file may stay until it is closed, and the folder with it.
            self.let_go();
        }
        // Elsewhere it is removed while it is locked: a process that opened it meanwhile finds the name gone.
        let lock = header_file::remove_if_there(&self.folder.join(lock::NAME));
        (lock, fs::remove_dir(&self.folder))
    }
}

impl Drop for LocalStorage {
    /// Removes a store that was never published. A forked child leaves it to its parent.
    fn drop(&mut self) {
        if self.lock.as_ref().is_some_and(Lock::is_ours)
            && self.target.is_some()
            && creation::clear_except_lock(&self.folder).is_ok()
        {
            let _ = self.remove_folder();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_whose_place_was_taken_while_it_moved_leaves_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("my.store");
        let mut storage = LocalStorage::create(&path, &[]).unwrap();
        storage.let_go();
        fs::write(&path, b"mine").unwrap();
        assert!(folder::rename(&storage.folder, &path).is_err());
        storage.hold().unwrap();
        drop(storage);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }
}
