//! Sealing and opening of single records.
//!
//! A value is version, nonce, ciphertext and tag. The associated data names store, generation and address;
//! the plaintext begins with the record's own name. So a value opens only where it was written. It is padded to one of five
//! size classes, which hides the exact length of a text from anyone who reads the stored values.

use std::sync::Arc;

use crate::secret::{Granted, Wiped};

use super::layout::{
    BODY_BYTES, HEADER, PREFIX, Tag, VERSION, class_of, is_value_len, read_prefix, tag_of,
    write_prefix,
};
use super::{Flaw, Node, RecordError, RecordId};
use crate::crypto::aead::{self, AeadKey, Nonce, SealError};
use crate::crypto::ids::StoreId;
use crate::crypto::record_keys::RecordKeys;
use crate::crypto::registry::RecordAad;
use crate::limits::RECORD_FRAME;
use inmost_storage::{Address, JournalMac};

/// A record as the engine holds it.
pub struct Sealed {
    /// Its address.
    pub address: Address,
    /// The value stored there.
    pub value: Vec<u8>,
    /// The tag that its parent refers to.
    pub tag: Tag,
    /// Bytes of its body before it was padded.
    pub body: usize,
}

/// Seals and opens the records of one generation of one store.
pub struct Sealer {
    keys: RecordKeys,
    store: StoreId,
    generation: u64,
    /// The address of the root, which every commit writes.
    root: Address,
}

impl Sealer {
    /// A sealer with the record keys of this generation of this store.
    pub fn new(keys: RecordKeys, store: StoreId, generation: u64) -> Self {
        let root = address(&keys, RecordId::ROOT);
        Self { keys, store, generation, root }
    }

    /// The store whose records it seals.
    pub fn store(&self) -> &StoreId {
        &self.store
    }

    /// The MAC of the generation's journal.
    pub fn journal(&self) -> Arc<dyn JournalMac> {
        self.keys.journal()
    }

    /// The protections of its keys' memory.
    pub fn granted(&self) -> Granted {
        self.keys.granted()
    }

    /// The address of a record.
    pub fn address(&self, id: RecordId) -> Address {
        if id == RecordId::ROOT { self.root } else { address(&self.keys, id) }
    }

    /// Seals a node under a fresh random nonce.
    pub fn seal(&self, id: RecordId, node: &Node) -> Result<Sealed, RecordError> {
        self.seal_by(id, node, AeadKey::seal)
    }

    /// Seals a node under a nonce of the caller's choice, for test vectors; see
    /// [`AeadKey::dangerous_seal_with_nonce`].
    #[cfg(any(test, feature = "testing"))]
    pub fn dangerous_seal_with_nonce(
        &self,
        id: RecordId,
        node: &Node,
        nonce: Nonce,
    ) -> Result<Sealed, RecordError> {
        self.seal_by(id, node, |key, aad, plaintext| {
            Ok((nonce, key.dangerous_seal_with_nonce(&nonce, aad, plaintext)))
        })
    }

    fn seal_by(
        &self,
        id: RecordId,
        node: &Node,
        seal: impl FnOnce(
            &AeadKey<RecordAad>,
            &RecordAad,
            &mut [u8],
        ) -> Result<(Nonce, aead::Tag), SealError>,
    ) -> Result<Sealed, RecordError> {
        let address = self.address(id);

        // The value is built where it will be stored: the body is encoded once, into room for the largest, and encrypted in
        // place, so no copy of the plaintext is left behind. On an early return the buffer is wiped.
        let mut value = Wiped::new(vec![0; PREFIX + BODY_BYTES + RECORD_FRAME]);
        let (header, rest) = value.split_at_mut(HEADER);
        let (prefix, body) = rest.split_at_mut(PREFIX);
        let length = node.encode(body).map_err(|_| RecordError::TooLarge)?;
        let class = class_of(length).ok_or(RecordError::TooLarge)?;
        write_prefix(prefix, id, length)?;

        let (plaintext, rest) = rest.split_at_mut(class);
        let (nonce, tag) = seal(self.keys.aead(), &self.associated_data(&address), plaintext)?;
        let (version, nonce_bytes) = header.split_at_mut(1);
        version.fill(VERSION);
        nonce_bytes.copy_from_slice(&nonce.0);
        let (tag_bytes, _) = rest.split_at_mut(tag.0.len());
        tag_bytes.copy_from_slice(&tag.0);
        let mut value = std::mem::take(&mut *value);
        // Not earlier: an allocator may copy what it shortens.
        value.truncate(class + RECORD_FRAME);
        value.shrink_to_fit();
        Ok(Sealed { address, value, tag: Tag(tag.0), body: length })
    }

