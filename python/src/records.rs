//! Values that calls return, as instances of the dataclasses in the Python module `inmost._records`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inmost::{
    BackupInfo, BackupReport, CheckReport, EntryKind, ExpiredFile, ExpiryHindrance, ExpiryReport,
    ExpiryStatus, FileText, FileVersion, FolderEntry, HistoryStatus, Metadata, Ranked, SearchMatch,
    SessionStatus, SetAside, SlotInfo, UndoStep, VerifiedCopy, VersionInfo, WalkEntry,
};
use inmost_sync::{Member, Report, Status};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A value of the package.
pub(crate) type Record<'py> = PyResult<Bound<'py, PyAny>>;

pub(crate) fn file_version<'py>(py: Python<'py>, version: &FileVersion) -> Record<'py> {
    record(py, "FileVersion", (version.version, version.bytes, version.sha256_digits()))
}

pub(crate) fn metadata<'py>(py: Python<'py>, metadata: &Metadata) -> Record<'py> {
    let (lines, created, modified) = match metadata.kind {
        EntryKind::File { lines, created, modified, .. } => {
            (Some(lines), Some(date(created)), Some(date(modified)))
        }
        _ => (None, None, None),
    };
    record(py, "Metadata", (metadata.bytes, metadata.is_folder(), lines, created, modified))
}

pub(crate) fn folder_entry<'py>(py: Python<'py>, entry: &FolderEntry) -> Record<'py> {
    record(py, "FolderEntry", (entry.name.as_str(), metadata(py, &entry.metadata)?))
}

pub(crate) fn walk_entry<'py>(py: Python<'py>, entry: &WalkEntry) -> Record<'py> {
    record(py, "WalkEntry", (entry.path.as_str(), entry.depth, metadata(py, &entry.metadata)?))
}

pub(crate) fn search_match<'py>(py: Python<'py>, found: &SearchMatch) -> Record<'py> {
    let text = found.text.as_str();
    let (mut byte, mut character) = (0, 0);
    // Python counts characters. The ranges are in order, so the line is read once.
    let mut position = |to: usize| {
        if to < byte {
            (byte, character) = (0, 0);
        }
        character += text.get(byte..to).map_or(0, |part| part.chars().count());
        byte = to;
        character
    };
    let ranges: Vec<_> =
        found.ranges.iter().map(|range| (position(range.start), position(range.end))).collect();
    let ranges = PyTuple::new(py, ranges)?;
    record(py, "SearchMatch", (found.path.as_str(), found.line, text, ranges))
}

pub(crate) fn ranked<'py>(py: Python<'py>, ranked: &Ranked) -> Record<'py> {
    let files = ranked.files.iter().map(|file| {
        let lines = file.lines.iter().map(|(number, line)| (*number, line.as_str()));
        let lines: Vec<(u64, &str)> = lines.collect();
        record(py, "RankedFile", (file.path.as_str(), file.score, date(file.modified), lines))
    });
    let files = files.collect::<PyResult<Vec<_>>>()?;
    let damaged: Vec<&str> = ranked.damaged.iter().map(FileText::as_str).collect();
    record(py, "Ranked", (files, ranked.found, damaged))
}

pub(crate) fn version<'py>(py: Python<'py>, version: &VersionInfo) -> Record<'py> {
    let path = version.path.as_ref().map(FileText::as_str);
    let old_path = version.old_path.as_ref().map(FileText::as_str);
    let change = (version.number, date(version.time), version.kind.name(), version.channel.name());
    let place = (version.actor.as_str(), version.file, version.previous, path, old_path);
    let rest = (version.bytes, version.lines, version.text.name(), version.restored);
    // In three groups, because a tuple of all thirteen does not convert.
    record(py, "version_info", (change, place, rest))
}

pub(crate) fn history_status<'py>(py: Python<'py>, status: &HistoryStatus) -> Record<'py> {
    let (keep, max_bytes) = (status.settings.time(), status.settings.room());
    record(
        py,
        "HistoryStatus",
        (
            keep,
            max_bytes,
            status.entries,
            status.bytes,
            status.is_damaged,
            status.unreadable,
            status.lost_before,
        ),
    )
}

pub(crate) fn expiry_status<'py>(py: Python<'py>, status: &ExpiryStatus) -> Record<'py> {
    let (settings, since, last) = (status.settings, status.since, status.last_expiry);
    let (is_recording, at_unlock) = (settings.is_recording(), settings.unused_for());
    let fields = (is_recording, at_unlock, since, last, status.readings, status.is_damaged);
    record(py, "ExpiryStatus", fields)
}

