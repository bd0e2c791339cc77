//! Files that are written to the memory by one call.

use super::plain_file::PlainFile;

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
