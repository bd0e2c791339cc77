//! What a change did, through what, and whether the text of its version is left.

use inmost_format::record::history::{Channel, Operation, Version};

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
    /// It was redacted, dropped for lack of room, or lost to damage.
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
            _ if version.redacted > 0 => Self::Gone,
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
