//! One file to import, read into memory.

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use inmost::NewFile;

use crate::host_files::{self, MAX_FILE_BYTES};
use inmost_console::Wiped;

/// The text and the times of a plain file.
pub(super) struct PlainFile {
    text: inmost::Wiped<String>,
    created: Option<SystemTime>,
    modified: Option<SystemTime>,
}

impl PlainFile {
    /// Reads a file.
    ///
    /// # Errors
    /// The reason why it is refused.
    pub(super) fn read(place: &Path) -> Result<Self, String> {
        let read = || -> io::Result<(Metadata, Option<Wiped>)> {
            let file = host_files::open(place)?;
            Ok((file.metadata()?, Wiped::read(file, MAX_FILE_BYTES)?))
        };
        let (metadata, bytes) = read().map_err(|error| format!("it cannot be read: {error}"))?;
        let bytes = bytes.ok_or("it is too long for a memory file")?;
        let why = host_files::why_no_text(bytes.as_slice());
        let text = bytes.into_text().ok_or(why)?;
        let modified = metadata.modified().ok();
        // A copy of a file is younger than its text. Not every file system knows when it was made.
        let created = metadata.created().ok().min(modified).or(modified);
        Ok(Self { text, created, modified })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The file as it is to be written at a path of the memory.
    pub(super) fn as_new<'a>(&'a self, path: &'a str, replaces: bool) -> NewFile<'a> {
        let mut new = NewFile::new(path, &self.text);
        (new.created, new.modified, new.replaces) = (self.created, self.modified, replaces);
        new
    }
}
