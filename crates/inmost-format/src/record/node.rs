//! The shapes that records hold: root, folders, files, and the nodes of their trees.
//!
//! Only shapes: the layers above maintain the totals. Names and text are wiped when they are dropped.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::address::{Kind, ObjectId, RecordId};
use super::codec::{self, CodecError, DirectEncode, Output, Sink};
pub use super::file::{File, Text, TextCount};
use super::folder::FOLDER_BYTES;
pub use super::folder::{Entries, Entry, EntryRange, FileInfo, Folder, Name, Totals, What, Writer};
use super::history::{Extension, History, VersionRange, Versions};
use super::layout::BODY_BYTES;
use super::layout::Tag;
pub use super::trail::Trail;
use super::tree::{Body, Inner, Leaf};

/// A decoded record body; cheap to clone, and clones share the body until one of them changes it.
#[derive(Clone)]
pub enum Node {
    /// See [`Root`].
    Root(Arc<Root>),
    /// See [`Folder`].
    Folder(Arc<Folder>),
    /// Inner node of a folder.
    FolderInner(Arc<Inner<EntryRange>>),
    /// Leaf of a folder.
    FolderLeaf(Arc<Entries>),
    /// See [`File`].
    File(Arc<File>),
    /// Inner node of a rope.
    FileInner(Arc<Inner<TextCount>>),
    /// Leaf of a rope.
    Chunk(Arc<Text>),
    /// See [`History`].
    History(Arc<History>),
    /// Inner node of a history.
    HistoryInner(Arc<Inner<VersionRange>>),
    /// Leaf of a history.
    HistoryLeaf(Arc<Versions>),
}

/// The record that leads to all others; its plaintext always has 512 bytes.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Root {
    /// Commits since the store was made.
    #[serde(with = "codec::fixed")]
    pub commit: u64,
    /// The header that belongs to this state.
    pub header: HeaderId,
    /// Files in the store.
    #[serde(with = "codec::fixed")]
    pub files: u64,
    /// Bytes of text in the store.
    #[serde(with = "codec::fixed")]
    pub bytes: u64,
    /// The folder that a user sees as the root.
    pub tree: Child,
    /// The folder of files that are being written and of objects that are being reaped.
    pub system: Child,
    /// For later versions of the format; none is known.
    pub flags: Extension,
    /// The history; [`Child::NONE`] in a store without one.
    pub history: Child,
    /// How long a text is kept after the change that ended it, in milliseconds; 0 if no versions are kept.
    #[serde(with = "codec::fixed")]
    pub keep: u64,
    /// The most bytes of earlier texts to keep.
    #[serde(with = "codec::fixed")]
    pub room: u64,
    /// The file of readings; [`Child::NONE`] in a store without one.
    pub readings: Child,
    /// When readings began to be recorded, in milliseconds since 1970: no file counts as unused for longer. 0 if readings
    /// are not recorded.
    #[serde(with = "codec::fixed")]
    pub reads_since: u64,
    /// The latest time of a commit since then, in milliseconds since 1970.
    #[serde(with = "codec::fixed")]
    pub last_used: u64,
    /// Files that were not used for so long expire at an unlock, in milliseconds; 0 if none do.
    #[serde(with = "codec::fixed")]
    pub unused_for: u64,
    /// When files last expired at an unlock, in milliseconds since 1970, or 0.
    #[serde(with = "codec::fixed")]
    pub last_expiry: u64,
    /// The sequence of a write of the anchor that was on the disk before this root was: an anchor with an earlier one was put
    /// back. 0 where there is none.
    #[serde(with = "codec::fixed")]
    pub anchored: u64,
    /// The roots before this one.
    pub trail: Trail,
}

impl Root {
    /// The root of an empty store that keeps no versions.
    pub fn new(tree: Child, system: Child) -> Self {
        Self { tree, system, ..Self::default() }
    }
}

/// Identifies one authentic header. The revision is not enough: a change interrupted by a power failure may leave a
/// header behind, and the next change uses its revision again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HeaderId {
    /// Its revision.
    #[serde(with = "codec::fixed")]
    pub revision: u64,
    /// The first half of its MAC.
    pub mac: HeaderMac,
}

