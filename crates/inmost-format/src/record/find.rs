//! Finds sealed records in bytes of unknown structure, such as the files of a damaged engine.
//!
//! A value begins with the version byte and a nonce. Behind them the name of the record and the length of its body are
//! encrypted. To test a place, these are decrypted without authentication: nearly all places show an impossible name or
//! length and are left. From the others follow the address, and with it the associated data, and the size class: so the AEAD
//! decides. A place that does not authenticate is never reported.

use super::layout::{HEADER, PREFIX, Tag, VERSION, class_of, read_prefix, tag_of};
use super::sealed::Sealer;
use super::{Kind, RecordId};
use crate::crypto::aead::Nonce;
use crate::limits::RECORD_FRAME;
use crate::secret::{SHALLOW, on_wiped_stack};

/// A record that authenticates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundRecord {
    /// Its name.
    pub id: RecordId,
    /// Its authentication tag.
    pub tag: Tag,
    /// Bytes of its value.
    pub length: usize,
}

impl Sealer {
    /// Calls `visit` with the offset of each record in `bytes` that begins before `end`. Returns where to go on: `end`, or
    /// the end of a record that reaches beyond it.
    pub fn find_all(
        &self,
        bytes: &[u8],
        end: usize,
        visit: &mut impl FnMut(usize, FoundRecord),
    ) -> usize {
        on_wiped_stack::<SHALLOW, _>(|| {
            let mut at = 0;
            while let Some(next) = memchr::memchr(VERSION, bytes.get(at..end).unwrap_or_default()) {
                at += next;
                match self.find(bytes.get(at..).unwrap_or_default()) {
                    Some(found) => {
                        visit(at, found);
                        // Records do not overlap.
                        at += found.length;
                    }
                    None => at += 1,
                }
            }
            at.max(end)
        })
    }

    /// Returns the name of a record from its value, without authenticating it.
    pub fn name_of(&self, value: &[u8]) -> Option<RecordId> {
        on_wiped_stack::<SHALLOW, _>(|| self.peek(value)).map(|(id, _)| id)
    }

    /// Decrypts the name and the length of the body, without authenticating them.
    fn peek(&self, value: &[u8]) -> Option<(RecordId, usize)> {
        let nonce = Nonce(*value.get(1..)?.first_chunk()?);
        let start: &[u8; PREFIX] = value.get(HEADER..)?.first_chunk()?;
        read_prefix(&self.aead().peek(&nonce, start))
    }

    /// Returns the record whose value begins with the first of these bytes.
    fn find(&self, bytes: &[u8]) -> Option<FoundRecord> {
        let (id, body) = self.peek(bytes)?;
        if !is_possible(id) {
            return None;
        }
        let length = class_of(body)? + RECORD_FRAME;
        let value = bytes.get(..length)?;
        let (named, _) = self.open_any(&self.address(id), value).ok()?;
        let tag = tag_of(value)?;
        (named == id).then_some(FoundRecord { id, tag, length })
    }
}

/// Whether a record can have this name.
fn is_possible(id: RecordId) -> bool {
    match id.kind {
        Kind::Root => id == RecordId::ROOT,
        Kind::Folder | Kind::History => id.index == 0,
        Kind::File => true,
        Kind::FolderInner
        | Kind::FolderLeaf
        | Kind::FileInner
        | Kind::Chunk
        | Kind::HistoryInner
        | Kind::HistoryLeaf => id.index > 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::ids::StoreId;
    use crate::crypto::keys::DataKey;
    use crate::crypto::record_keys::RecordKeys;
    use crate::record::node::Text;
    use crate::record::{Node, ObjectId};
    use crate::secret::SecretBytes;

    fn sealer(key: u8) -> Sealer {
        let key = DataKey::new(SecretBytes::init_with(|bytes| bytes.fill(key)));
        let store = StoreId([5; 16]);
        Sealer::new(RecordKeys::derive(&key, &store, 1), store, 1)
    }

    fn chunk(index: u64, length: usize) -> (RecordId, Node) {
        let id = RecordId { kind: Kind::Chunk, object: ObjectId([9; 16]), index };
        (id, Node::Chunk(Text::new(&"x".repeat(length)).into()))
    }

    /// Every place that `sealer` finds, in pieces of `step` bytes.
    fn found(sealer: &Sealer, bytes: &[u8], step: usize) -> Vec<(usize, RecordId, Tag)> {
        let mut all = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let end = step.min(bytes.len() - at);
            at += sealer.find_all(&bytes[at..], end, &mut |offset, found| {
                all.push((at + offset, found.id, found.tag));
            });
        }
        all
    }

    /// Records of every size class between bytes that mean nothing, many of which are the version.
    fn sample(sealer: &Sealer) -> (Vec<u8>, Vec<(usize, RecordId, Tag)>) {
        let mut bytes = vec![VERSION; 100];
        let mut expected = Vec::new();
        for (index, length) in (1..).zip([0, 300, 900, 2_000, 4_000, 1]) {
            let (id, node) = chunk(index, length);
            let record = sealer.seal(id, &node).unwrap();
            expected.push((bytes.len(), id, record.tag));
            bytes.extend_from_slice(&record.value);
            bytes.extend((0..index).flat_map(|byte| [VERSION, u8::try_from(byte).unwrap()]));
        }
        (bytes, expected)
    }

    #[test]
    fn every_record_is_found_wherever_it_begins_and_the_bytes_are_divided() {
        let sealer = sealer(1);
        let (bytes, expected) = sample(&sealer);
        for step in [1, 7, 1_000, bytes.len()] {
            assert_eq!(found(&sealer, &bytes, step), expected, "{step}");
        }
    }

    #[test]
    fn a_record_with_a_flipped_bit_is_not_found_and_its_neighbours_are() {
        let sealer = sealer(1);
        let (bytes, expected) = sample(&sealer);
        let (first, second) = (expected[0].0, expected[1].0);
        for at in [0, 1, 24, 25, 40, 52, 60, 290, 296] {
            let mut damaged = bytes.clone();
            damaged[first + at] ^= 4;
            assert_eq!(found(&sealer, &damaged, 4_096), expected[1..], "{at}");
        }
        let mut damaged = bytes.clone();
        damaged[second - 1] ^= 4;
        assert_eq!(found(&sealer, &damaged, 4_096), expected);
        assert!(found(&sealer, &bytes[..expected[5].0 + 296], 4_096).len() < expected.len());
    }

    #[test]
    fn records_under_another_key_are_not_found() {
        let (bytes, _) = sample(&sealer(1));
        assert!(found(&sealer(2), &bytes, 4_096).is_empty());
    }
}
