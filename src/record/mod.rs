//! Records: what is sealed, how it is shaped, and the one tree that folders and long files share.
//!
//! A record is one sealed value of the engine. It carries its own name (kind, object, index) inside the
//! ciphertext, and every reference to it holds its authentication tag, so a record that was moved, swapped
//! or put back from an older copy is noticed at the reference. This layer knows shapes, not meaning: what a
//! path is, or when a folder vanishes, is decided above.

pub(crate) mod address;
pub(crate) mod codec;
pub(crate) mod entries;
mod error;
#[cfg(test)]
mod format_example;
#[cfg(test)]
pub(crate) mod format_page;
mod header_id;
pub(crate) mod node;
#[cfg(test)]
pub(crate) mod plain;
pub(crate) mod sealed;
pub(crate) mod size_class;
mod text;
pub(crate) mod totals;
pub(crate) mod tree;
pub(crate) mod walk;

pub(crate) use address::{Kind, ObjectId, RecordId};
pub(crate) use error::{Flaw, RecordError};
pub(crate) use header_id::{HeaderId, HeaderMac};
pub(crate) use node::Node;
pub(crate) use sealed::{Sealed, Sealer, Tag};
pub(crate) use walk::{Place, Reached};

use std::sync::Arc;

use node::{File, Folder};

/// Where decoded nodes come from: a cache, an overlay of uncommitted changes, the engine.
pub(crate) trait NodeSource {
    /// The node `id` as it was when a reference to it with this `tag` was written.
    ///
    /// An uncommitted node has no tag yet; a source that holds one answers it whatever the tag.
    ///
    /// # Errors
    /// [`RecordError::Damaged`] if the record is absent, stale, moved or does not authenticate.
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError>;
}

/// A source that also takes changes, all of them tentative until a commit seals them.
pub(crate) trait NodeSink: NodeSource {
    /// Sets a node. Whatever references it must be set too, up to the root: its tag will change.
    fn put(&mut self, id: RecordId, node: Node);

    /// Removes a node.
    fn remove(&mut self, id: RecordId);
}

/// The head of a folder.
pub(crate) fn load_folder(
    source: &impl NodeSource,
    object: ObjectId,
    tag: &Tag,
) -> Result<Arc<Folder>, RecordError> {
    match source.load(RecordId::folder(object), tag)? {
        Node::Folder(folder) => Ok(folder),
        _ => Err(RecordError::Damaged { kind: Kind::Folder, flaw: Flaw::Malformed }),
    }
}

/// The head of a file.
pub(crate) fn load_file(
    source: &impl NodeSource,
    object: ObjectId,
    tag: &Tag,
) -> Result<Arc<File>, RecordError> {
    match source.load(RecordId::file(object), tag)? {
        Node::File(file) => Ok(file),
        _ => Err(RecordError::Damaged { kind: Kind::File, flaw: Flaw::Malformed }),
    }
}
