//! What is in a folder of plain files. Links are not followed, and nothing is opened.

use std::fs;
use std::io;
use std::path::Path;

use crate::exit::Failure;

/// The files below a folder.
pub(super) struct Folder {
    /// Their paths below it, with `/` between the names, in order.
    pub(super) files: Vec<String>,
    /// What is no file with a name in UTF-8, and why it is refused.
    pub(super) refused: Vec<(String, String)>,
}

impl Folder {
    pub(super) fn read(place: &Path) -> Result<Self, Failure> {
        let mut folder = Self { files: Vec::new(), refused: Vec::new() };
        let mut waiting = folder.enter(place, "").map_err(|error| {
            let advice = "Check that it is a folder and that you may read it.";
            Failure::io("The folder to import cannot be read", &error, advice)
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

    /// Notes what is in one folder, and returns the folders in it.
    fn enter(&mut self, place: &Path, below: &str) -> io::Result<Vec<String>> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(place)? {
            let entry = entry?;
            let name = entry.file_name();
            let path = |name: &str| {
                if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") }
            };
            let Some(known) = name.to_str() else {
                let reason = "its name is not UTF-8".to_owned();
                self.refused.push((path(&name.to_string_lossy()), reason));
                continue;
            };
            // Of a link this is the link's own.
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(path(known));
            } else if kind.is_file() {
                self.files.push(path(known));
            } else {
                let reason =
                    if kind.is_symlink() { "it is a link" } else { "it is a special file" };
                self.refused.push((path(known), reason.to_owned()));
            }
        }
        Ok(folders)
    }
}
