//! The shapes that records hold: root, folders, files, and the nodes of their trees.
//!
//! Only shapes: the layers above maintain the totals. Names and text are wiped when they are dropped.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::address::{Kind, ObjectId, RecordId};
use super::codec::{self, CodecError};
pub use super::folder::{Entries, Entry, EntryRange, FileInfo, Folder, Name, Totals, What};
use super::header_id::HeaderId;
use super::sealed::Tag;
pub use super::text::{Text, TextCount};
use super::tree::{Body, Inner};

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
}

/// The record that leads to all others; its plaintext always has 256 bytes.
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
    /// The folder of files that are being written and of objects that are being reaped.
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

/// The head of a file.
#[derive(Clone, Serialize, Deserialize)]
pub struct File {
    /// The last index that a tree node of this file got; the next node gets the next number.
    #[serde(with = "codec::fixed")]
    pub next_index: u64,
    /// The text.
    pub body: Body<Text>,
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
