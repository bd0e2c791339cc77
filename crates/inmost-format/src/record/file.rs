//! What a file consists of: its head, and the text in it or in the chunks of its rope.

use std::ops::AddAssign;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::address::Kind;
use super::codec;
use super::node::Node;
use super::tree::{Body, Inner, Leaf, Summary};
use crate::secret::Wiped;

/// The head of a file.
#[derive(Clone)]
pub struct File {
    /// The last index that a record of this file got; the next record gets the next number.
    pub next_index: u64,
    /// Whether the text is a part of the file's: one that is being written, or removed, in several steps. No recovery may take
    /// it for the file, if this is all that is left.
    pub is_partial: bool,
    /// The text.
    pub body: Body<Text>,
}

/// The head as it is stored: the highest bit of the index says that the text is partial.
#[derive(Serialize)]
struct StoredFile<'a> {
    #[serde(with = "codec::fixed")]
    next_index: u64,
    body: &'a Body<Text>,
}

impl Serialize for File {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let next_index = self.next_index & !PARTIAL | if self.is_partial { PARTIAL } else { 0 };
        StoredFile { next_index, body: &self.body }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for File {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Stored {
            #[serde(with = "codec::fixed")]
            next_index: u64,
            body: Body<Text>,
        }
        let Stored { next_index, body } = Stored::deserialize(deserializer)?;
        let is_partial = next_index & PARTIAL != 0;
        Ok(Self { next_index: next_index & !PARTIAL, is_partial, body })
    }
}

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

/// No file ever has so many records.
const PARTIAL: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bit_of_the_index_says_that_the_text_is_partial() {
        for (is_partial, last) in [(false, 0), (true, 0x80)] {
            let body = Body::Inline(Text::new("x"));
            let file = File { next_index: 7, is_partial, body };
            let mut bytes = vec![0; codec::encoded_len(&file).unwrap()];
            codec::encode(&file, &mut bytes).unwrap();
            assert_eq!(bytes[..8], [7, 0, 0, 0, 0, 0, 0, last]);
            let read: File = codec::decode(&bytes).unwrap();
            assert_eq!((read.next_index, read.is_partial), (7, is_partial));
        }
    }
}
