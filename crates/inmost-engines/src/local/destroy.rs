//! The end of a store: as much of it as can be, whatever lies in its folder.

use std::fs;
use std::io;
use std::path::Path;

use super::{LocalStorage, anchor, ballast, header_file, lock};
use inmost_storage::{Storage, StorageError};

use crate::files;

impl LocalStorage {
    /// Removes the store: first both header copies are overwritten and synced, without which nothing else can be opened,
    /// then the rest goes, the headers' names last, so that what a crash leaves is still known for a store. Files
    /// that are not the store's stay, and then its folder too.
    ///
    /// # Errors
    /// The first there was. It stops nothing: whatever else can be overwritten and removed is gone. Once the first
    /// header is overwritten there is no way back.
    pub fn destroy(self) -> Result<(), StorageError> {
        let mut failed = None;
        let mut attempt = |outcome: Result<(), StorageError>| {
            if let Err(error) = outcome {
                failed.get_or_insert(error);
            }
        };
        for copy in header_file::COPIES {
            attempt(header_file::overwrite(&self.folder, copy));
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
        for name in [anchor::NAME, ballast::NAME].iter().chain(&headers) {
            attempt(remove_if_there(&self.folder.join(name)).map_err(Into::into));
        }
        attempt(files::sync_folder(&self.folder).map_err(Into::into));
        // The lock goes while still held: whoever opened it meanwhile sees that its name is gone.
        attempt(remove_if_there(&self.folder.join(lock::NAME)).map_err(Into::into));
        match fs::remove_dir(&self.folder) {
            // Something of somebody else is in it, or the place is a link to it.
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

fn remove_if_there(path: &Path) -> io::Result<()> {
    header_file::refuse_folder(path)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