    /// Opens a value that should be the record `id`, last sealed with tag `expected`.
    pub fn open(&self, id: RecordId, value: &[u8], expected: &Tag) -> Result<Node, RecordError> {
        self.open_at(&self.address(id), id, value.to_vec(), expected).map(|(node, _)| node)
    }

    /// As [`open`](Self::open), for a caller that has the address of `id` and no more use for the value: it is decrypted in place. Also
    /// returns the length of the encoded node.
    pub fn open_at(
        &self,
        address: &Address,
        id: RecordId,
        value: Vec<u8>,
        expected: &Tag,
    ) -> Result<(Node, usize), RecordError> {
        let damaged = |flaw| RecordError::Damaged { kind: id.kind, flaw };
        let tag = tag_of(&value);
        let (name, body) = self.open_named(address, value).map_err(damaged)?;
        // The record is authentic here, so another tag means that it is stale.
        if tag != Some(*expected) {
            return Err(damaged(Flaw::Stale));
        }
        if name != id {
            return Err(damaged(Flaw::Malformed));
        }
        let node = Node::decode(id.kind, body.as_slice()).map_err(|_| damaged(Flaw::Malformed))?;
        Ok((node, body.length))
    }

    /// Opens a value without knowing which record it is: for `check`, and for the root, whose tag is stored nowhere.
    pub fn open_any(&self, address: &Address, value: &[u8]) -> Result<(RecordId, Body), Flaw> {
        let (id, body) = self.open_named(address, value.to_vec())?;
        if self.address(id) == *address { Ok((id, body)) } else { Err(Flaw::Malformed) }
    }

    /// Opens a value, and returns the name that the record says it has.
    fn open_named(&self, address: &Address, value: Vec<u8>) -> Result<(RecordId, Body), Flaw> {
        if !is_value_len(value.len()) || value.first() != Some(&VERSION) {
            return Err(Flaw::Frame);
        }
        let mut value = Wiped::new(value);
        let (header, rest) = value.split_at_mut_checked(HEADER).ok_or(Flaw::Frame)?;
        let nonce = Nonce(*header.last_chunk::<24>().ok_or(Flaw::Frame)?);
        let (plaintext, tag) = rest.split_last_chunk_mut::<16>().ok_or(Flaw::Frame)?;
        self.keys
            .aead()
            .open(&nonce, &self.associated_data(address), plaintext, &aead::Tag(*tag))
            .map_err(|_| Flaw::NotAuthentic)?;
        let (id, length) = read_prefix(plaintext).ok_or(Flaw::Malformed)?;
        if plaintext.len() < PREFIX + length {
            return Err(Flaw::Malformed);
        }
        Ok((id, Body { value, length }))
    }

    /// The AEAD of its records.
    pub(super) fn aead(&self) -> &AeadKey<RecordAad> {
        self.keys.aead()
    }

    pub(super) fn associated_data(&self, address: &Address) -> RecordAad {
        RecordAad { store: self.store, generation: self.generation, address: *address }
    }
}

/// The body of an opened record; wiped on drop.
pub struct Body {
    /// The value, decrypted in place.
    value: Wiped<Vec<u8>>,
    length: usize,
}

impl Body {
    /// The encoded node.
    pub fn as_slice(&self) -> &[u8] {
        let start = HEADER + PREFIX;
        self.value.get(start..start + self.length).unwrap_or_default()
    }
}

fn address(keys: &RecordKeys, id: RecordId) -> Address {
    Address(keys.address(id.kind.code(), &id.object.0, id.index))
}

#[cfg(test)]
mod tests;
