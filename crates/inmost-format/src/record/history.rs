//! The history of a store: one entry for each change, in the order of their numbers.
//!
//! An entry keeps what its change took out of use: the previous head of a file, or a whole file or folder. Nothing is
//! copied for it. While history is on, an edit writes the records that it changes under new indexes, so that the old head
//! and everything below it stay as they are.

mod gap;
#[cfg(test)]
mod tests;
mod tree;

use serde::{Deserialize, Deserializer, Serialize};
use zeroize::Zeroize;

use super::address::{Kind, ObjectId, RecordId};
use super::codec::{self, CodecError, DirectEncode, Output, Sink};
use super::folder::{Entry, Name};
use super::layout::Tag;
use super::tree::Body;

/// The head of a history.
#[derive(Clone, Serialize, Deserialize)]
pub struct History {
    /// The last index that a tree node of this history got.
    #[serde(with = "codec::fixed")]
    pub next_index: u64,
    /// Bytes of the texts that the entries hold.
    #[serde(with = "codec::fixed")]
    pub held: u64,
    /// Entries with a lower number hold no text any more, because there was no room.
    #[serde(with = "codec::fixed")]
    pub texts_from: u64,
    /// The number of the first entry, if the history before it was lost to damage; else 0.
    #[serde(with = "codec::fixed")]
    pub lost_before: u64,
    /// The number of the commit that changed it last. A repair tells by it which of two heads is later.
    #[serde(with = "codec::fixed")]
    pub commit: u64,
    /// The time that it has seen pass.
    pub seen: Seen,
    /// The entries but for the newest.
    pub body: Body<Versions>,
    /// The newest entries, behind those of the body. When the next one does not fit, they become a leaf of the body; so a
    /// change writes the head alone, and a leaf now and then.
    pub newest: Versions,
}

/// The time that a history has seen pass, from the clocks of its changes. All times are in milliseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// The age: how many milliseconds have passed. It never falls.
    #[serde(with = "codec::fixed")]
    pub age: u64,
    /// The latest time of the clock that is believed; 0 before the first change.
    #[serde(with = "codec::fixed")]
    pub latest: u64,
    /// The time of age 0, by the clock that was believed before this one; 0 without one.
    #[serde(with = "codec::fixed")]
    pub former: u64,
    /// The first time of a clock that shows something else and is not believed yet; 0 without one.
    #[serde(with = "codec::fixed")]
    pub from: u64,
    /// The latest time of this other clock.
    #[serde(with = "codec::fixed")]
    pub to: u64,
    /// How far this other clock has gone on, as far as that counts.
    #[serde(with = "codec::fixed")]
    pub passed: u64,
}

/// Entries of a history in the order of their numbers.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Versions(pub Vec<Version>);

/// The entry of one change.
#[derive(Clone, Serialize, Deserialize)]
pub struct Version {
    /// The number of the change: 64 times its commit, plus its place in the group.
    pub number: u64,
    /// When it was made by the clock of its machine, in milliseconds since 1970.
    pub time: u64,
    /// The age of the history then. It is not lower than that of the entry before.
    pub age: u64,
    /// By how many milliseconds that clock was behind the latest time that the history had seen; 0 if it was not.
    pub late: u64,
    /// What it did.
    pub operation: Operation,
    /// The part of the program that made it.
    pub channel: Channel,
    /// Who made it, as claimed by the caller; empty if unknown.
    pub actor: Name,
    /// The number of the file: that of the change that created it. 0 for a folder.
    pub file: u64,
    /// The number of the file's previous change, or 0.
    pub previous: u64,
    /// The path after the change; for a deletion, the path before it.
    pub path: Name,
    /// The path before a rename; else empty. Empty for a rename, too, if everything before it was forgotten.
    pub old_path: Name,
    /// Bytes of the file after the change.
    pub bytes: u64,
    /// Lines of the file after the change.
    pub lines: u64,
    /// What the change took out of use.
    pub before: Before,
    /// The records below the old head that the change took out of use.
    pub retired: Vec<Retired>,
    /// Bytes of the text in `before`.
    pub held: u64,
    /// Objects that this change forgot. A repair does not bring them back.
    pub forgotten: Vec<ObjectId>,
    /// For fields of later versions; empty.
    pub extension: Extension,
}

