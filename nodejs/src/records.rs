//! Values that calls return, as plain objects. The TypeScript half makes dates of the times.

use std::time::{Duration, SystemTime};

use inmost::{EntryKind, FileText};
use napi::Env;
use napi::bindgen_prelude::{JsValue, Unknown};
use napi_derive::napi;

use crate::text::Text;

/// The state of a file.
#[napi(object, object_from_js = false)]
pub struct FileVersion {
    pub version: i64,
    pub bytes: i64,
    pub sha256: String,
}

/// Metadata of a file or folder.
#[napi(object, object_from_js = false)]
pub struct Metadata {
    pub bytes: i64,
    pub is_folder: bool,
    pub lines: Option<i64>,
    pub created_ms: Option<i64>,
    pub modified_ms: Option<i64>,
}

/// An entry of a folder.
#[napi(object, object_from_js = false)]
pub struct FolderEntry {
    #[napi(ts_type = "string")]
    pub name: Text,
    pub metadata: Metadata,
}

/// A file or folder found by a walk.
#[napi(object, object_from_js = false)]
pub struct WalkEntry {
    #[napi(ts_type = "string")]
    pub path: Text,
    pub depth: i64,
    pub metadata: Metadata,
}

/// A matching line.
#[napi(object, object_from_js = false)]
pub struct SearchMatch {
    #[napi(ts_type = "string")]
    pub path: Text,
    pub line: i64,
    #[napi(ts_type = "string")]
    pub text: Text,
    /// Pairs of positions in UTF-16 code units, as JavaScript counts.
    #[napi(ts_type = "Array<[number, number]>")]
    pub ranges: Vec<Vec<i64>>,
}

/// A file that holds words of a ranked search.
#[napi(object, object_from_js = false)]
pub struct RankedFile {
    #[napi(ts_type = "string")]
    pub path: Text,
    pub score: f64,
    pub modified_ms: i64,
    pub lines: Vec<RankedLine>,
}

/// A line of it.
#[napi(object, object_from_js = false)]
pub struct RankedLine {
    pub line: i64,
    #[napi(ts_type = "string")]
    pub text: Text,
}

/// The result of a ranked search.
#[napi(object, object_from_js = false)]
pub struct Ranked {
    pub files: Vec<RankedFile>,
    pub found: i64,
    #[napi(ts_type = "Array<string>")]
    pub damaged: Vec<Text>,
}

/// One change.
#[napi(object, object_from_js = false)]
pub struct VersionInfo {
    pub number: i64,
    pub time_ms: i64,
    pub kind: String,
    pub channel: String,
    #[napi(ts_type = "string")]
    pub actor: Text,
    pub file: Option<i64>,
    pub previous: Option<i64>,
    #[napi(ts_type = "string")]
    pub path: Option<Text>,
    #[napi(ts_type = "string")]
    pub old_path: Option<Text>,
    pub bytes: i64,
    pub lines: i64,
    pub text: String,
    pub restored: Option<i64>,
}

/// The settings of a history, and what it holds.
#[napi(object, object_from_js = false)]
pub struct HistoryStatus {
    pub keep_ms: Option<i64>,
    pub max_bytes: i64,
    pub entries: i64,
    pub bytes: i64,
    pub is_damaged: bool,
    pub unreadable: i64,
    pub lost_before: Option<i64>,
}

/// One step of an undo.
#[napi(object, object_from_js = false)]
pub struct UndoStep {
    pub newest: VersionInfo,
    pub to: Option<i64>,
    #[napi(ts_type = "string")]
    pub path: Option<Text>,
}

/// The settings of the expiry, and what is recorded.
#[napi(object, object_from_js = false)]
pub struct ExpiryStatus {
    pub is_recording: bool,
    pub at_unlock_ms: Option<i64>,
    pub since_ms: Option<i64>,
    pub last_expiry_ms: Option<i64>,
    pub readings: i64,
    pub is_damaged: bool,
}

/// A file that expired, or would expire.
#[napi(object, object_from_js = false)]
pub struct ExpiredFile {
    #[napi(ts_type = "string")]
    pub path: Text,
    pub bytes: i64,
    pub last_use_ms: i64,
    pub version: Option<i64>,
}

/// What expired, or would expire.
#[napi(object, object_from_js = false)]
pub struct ExpiryReport {
    pub files: Vec<ExpiredFile>,
    pub unlisted: i64,
    pub bytes: i64,
    pub hindrance: Option<String>,
}

/// Counts and sizes of a store.
#[napi(object, object_from_js = false)]
pub struct StoreStatus {
    pub files: i64,
    pub bytes: i64,
    pub commit: i64,
    pub disk_bytes: i64,
    pub freshness: String,
}

