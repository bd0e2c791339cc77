//! Expiry: deletes the files that were neither read nor changed for long.
//!
//! When a file was last used is planned first, from the ledger of readings and the tree. Then each file is deleted in a change
//! of its own, unless it was used meanwhile. Where nothing reliable is known, no file expires.

mod plan;
mod report;

use std::time::Duration;

use inmost_format::record::history::Operation;
use inmost_format::record::readings::{self, Reading};

use self::plan::{Candidate, Plan};
pub use self::report::{ExpiredFile, ExpiryHindrance, ExpiryReport, ExpiryStatus};
use super::arrange;
use super::error::FileError;
use super::folder::{self, ResolvedPath};
use super::path::MemoryPath;
use crate::session::ledger::{DAY, load_ledger};
use crate::session::{ExpirySettings, Open, Session, StoreError, Txn, now, time_of};

/// Deletes the files that were not used for this long, or only lists them.
///
/// # Errors
/// Those of [`Expiry::expire`](crate::Expiry::expire).
pub(crate) fn expire(
    session: &Session,
    unused_for: Duration,
    dry_run: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<ExpiryReport, FileError> {
    let unused_for = u64::try_from(unused_for.as_millis()).unwrap_or(u64::MAX);
    let plan = Plan::make(session, unused_for)?;
    let mut report = ExpiryReport::new(plan.hindrance);
    if dry_run {
        plan.candidates.iter().for_each(|candidate| report.add(candidate, None));
        return Ok(report);
    }
    match plan.hindrance {
        Some(ExpiryHindrance::ClockInDoubt) => restart_all(session)?,
        Some(ExpiryHindrance::LedgerDamaged) => {
            session.write(|txn| Ok::<_, FileError>(txn.begin_ledger_anew()?))?;
        }
        _ => {}
    }
    let mut unneeded = plan.unneeded;
    session.series(|series| {
        for candidate in &plan.candidates {
            let path = MemoryPath::parse(candidate.path.as_str())?;
            let Some(number) = series.run(|txn| remove(txn, &path, candidate))? else { continue };
            report.add(candidate, Some(number));
            let file = candidate.number;
            unneeded.extend(candidate.day.map(|day| Reading { file, day }));
            progress(report.count());
        }
        Ok::<_, FileError>(())
    })?;
    drop_readings(session, unneeded)?;
    Ok(report)
}

/// Deletes the unused files if the store says so and a day has passed since the last time.
pub(crate) fn at_unlock(session: &Session) -> Result<(), FileError> {
    let due = session.read(|open| Ok::<_, StoreError>(due(open)))?;
    let Some(unused_for) = due else { return Ok(()) };
    expire(session, unused_for, false, &mut |_| {})?;
    session.write(|txn| Ok(txn.note_expiry()?))
}

/// Makes every file count as used now, if the store records readings: it is not known when they were.
pub(crate) fn restart_all(session: &Session) -> Result<(), FileError> {
    session.write(|txn| Ok(txn.restart_expiry()?))
}

/// For how long a file must be unused to expire now; `None` if none does.
fn due(open: &Open) -> Option<Duration> {
    let root = open.root();
    let unused_for = ExpirySettings::of(root).unused_for()?;
    let is_due = now().abs_diff(root.last_expiry) >= DAY;
    // On a full disk the remaining space is left to the application's own calls.
    let is_due = is_due && open.records_readings();
    (is_due && !open.storage().is_short_of_room()).then_some(unused_for)
}

/// The settings, and what is recorded.
pub(crate) fn status(open: &Open) -> ExpiryStatus {
    let root = open.root();
    let (mut readings, mut is_damaged) = (0, false);
    if !root.readings.is_none() {
        match load_ledger(open, &root.readings) {
            Ok(ledger) => readings = readings::count(&ledger.body),
            Err(_) => is_damaged = true,
        }
    }
    let time = |time: u64| (time > 0).then(|| time_of(time));
    ExpiryStatus {
        settings: ExpirySettings::of(root),
        since: time(root.reads_since),
        last_expiry: time(root.last_expiry),
        readings,
        is_damaged,
    }
}

/// Deletes a file as planned. Returns the number of the change; `None` if the file was used or moved meanwhile.
fn remove(
    txn: &mut Txn<'_>,
    path: &MemoryPath,
    candidate: &Candidate,
) -> Result<Option<u64>, FileError> {
    let resolved = ResolvedPath::new(txn, &txn.root()?, path)?;
    let Some((entry, info)) = resolved.target.file() else { return Ok(None) };
    let is_planned = (info.number, info.version) == (candidate.number, candidate.version);
    if !is_planned
        || txn.is_waiting(info.number)
        || txn.day_of_reading(info.number)? != candidate.day
    {
        return Ok(None);
    }
    folder::remove(txn, path, &resolved)?;
    arrange::remove(txn, path, entry.clone(), Operation::Expired)?;
    Ok(Some(txn.number()?))
}

/// Removes the readings of files that are gone, in steps. One that was read on another day since is there again.
fn drop_readings(session: &Session, mut readings: Vec<Reading>) -> Result<(), FileError> {
    readings.sort_unstable_by_key(|reading| reading.file);
    let mut rest = readings.as_slice();
    while !rest.is_empty() {
        let done = session.write(|txn| Ok::<_, FileError>(txn.drop_readings(rest)?))?;
        rest = rest.get(done.max(1)..).unwrap_or_default();
    }
    Ok(())
}
