//! What a host reads of the history, and asks it.

use std::fmt;
use std::time::SystemTime;

use inmost_format::record::history::{Before, Channel, Operation, Version};

use crate::session::{HistorySettings, milliseconds, now, time_of};
use crate::vfs::file_text::FileText;

/// The settings of a history, and what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HistoryStatus {
    /// How long versions are kept.
    pub settings: HistorySettings,
    /// Entries, including those whose time is over and that are not removed yet.
    pub entries: u64,
    /// Bytes of earlier texts that are kept.
    pub bytes: u64,
    /// Whether it cannot be read, because records of it are damaged. The next change begins a new one.
    pub is_damaged: bool,
    /// Entries that cannot be read, because records of it are damaged. They are dropped when the time of those behind them
    /// is over. Of a very long history, only the older part is looked at.
    pub unreadable: u64,
    /// The number of its first entry, if an earlier history was lost to damage.
    pub lost_before: Option<u64>,
    /// Until when a text that is replaced or deleted now is kept at least, by the clock; `None` if no versions are kept. If the clock
    /// is behind the latest time that the history has seen, that time counts.
    #[cfg_attr(feature = "serde", serde(default))]
    pub kept_until: Option<SystemTime>,
}

/// One change, and the version that it made.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VersionInfo {
    /// Its number. Numbers grow from change to change, with gaps, and none is ever used again.
    pub number: u64,
    /// When the change was made, by the clock of the machine that made it.
    pub time: SystemTime,
    /// What the change did.
    pub kind: VersionKind,
    /// The part of the program that made the change.
    pub channel: VersionChannel,
    /// Who made it, as the caller claimed; empty if the caller gave no label.
    pub actor: FileText,
    /// The file, by the number of the change that created it; `None` for a folder. It stays the same when the file is
    /// renamed.
    pub file: Option<u64>,
    /// The number of the file's previous version; `None` for the first.
    pub previous: Option<u64>,
    /// The path after the change; for a deletion, the path before it. `None` for a note of what was forgotten.
    pub path: Option<FileText>,
    /// The path before a rename; `None` if everything before it was forgotten.
    pub old_path: Option<FileText>,
    /// Bytes of the file after the change; 0 for a folder.
    pub bytes: u64,
    /// Lines of the file after the change; 0 for a folder.
    pub lines: u64,
    /// Whether its text can still be read.
    #[cfg_attr(feature = "serde", serde(default))]
    pub text: VersionText,
    /// For the deletion of a folder: the change that moved it back.
    pub restored: Option<u64>,
}

impl VersionInfo {
    pub(super) fn of(version: &Version) -> Self {
        let text = |name: &str| (!name.is_empty()).then(|| FileText::from(name.to_owned()));
        let number = |number: u64| (number > 0).then_some(number);
        Self {
            number: version.number,
            time: time_of(version.time),
            kind: VersionKind::of(version.operation),
            channel: VersionChannel::of(version.channel),
            actor: FileText::from(version.actor.as_str().to_owned()),
            file: number(version.file),
            previous: number(version.previous),
            path: text(version.path.as_str()),
            old_path: text(version.old_path.as_str()),
            bytes: version.bytes,
            lines: version.lines,
            text: VersionText::of(version),
            restored: match version.before {
                Before::Restored(by) => Some(by),
                _ => None,
            },
        }
    }
}

impl fmt::Debug for VersionInfo {
    /// A store hides its paths, so `Debug` does not show them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VersionInfo")
            .field("number", &self.number)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// Which versions to list; all of them by default.
#[derive(Clone, Default)]
#[must_use]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VersionQuery {
    pub(super) path: Option<FileText>,
    pub(super) confined: bool,
    pub(super) file: Option<u64>,
    pub(super) actor: Option<String>,
    pub(super) kind: Option<VersionKind>,
    pub(super) channel: Option<VersionChannel>,
    pub(super) since: Option<SystemTime>,
    pub(super) until: Option<SystemTime>,
}

impl VersionQuery {
    /// Lists every version.
    pub fn all() -> Self {
        Self::default()
    }

    /// Lists only changes of this path, or of a path below it, by the paths at that time. A change to a folder above it
    /// counts too.
    pub fn path(mut self, path: &str) -> Self {
        self.path = Some(FileText::from(path.to_owned()));
        self
    }

    /// Lists only changes all of whose paths lie at or below the folder given with [`path`](Self::path): what may be shown
    /// to someone who may see that folder alone.
    pub fn confined(mut self) -> Self {
        self.confined = true;
        self
    }

