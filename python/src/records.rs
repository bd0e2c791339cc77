//! Values that calls return, as instances of the dataclasses in the Python module `inmost._records`.

use inmost::{
    EntryKind, FileText, FileVersion, FolderEntry, HistoryStatus, Metadata, SearchMatch,
    SessionStatus, UndoStep, VersionInfo, WalkEntry,
};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

/// A value of the package.
pub(crate) type Record<'py> = PyResult<Bound<'py, PyAny>>;

pub(crate) fn file_version<'py>(py: Python<'py>, version: &FileVersion) -> Record<'py> {
    record(py, "FileVersion", (version.version, version.bytes, hex(&version.sha256)))
}

pub(crate) fn metadata<'py>(py: Python<'py>, metadata: &Metadata) -> Record<'py> {
    let (lines, created, modified) = match metadata.kind {
        EntryKind::File { lines, created, modified, .. } => {
            (Some(lines), Some(created), Some(modified))
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
    // Python counts characters.
    let position = |byte| text.get(..byte).map_or(0, |before| before.chars().count());
    let ranges: Vec<_> =
        found.ranges.iter().map(|range| (position(range.start), position(range.end))).collect();
    let ranges = pyo3::types::PyTuple::new(py, ranges)?;
    record(py, "SearchMatch", (found.path.as_str(), found.line, text, ranges))
}

pub(crate) fn version<'py>(py: Python<'py>, version: &VersionInfo) -> Record<'py> {
    let path = version.path.as_ref().map(FileText::as_str);
    let old_path = version.old_path.as_ref().map(FileText::as_str);
    let change = (version.number, version.time, version.kind.name(), version.channel.name());
    let place = (version.actor.as_str(), version.file, version.previous, path, old_path);
    let rest = (version.bytes, version.lines, version.redacted, version.restored);
    // In three groups, because a tuple of all thirteen does not convert.
    record(py, "version_info", (change, place, rest))
}

pub(crate) fn history_status<'py>(py: Python<'py>, status: &HistoryStatus) -> Record<'py> {
    let (keep, max_bytes) = (status.settings.time(), status.settings.room());
    record(
        py,
        "HistoryStatus",
        (keep, max_bytes, status.entries, status.bytes, status.is_damaged, status.lost_before),
    )
}

pub(crate) fn undo_step<'py>(py: Python<'py>, step: &UndoStep) -> Record<'py> {
    let path = step.path.as_ref().map(FileText::as_str);
    record(py, "UndoStep", (version(py, &step.newest)?, step.to, path))
}

pub(crate) fn undone(py: Python<'_>, number: Option<u64>, reason: Option<PyErr>) -> Record<'_> {
    record(py, "Undone", (number, reason.map(|reason| reason.into_value(py))))
}

pub(crate) fn status<'py>(py: Python<'py>, status: &SessionStatus) -> Record<'py> {
    record(py, "StoreStatus", (status.files, status.bytes, status.commit, status.disk_bytes))
}

fn record<'py>(py: Python<'py>, class: &str, fields: impl PyCallArgs<'py>) -> Record<'py> {
    py.import("inmost._records")?.getattr(class)?.call1(fields)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
