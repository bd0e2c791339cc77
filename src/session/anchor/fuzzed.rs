//! The anchor as the fuzz target for it sees it.
#![allow(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "the only caller is the fuzz target"
)]

use std::sync::Arc;

use inmost_format::crypto::registry::AnchorAad;
use inmost_format::header::Unlocked;
use inmost_storage::Storage;

use super::slot::{SEALED_BYTES, TEXT_BYTES};
use super::{Anchor, AnchorStatus, FreshnessAnchor, Mark, Slot};
use crate::session::error::StoreError;

/// The anchor of a store that was opened.
pub struct OpenAnchor(Anchor);

impl OpenAnchor {
    /// Compares the stored slots and the application's value with the newest commit, whose root says that the slots were on the
    /// disk up to the sequence `anchored`. The commit is that of a slot with this text.
    pub fn open(
        keys: &Unlocked,
        storage: &dyn Storage,
        external: Option<Arc<dyn FreshnessAnchor>>,
        found: &[u8; TEXT_BYTES],
        anchored: u64,
    ) -> Result<Self, StoreError> {
        let mut anchor = Anchor::new(keys, external);
        anchor.load(storage);
        anchor.load_external();
        anchor.check_sequence(anchored);
        anchor.check(&mark(found)?)?;
        Ok(Self(anchor))
    }

    /// What it says about the freshness of the store.
    pub fn status(&self) -> AnchorStatus {
        self.0.status()
    }

    /// Writes the mark of a durable commit.
    pub fn remember(
        &self,
        storage: &dyn Storage,
        commit: &[u8; TEXT_BYTES],
    ) -> Result<(), StoreError> {
        self.0.remember(storage, &mark(commit)?);
        Ok(())
    }
}

fn mark(text: &[u8; TEXT_BYTES]) -> Result<Mark, StoreError> {
    let slot = Slot::decode(text, 0).ok_or_else(|| StoreError::Damaged("no slot".to_owned()))?;
    Ok(slot.mark)
}

/// Seals any bytes as the text of a slot.
pub fn seal_slot(
    text: &[u8; TEXT_BYTES],
    keys: &Unlocked,
    index: u8,
) -> Option<[u8; SEALED_BYTES]> {
    let mut text = *text;
    let aad = AnchorAad { store: keys.header().store(), index };
    let (nonce, tag) = keys.anchor_key().seal(&aad, &mut text).ok()?;
    Some(super::slot::join(&nonce, &text, &tag))
}

/// Decodes the text of a slot, and encodes it again.
pub fn recode_slot(text: &[u8; TEXT_BYTES], index: u8) -> Option<[u8; TEXT_BYTES]> {
    Slot::decode(text, index).map(|slot| slot.encode(index))
}
