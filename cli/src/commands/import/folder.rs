//! Lists the files below a folder. Links are not followed, and no file is opened.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// The files below a folder.
pub(super) struct Folder {
    /// What the relative paths begin at.
    pub(super) root: PathBuf,
    /// Relative paths with `/` between the names, sorted.
    pub(super) files: Vec<String>,
    /// Refused paths, each with the reason: links, special files, and names that are not UTF-8.
    pub(super) refused: Vec<(String, String)>,
}

impl Folder {
    pub(super) fn read(place: &Path) -> Result<Self, Failure> {
        if let Some(file) = Self::of_file(place) {
            return Ok(file);
        }
        refuse_special(place)?;
        let root = place.to_owned();
        let mut folder = Self { root, files: Vec::new(), refused: Vec::new() };
        let mut waiting = folder.enter(place, "").map_err(|error| {
            let advice = "Check that it is there and that you have permission to read it.";
            Failure::io(&format!("{} cannot be read", place.display()), &error, advice)
        })?;
        while let Some(below) = waiting.pop() {
            match folder.enter(&place.join(&below), &below) {
                Ok(folders) => waiting.extend(folders),
                Err(error) => folder.refused.push((below, format!("it cannot be read: {error}"))),
            }
        }
        folder.files.sort_unstable();
        folder.refused.sort_unstable();
        Ok(folder)
    }

    /// A single file; `None` if the path does not exist.
    fn of_file(place: &Path) -> Option<Self> {
        let is_file = fs::symlink_metadata(place).ok()?.is_file();
        let name = place.file_name()?.to_str().filter(|_| is_file)?.to_owned();
        let root = place.parent()?.to_owned();
        Some(Self { root, files: vec![name], refused: Vec::new() })
    }

    /// Records the files of one folder, and returns its subfolders.
    fn enter(&mut self, place: &Path, below: &str) -> io::Result<Vec<String>> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(place)? {
            let entry = entry?;
            let name = entry.file_name();
            let path = |name: &str| {
                if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") }
            };
            let Some(text) = name.to_str() else {
                let reason = "its name is not UTF-8; rename it".to_owned();
                self.refused.push((path(&name.to_string_lossy()), reason));
                continue;
            };
            // The type of a link itself, not of its target.
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(path(text));
            } else if kind.is_file() {
                self.files.push(path(text));
            } else {
                let reason = if kind.is_symlink() {
                    "it is a link, and links are not followed"
                } else {
                    "it is a special file, such as a pipe or a device"
                };
                self.refused.push((path(text), reason.to_owned()));
            }
        }
        Ok(folders)
    }
}

/// Refuses what is neither a file nor a folder: opening a pipe, for example, would wait for its other end.
fn refuse_special(place: &Path) -> Result<(), Failure> {
    let Ok(target) = fs::metadata(place) else { return Ok(()) };
    if target.is_dir() {
        return Ok(());
    }
    let shown = place.display();
    if target.is_file() {
        return Err(Failure::usage(
            format!("{shown} is a link to a file, and links are not followed."),
            "Name the file itself.",
        ));
    }
    Err(Failure::usage(
        format!(
            "{shown} is a special file, such as a pipe or a device. Only files and folders are imported."
        ),
        "To store what a command prints, pipe it into `inmost write PATH`.",
    ))
}
