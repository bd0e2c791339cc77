//! Which files expire: walks the tree with the readings at hand. Changes nothing.

use inmost_format::record::RecordError;
use inmost_format::record::node::{FileInfo, Root, What};
use inmost_format::record::readings::{Reading, Readings};

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
        Self::make_in_pages(session, unused_for, || {})
    }

    /// As [`make`](Self::make). Other calls may come between two pages, such as `between`.
    fn make_in_pages(
        session: &Session,
        unused_for: u64,
        mut between: impl FnMut(),
    ) -> Result<Self, FileError> {
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
            between();
        }
        let unneeded = walk.unneeded();
        Ok(Self { candidates: walk.candidates, unneeded, hindrance: None })
    }
}

/// The walk through all files.
struct Walk {
    root: Root,
    /// The files that were used after this time stay.
    before: u64,
    readings: Readings,
    /// For each reading, whether its file is there.
    seen: Vec<bool>,
    /// Whether another call changed the store between two pages. A folder that it moved may be on none of them.
    is_disturbed: bool,
    candidates: Vec<Candidate>,
}

impl Walk {
    /// Reads what is known of readings. Instead of a walk, returns why no file expires.
    fn begin(open: &Open, unused_for: u64) -> Result<Result<Self, ExpiryHindrance>, StoreError> {
        let root = open.root().clone();
        if !open.records_readings() {
            return Ok(Err(ExpiryHindrance::NotRecording));
        }
        if !is_clock_plausible(&root, unused_for) {
            return Ok(Err(ExpiryHindrance::ClockInDoubt));
        }
        let readings = match readings(open, &root.readings) {
            Ok(readings) => readings,
            Err(RecordError::Damaged { .. }) => return Ok(Err(ExpiryHindrance::LedgerDamaged)),
            Err(error) => return Err(error.into()),
        };
        let seen = vec![false; readings.len()];
        let before = now().saturating_sub(unused_for);
        let candidates = Vec::new();
        Ok(Ok(Self { root, before, readings, seen, is_disturbed: false, candidates }))
    }

    /// The readings of files that are not in the tree any more. None if that is not certain: a file without its reading would
    /// expire, and the next walk removes them.
    fn unneeded(&self) -> Vec<Reading> {
        if self.is_disturbed {
            return Vec::new();
        }
        let with_seen = self.readings.iter().zip(&self.seen);
        with_seen.filter(|(_, seen)| !**seen).map(|(reading, _)| *reading).collect()
    }

    /// Looks at some files that follow a path. Returns the path to go on after; `None` at the end.
    fn page(
        &mut self,
        open: &Open,
        after: Option<&FileText>,
    ) -> Result<Option<FileText>, FileError> {
        self.is_disturbed |= open.root().commit != self.root.commit;
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

#[cfg(test)]
mod tests {
    use super::super::drop_readings;
    use super::*;
    use crate::session::ExpirySettings;
    use crate::vfs::tests::model::{of_days, set_day};

    /// Its reading was removed, so a file that somebody had read ten days before expired after sixty days.
    #[test]
    fn a_folder_that_moves_during_the_walk_keeps_its_readings() {
        set_day(0);
        let session = Session::in_memory().unwrap();
        session.expiry().set(ExpirySettings::record()).unwrap();
        session.files().write("/memories/z/kept", "text").unwrap();
        for number in 0..PAGE {
            session.files().write(&format!("/memories/m/{number}"), "x").unwrap();
        }
        for day in (10..100).step_by(10) {
            set_day(day);
            session.files().write("/memories/clock", &day.to_string()).unwrap();
        }
        session.files().read("/memories/z/kept").unwrap();
        session.files().write("/memories/clock", "after the reading").unwrap();
        let sixty_days = u64::try_from(of_days(60).as_millis()).unwrap();
        for (from, to) in [("/memories/z", "/memories/a"), ("/memories/a", "/memories/z")] {
            let between = || session.files().rename(from, to).unwrap();
            let plan = Plan::make_in_pages(&session, sixty_days, between).unwrap();
            assert!(plan.unneeded.is_empty());
            drop_readings(&session, plan.unneeded).unwrap();
        }
        set_day(100);
        session.files().write("/memories/clock", "100").unwrap();
        let report = session.expiry().expire(of_days(60), true, |_| {}).unwrap();
        assert_eq!(report.hindrance, None);
        assert!(!report.files.iter().any(|file| file.path.as_str() == "/memories/z/kept"));
        // Nobody else changes anything: what is gone is removed.
        session.files().remove("/memories/z").unwrap();
        let plan = Plan::make(&session, sixty_days).unwrap();
        assert_eq!(plan.unneeded.len(), 1);
    }
}