    /// Lists only changes of this file; see [`VersionInfo::file`].
    pub fn file(mut self, file: u64) -> Self {
        self.file = Some(file);
        self
    }

    /// Lists only changes by this actor.
    pub fn actor(mut self, actor: &str) -> Self {
        self.actor = Some(actor.to_owned());
        self
    }

    /// Lists only changes of this kind.
    pub fn kind(mut self, kind: VersionKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Lists only changes through this part of the program.
    pub fn channel(mut self, channel: VersionChannel) -> Self {
        self.channel = Some(channel);
        self
    }

    /// Lists only changes at this time or later. One that was made with a clock that was behind counts by the latest time that
    /// the history had seen before it.
    pub fn since(mut self, time: SystemTime) -> Self {
        self.since = Some(time.max(SystemTime::UNIX_EPOCH));
        self
    }

    /// Lists only changes before this time, and those whose time is in the future, because a clock was wrong.
    pub fn until(mut self, time: SystemTime) -> Self {
        self.until = Some(time.max(SystemTime::UNIX_EPOCH));
        self
    }

    /// Whether a change is listed, its path aside.
    pub(super) fn takes(&self, version: &Version) -> bool {
        let is = |wanted: Option<u64>, found| wanted.is_none_or(|wanted| wanted == found);
        is(self.file, version.file)
            && self.actor.as_deref().is_none_or(|actor| actor == version.actor.as_str())
            && self.kind.is_none_or(|kind| kind == VersionKind::of(version.operation))
            && self.channel.is_none_or(|channel| channel == VersionChannel::of(version.channel))
            && self.since.is_none_or(|since| is_since(version, milliseconds(since)))
            && self.until.is_none_or(|until| is_until(version, milliseconds(until)))
    }
}

/// Whether a change was made at this time or later. One that was made with a clock that was behind counts as made at the latest
/// time that the history had seen by then, unless that is in the future: then the clock before it was wrong.
fn is_since(version: &Version, since: u64) -> bool {
    let seen = version.time.saturating_add(version.late);
    version.time >= since || seen >= since && seen <= now()
}

/// Whether a change was made before this time, or may have been: its time is in the future, so that its clock was wrong.
fn is_until(version: &Version, until: u64) -> bool {
    version.time < until || version.time > now()
}

impl fmt::Debug for VersionQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VersionQuery").finish_non_exhaustive()
    }
}

/// One page of versions, the newest first.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VersionPage {
    /// The versions. A page may be empty although more pages follow.
    pub items: Vec<VersionInfo>,
    /// Entries between those of this page that cannot be read, because a record of the history is damaged. Which changes they
    /// are is not known, so the filters do not apply to them.
    #[cfg_attr(feature = "serde", serde(default))]
    pub unreadable: u64,
    /// The next page has the versions before this number; `None` on the last page.
    pub next: Option<u64>,
}

/// One step of an undo: one file or folder goes back.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UndoStep {
    /// The newest change of the file, or the change of the folder, which the step undoes. If there is a newer one, the step
    /// changes nothing. Those of earlier steps of the same undo do not count.
    pub newest: VersionInfo,
    /// The version that the file goes back to. `None` if the file did not exist; then it is deleted. For a folder, `None`.
    pub to: Option<u64>,
    /// The path that it goes back to; `None` if it is not known any more.
    pub path: Option<FileText>,
    /// For a step that moves or deletes a folder: the newest change of the store that was looked at. If there is a newer one, the
    /// step changes nothing. `None` if nothing was looked at.
    #[cfg_attr(feature = "serde", serde(default))]
    pub as_of: Option<u64>,
    /// Whether the changes of the file did not move it. Then it stays where it is, even if a folder on its path has moved.
    #[cfg_attr(feature = "serde", serde(default))]
    pub stays: bool,
}

impl UndoStep {
    /// Creates a step.
    #[must_use]
    pub fn new(newest: VersionInfo, to: Option<u64>, path: Option<FileText>) -> Self {
        Self { newest, to, path, as_of: None, stays: false }
    }
}

/// What a change did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum VersionKind {
    /// Made a file.
    Created,
    /// Changed the text of a file.
    Modified,
    /// Moved a file or folder.
    Renamed,
    /// Deleted a file or folder.
    Deleted,
    /// Brought back an earlier text, or a deleted file or folder.
    Restored,
    /// Deleted a file that was neither read nor changed for a long time.
    Expired,
    /// Wrote a file together with others.
    Imported,
    /// Forgot earlier versions. The entry says neither which nor of what.
    Forgotten,
}

