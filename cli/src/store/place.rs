//! The paths of stores and of the files beside them. Nothing here opens a store.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy;
use inmost::{FileAnchor, VaultOptions};

use super::{OpenStore, database, naming};
use crate::args::{OpenArgs, PlaceArgs, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::{disk_usage, host_files};

impl PlaceArgs {
    /// The folder of the store.
    pub(crate) fn place(&self) -> Result<PathBuf, Failure> {
        if let Some(folder) = &self.folder {
            if let Some(url) = database::url(folder) {
                database::check(url)?;
            }
            return Ok(folder.clone());
        }
        let folders = etcetera::choose_base_strategy().map_err(|_| {
            Failure::usage(
                "This system has no data folder for programs.",
                "Give the folder of the store with --store or INMOST_STORE.",
            )
        })?;
        Ok(folders.data_dir().join("inmost").join("memory"))
    }
}

impl OpenArgs {
    /// The folder of the store.
    pub(crate) fn place(&self) -> Result<PathBuf, Failure> {
        self.place.place()
    }
}

impl StoreArgs {
    /// The folder of the store.
    pub(crate) fn place(&self) -> Result<PathBuf, Failure> {
        self.open.place()
    }

    /// Bytes that an open store takes on the disk, or in its database.
    pub(crate) fn stored_bytes(&self, store: &OpenStore) -> Result<u64, Failure> {
        match self.disk_bytes()? {
            Some(bytes) => Ok(bytes),
            None => Ok(store.status()?.disk_bytes),
        }
    }

    /// Bytes that the folder of the store takes on the disk; `None` for a store in a database.
    pub(crate) fn disk_bytes(&self) -> Result<Option<u64>, Failure> {
        let place = self.place()?;
        if database::url(&place).is_some() {
            return Ok(None);
        }
        disk_usage::allocated(&place).map(Some).map_err(|error| {
            let message = format!("The folder {} cannot be read", place.display());
            Failure::io(&message, &error, "Check the disk and the permissions of the folder.")
        })
    }
}

/// The options to open a store with.
pub(crate) fn vault_options(place: &Path, anchor: Option<&Path>) -> Result<VaultOptions, Failure> {
    let options = VaultOptions::new();
    let Some(anchor) = anchor else { return Ok(options) };
    check_anchor(anchor, place)?;
    Ok(options.freshness_anchor(Arc::new(FileAnchor::new(anchor))))
}

/// An anchor inside the store's folder would be rolled back together with the store, and detect nothing.
fn check_anchor(anchor: &Path, store: &Path) -> Result<(), Failure> {
    if is_inside(anchor, store) {
        return Err(Failure::usage(
            format!("The anchor file {} is in the folder of the store.", anchor.display()),
            "Keep it outside, so that it is not rolled back together with the store.",
        ));
    }
    if parent(anchor).is_dir() {
        return Ok(());
    }
    Err(Failure::usage(
        format!("The folder of the anchor file {} does not exist.", anchor.display()),
        "Check the path, or create that folder.",
    ))
}

/// Whether a path, existing or not, is inside the folder `outer`.
pub(crate) fn is_inside(place: &Path, outer: &Path) -> bool {
    match (parent(place).canonicalize(), outer.canonicalize()) {
        (Ok(folder), Ok(outer)) => folder.starts_with(outer),
        _ => false,
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Checks that nothing exists at the path, so that an error is reported before the prompt for a passphrase. The library
/// checks it again.
pub(crate) fn check_vacant(place: &Path) -> Result<(), Failure> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    // Below a file there is nothing, and `check_parent` names the file.
    let is_vacant = match fs::read_dir(place) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == NotFound => true,
        Err(error) if error.kind() == NotADirectory => fs::symlink_metadata(place).is_err(),
        Err(error) => {
            return Err(Failure::io(
                &format!("{} cannot be used", place.display()),
                &error,
                "Choose another path, or check the permissions of its folders.",
            ));
        }
    };
    if is_vacant { Ok(()) } else { Err(naming::taken(place)) }
}

/// Checks that the folder that is to contain `place` exists.
pub(crate) fn check_parent(place: &Path) -> Result<(), Failure> {
    let parent = parent(place);
    if parent.is_dir() {
        return Ok(());
    }
    if parent.exists() {
        return Err(Failure::new(
            Exit::Io,
            format!("{} is not a folder.", parent.display()),
            "Choose another path.",
        ));
    }
    Err(Failure::new(
        Exit::Io,
        format!("The folder {} does not exist.", parent.display()),
        "Create it first, or choose another path.",
    ))
}

/// Creates the folders above a new store. What is created belongs to its owner alone.
pub(super) fn make_parents(place: &Path) -> Result<(), Failure> {
    let parent = parent(place);
    host_files::make_folder(parent).map_err(|error| {
        if let Err(failure @ Failure::Error { .. }) = check_parent(place)
            && parent.exists()
        {
            return failure;
        }
        Failure::io(
            &format!("The folder {} cannot be created", parent.display()),
            &error,
            "Choose another folder for the store, with --store or INMOST_STORE.",
        )
    })
}
