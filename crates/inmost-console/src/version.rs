//! Versions for people.

use inmost::{FileError, History, HistoryStatus, VersionInfo, VersionKind, VersionQuery};

use crate::display;
use crate::exit::{Exit, Failure};
use crate::times;

/// What the history says of the deletion of what was at a path last.
pub enum Deletion {
    /// The version of this number can be restored until then.
    Kept(u64, String),
    /// Its text has more bytes than the history keeps in all, so the next change drops it.
    TooLarge { bytes: u64, room: u64 },
}

/// The deletion of what was at a path last; `None` if the store keeps no versions, or has dropped the text of this one.
pub fn deletion(history: History<'_>, path: &str) -> Option<Deletion> {
    let status = history.status().ok()?;
    let (settings, until) = (status.settings, status.kept_until?);
    let query = VersionQuery::all().path(path).kind(VersionKind::Deleted);
    let deletion = history.page(&query, None, 1).ok()?.items.pop()?;
    // A folder has no text of its own.
    if let Some(last) = deletion.previous {
        let length = history.text(last).ok()?.as_str().len();
        let (bytes, room) = (u64::try_from(length).unwrap_or(u64::MAX), settings.room());
        if bytes > room {
            return Some(Deletion::TooLarge { bytes, room });
        }
    }
    Some(Deletion::Kept(deletion.number, times::local_minute(until)))
}

/// Who made a version.
pub fn actor(version: &VersionInfo) -> &str {
    Some(version.actor.as_str()).filter(|actor| !actor.is_empty()).unwrap_or("-")
}

/// The entry of a version; `None` if the history has none of this number.
pub fn find(history: History<'_>, number: u64) -> Result<Option<VersionInfo>, FileError> {
    let page = history.page(&VersionQuery::all(), number.checked_add(1), 1)?;
    Ok(page.items.into_iter().find(|version| version.number == number))
}

/// The failure to read or bring back a version.
pub fn failure(number: u64, error: FileError) -> Failure {
    match error {
        FileError::IsAFolder(path) => Failure::new(
            Exit::Other,
            format!(
                "Version {number} is a change of the folder {}, which has no text.",
                display::path(path.as_str())
            ),
            "`inmost restore NUMBER` brings back a folder that was deleted, and `inmost undo PATH` takes back a rename.",
        ),
        error => error.into(),
    }
}

/// The failure to bring back a version whose text is gone.
pub fn gone(number: u64, version: Option<&VersionInfo>) -> Failure {
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
        "It was forgotten, or dropped for lack of room: `inmost log` lists the changes, `inmost history` the room.",
    )
}

/// Whether a version is a deletion, after which there is no text.
pub fn is_deletion(version: &VersionInfo) -> bool {
    matches!(version.kind, VersionKind::Deleted | VersionKind::Expired)
}

/// The failure of a command that found no version: because the history is off, or for the given reason.
pub fn nothing_found(status: &HistoryStatus, message: String) -> Failure {
    if status.settings.time().is_none() {
        return Failure::new(Exit::Other, OFF, TURN_ON);
    }
    Failure::new(Exit::Other, message, "List the changes with `inmost log`.")
}

/// Why there are no versions, if the history is off.
pub const OFF: &str = "The history is off: this store keeps no versions.";

/// How to have versions from now on.
pub const TURN_ON: &str = "`inmost history --keep 30d` turns it on, for changes from then on.";

/// What redacting and forgetting leave behind.
pub const CIPHERTEXT_STAYS: &str = "The ciphertext stays in the store's files until `inmost compact`. Copies and backups keep it.\n";
