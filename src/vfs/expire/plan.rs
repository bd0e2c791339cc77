//! Which files expire: walks the tree with the readings at hand. Changes nothing.

use inmost_format::record::RecordError;
use inmost_format::record::ledger::Reading;
use inmost_format::record::node::{FileInfo, Root, What};

use super::report::ExpiryHindrance;
use crate::session::ledger::{is_clock_plausible, last_use, readings};
use crate::session::{Open, ReadAhead, Scope, Session, StoreError, now};
use crate::vfs::error::FileError;
use crate::vfs::file_text::FileText;
use crate::vfs::path::MemoryPath;
use crate::vfs::walk;

/// What an expiry does.
pub(super) struct Plan {
    /// The files that expire, in the order of a walk.
    pub(super) candidates: Vec<Candidate>,
    /// Readings of files that are not in the tree any more, in the order of the files.
    pub(super) unneeded: Vec<Reading>,
    /// Why no file expires.
    pub(super) hindrance: Option<ExpiryHindrance>,
}

/// A file that expires.
pub(super) struct Candidate {
    pub(super) path: FileText,
    pub(super) number: u64,
    pub(super) version: u64,
    pub(super) bytes: u64,
    /// The day of its last reading that is written.
    pub(super) day: Option<u64>,
    /// In milliseconds since 1970.
    pub(super) last_use: u64,
}

impl Plan {
    /// Plans for files that were not used for this many milliseconds.
    pub(super) fn make(session: &Session, unused_for: u64) -> Result<Self, FileError> {
        let mut walk = match session.read(|open| Walk::begin(open, unused_for))? {
            Ok(walk) => walk,
            Err(hindrance) => {
                let (candidates, unneeded) = (Vec::new(), Vec::new());
                return Ok(Self { candidates, unneeded, hindrance: Some(hindrance) });
            }
        };
        // In pages: a writer waits for no more than one of them.
        let mut after: Option<FileText> = None;
        loop {
            after = session.read(|open| walk.page(open, after.as_ref()))?;
            if after.is_none() {
                break;
            }
        }
        let unneeded = walk.readings.iter().zip(&walk.seen).filter(|(_, seen)| !**seen);
        let unneeded = unneeded.map(|(reading, _)| *reading).collect();
        Ok(Self { candidates: walk.candidates, unneeded, hindrance: None })
    }
}

/// The walk through all files.
struct Walk {
    root: Root,
    /// The files that were used after this time stay.
    before: u64,
    readings: Vec<Reading>,
    /// For each reading, whether its file is there.
    seen: Vec<bool>,
    candidates: Vec<Candidate>,
}

impl Walk {
    /// Reads what is known of readings. Instead of a walk, returns why no file expires.
    fn begin(open: &Open, unused_for: u64) -> Result<Result<Self, ExpiryHindrance>, StoreError> {
        let root = open.root().clone();
        // Of a shared store, nobody records what other hosts read.
        if root.reads_since == 0 || open.is_shared() {
            return Ok(Err(ExpiryHindrance::NotRecording));
        }
        if !is_clock_plausible(&root, unused_for) {
            return Ok(Err(ExpiryHindrance::ClockInDoubt));
        }
        let readings = match readings(open, &root.ledger) {
            Ok(readings) => readings,
            Err(RecordError::Damaged { .. }) => return Ok(Err(ExpiryHindrance::LedgerDamaged)),
            Err(error) => return Err(error.into()),
        };
        let seen = vec![false; readings.len()];
        let before = now().saturating_sub(unused_for);
        Ok(Ok(Self { root, before, readings, seen, candidates: Vec::new() }))
    }

    /// Looks at some files that follow a path. Returns the path to go on after; `None` at the end.
    fn page(
        &mut self,
        open: &Open,
        after: Option<&FileText>,
    ) -> Result<Option<FileText>, FileError> {
        let mut looked = 0_usize;
        let mut last = None;
        let after = after.map(FileText::as_str);
        let source = ReadAhead::new(open, Scope::folders(usize::MAX));
        let root = MemoryPath::parse(ROOT)?;
        walk::visit((open, &source), &root, after, usize::MAX, &mut |step| {
            if let What::File(info) = &step.entry.what {
                self.file(open, step.path, info);
            }
            looked += 1;
            if looked >= PAGE {
                last = Some(FileText::from(step.path.to_owned()));
            }
            Ok(last.is_none())
        })?;
        Ok(last)
    }

    fn file(&mut self, open: &Open, path: &str, info: &FileInfo) {
        let slot = self.readings.binary_search_by_key(&info.number, |reading| reading.file).ok();
        if let Some(seen) = slot.and_then(|slot| self.seen.get_mut(slot)) {
            *seen = true;
        }
        let day = slot.and_then(|slot| self.readings.get(slot)).map(|reading| reading.day);
        let last_use = last_use(&self.root, info, day);
        if last_use <= self.before && !open.is_waiting(info.number) {
            self.candidates.push(Candidate {
                path: FileText::from(path.to_owned()),
                number: info.number,
                version: info.version,
                bytes: info.bytes,
                day,
                last_use,
            });
        }
    }
}

/// The folder of everything.
const ROOT: &str = "/memories";
/// Files and folders that one call looks at.
const PAGE: usize = 1_000;
