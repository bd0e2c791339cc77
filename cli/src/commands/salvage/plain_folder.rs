//! A folder that the salvaged files are written to, unencrypted. No path in the store leads outside the folder.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::new_store::Renamed;
use crate::exit::{Exit, Failure};
use crate::host_files::{create, keeps_names, make_folder, relative};

/// A new folder. It is created with the first file.
pub(super) struct PlainFolder<'a> {
    folder: &'a Path,
    renamed: Vec<Renamed>,
}

impl<'a> PlainFolder<'a> {
    /// `folder` must be empty or not exist.
    pub(super) fn new(folder: &'a Path) -> Self {
        Self { folder, renamed: Vec::new() }
    }

    /// Never overwrites a file. A file whose name the file system does not accept gets a numbered name.
    pub(super) fn save(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        make_folder(self.folder).map_err(|error| self.failed(&error))?;
        let place = path.strip_prefix("/memories/").filter(|it| keeps_names(it)).and_then(relative);
        if place.is_some_and(|place| self.write(&place, text).is_ok()) {
            return Ok(());
        }
        let folder = Path::new("salvaged");
        // Before the loop: that a file has this name is no reason to try another number.
        make_folder(&self.folder.join(folder)).map_err(|error| self.failed(&error))?;
        let mut number = self.renamed.len();
        let place = loop {
            let place = folder.join(format!("renamed-{number}"));
            match self.write(&place, text) {
                Ok(()) => break place,
                // A store that was salvaged before has files with such names.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(self.failed(&error)),
            }
        };
        let to = self.folder.join(place).display().to_string();
        self.renamed.push(Renamed { from: path.to_owned(), to });
        Ok(())
    }

    pub(super) fn into_renamed(self) -> Vec<Renamed> {
        self.renamed
    }

    fn write(&self, place: &Path, text: &str) -> io::Result<()> {
        let place = self.folder.join(place);
        if let Some(folder) = place.parent() {
            make_folder(folder)?;
        }
        let mut file = create(&place)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        if written.is_err() {
            // A partial file must not be taken for a saved one.
            let _ = fs::remove_file(&place);
        }
        written
    }

    fn failed(&self, error: &io::Error) -> Failure {
        let folder = self.folder.display();
        let message = format!("The saved files cannot be written to {folder}: {}.", error.kind());
        Failure::new(
            Exit::Io,
            message,
            "Check the disk and its free space, then try another folder.",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_an_unusable_name_gets_another_and_overwrites_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("saved");
        let mut plain = PlainFolder::new(&folder);
        let long = format!("/memories/{}", "n".repeat(300));
        for (path, text) in [
            ("/memories/salvaged/renamed-0", "0"),
            ("/memories/a", "1"),
            ("/memories/a", "2"),
            ("/memories/a/b", "3"),
            ("/memories/../out", "4"),
            (&long, "5"),
        ] {
            plain.save(path, text).unwrap();
        }
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(read("a"), "1");
        for (number, text) in ["0", "2", "3", "4", "5"].into_iter().enumerate() {
            assert_eq!(read(&format!("salvaged/renamed-{number}")), text);
        }
        assert_eq!(plain.into_renamed().len(), 4);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_for_the_others_ends_it() {
        let home = tempfile::tempdir().unwrap();
        let mut plain = PlainFolder::new(home.path());
        plain.save("/memories/salvaged", "1").unwrap();
        assert!(plain.save("/memories/../out", "2").is_err());
    }
}
