//! Files to import, read into memory, and those that one call writes.

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

/// Files in their order, read or refused.
#[derive(Default)]
pub(super) struct Batch<'a> {
    files: Vec<Item<'a>>,
    bytes: usize,
}

/// The name of a file, and its content or the reason why it is refused.
pub(super) type Item<'a> = (&'a str, Result<PlainFile, String>);

impl<'a> Batch<'a> {
    pub(super) fn add(&mut self, name: &'a str, read: Result<PlainFile, String>) {
        let bytes = read.as_ref().map_or(0, |read| read.text().len());
        self.bytes = self.bytes.saturating_add(bytes);
        self.files.push((name, read));
    }

    pub(super) fn is_full(&self) -> bool {
        self.files.len() >= FILES || self.bytes >= BYTES
    }

    pub(super) fn into_files(self) -> Vec<Item<'a>> {
        self.files
    }
}

/// Files of a batch at most. Many, because the last commit of each batch may be a small one; not more, because progress
/// is reported after each batch.
const FILES: usize = 500;

/// Bytes of text after which a batch is full. All of it is in memory at once.
const BYTES: usize = 4 << 20;
