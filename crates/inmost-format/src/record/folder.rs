//! Folders: their entries, their totals, and how the tree counts entries.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroize;

use super::address::{Kind, ObjectId, RecordId};
use super::codec::{self, CodecError, DirectEncode, Output, Sink};
use super::history::Extension;
use super::layout::Tag;
use super::node::Node;
use super::tree::{Body, Inner, Leaf, Summary};
use crate::secret::Wiped;

/// The head of a folder.
#[derive(Clone, Serialize, Deserialize)]
pub struct Folder {
    /// The last index that a tree node of this folder got; the next node gets the next number.
    #[serde(with = "codec::fixed")]
    pub next_index: u64,
    /// Sums over everything below.
    pub totals: Totals,
    /// The entries.
    pub body: Body<Entries>,
}

/// Sums over the entries of a folder and everything below them. With these a listing of any folder reads only the
/// entries that it shows. Hidden entries, and everything below them, are not "visible".
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Totals {
    /// Visible entries of the folder itself.
    #[serde(with = "codec::fixed")]
    pub visible_children: u64,
    /// Visible entries of its visible sub-folders.
    #[serde(with = "codec::fixed")]
    pub visible_grandchildren: u64,
    /// Bytes of the visible files below.
    #[serde(with = "codec::fixed")]
    pub visible_bytes: u64,
    /// All files below.
    #[serde(with = "codec::fixed")]
    pub files: u64,
    /// Bytes of all files below.
    #[serde(with = "codec::fixed")]
    pub bytes: u64,
}

/// One name in a folder.
#[derive(Clone, Serialize, Deserialize)]
pub struct Entry {
    /// The name, in NFC.
    pub name: Name,
    /// The object.
    pub id: ObjectId,
    /// The tag of its head.
    pub tag: Tag,
    /// Folder or file.
    pub what: What,
    /// Who is writing the object, while it is written in steps.
    pub writer: Option<Writer>,
}

/// The writer of an object that is not finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Writer {
    /// The session, by a random number.
    pub session: [u8; 16],
    /// When the last step was written, in milliseconds since 1970.
    pub time: u64,
}

/// The kind of object that an entry names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum What {
    /// A folder, described in its head.
    Folder,
    /// A file, with the facts that a listing shows.
    File(FileInfo),
}

/// The facts about a file that its folder keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FileInfo {
    /// Bytes of text.
    pub bytes: u64,
    /// Lines of text.
    pub lines: u64,
    /// When it was created, in milliseconds since 1970.
    pub created: u64,
    /// When its text last changed, in milliseconds since 1970.
    pub modified: u64,
    /// The index of its head.
    pub head: u64,
    /// The lowest index of a head whose text may be shown if the newest one is damaged.
    pub lowest: u64,
    /// The number of the file: that of the change that created it. A rename does not change it.
    pub number: u64,
    /// The number of its last change.
    pub version: u64,
    /// For later versions of the format; none is known.
    pub flags: Extension,
}

impl FileInfo {
    /// The facts of an empty file with these times, which has no numbers yet.
    pub fn of_times(created: u64, modified: u64) -> Self {
        Self { created, modified, ..Self::default() }
    }
}

/// A name of a folder or file, never printed. Copies share one text, because each change of a folder copies its names; it is
/// wiped when the last one is dropped.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(Arc<Wiped<String>>);

impl Name {
    /// A copy of `name`.
    pub fn new(name: &str) -> Self {
        Self(Arc::new(Wiped::new(name.to_owned())))
    }

    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Arc::new(Wiped::deserialize(deserializer)?)))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Name(..)")
    }
}

/// Entries in code-point order of their names.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Entries(pub Vec<Entry>);

/// A summary of the entries below a child of an inner node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EntryRange {
    /// Their number.
    pub count: u64,
    /// The first name.
    pub first: Name,
}

impl Entries {
    pub(super) fn children_mut<E>(
        &mut self,
        mut visit: impl FnMut(RecordId, &mut Tag) -> Result<(), E>,
    ) -> Result<(), E> {
        self.0.iter_mut().try_for_each(|entry| visit(entry.head(), &mut entry.tag))
    }
}

impl Summary for EntryRange {
    type Count = u64;

    fn count(&self) -> u64 {
        self.count
    }