pub(crate) fn expiry_report<'py>(py: Python<'py>, report: &ExpiryReport) -> Record<'py> {
    let file = |file: &ExpiredFile| {
        let last_use = date(file.last_use);
        record(py, "ExpiredFile", (file.path.as_str(), file.bytes, last_use, file.version))
    };
    let files = report.files.iter().map(file).collect::<PyResult<Vec<_>>>()?;
    let files = PyTuple::new(py, files)?;
    let hindrance = report.hindrance.map(ExpiryHindrance::name);
    record(py, "ExpiryReport", (files, report.unlisted, report.bytes, hindrance))
}

pub(crate) fn undo_step<'py>(py: Python<'py>, step: &UndoStep) -> Record<'py> {
    let path = step.path.as_ref().map(FileText::as_str);
    record(py, "UndoStep", (version(py, &step.newest)?, step.to, path))
}

pub(crate) fn undone(py: Python<'_>, number: Option<u64>, reason: Option<PyErr>) -> Record<'_> {
    record(py, "Undone", (number, reason.map(|reason| reason.into_value(py))))
}

pub(crate) fn status<'py>(py: Python<'py>, status: &SessionStatus) -> Record<'py> {
    let sizes = (status.files, status.bytes, status.commit, status.disk_bytes);
    let (files, bytes, commit, disk_bytes) = sizes;
    record(py, "StoreStatus", (files, bytes, commit, disk_bytes, status.anchor.name()))
}

pub(crate) fn keyslot<'py>(py: Python<'py>, slot: &SlotInfo) -> Record<'py> {
    let (kind, created) = (slot.kind().to_string(), date(slot.created()));
    record(py, "Keyslot", (slot.number(), kind, slot.label(), created, slot.is_current()))
}

pub(crate) fn set_aside<'py>(py: Python<'py>, found: &SetAside) -> Record<'py> {
    record(py, "SetAside", (found.number, found.bytes, found.name()))
}

pub(crate) fn verified_copy<'py>(py: Python<'py>, copy: &VerifiedCopy) -> Record<'py> {
    record(py, "VerifiedCopy", (copy.records, copy.files, copy.bytes))
}

pub(crate) fn backup_report<'py>(py: Python<'py>, report: &BackupReport) -> Record<'py> {
    let verified = verified_copy(py, &report.verified)?;
    let removed = PyTuple::new(py, &report.removed)?;
    let fields = (report.number, verified, report.added_bytes, removed, report.is_cleared);
    record(py, "BackupReport", fields)
}

pub(crate) fn backup_info<'py>(py: Python<'py>, info: &BackupInfo) -> Record<'py> {
    let store = format!("{:032x}", u128::from_be_bytes(info.store));
    record(py, "BackupInfo", (info.number, info.time.map(date), info.own_bytes, store))
}

pub(crate) fn sync_report(py: Python<'_>, report: Report) -> Record<'_> {
    let Report { sent, received, changed, waiting, copies, held, unforgotten, kept, .. } = report;
    record(py, "SyncReport", (sent, received, changed, waiting, copies, held, unforgotten, kept))
}

pub(crate) fn sync_status(py: Python<'_>, status: Status) -> Record<'_> {
    let member = |member: &Member| {
        let time = UNIX_EPOCH.checked_add(Duration::from_millis(member.time)).map(date);
        record(py, "SyncMember", (member.label.as_str(), time))
    };
    let members = status.members.iter().map(member).collect::<PyResult<Vec<_>>>()?;
    let Status { label, place, outbox, conflicts, forks, .. } = status;
    record(py, "SyncStatus", (label, place, members, outbox, conflicts, forks))
}

pub(crate) fn check_report<'py>(py: Python<'py>, report: &CheckReport) -> Record<'py> {
    let problems = report.problems.iter().map(|problem| {
        record(py, "StoreProblem", (PyTuple::new(py, &problem.names)?, problem.what, problem.how))
    });
    let problems = PyTuple::new(py, problems.collect::<PyResult<Vec<_>>>()?)?;
    let (records, files, bytes) = (report.records, report.files, report.bytes);
    let fields = (records, files, bytes, report.orphans, problems, report.unlisted);
    record(py, "CheckReport", fields)
}

/// A time that a `datetime` can have in every time zone. A file may have a later one, from a mount or a plain folder.
fn date(time: SystemTime) -> SystemTime {
    UNIX_EPOCH.checked_add(LAST).map_or(time, |last| time.min(last))
}

/// Until 9999-12-31, since 1970.
const LAST: Duration = Duration::from_secs(253_402_214_400);

fn record<'py>(py: Python<'py>, class: &str, fields: impl PyCallArgs<'py>) -> Record<'py> {
    py.import("inmost._records")?.getattr(class)?.call1(fields)
}