/// A keyslot.
#[napi(object, object_from_js = false)]
pub struct Keyslot {
    pub number: i64,
    pub kind: String,
    pub label: String,
    pub created_ms: i64,
    pub is_current: bool,
}

/// A copy that was read back.
#[napi(object, object_from_js = false)]
pub struct VerifiedCopy {
    pub records: i64,
    pub files: i64,
    pub bytes: i64,
}

/// Records in the folder of a store that the store no longer uses.
#[napi(object, object_from_js = false)]
pub struct SetAside {
    pub number: i64,
    pub bytes: i64,
    pub name: String,
}

/// A backup that was made and read back.
#[napi(object, object_from_js = false)]
pub struct BackupReport {
    pub number: i64,
    pub verified: VerifiedCopy,
    pub added_bytes: i64,
    pub removed: Vec<i64>,
    pub is_cleared: bool,
}

/// A backup in a folder.
#[napi(object, object_from_js = false)]
pub struct BackupInfo {
    pub number: i64,
    pub time_ms: Option<i64>,
    pub own_bytes: i64,
    pub store: String,
}

/// A problem in a store.
#[napi(object, object_from_js = false)]
pub struct StoreProblem {
    #[napi(ts_type = "Array<string>")]
    pub names: Vec<Text>,
    pub what: String,
    pub how: String,
}

/// The result of a check.
#[napi(object, object_from_js = false)]
pub struct CheckReport {
    pub records: i64,
    pub files: i64,
    pub bytes: i64,
    pub orphans: i64,
    pub problems: Vec<StoreProblem>,
    pub unlisted: i64,
}

/// Hands a text to JavaScript without another copy, which would not be wiped.
pub(crate) fn text(env: &Env, text: FileText) -> napi::Result<Unknown<'_>> {
    Ok(env.create_string(text.as_str())?.to_unknown())
}

pub(crate) fn file_version(version: &inmost::FileVersion) -> FileVersion {
    FileVersion {
        version: number(version.version),
        bytes: number(version.bytes),
        sha256: version.sha256_digits(),
    }
}

pub(crate) fn metadata(metadata: &inmost::Metadata) -> Metadata {
    let (lines, created_ms, modified_ms) = match metadata.kind {
        EntryKind::File { lines, created, modified, .. } => {
            (Some(number(lines)), Some(milliseconds(created)), Some(milliseconds(modified)))
        }
        _ => (None, None, None),
    };
    let (bytes, is_folder) = (number(metadata.bytes), metadata.is_folder());
    Metadata { bytes, is_folder, lines, created_ms, modified_ms }
}

pub(crate) fn folder_entry(entry: &inmost::FolderEntry) -> FolderEntry {
    FolderEntry { name: Text::of(&entry.name), metadata: metadata(&entry.metadata) }
}

pub(crate) fn walk_entry(entry: &inmost::WalkEntry) -> WalkEntry {
    WalkEntry {
        path: Text::of(entry.path.as_str()),
        depth: i64::try_from(entry.depth).unwrap_or(i64::MAX),
        metadata: metadata(&entry.metadata),
    }
}

pub(crate) fn ranked(ranked: &inmost::Ranked) -> Ranked {
    let files = ranked.files.iter().map(|file| {
        let lines = file.lines.iter();
        let lines = lines
            .map(|(line, text)| RankedLine { line: number(*line), text: Text::of(text.as_str()) });
        RankedFile {
            path: Text::of(file.path.as_str()),
            score: file.score,
            modified_ms: milliseconds(file.modified),
            lines: lines.collect(),
        }
    });
    Ranked {
        files: files.collect(),
        found: i64::try_from(ranked.found).unwrap_or(i64::MAX),
        damaged: ranked.damaged.iter().map(|path| Text::of(path.as_str())).collect(),
    }
}

pub(crate) fn search_match(found: &inmost::SearchMatch) -> SearchMatch {
    let text = found.text.as_str();
    let (mut byte, mut unit) = (0, 0);
    // The ranges are in order, so the line is read once.
    let mut position = |to: usize| {
        if to < byte {
            (byte, unit) = (0, 0);
        }
        unit += text.get(byte..to).map_or(0, |part| part.encode_utf16().count());
        byte = to;
        i64::try_from(unit).unwrap_or(i64::MAX)
    };
    let ranges = found.ranges.iter().map(|range| vec![position(range.start), position(range.end)]);
    SearchMatch {
        ranges: ranges.collect(),
        path: Text::of(found.path.as_str()),
        line: number(found.line),
        text: Text::of(text),
    }
}