    fn join(&mut self, right: &Self) {
        self.count = self.count.saturating_add(right.count);
    }
}

impl Leaf for Entries {
    type Summary = EntryRange;
    const INNER: Kind = Kind::FolderInner;
    const LEAF: Kind = Kind::FolderLeaf;

    fn summary(&self) -> EntryRange {
        EntryRange {
            count: u64::try_from(self.0.len()).unwrap_or(u64::MAX),
            first: self.0.first().map_or_else(|| Name::new(""), |entry| entry.name.clone()),
        }
    }

    fn into_node(self) -> Node {
        Node::FolderLeaf(Arc::new(self))
    }

    fn inner_into_node(inner: Inner<EntryRange>) -> Node {
        Node::FolderInner(Arc::new(inner))
    }

    fn of_node(node: Node) -> Option<Arc<Self>> {
        if let Node::FolderLeaf(entries) = node { Some(entries) } else { None }
    }

    fn inner_of_node(node: Node) -> Option<Arc<Inner<EntryRange>>> {
        if let Node::FolderInner(inner) = node { Some(inner) } else { None }
    }
}

impl Entry {
    /// An entry of an object that is not being written.
    pub fn new(name: Name, id: ObjectId, tag: Tag, what: What) -> Self {
        Self { name, id, tag, what, writer: None }
    }

    /// No entry with a name of this length takes more bytes.
    pub(super) fn most_bytes(&self) -> usize {
        ENTRY_BYTES + self.name.as_str().len()
    }

    /// The record that this entry refers to.
    pub fn head(&self) -> RecordId {
        match self.what {
            What::Folder => RecordId::folder(self.id),
            What::File(info) => RecordId::file(self.id, info.head),
        }
    }
}

impl DirectEncode for Folder {
    fn write(&self, output: &mut Output<impl Sink>) -> Result<(), CodecError> {
        let Self { next_index, totals, body } = self;
        let Totals { visible_children, visible_grandchildren, visible_bytes, files, bytes } =
            *totals;
        let numbers =
            [*next_index, visible_children, visible_grandchildren, visible_bytes, files, bytes];
        output.bytes(numbers.map(u64::to_le_bytes).as_flattened())?;
        body.write(output)
    }
}

impl DirectEncode for Entries {
    fn write(&self, output: &mut Output<impl Sink>) -> Result<(), CodecError> {
        output.count(self.0.len())?;
        self.0.iter().try_for_each(|entry| entry.write(output))
    }
}

impl DirectEncode for Entry {
    fn write(&self, output: &mut Output<impl Sink>) -> Result<(), CodecError> {
        let Self { name, id, tag, what, writer } = self;
        output.text(name.as_str())?;
        output.bytes(&id.0)?;
        output.bytes(&tag.0)?;
        match what {
            What::Folder => output.number(0)?,
            What::File(info) => {
                output.number(1)?;
                info.write(output)?;
            }
        }
        let Some(Writer { session, time }) = writer else { return output.bytes(&[0]) };
        output.bytes(&[1])?;
        output.bytes(session)?;
        output.number(*time)
    }
}

impl DirectEncode for FileInfo {
    fn write(&self, output: &mut Output<impl Sink>) -> Result<(), CodecError> {
        let Self { bytes, lines, created, modified, head, lowest, number, version, flags } = *self;
        for field in [bytes, lines, created, modified, head, lowest, number, version] {
            output.number(field)?;
        }
        flags.write(output)
    }
}

impl DirectEncode for EntryRange {
    fn write(&self, output: &mut Output<impl Sink>) -> Result<(), CodecError> {
        let Self { count, first } = self;
        output.number(*count)?;
        output.text(first.as_str())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // Sizes and times are plaintext too; the name wipes itself.
        self.id.0.zeroize();
        self.what = What::Folder;
    }
}

/// No entry takes more bytes besides its name: the length of the name, the fields, and every number in nine bytes.
const ENTRY_BYTES: usize = 9 + 16 + 16 + (1 + 8 * 9 + 1) + (1 + 16 + 9);
/// No folder takes more bytes besides its entries: the fields, and the number of the entries.
pub(super) const FOLDER_BYTES: usize = 8 + 5 * 8 + 1 + 9;

#[cfg(test)]
mod tests;
