//! The head of a file.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::codec;
use super::text::Text;
use super::tree::Body;

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