pub(crate) fn version(version: &inmost::VersionInfo) -> VersionInfo {
    let text = |text: &Option<FileText>| text.as_ref().map(|text| Text::of(text.as_str()));
    VersionInfo {
        number: number(version.number),
        time_ms: milliseconds(version.time),
        kind: version.kind.name().to_owned(),
        channel: version.channel.name().to_owned(),
        actor: Text::of(version.actor.as_str()),
        file: version.file.map(number),
        previous: version.previous.map(number),
        path: text(&version.path),
        old_path: text(&version.old_path),
        bytes: number(version.bytes),
        lines: number(version.lines),
        text: version.text.name().to_owned(),
        restored: version.restored.map(number),
    }
}

pub(crate) fn history_status(status: &inmost::HistoryStatus) -> HistoryStatus {
    HistoryStatus {
        keep_ms: status.settings.time().map(in_milliseconds),
        max_bytes: number(status.settings.room()),
        entries: number(status.entries),
        bytes: number(status.bytes),
        is_damaged: status.is_damaged,
        unreadable: number(status.unreadable),
        lost_before: status.lost_before.map(number),
    }
}

pub(crate) fn undo_step(step: &inmost::UndoStep) -> UndoStep {
    UndoStep {
        newest: version(&step.newest),
        to: step.to.map(number),
        path: step.path.as_ref().map(|path| Text::of(path.as_str())),
    }
}

pub(crate) fn expiry_status(status: &inmost::ExpiryStatus) -> ExpiryStatus {
    ExpiryStatus {
        is_recording: status.settings.is_recording(),
        at_unlock_ms: status.settings.unused_for().map(in_milliseconds),
        since_ms: status.since.map(milliseconds),
        last_expiry_ms: status.last_expiry.map(milliseconds),
        readings: number(status.readings),
        is_damaged: status.is_damaged,
    }
}

pub(crate) fn expiry_report(report: &inmost::ExpiryReport) -> ExpiryReport {
    let files = report.files.iter().map(|file| ExpiredFile {
        path: Text::of(file.path.as_str()),
        bytes: number(file.bytes),
        last_use_ms: milliseconds(file.last_use),
        version: file.version.map(number),
    });
    ExpiryReport {
        files: files.collect(),
        unlisted: number(report.unlisted),
        bytes: number(report.bytes),
        hindrance: report.hindrance.map(|hindrance| hindrance.name().to_owned()),
    }
}

pub(crate) fn status(status: &inmost::SessionStatus) -> StoreStatus {
    StoreStatus {
        files: number(status.files),
        bytes: number(status.bytes),
        commit: number(status.commit),
        disk_bytes: number(status.disk_bytes),
        freshness: status.anchor.name().to_owned(),
    }
}

pub(crate) fn keyslot(slot: &inmost::SlotInfo) -> Keyslot {
    Keyslot {
        number: slot.number().into(),
        kind: slot.kind().to_string(),
        label: slot.label().to_owned(),
        created_ms: milliseconds(slot.created()),
        is_current: slot.is_current(),
    }
}

pub(crate) fn verified_copy(copy: &inmost::VerifiedCopy) -> VerifiedCopy {
    VerifiedCopy {
        records: number(copy.records),
        files: number(copy.files),
        bytes: number(copy.bytes),
    }
}

pub(crate) fn set_aside(found: &inmost::SetAside) -> SetAside {
    SetAside { number: number(found.number), bytes: number(found.bytes), name: found.name() }
}

pub(crate) fn backup_report(report: &inmost::BackupReport) -> BackupReport {
    BackupReport {
        number: number(report.number),
        verified: verified_copy(&report.verified),
        added_bytes: number(report.added_bytes),
        removed: report.removed.iter().copied().map(number).collect(),
        is_cleared: report.is_cleared,
    }
}

pub(crate) fn backup_info(info: &inmost::BackupInfo) -> BackupInfo {
    BackupInfo {
        number: number(info.number),
        time_ms: info.time.map(milliseconds),
        own_bytes: number(info.own_bytes),
        store: format!("{:032x}", u128::from_be_bytes(info.store)),
    }
}

pub(crate) fn check_report(report: &inmost::CheckReport) -> CheckReport {
    let problems = report.problems.iter().map(|problem| StoreProblem {
        names: problem.names.iter().map(|name| Text::of(name)).collect(),
        what: problem.what.to_owned(),
        how: problem.how.to_owned(),
    });
    CheckReport {
        records: number(report.records),
        files: number(report.files),
        bytes: number(report.bytes),
        orphans: number(report.orphans),
        problems: problems.collect(),
        unlisted: number(report.unlisted),
    }
}

/// A JavaScript number. Above 2^53 it would be rounded; no count of a store gets there.
pub(crate) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn milliseconds(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => in_milliseconds(after),
        Err(before) => -in_milliseconds(before.duration()),
    }
}

fn in_milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