/// What a change did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Operation {
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
    /// Records that objects were forgotten, so that a repair does not bring them back. Without objects, it stands for entries
    /// that were lost.
    Forgotten,
}

/// The part of the program that made a change. The code sets it, so it is not a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Channel {
    /// The memory tool: a model.
    Tool,
    /// The typed file interface.
    Files,
    /// The command-line program.
    Program,
    /// An import.
    Import,
    /// The expiry of unused files.
    Expiry,
}

/// What a change took out of use.
#[derive(Clone, Serialize, Deserialize)]
pub enum Before {
    /// Nothing, or it was dropped.
    Nothing,
    /// An earlier head of a file whose object is still in use.
    Head(OldHead),
    /// A whole file or folder that left the tree; its name is empty.
    Object(Box<Entry>),
    /// A whole file or folder that a later change, of this number, brought back.
    Restored(u64),
}

/// An earlier head of a file.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct OldHead {
    /// The file.
    pub object: ObjectId,
    /// The index of its head.
    pub index: u64,
    /// The tag of its head.
    pub tag: Tag,
    /// The last index that the file had given out with this head.
    pub last_index: u64,
    /// Bytes of its text.
    pub bytes: u64,
    /// Lines of its text.
    pub lines: u64,
}

/// A record that a change took out of use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Retired {
    /// Whether it is an inner node. Otherwise it is a piece of text.
    pub is_inner: bool,
    /// Its index.
    pub index: u64,
}

/// Room for fields of later versions. Anything in it is refused.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Extension(u8);

impl DirectEncode for Extension {
    fn write(&self, output: &mut Output<impl Sink>) -> Result<(), CodecError> {
        output.bytes(&[self.0])
    }
}

impl<'de> Deserialize<'de> for Extension {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u8::deserialize(deserializer)? {
            0 => Ok(Self(0)),
            _ => Err(serde::de::Error::custom("unknown flags")),
        }
    }
}

/// A summary of the entries below a child of an inner node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VersionRange {
    /// Their number.
    pub count: u64,
    /// The number of the first.
    pub first: u64,
}

impl Version {
    /// The entry of a change that holds nothing and says nothing but its number and time.
    pub fn nothing(number: u64, time: u64) -> Self {
        Self {
            number,
            time,
            age: 0,
            late: 0,
            operation: Operation::Forgotten,
            channel: Channel::Files,
            actor: Name::new(""),
            file: 0,
            previous: 0,
            path: Name::new(""),
            old_path: Name::new(""),
            bytes: 0,
            lines: 0,
            before: Before::Nothing,
            retired: Vec::new(),
            held: 0,
            forgotten: Vec::new(),
            extension: Extension::default(),
        }
    }

    /// The entry that stands for entries which a repair left out, because they could not be read: all that there were from this
    /// number on, up to the next entry.
    pub fn missing(number: u64, time: u64, age: u64) -> Self {
        let mut version = Self::nothing(number, time);
        version.age = age;
        version
    }

    /// Whether this entry stands for others that a repair left out. Any other note of forgotten objects lists at least one.
    pub fn is_missing(&self) -> bool {
        self.operation == Operation::Forgotten && self.forgotten.is_empty()
    }
}

impl Retired {
    /// The name of the record.
    pub fn id(self, object: ObjectId) -> RecordId {
        let kind = if self.is_inner { Kind::FileInner } else { Kind::Chunk };
        RecordId { kind, object, index: self.index }
    }
}

impl OldHead {
    /// The name of the head.
    pub fn id(&self) -> RecordId {
        RecordId { kind: Kind::File, object: self.object, index: self.index }
    }
}

impl Drop for Version {
    fn drop(&mut self) {
        // Sizes, times and numbers are plaintext too; the names wipe themselves.
        for number in [
            &mut self.number,
            &mut self.time,
            &mut self.age,
            &mut self.late,
            &mut self.file,
            &mut self.previous,
            &mut self.bytes,
            &mut self.lines,
            &mut self.held,
        ] {
            number.zeroize();
        }
        if let Before::Head(old) = &mut self.before {
            old.object.0.zeroize();
            old.bytes.zeroize();
            old.lines.zeroize();
        }
    }
}
