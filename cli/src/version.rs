//! Versions for people and for scripts.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use inmost::{
    FileError, FileText, History, HistoryStatus, VersionChannel, VersionInfo, VersionKind,
    VersionQuery, VersionText, human_size,
};
use serde::Serialize;

use crate::display;
use crate::exit::{Exit, Failure};
use crate::json_line::milliseconds;
use crate::times;

/// A version as a line: number, local time, kind, channel, actor, size and path, and whether its text is gone.
pub(crate) fn line(version: &VersionInfo) -> String {
    let size = match version.path {
        Some(_) if version.file.is_some() => human_size(version.bytes),
        _ => "-".to_owned(),
    };
    let actor = display::path(actor(version));
    let is_gone = version.text == VersionText::Gone && version.redacted.is_none();
    let gone = if is_gone { "  (text gone)" } else { "" };
    format!(
        "{:>7}  {}  {:<9}  {:<7}  {:<16}  {size:>6}  {}{gone}\n",
        version.number,
        times::local(version.time),
        version.kind.name(),
        version.channel.name(),
        actor,
        path(version)
    )
}

/// What the history says of the deletion of what was at a path last.
pub(crate) enum Deletion {
    /// The version of this number can be restored until then.
    Kept(u64, String),
    /// Its text has more bytes than the history keeps in all, so the next change drops it.
    TooLarge { bytes: u64, room: u64 },
}

/// The deletion of what was at a path last; `None` if the store keeps no versions, or has dropped the text of this one.
pub(crate) fn deletion(history: History<'_>, path: &str) -> Option<Deletion> {
    let settings = history.status().ok()?.settings;
    let time = settings.time()?;
    let query = VersionQuery::all().path(path).kind(VersionKind::Deleted);
    let deletion = history.page(&query, None, 1).ok()?.items.pop()?;
    // A folder has no text of its own.
    if let Some(last) = deletion.previous {
        let (bytes, room) = (byte_count(&history.text(last).ok()?), settings.room());
        if bytes > room {
            return Some(Deletion::TooLarge { bytes, room });
        }
    }
    Some(Deletion::Kept(deletion.number, times::local_minute(deletion.time.checked_add(time)?)))
}

fn byte_count(text: &FileText) -> u64 {
    u64::try_from(text.as_str().len()).unwrap_or(u64::MAX)
}

/// Who made a version.
pub(crate) fn actor(version: &VersionInfo) -> &str {
    Some(version.actor.as_str()).filter(|actor| !actor.is_empty()).unwrap_or("-")
}

/// The path of a version, with the old one of a rename.
fn path(version: &VersionInfo) -> String {
    match (&version.old_path, &version.path) {
        (Some(old), Some(new)) if old != new => {
            format!("{} -> {}", display::path(old.as_str()), display::path(new.as_str()))
        }
        (_, Some(path)) => display::path(path.as_str()),
        (_, None) if version.redacted.is_some() => "(redacted)".to_owned(),
        (_, None) => "-".to_owned(),
    }
}

/// A version as a line of JSON.
#[derive(Serialize)]
pub(crate) struct Object<'a> {
    version: u64,
    time: u64,
    kind: &'static str,
    channel: &'static str,
    actor: &'a str,
    file: Option<u64>,
    previous: Option<u64>,
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path: Option<&'a str>,
    bytes: u64,
    lines: u64,
    text: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<u64>,
}

impl<'a> Object<'a> {
    pub(crate) fn of(version: &'a VersionInfo) -> Self {
        Self {
            version: version.number,
            time: milliseconds(version.time),
            kind: version.kind.name(),
            channel: version.channel.name(),
            actor: version.actor.as_str(),
            file: version.file,
            previous: version.previous,
            path: version.path.as_ref().map(FileText::as_str),
            old_path: version.old_path.as_ref().map(FileText::as_str),
            bytes: version.bytes,
            lines: version.lines,
            text: version.text.name(),
            redacted: version.redacted.map(milliseconds),
        }
    }
}

/// The entry of a version; `None` if the history has none of this number.
pub(crate) fn find(history: History<'_>, number: u64) -> Result<Option<VersionInfo>, FileError> {
    let page = history.page(&VersionQuery::all(), number.checked_add(1), 1)?;
    Ok(page.items.into_iter().find(|version| version.number == number))
}

/// The failure to read or bring back a version.
pub(crate) fn failure(number: u64, error: FileError) -> Failure {
    match error {
        FileError::IsAFolder(path) => Failure::new(
            Exit::Other,
            format!(
                "Version {number} is a change of the folder {}, which has no text.",
                display::path(path.as_str())
            ),
            "`inmost restore` brings back a folder that was deleted, and `inmost undo` takes back a rename.",
        ),
        error => error.into(),
    }
}

/// The failure to bring back a version whose text is gone.
pub(crate) fn gone(number: u64, version: Option<&VersionInfo>) -> Failure {
    let deletion = version.filter(|version| is_deletion(version));
    if let Some(by) = deletion.and_then(|deletion| deletion.restored) {
        return Failure::new(
            Exit::Other,
            format!(
                "The folder that version {number} deleted was already brought back, as version {by}."
            ),
            "Its later changes are listed by `inmost log`.",
        );
    }
    let message = match deletion {
        Some(_) => format!("What version {number} deleted is not kept any more."),
        None => FileError::VersionGone(number).to_string(),
    };
    Failure::new(
        Exit::Other,
        message,
        "It was redacted, forgotten, or dropped for lack of room: `inmost log` lists the changes, `inmost history` the room.",
    )
}

/// Whether a version is a deletion, after which there is no text.
pub(crate) fn is_deletion(version: &VersionInfo) -> bool {
    matches!(version.kind, VersionKind::Deleted | VersionKind::Expired)
}

/// The failure of a command that found no version: because the history is off, or for the given reason.
pub(crate) fn nothing_found(status: &HistoryStatus, message: String) -> Failure {
    if status.settings.time().is_none() {
        return Failure::new(Exit::Other, OFF, TURN_ON);
    }
    Failure::new(Exit::Other, message, "List the changes with `inmost log`.")
}

/// Why there are no versions, if the history is off.
pub(crate) const OFF: &str = "The history is off: this store keeps no versions.";

/// How to have versions from now on.
pub(crate) const TURN_ON: &str =
    "`inmost history --keep 30d` turns it on, for changes from then on.";

/// What redacting and forgetting leave behind.
pub(crate) const CIPHERTEXT_STAYS: &str = "The ciphertext stays in the store's files until `inmost compact`. Copies and backups keep it.\n";

/// Parses the name of a kind.
pub(crate) fn kinds() -> impl TypedValueParser<Value = VersionKind> {
    PossibleValuesParser::new(VersionKind::ALL.map(VersionKind::name))
        .try_map(|name| VersionKind::from_name(&name).ok_or("no kind"))
}

/// Parses the name of a channel.
pub(crate) fn channels() -> impl TypedValueParser<Value = VersionChannel> {
    PossibleValuesParser::new(VersionChannel::ALL.map(VersionChannel::name))
        .try_map(|name| VersionChannel::from_name(&name).ok_or("no channel"))
}
