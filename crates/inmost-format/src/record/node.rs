//! The shapes that records hold: root, folders, files, and the nodes of their trees.
//!
//! Shapes only: which operation keeps which total right is decided above. Everything here that came from
//! a user (names, text) is wiped when it is dropped.

use std::fmt;
use std::sync::Arc;

use crate::secret::Wiped;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::address::{Kind, ObjectId, RecordId};
use super::codec::{self, CodecError};
use super::header_id::HeaderId;
use super::sealed::Tag;
pub use super::text::{Text, TextCount};
use super::tree::{Body, Inner, Leaf, Summary};

/// A decoded record body; cheap to clone, and a clone shares the body until one of them changes it.
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
}

/// What everything is reached from; always 256 bytes, whatever it says.
#[derive(Clone, Serialize, Deserialize)]
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
    /// The folder that holds what is being written or reaped.
    pub system: Child,
}

/// A reference to the head of an object.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Child {
    /// The object.
    pub id: ObjectId,
    /// The tag of its head.
    pub tag: Tag,
}

/// The head of a folder.
#[derive(Clone, Serialize, Deserialize)]
pub struct Folder {
    /// The last index given to a tree node of this folder; the next gets one more.
    #[serde(with = "codec::fixed")]
    pub next_index: u64,
    /// Sums over what is below.
    pub totals: Totals,
    /// The entries.
    pub body: Body<Entries>,
}

/// Sums over the entries of a folder and all that is below them, kept so that a listing of any folder reads
/// only what it shows. "Visible" stops at a hidden name.
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

/// The head of a file.
#[derive(Clone, Serialize, Deserialize)]
pub struct File {
    /// The last index given to a tree node of this file; the next gets one more.
    #[serde(with = "codec::fixed")]
    pub next_index: u64,
    /// The text.
    pub body: Body<Text>,
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
}

/// What an entry names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum What {
    /// A folder; what is to be known of it is in its head.
    Folder,
    /// A file, with what a listing shows of it.
    File(FileInfo),
}

/// What a folder knows of a file without opening it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileInfo {
    /// Bytes of text.
    pub bytes: u64,
    /// Lines of text.
    pub lines: u64,
    /// When it was created, in milliseconds since 1970.
    pub created: u64,
    /// When its text last changed, in milliseconds since 1970.
    pub modified: u64,
}

/// A name of a folder or file; wiped on drop, never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name(Wiped<String>);

impl Name {
    /// A copy of `name`.
    pub fn new(name: &str) -> Self {
        Self(Wiped::new(name.to_owned()))
    }

    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0
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

/// What an inner node knows of the entries below a child.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EntryRange {
    /// How many they are.
    pub count: u64,
    /// The first name.
    pub first: Name,
}

impl Entries {
    fn children_mut<E>(
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

impl From<File> for Node {
    fn from(file: File) -> Self {
        Self::File(Arc::new(file))
    }
}

impl Node {
    /// The kind of record this is the body of.
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
        }
    }

    /// Bytes of the encoded body.
    pub fn encoded_len(&self) -> Result<usize, CodecError> {
        match self {
            Self::Root(body) => codec::encoded_len(&**body),
            Self::Folder(body) => codec::encoded_len(&**body),
            Self::FolderInner(body) => codec::encoded_len(&**body),
            Self::FolderLeaf(body) => codec::encoded_len(&**body),
            Self::File(body) => codec::encoded_len(&**body),
            Self::FileInner(body) => codec::encoded_len(&**body),
            Self::Chunk(body) => codec::encoded_len(&**body),
        }
    }

    /// Encodes the body into a buffer of exactly its length.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<(), CodecError> {
        match self {
            Self::Root(body) => codec::encode(&**body, buffer),
            Self::Folder(body) => codec::encode(&**body, buffer),
            Self::FolderInner(body) => codec::encode(&**body, buffer),
            Self::FolderLeaf(body) => codec::encode(&**body, buffer),
            Self::File(body) => codec::encode(&**body, buffer),
            Self::FileInner(body) => codec::encode(&**body, buffer),
            Self::Chunk(body) => codec::encode(&**body, buffer),
        }
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
        })
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
                visit(RecordId::folder(root.system.id), &mut root.system.tag)
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
        }
    }
}

impl Entry {
    /// The record that this entry refers to.
    pub fn head(&self) -> RecordId {
        match self.what {
            What::Folder => RecordId::folder(self.id),
            What::File(_) => RecordId::file(self.id),
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // Sizes and times are plaintext too; the name wipes itself.
        self.id.0.zeroize();
        self.what = What::Folder;
    }
}
