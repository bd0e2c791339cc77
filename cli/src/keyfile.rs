//! Keyfiles on the host's disk: reading one, and creating a new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use inmost::Keyfile;

use crate::exit::Failure;
use crate::host_files;

/// Reads an existing keyfile. A link is followed: it may lead to a removable disk.
pub(crate) fn read(path: &Path) -> Result<Keyfile, Failure> {
    let read = File::open(path).and_then(Keyfile::read).map_err(|error| {
        let message = format!("The keyfile {} cannot be read", path.display());
        Failure::io(&message, &error, "Check the path and its permissions.")
    })?;
    read.map_err(|error| {
        let message = format!("Invalid keyfile {}: {error}.", path.display());
        Failure::usage(message, "Check that it is the right file.")
    })
}

/// Reads the keyfile at a path, or creates a new one if nothing is there. Never overwrites a file.
pub(crate) fn read_or_create(path: &Path) -> Result<Keyfile, Failure> {
    let mut file = match host_files::create(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return read(path),
        Err(error) => return Err(cannot_write(path, &error)),
    };
    let created = (|| {
        let keyfile = Keyfile::generate()?;
        let bytes = keyfile.to_bytes();
        // Synced before the store needs it: a crash must not leave a store whose keyfile is lost.
        file.write_all(bytes.expose())
            .and_then(|()| file.sync_all())
            .and_then(|()| host_files::sync_parent(path))
            .map_err(|error| cannot_write(path, &error))?;
        Ok(keyfile)
    })();
    if created.is_err() {
        let _ = fs::remove_file(path);
    }
    created
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    let message = format!("The keyfile {} cannot be written", path.display());
    Failure::io(&message, error, "Choose a folder that you can write to.")
}
