//! Copies of stores, for measurements that would change the store that others measure.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Copies a folder with everything in it.
///
/// # Errors
/// The errors of the file system.
pub fn copy(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Writes back all dirty pages, so that they do not disturb what is measured next.
///
/// # Errors
/// If `sync` cannot be run.
pub fn settle() -> Result<(), Box<dyn Error>> {
    if Command::new("sync").status()?.success() { Ok(()) } else { Err("sync failed".into()) }
}

/// Returns the folder of the generation of a store.
///
/// # Errors
/// If the store has none, or its folder cannot be read.
pub fn generation(store: &Path) -> Result<PathBuf, Box<dyn Error>> {
    for entry in fs::read_dir(store)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && entry.file_name().to_string_lossy().starts_with("gen-") {
            return Ok(entry.path());
        }
    }
    Err("no generation".into())
}