/// Whether the text of a version can still be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum VersionText {
    /// No text: the change deleted the file, or is of a folder.
    None,
    /// It is kept, or is the present text of the file.
    Kept,
    /// It was forgotten, dropped for lack of room, or lost to damage.
    Gone,
    /// It was not looked for, is too far from the end of the history to be looked for in a list, or damage hides where it is.
    /// [`History::text`](crate::History::text) tells.
    #[default]
    Unknown,
}

/// The part of the program that made a change. The store sets it, so that a caller cannot claim another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum VersionChannel {
    /// The memory tool: a model.
    Tool,
    /// The file interface of the library.
    Files,
    /// The command-line program.
    Program,
    /// An import.
    Import,
    /// The expiry of unused files.
    Expiry,
}

impl VersionKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Created,
        Self::Modified,
        Self::Renamed,
        Self::Deleted,
        Self::Restored,
        Self::Expired,
        Self::Imported,
        Self::Forgotten,
    ];

    /// The kind with this [name](Self::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name, as in `created`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::Deleted => "deleted",
            Self::Restored => "restored",
            Self::Expired => "expired",
            Self::Imported => "imported",
            Self::Forgotten => "forgotten",
        }
    }

    pub(super) fn of(operation: Operation) -> Self {
        match operation {
            Operation::Created => Self::Created,
            Operation::Modified => Self::Modified,
            Operation::Renamed => Self::Renamed,
            Operation::Deleted => Self::Deleted,
            Operation::Restored => Self::Restored,
            Operation::Expired => Self::Expired,
            Operation::Imported => Self::Imported,
            Operation::Forgotten => Self::Forgotten,
        }
    }
}

impl VersionChannel {
    /// Every channel.
    pub const ALL: [Self; 5] = [Self::Tool, Self::Files, Self::Program, Self::Import, Self::Expiry];

    /// The channel with this [name](Self::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|channel| channel.name() == name)
    }

    /// The name, as in `tool`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Files => "files",
            Self::Program => "program",
            Self::Import => "import",
            Self::Expiry => "expiry",
        }
    }

    pub(super) fn of(channel: Channel) -> Self {
        match channel {
            Channel::Tool => Self::Tool,
            Channel::Files => Self::Files,
            Channel::Program => Self::Program,
            Channel::Import => Self::Import,
            Channel::Expiry => Self::Expiry,
        }
    }
}

impl VersionText {
    /// The name, as in `kept`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Kept => "kept",
            Self::Gone => "gone",
            Self::Unknown => "unknown",
        }
    }

    /// What an entry tells by itself.
    pub(super) fn of(version: &Version) -> Self {
        match version.operation {
            _ if version.file == 0 => Self::None,
            Operation::Deleted | Operation::Expired => Self::None,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use inmost_storage::every_variant;

    use super::*;

    #[test]
    fn every_kind_and_every_channel_is_found_by_its_name() {
        let kinds = every_variant!(VersionKind {
            VersionKind::Created => [VersionKind::Created, "created"];
            VersionKind::Modified => [VersionKind::Modified, "modified"];
            VersionKind::Renamed => [VersionKind::Renamed, "renamed"];
            VersionKind::Deleted => [VersionKind::Deleted, "deleted"];
            VersionKind::Restored => [VersionKind::Restored, "restored"];
            VersionKind::Expired => [VersionKind::Expired, "expired"];
            VersionKind::Imported => [VersionKind::Imported, "imported"];
            VersionKind::Forgotten => [VersionKind::Forgotten, "forgotten"];
        });
        for (kind, name) in kinds {
            assert_eq!((kind.name(), VersionKind::from_name(name)), (name, Some(kind)));
        }
        let channels = every_variant!(VersionChannel {
            VersionChannel::Tool => [VersionChannel::Tool, "tool"];
            VersionChannel::Files => [VersionChannel::Files, "files"];
            VersionChannel::Program => [VersionChannel::Program, "program"];
            VersionChannel::Import => [VersionChannel::Import, "import"];
            VersionChannel::Expiry => [VersionChannel::Expiry, "expiry"];
        });
        for (channel, name) in channels {
            assert_eq!((channel.name(), VersionChannel::from_name(name)), (name, Some(channel)));
        }
        assert_eq!(VersionKind::from_name("invented"), None);
        assert_eq!(VersionChannel::from_name("Tool"), None);
    }
}
