//! The bytes of a record around its body: its name and length before it, the size classes, the tag behind it.

use serde::{Deserialize, Serialize};

use super::address::{Kind, ObjectId, RecordId};
use super::error::RecordError;
use crate::limits::{RECORD_CLASSES, RECORD_FRAME};

/// The authentication tag of a record, as its parent stores it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tag(pub [u8; 16]);

/// The tag of a stored value: its last 16 bytes.
pub fn tag_of(value: &[u8]) -> Option<Tag> {
    value.last_chunk::<16>().map(|bytes| Tag(*bytes))
}

pub(super) fn write_prefix(
    prefix: &mut [u8],
    id: RecordId,
    length: usize,
) -> Result<(), RecordError> {
    let length = u16::try_from(length).map_err(|_| RecordError::TooLarge)?;
    let parts: [&[u8]; 4] =
        [&[id.kind.code()], &id.object.0, &id.index.to_le_bytes(), &length.to_le_bytes()];
    for (slot, byte) in prefix.iter_mut().zip(parts.into_iter().flatten()) {
        *slot = *byte;
    }
    Ok(())
}

pub(super) fn read_prefix(plaintext: &[u8]) -> Option<(RecordId, usize)> {
    let (kind, rest) = plaintext.split_first()?;
    let (object, rest) = rest.split_first_chunk::<16>()?;
    let (index, rest) = rest.split_first_chunk::<8>()?;
    let (length, _) = rest.split_first_chunk::<2>()?;
    let id = RecordId {
        kind: Kind::from_code(*kind)?,
        object: ObjectId(*object),
        index: u64::from_le_bytes(*index),
    };
    Some((id, usize::from(u16::from_le_bytes(*length))))
}

pub(super) const VERSION: u8 = 1;
/// Version and nonce.
pub(super) const HEADER: usize = 1 + 24;

/// Bytes of a record's plaintext before its body: kind, object, index, body length.
pub const PREFIX: usize = 1 + 16 + 8 + 2;

/// The largest body that fits a record.
pub const BODY_BYTES: usize = body_bytes(4_096);
/// The largest body of a node of the counted tree, and of a folder that holds its entries itself.
pub const NODE_BYTES: usize = body_bytes(2_048);

/// The class of a body of this length: plaintext bytes after padding.
pub fn class_of(body: usize) -> Option<usize> {
    RECORD_CLASSES.into_iter().find(|class| body <= body_bytes(*class))
}

/// Whether a sealed value may have this length.
pub fn is_value_len(length: usize) -> bool {
    RECORD_CLASSES.into_iter().any(|class| class + RECORD_FRAME == length)
}

const fn body_bytes(class: usize) -> usize {
    class - PREFIX
}
