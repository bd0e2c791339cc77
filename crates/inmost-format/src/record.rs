//! Records: sealing, the shapes of their bodies, and the tree that folders and long files share.
//!
//! A record is one sealed value of the engine. It carries its own name (kind, object, index) inside the
//! ciphertext, and every reference to it holds its authentication tag, so a moved, swapped or older record
//! is detected at the reference. This layer knows shapes, not meaning: the
//! layers above define paths, and decide when a folder is removed.

pub mod address;
pub mod codec;
pub mod entries;
mod error;
mod file;
pub mod find;
mod folder;
#[cfg(test)]
mod format_example;
#[cfg(any(test, feature = "testing"))]
pub mod format_page;
pub mod history;
pub mod layout;
pub mod node;
#[cfg(any(test, feature = "testing"))]
pub mod plain;
pub mod readings;
pub mod rope;
pub mod sealed;
pub mod totals;
mod trail;
pub mod tree;
pub mod walk;

pub use address::{ByRecord, Kind, ObjectId, RecordId};
pub use error::{Flaw, RecordError};
pub use layout::{Tag, tag_of};
pub use node::{HeaderId, HeaderMac, Node};
pub use sealed::{Sealed, Sealer};
pub use walk::{Depth, Reached};

use std::sync::Arc;

use history::History;
use node::{File, Folder, Text};
use tree::Body;

use crate::secret::Wiped;

/// A source of decoded nodes: a cache, an overlay of uncommitted changes, the engine.
pub trait NodeSource {
    /// The node `id` as it was when a reference to it with this `tag` was written.
    ///
    /// An uncommitted node has no tag yet; a source that holds one returns it for any tag.
    ///
    /// # Errors
    /// [`RecordError::Damaged`] if the record is absent, stale, moved or does not authenticate.
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError>;
}

/// A source that also accepts changes, which are tentative until a commit seals them.
pub trait NodeSink: NodeSource {
    /// Sets a node. The nodes that lead to it must be set too, up to the root, because its tag will change.
    fn put(&mut self, id: RecordId, node: Node);

    /// Removes a node.
    fn remove(&mut self, id: RecordId);

    /// Whether a node must stay as it is, because an earlier version of the object refers to it. The tree then leaves it
    /// and writes to another index. A sink that keeps versions notes the node.
    fn retires(&mut self, _id: RecordId) -> bool {
        false
    }
}

/// The head of a folder.
pub fn load_folder(
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
pub fn load_file(
    source: &impl NodeSource,
    id: RecordId,
    tag: &Tag,
) -> Result<Arc<File>, RecordError> {
    match source.load(id, tag)? {
        Node::File(file) => Ok(file),
        _ => Err(RecordError::Damaged { kind: Kind::File, flaw: Flaw::Malformed }),
    }
}

/// The head of a history.
pub fn load_history(
    source: &impl NodeSource,
    object: ObjectId,
    tag: &Tag,
) -> Result<Arc<History>, RecordError> {
    match source.load(RecordId::history(object), tag)? {
        Node::History(history) => Ok(history),
        _ => Err(RecordError::Damaged { kind: Kind::History, flaw: Flaw::Malformed }),
    }
}

/// The whole text of a file with this body.
pub fn read_text(
    source: &impl NodeSource,
    object: ObjectId,
    body: &Body<Text>,
) -> Result<Wiped<String>, RecordError> {
    // A forged count must not determine the size of the buffer. If it is too small, the text moves to a larger one.
    let capacity = usize::try_from(body.count().bytes).unwrap_or(usize::MAX).min(READ_AHEAD);
    let mut text = Wiped::new(String::with_capacity(capacity));
    body.visit::<RecordError>(source, object, 0, &mut |_, chunk: &Text| {
        text.append(chunk.as_str());
        Ok(true)
    })?;
    Ok(text)
}

/// The maximum of bytes reserved for a text before it is read.
const READ_AHEAD: usize = 64 << 20;