impl HeaderId {
    /// The identifier that stands for no header: before the first one, and in a store without a header.
    pub const NONE: Self = Self { revision: 0, mac: HeaderMac([0; 16]) };
}

/// The first half of a header's MAC: finding another header with the same half is infeasible.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HeaderMac(pub [u8; 16]);

/// A reference to the head of an object. The default is that to none.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct Child {
    /// The object.
    pub id: ObjectId,
    /// The tag of its head.
    pub tag: Tag,
}

impl Child {
    /// No object.
    pub const NONE: Self = Self { id: ObjectId([0; 16]), tag: Tag([0; 16]) };

    /// Whether there is no object.
    pub fn is_none(&self) -> bool {
        self.id == Self::NONE.id
    }
}

impl From<Root> for Node {
    fn from(root: Root) -> Self {
        Self::Root(Arc::new(root))
    }
}

impl From<Folder> for Node {
    fn from(folder: Folder) -> Self {
        Self::Folder(Arc::new(folder))
    }
}

impl From<History> for Node {
    fn from(history: History) -> Self {
        Self::History(Arc::new(history))
    }
}

impl From<File> for Node {
    fn from(file: File) -> Self {
        Self::File(Arc::new(file))
    }
}

impl DirectEncode for Node {
    fn write(&self, output: &mut Output<impl Sink>) -> Result<(), CodecError> {
        match self {
            Self::Root(body) => output.value(&**body),
            Self::Folder(body) => body.write(output),
            Self::FolderInner(body) => body.write(output),
            Self::FolderLeaf(body) => body.write(output),
            Self::File(body) => output.value(&**body),
            Self::FileInner(body) => output.value(&**body),
            Self::Chunk(body) => output.value(&**body),
            Self::History(body) => output.value(&**body),
            Self::HistoryInner(body) => output.value(&**body),
            Self::HistoryLeaf(body) => output.value(&**body),
        }
    }
}

