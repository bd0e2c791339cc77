//! A database file that redb may repair in memory: changes never reach the file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// A file, and the pages that were changed since it was opened.
#[derive(Debug)]
pub(super) struct CopyOnWrite(Mutex<State>);

#[derive(Debug)]
struct State {
    file: File,
    length: u64,
    changed: BTreeMap<u64, Vec<u8>>,
}

impl CopyOnWrite {
    /// Reads from a file that nothing else writes.
    pub(super) fn over(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self(Mutex::new(State { file, length, changed: BTreeMap::new() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The bytes of a page, with zeros behind the end of the file.
    fn page(&self, number: u64) -> io::Result<Vec<u8>> {
        if let Some(page) = self.changed.get(&number) {
            return Ok(page.clone());
        }
        let mut page = Vec::new();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(number.saturating_mul(PAGE)))?;
        file.take(PAGE).read_to_end(&mut page)?;
        page.resize(PAGE_BYTES, 0);
        Ok(page)
    }

    /// Calls `each` with every page of a range: its number, where the range begins in it, and the range's part.
    fn pages(
        offset: u64,
        length: usize,
    ) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
        let mut done = 0_usize;
        std::iter::from_fn(move || {
            let at = offset.saturating_add(u64::try_from(done).ok()?);
            let within = usize::try_from(at % PAGE).ok()?;
            let end = length.min(done.saturating_add(PAGE_BYTES.saturating_sub(within)));
            let part = done..end;
            done = end;
            (!part.is_empty()).then_some((at / PAGE, within, part))
        })
    }
}

impl StorageBackend for CopyOnWrite {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        let length = u64::try_from(out.len()).unwrap_or(u64::MAX);
        if offset.saturating_add(length) > state.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (number, within, part) in State::pages(offset, out.len()) {
            let page = state.page(number)?;
            let from = page.iter().skip(within);
            out.get_mut(part).into_iter().flatten().zip(from).for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.state().length = length;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        for (number, within, part) in State::pages(offset, data.len()) {
            let mut page = state.page(number)?;
            let from = data.get(part).unwrap_or_default();
            page.iter_mut().skip(within).zip(from).for_each(|(to, from)| *to = *from);
            state.changed.insert(number, page);
        }
        Ok(())
    }
}

const PAGE: u64 = 4_096;
const PAGE_BYTES: usize = 4_096;
