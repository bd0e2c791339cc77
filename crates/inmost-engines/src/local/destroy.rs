//! Destroys a store as completely as possible, even if its folder contains foreign files.

use std::io;

use super::{
    LocalStorage, SYNC, SYNC_FORGETS, anchor, ballast, header_file, overwritten, rewriting,
    set_aside,
};
use inmost_storage::{Storage, StorageError};

use crate::files;

impl LocalStorage {
    /// Removes the store.
    ///
    /// First both header copies are overwritten and synced, and those that are kept with generations that were set
    /// aside; without them nothing else can be decrypted. Then the other files are removed, the headers' names last, so that a store left by a crash is still
    /// recognised. Foreign files stay, and then so does the folder.
    ///
    /// # Errors
    /// The first error. It does not stop the removal: everything else that can be overwritten and removed is
    /// gone. Once the first header is overwritten, the store cannot be recovered.
    pub fn destroy(mut self) -> Result<(), StorageError> {
        let mut failed = None;
        let mut attempt = |outcome: Result<(), StorageError>| {
            if let Err(error) = outcome {
                failed.get_or_insert(error);
            }
        };
        for copy in header_file::COPIES {
            attempt(header_file::overwrite(&self.folder, copy));
            header_file::discard_draft(&self.folder, copy);
        }
        overwritten::overwrite(&self.folder.join(rewriting::NAME));
        rewriting::discard_draft(&self.folder);
        match self.set_aside_generations() {
            Ok(found) => {
                for it in &found {
                    set_aside::overwrite_header(&self.folder, it.number);
                }
                for it in found {
                    attempt(self.discard_set_aside(it.number));
                }
            }
            Err(error) => attempt(Err(error)),
        }
        match self.generations() {
            Ok(numbers) => {
                for number in numbers {
                    attempt(self.remove_generation(number));
                }
            }
            Err(error) => attempt(Err(error)),
        }
        let headers = header_file::COPIES.map(header_file::name);
        let files = [anchor::NAME, ballast::NAME, rewriting::NAME];
        for name in files.iter().chain(&SYNC_FILES).chain(&headers) {
            attempt(header_file::remove_if_there(&self.folder.join(name)).map_err(Into::into));
        }
        attempt(files::sync_folder(&self.folder).map_err(Into::into));
        let (lock, folder) = self.remove_folder();
        attempt(lock.map_err(Into::into));
        match folder {
            // The folder contains foreign files, or the path is a link to it.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory
                ) => {}
            removed => attempt(removed.map_err(Into::into)),
        }
        attempt(
            files::sync_folder(self.folder.parent().unwrap_or(&self.folder)).map_err(Into::into),
        );
        failed.map_or(Ok(()), Err)
    }
}

/// The files of synchronisation, and their drafts.
const SYNC_FILES: [&str; 4] = [SYNC, ".sync.new", SYNC_FORGETS, ".sync-forgets.new"];