impl Node {
    /// The kind of record that has this body.
    #[cfg(any(test, feature = "testing"))]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Root(_) => Kind::Root,
            Self::Folder(_) => Kind::Folder,
            Self::FolderInner(_) => Kind::FolderInner,
            Self::FolderLeaf(_) => Kind::FolderLeaf,
            Self::File(_) => Kind::File,
            Self::FileInner(_) => Kind::FileInner,
            Self::Chunk(_) => Kind::Chunk,
            Self::History(_) => Kind::History,
            Self::HistoryInner(_) => Kind::HistoryInner,
            Self::HistoryLeaf(_) => Kind::HistoryLeaf,
        }
    }

    /// Bytes of the encoded body.
    pub fn encoded_len(&self) -> Result<usize, CodecError> {
        codec::direct_len(self)
    }

    /// Whether the body fits a record. It is not measured if it is that of a folder whose entries fit at their longest.
    pub fn fits_record(&self) -> bool {
        let entries = self.entries();
        let most = FOLDER_BYTES + entries.iter().map(Entry::most_bytes).sum::<usize>();
        (!entries.is_empty() && most <= BODY_BYTES)
            || self.encoded_len().is_ok_and(|length| length <= BODY_BYTES)
    }

    /// Encodes the body into the beginning of a buffer, and returns its length.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, CodecError> {
        codec::encode_direct(self, buffer)
    }

    /// Decodes the authenticated body of a record of this kind.
    pub fn decode(kind: Kind, body: &[u8]) -> Result<Self, CodecError> {
        Ok(match kind {
            Kind::Root => Self::Root(Arc::new(codec::decode(body)?)),
            Kind::Folder => Self::Folder(Arc::new(codec::decode(body)?)),
            Kind::FolderInner => Self::FolderInner(Arc::new(codec::decode(body)?)),
            Kind::FolderLeaf => Self::FolderLeaf(Arc::new(codec::decode(body)?)),
            Kind::File => Self::File(Arc::new(codec::decode(body)?)),
            Kind::FileInner => Self::FileInner(Arc::new(codec::decode(body)?)),
            Kind::Chunk => Self::Chunk(Arc::new(codec::decode(body)?)),
            Kind::History => Self::History(Arc::new(codec::decode(body)?)),
            Kind::HistoryInner => Self::HistoryInner(Arc::new(codec::decode(body)?)),
            Kind::HistoryLeaf => Self::HistoryLeaf(Arc::new(codec::decode(body)?)),
        })
    }

    /// The entries of a folder that are in this record itself.
    pub fn entries(&self) -> &[Entry] {
        match self {
            Self::FolderLeaf(entries) => &entries.0,
            Self::Folder(folder) => match &folder.body {
                Body::Inline(entries) => &entries.0,
                Body::Tree(_) => &[],
            },
            _ => &[],
        }
    }

    /// Calls `visit` with the references of this node of `object`, in their order. Those of a root and of the entries of a
    /// history are left out.
    pub fn children(&self, object: ObjectId, mut visit: impl FnMut(RecordId, &Tag)) {
        fn each<L: Leaf>(
            object: ObjectId,
            inner: &Inner<L::Summary>,
            mut visit: impl FnMut(RecordId, &Tag),
        ) {
            inner.children::<L>(object).for_each(|(id, tag, _)| visit(id, tag));
        }
        match self {
            Self::Folder(folder) => match &folder.body {
                Body::Inline(entries) => {
                    entries.0.iter().for_each(|entry| visit(entry.head(), &entry.tag));
                }
                Body::Tree(inner) => each::<Entries>(object, inner, visit),
            },
            Self::FolderInner(inner) => each::<Entries>(object, inner, visit),
            Self::FolderLeaf(entries) => {
                entries.0.iter().for_each(|entry| visit(entry.head(), &entry.tag));
            }
            Self::File(file) => {
                if let Body::Tree(inner) = &file.body {
                    each::<Text>(object, inner, visit);
                }
            }
            Self::FileInner(inner) => each::<Text>(object, inner, visit),
            Self::History(history) => {
                if let Body::Tree(inner) = &history.body {
                    each::<Versions>(object, inner, visit);
                }
            }
            Self::HistoryInner(inner) => each::<Versions>(object, inner, visit),
            Self::Root(_) | Self::Chunk(_) | Self::HistoryLeaf(_) => {}
        }
    }

    /// The entries of the history that this node itself holds.
    pub fn versions(&self) -> Option<&Versions> {
        match self {
            Self::History(history) => Some(&history.newest),
            Self::HistoryLeaf(versions) => Some(versions),
            _ => None,
        }
    }

    /// Calls `visit` with every reference this node of `object` holds.
    pub fn children_mut<E>(
        &mut self,
        object: ObjectId,
        mut visit: impl FnMut(RecordId, &mut Tag) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Root(root) => {
                let root = Arc::make_mut(root);
                visit(RecordId::folder(root.tree.id), &mut root.tree.tag)?;
                visit(RecordId::folder(root.system.id), &mut root.system.tag)?;
                if !root.history.is_none() {
                    visit(RecordId::history(root.history.id), &mut root.history.tag)?;
                }
                if root.readings.is_none() {
                    return Ok(());
                }
                visit(RecordId::file(root.readings.id, 0), &mut root.readings.tag)
            }
            Self::Folder(folder) => match &mut Arc::make_mut(folder).body {
                Body::Inline(entries) => entries.children_mut(visit),
                Body::Tree(inner) => inner.children_mut::<Entries, E>(object, visit),
            },
            Self::FolderInner(inner) => {
                Arc::make_mut(inner).children_mut::<Entries, E>(object, visit)
            }
            Self::FolderLeaf(entries) => Arc::make_mut(entries).children_mut(visit),
            Self::File(file) => match &mut Arc::make_mut(file).body {
                Body::Inline(_) => Ok(()),
                Body::Tree(inner) => inner.children_mut::<Text, E>(object, visit),
            },
            Self::FileInner(inner) => Arc::make_mut(inner).children_mut::<Text, E>(object, visit),
            Self::Chunk(_) => Ok(()),
            Self::History(history) => {
                let history = Arc::make_mut(history);
                match &mut history.body {
                    Body::Inline(versions) => versions.children_mut(&mut visit)?,
                    Body::Tree(inner) => inner.children_mut::<Versions, E>(object, &mut visit)?,
                }
                history.newest.children_mut(visit)
            }
            Self::HistoryInner(inner) => {
                Arc::make_mut(inner).children_mut::<Versions, E>(object, visit)
            }
            Self::HistoryLeaf(versions) => Arc::make_mut(versions).children_mut(visit),
        }
    }
}
