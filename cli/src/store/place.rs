//! Where stores and what goes beside them may be. Nothing here opens one.

use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use inmost::StoreError;

use crate::args::PlaceArgs;
use crate::exit::{Exit, Failure};

impl PlaceArgs {
    /// Where the store is.
    pub(crate) fn place(&self) -> Result<PathBuf, Failure> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let folders = etcetera::choose_base_strategy().map_err(|_| {
            Failure::usage(
                "This system names no folder for the data of programs.",
                "Say where the store is, with --store or INMOST_STORE.",
            )
        })?;
        Ok(folders.data_dir().join("inmost").join("memory"))
    }
}

/// An anchor that is put back together with its store tells nothing.
pub(super) fn check_anchor(anchor: &Path, store: &Path) -> Result<(), Failure> {
    if is_inside(anchor, store) {
        return Err(Failure::usage(
            "The file given as anchor is in the folder of the store, and would be put back with it.",
            "Keep it elsewhere, best on another disk.",
        ));
    }
    if folder_of(anchor).is_dir() {
        return Ok(());
    }
    Err(Failure::usage(
        "The folder of the file given as anchor is not there.",
        "Check the path, or make that folder.",
    ))
}

/// Whether a place, taken or not, is in the folder `outer` or below it.
pub(crate) fn is_inside(place: &Path, outer: &Path) -> bool {
    match (folder_of(place).canonicalize(), outer.canonicalize()) {
        (Ok(folder), Ok(outer)) => folder.starts_with(outer),
        _ => false,
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Spares a person the choice of a passphrase for a store that cannot be made; the library decides.
pub(crate) fn check_vacant(place: &Path) -> Result<(), Failure> {
    let is_vacant = match fs::read_dir(place) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    if is_vacant { Ok(()) } else { Err(StoreError::AlreadyExists.into()) }
}

pub(crate) fn check_parent(place: &Path) -> Result<(), Failure> {
    if folder_of(place).is_dir() {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Io,
        "The folder in which the store should be made is not there.",
        "Make that folder first, or choose another place.",
    ))
}

/// The data folder may be new on a new machine; what we add to it is its owner's alone.
pub(super) fn make_data_folder(place: &Path) -> Result<(), Failure> {
    let Some(parent) = place.parent() else { return Ok(()) };
    let mut folder = DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.create(parent).map_err(|error| {
        Failure::io(
            "The data folder cannot be made",
            &error,
            "Say where the store should be, with --store or INMOST_STORE.",
        )
    })
}
