//! A copy of a store on read-only media, for commands that only read: an engine writes where it opens a store.
//!
//! The copied files are sealed as those of the store are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use inmost::StoreError;
use tempfile::TempDir;

use crate::exit::Failure;
use crate::{host_files, streams};

/// The copy that this process has made. It opens one store.
static COPY: Mutex<Option<TempDir>> = Mutex::new(None);

/// Whether a store could not be opened because nothing can be written where it is.
pub(super) fn is_needed(error: &StoreError) -> bool {
    matches!(error, StoreError::Io(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem)
}

/// Copies a store, and returns the place of the copy.
pub(super) fn make(store: &Path) -> Result<PathBuf, Failure> {
    let copied = || {
        let folder = tempfile::Builder::new().prefix("inmost-copy-").tempdir()?;
        let place = folder.path().join("store");
        copy(store, &place)?;
        *COPY.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
        Ok(place)
    };
    let place = copied().map_err(|error: io::Error| {
        let message = format!("{} is on read-only media, and cannot be copied", store.display());
        let advice =
            "Set TMPDIR to a folder with room for a copy of the store, which stays encrypted.";
        Failure::io(&message, &error, advice)
    })?;
    streams::hint(&format!(
        "{} is on read-only media: a copy of its encrypted files is read, and removed at the end.",
        store.display()
    ));
    Ok(place)
}

/// Removes the copy, after the store was closed.
pub(crate) fn remove() {
    drop(COPY.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Copies files and folders, and nothing else.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    host_files::make_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &to)?;
        } else if kind.is_file() {
            io::copy(&mut fs::File::open(entry.path())?, &mut host_files::create(&to)?)?;
        }
    }
    Ok(())
}
