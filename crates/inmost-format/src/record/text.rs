//! The text of files, and how the tree counts it.

use std::ops::AddAssign;
use std::sync::Arc;

use crate::secret::Wiped;
use serde::{Deserialize, Serialize};

use super::address::Kind;
use super::node::Node;
use super::tree::{Inner, Leaf, Summary};

/// Text of a file or of a piece of one; wiped on drop, never printed.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Text(Wiped<String>);

impl Text {
    /// A copy of `text`, allocated once.
    pub fn new(text: &str) -> Self {
        Self(Wiped::new(text.to_owned()))
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A summary of the text below a child of an inner node.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TextCount {
    /// Bytes.
    pub bytes: u64,
    /// `\n` characters.
    pub newlines: u64,
}

impl TextCount {
    /// Counts a text. Does no I/O.
    pub fn of(text: &str) -> Self {
        let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        Self {
            bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
            newlines: u64::try_from(newlines).unwrap_or(u64::MAX),
        }
    }
}

impl AddAssign for TextCount {
    fn add_assign(&mut self, right: Self) {
        self.bytes = self.bytes.saturating_add(right.bytes);
        self.newlines = self.newlines.saturating_add(right.newlines);
    }
}

impl From<TextCount> for u64 {
    fn from(count: TextCount) -> Self {
        count.bytes
    }
}

impl Summary for TextCount {
    type Count = Self;

    fn count(&self) -> Self {
        *self
    }

    fn join(&mut self, right: &Self) {
        *self += *right;
    }
}

impl Leaf for Text {
    type Summary = TextCount;
    const INNER: Kind = Kind::FileInner;
    const LEAF: Kind = Kind::Chunk;

    fn summary(&self) -> TextCount {
        TextCount::of(self.as_str())
    }

    fn into_node(self) -> Node {
        Node::Chunk(Arc::new(self))
    }

    fn inner_into_node(inner: Inner<TextCount>) -> Node {
        Node::FileInner(Arc::new(inner))
    }

    fn of_node(node: Node) -> Option<Arc<Self>> {
        if let Node::Chunk(text) = node { Some(text) } else { None }
    }

    fn inner_of_node(node: Node) -> Option<Arc<Inner<TextCount>>> {
        if let Node::FileInner(inner) = node { Some(inner) } else { None }
    }
}
