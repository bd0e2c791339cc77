//! An unlocked header: the keys of a store, and the changes that need them.
//!
//! A change never alters the header in use. It makes a [`NextHeader`] with the next revision. The caller
//! writes it to both copies and then [`adopt`](Unlocked::adopt)s it; after a crash in between, the old one is in use.

use super::credential::{Enrolment, NewSlot};
use super::error::HeaderError;
use super::fields::{Fields, HEADER_BYTES, successor};
use super::label::SlotLabel;
use super::parsed::Header;
use super::slots::SlotInfo;
use super::slots::{KeySlot, Slot, SlotAddress};
use crate::crypto::aead::AeadKey;
use crate::crypto::keys::{AnchorKey, DataKey, MasterKey};
use crate::crypto::record_keys::RecordKeys;
use crate::crypto::registry::SyncStateAad;
use crate::record::HeaderId;
use crate::secret::{DEEP, Granted, on_wiped_stack};
use inmost_storage::EngineKind;

/// The keys of a store and the header they came from, authentic.
pub struct Unlocked {
    header: Header,
    /// The slot through which it was opened, until that slot is freed.
    is_current: Option<u8>,
    master: MasterKey,
    data_key: DataKey,
}

impl Unlocked {
    /// `header` must be newly sealed, or verified by [`Header::open_data_key`]. Slot `number` opened it.
    pub(super) fn of_authentic(
        header: Header,
        number: u8,
        master: MasterKey,
        data_key: DataKey,
    ) -> Self {
        Self { header, is_current: Some(number), master, data_key }
    }

    /// The header in use.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The master key: to verify the other copy of the header.
    #[cfg(any(test, feature = "testing"))]
    pub fn master(&self) -> &MasterKey {
        &self.master
    }

    /// The protections of its keys' memory.
    pub fn granted(&self) -> Granted {
        self.master.granted().and(self.data_key.granted())
    }

    /// The keys of the records of this generation.
    pub fn record_keys(&self) -> RecordKeys {
        RecordKeys::derive(&self.data_key, &self.header.store(), self.header.generation())
    }

    /// The key that seals the state of synchronisation.
    pub fn sync_state_key(&self) -> AeadKey<SyncStateAad> {
        self.master.sync_state_key(&self.header.store())
    }

    /// The key of the anchor.
    pub fn anchor_key(&self) -> AnchorKey {
        self.master.anchor_key(&self.header.store())
    }

    /// The used slots, in their order.
    ///
    /// # Errors
    /// [`HeaderError::Tampered`] if a label does not open.
    pub fn slots(&self) -> Result<Vec<SlotInfo>, HeaderError> {
        let key = self.master.label_key(&self.header.store());
        let used = self
            .header
            .fields
            .addressed_slots()
            .filter_map(|(address, slot)| Some((address, slot.used()?)));
        used.map(|(address, slot)| {
            let is_current = self.is_current == Some(address.number);
            Ok(SlotInfo { is_current, ..slot.describe(&address, &key)? })
        })
        .collect()
    }

    /// Enrols a credential in the first free slot, and returns the number of that slot.
    ///
    /// # Errors
    /// [`HeaderError::SlotsFull`], and the errors of `NewHeader::create`.
    pub fn add_slot(&self, slot: &NewSlot, now_ms: u64) -> Result<(u8, NextHeader), HeaderError> {
        enrol(slot, None, now_ms, |enrolment| self.add_enrolment(enrolment))
    }

    /// Enrols a credential in place of the one in slot `number`: how a passphrase is changed.
    ///
    /// # Errors
    /// [`HeaderError::NoSuchSlot`], and the errors of `NewHeader::create`.
    pub fn replace_slot(
        &self,
        number: u8,
        slot: &NewSlot,
        now_ms: u64,
    ) -> Result<NextHeader, HeaderError> {
        let replaced = self.slots()?.into_iter().find(|slot| slot.number == number);
        let replaced = replaced.ok_or(HeaderError::NoSuchSlot(number))?;
        enrol(slot, Some(&replaced), now_ms, |enrolment| self.replace_enrolment(number, enrolment))
    }

    pub(super) fn add_enrolment(
        &self,
        enrolment: &Enrolment,
    ) -> Result<(u8, NextHeader), HeaderError> {
        let (address, _) = self
            .header
            .fields
            .addressed_slots()
            .find(|(_, slot)| slot.used().is_none())
            .ok_or(HeaderError::SlotsFull)?;
        Ok((address.number, self.with_slot(&address, self.seal_slot(&address, enrolment)?)?))
    }

    pub(super) fn replace_enrolment(
        &self,
        number: u8,
        enrolment: &Enrolment,
    ) -> Result<NextHeader, HeaderError> {
        let address = self.used_slot_address(number)?;
        self.with_slot(&address, self.seal_slot(&address, enrolment)?)
    }

    /// Frees slot `number`.
    ///
    /// # Errors
    /// [`HeaderError::NoSuchSlot`] and [`HeaderError::LastSlot`].
    ///
    /// # Security
    /// The credential still opens the store through an older copy of the header. [`rotate`](Self::rotate) prevents that.
    pub fn remove_slot(&self, number: u8) -> Result<NextHeader, HeaderError> {
        let address = self.used_slot_address(number)?;
        if self.header.fields.addressed_slots().filter(|(_, slot)| slot.used().is_some()).count()
            == 1
        {
            return Err(HeaderError::LastSlot);
        }
        self.with_slot(&address, Slot::free()?)
    }

