//! The bytes of a file in pages of 4 KiB, as cheap to copy as a list of pages.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

pub const PAGE: u64 = 4096;
pub const SECTOR: u64 = 512;
type Page = [u8; PAGE as usize];

#[derive(Clone, Default, PartialEq)]
pub struct Content {
    pub length: u64,
    /// A page without a block on the disk reads as zeros.
    pages: Vec<Option<Arc<Page>>>,
}

impl Content {
    pub fn read(file: &File) -> io::Result<Self> {
        let mut content = Self::default();
        let mut bytes = vec![0; file.metadata()?.len() as usize];
        file.read_exact_at(&mut bytes, 0)?;
        content.write(0, &bytes);
        Ok(content)
    }

    pub fn has_page(&self, page: u64) -> bool {
        self.pages.get(page as usize).is_some_and(Option::is_some)
    }

    /// The end of the file, or of the page if that comes first.
    pub fn end_in(&self, page: u64) -> u64 {
        self.length.min((page + 1) * PAGE)
    }

    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut at = offset;
        while at < offset + bytes.len() as u64 {
            let (page, end) = (at / PAGE, (at / PAGE + 1) * PAGE);
            let end = end.min(offset + bytes.len() as u64);
            let from = &bytes[(at - offset) as usize..(end - offset) as usize];
            let within = (at % PAGE) as usize;
            self.page_mut(page)[within..within + from.len()].copy_from_slice(from);
            at = end;
        }
        self.length = self.length.max(offset + bytes.len() as u64);
    }

    pub fn set_length(&mut self, length: u64) {
        if length < self.length {
            self.pages.truncate(length.div_ceil(PAGE) as usize);
            if !length.is_multiple_of(PAGE) && self.has_page(length / PAGE) {
                self.page_mut(length / PAGE)[(length % PAGE) as usize..].fill(0);
            }
        }
        self.length = length;
    }

    /// Takes a page of another content, and the length up to there.
    pub fn take_page(&mut self, page: u64, from: &Self) {
        let taken = from.pages.get(page as usize).cloned().flatten();
        self.page_mut(page);
        self.pages[page as usize] = taken;
        self.length = self.length.max(from.end_in(page));
    }

    /// Takes a sector of another content. Leaves the length as it is.
    pub fn take_sector(&mut self, sector: u64, from: &Self) {
        let within = (sector * SECTOR % PAGE) as usize;
        let page = sector * SECTOR / PAGE;
        let range = within..within + SECTOR as usize;
        if let Some(Some(taken)) = from.pages.get(page as usize) {
            self.page_mut(page)[range.clone()].copy_from_slice(&taken[range]);
        }
    }

    pub fn write_to(&self, file: &File) -> io::Result<()> {
        file.set_len(self.length)?;
        let mut run = Vec::new();
        for (page, bytes) in (0..).zip(&self.pages) {
            if let Some(bytes) = bytes {
                let length = self.length.saturating_sub(page * PAGE).min(PAGE) as usize;
                run.extend_from_slice(&bytes[..length]);
            }
            let is_followed = self.has_page(page + 1);
            if !run.is_empty() && !is_followed {
                let end = self.length.min((page + 1) * PAGE);
                file.write_all_at(&run, end - run.len() as u64)?;
                run.clear();
            }
        }
        Ok(())
    }

    /// Whether it reads the same; pages without a block are zeros.
    pub fn reads_as(&self, other: &Self) -> bool {
        let zeros: Page = [0; PAGE as usize];
        let page = |content: &Self, page: usize| {
            content.pages.get(page).cloned().flatten().map_or(zeros, |it| *it)
        };
        self.length == other.length
            && (0..self.pages.len().max(other.pages.len()))
                .all(|number| page(self, number) == page(other, number))
    }

    fn page_mut(&mut self, page: u64) -> &mut Page {
        let page = page as usize;
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        Arc::make_mut(self.pages[page].get_or_insert_with(|| Arc::new([0; PAGE as usize])))
    }
}