    /// Moves the store to another generation, written under `data_key`. All slots stay.
    ///
    /// # Errors
    /// [`HeaderError::Randomness`].
    pub fn next_generation(
        &self,
        generation: u64,
        engine: EngineKind,
        data_key: DataKey,
    ) -> Result<NextHeader, HeaderError> {
        let store = self.header.store();
        let wrap_key = self.master.wrap_key(&store);
        let sealed = Fields::seal_data_key(store, generation, engine, &wrap_key, &data_key)?;
        let fields = Fields { engine, generation, data_key: sealed, ..self.header.fields.clone() };
        Ok(NextHeader { header: self.seal_next(fields)?, data_key: Some(data_key) })
    }

    /// A header for more records under the data key of an earlier header, with the slots that are in use now.
    ///
    /// # Errors
    /// [`HeaderError::Randomness`]; [`HeaderError::Tampered`] if `earlier` brings no data key of its own.
    pub fn continuing(&self, earlier: NextHeader) -> Result<NextHeader, HeaderError> {
        let data_key = earlier.data_key.ok_or(HeaderError::Tampered("the data key"))?;
        self.next_generation(earlier.header.generation(), earlier.header.engine(), data_key)
    }

    /// Verifies a header that another holder of the same master key has written.
    ///
    /// # Errors
    /// [`HeaderError::Tampered`] if it belongs to another store or is not authentic under this master key, as after a rotation.
    pub fn succeeded_by(&self, header: Header) -> Result<NextHeader, HeaderError> {
        if header.store() != self.header.store() {
            return Err(HeaderError::Tampered("the header"));
        }
        let data_key = header.open_data_key(&self.master)?;
        Ok(NextHeader { header, data_key: Some(data_key) })
    }

    /// The keys of the records of the generation that a header names, which need not be in use yet.
    pub fn record_keys_of(&self, next: &NextHeader) -> RecordKeys {
        let data_key = next.data_key.as_ref().unwrap_or(&self.data_key);
        RecordKeys::derive(data_key, &next.header.store(), next.header.generation())
    }

    /// Uses a header that has been written.
    pub fn adopt(&mut self, next: NextHeader) {
        self.header = next.header;
        self.is_current = self.is_current.filter(|number| self.used_slot_address(*number).is_ok());
        if let Some(data_key) = next.data_key {
            self.data_key = data_key;
        }
    }

    fn used_slot_address(&self, number: u8) -> Result<SlotAddress, HeaderError> {
        self.header
            .fields
            .addressed_slots()
            .find(|(address, slot)| address.number == number && slot.used().is_some())
            .map(|(address, _)| address)
            .ok_or(HeaderError::NoSuchSlot(number))
    }

    fn seal_slot(&self, address: &SlotAddress, enrolment: &Enrolment) -> Result<Slot, HeaderError> {
        on_wiped_stack::<DEEP, _>(|| {
            KeySlot::seal(address, enrolment, &self.master, &self.header.limits).map(Slot::Used)
        })
    }

    fn with_slot(&self, address: &SlotAddress, slot: Slot) -> Result<NextHeader, HeaderError> {
        let mut fields = self.header.fields.clone();
        let old = fields.slots.get_mut(usize::from(address.number));
        *old.ok_or(HeaderError::NoSuchSlot(address.number))? = slot;
        Ok(NextHeader { header: self.seal_next(fields)?, data_key: None })
    }

    fn seal_next(&self, mut fields: Fields) -> Result<Header, HeaderError> {
        let before = self.header.id();
        fields.revision = successor(before)?;
        fields.before = before.mac;
        let key = self.master.header_mac_key(&fields.store);
        let header = Header::seal(fields, &key, &self.header.limits)?;
        header.check_unlock(Some(&self.header))?;
        Ok(header)
    }
}

/// Fills in the defaults of a new slot.
fn enrol<T>(
    slot: &NewSlot<'_>,
    replaced: Option<&SlotInfo>,
    now_ms: u64,
    seal: impl FnOnce(&Enrolment<'_>) -> Result<T, HeaderError>,
) -> Result<T, HeaderError> {
    let credential = slot.credential;
    let usual = SlotLabel::of_kind(credential.kind());
    let label = slot.label.as_ref().or(replaced.map(|slot| &slot.label)).unwrap_or(&usual);
    // An owner who raised the cost wants it for the next passphrase as well.
    let inherited = replaced.and_then(|slot| slot.cost).filter(|cost| !cost.is_below_default());
    let cost = slot.cost.or(inherited).unwrap_or_default();
    seal(&Enrolment { credential, cost, label, now_ms })
}

/// A header that is not written yet.
pub struct NextHeader {
    header: Header,
    data_key: Option<DataKey>,
}

impl NextHeader {
    /// The bytes to write to both copies.
    pub fn bytes(&self) -> &[u8; HEADER_BYTES] {
        self.header.bytes()
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The identifier of this header for the next root record.
    pub fn id(&self) -> HeaderId {
        self.header.id()
    }
}

#[cfg(test)]
mod tests;
