//! An unlocked header: the keys of a store, and the changes that need them.
//!
//! A change never alters the header in use. It makes the [`NextHeader`], one revision on, for the caller
//! to write to both copies and then to [`adopt`](Unlocked::adopt); a crash in between leaves the old one.

use crate::crypto::cost::KdfLimits;
use crate::crypto::keys::{AnchorKey, DataKey, MasterKey, RecordKeys};
use crate::crypto::prf::StoreId;
use crate::record::HeaderId;
use crate::secret::{DEEP, on_wiped_stack};
use crate::storage::EngineKind;
use crate::vault::credential::Enrolment;
use crate::vault::header::{Fields, HEADER_BYTES, Header, HeaderError, SLOTS};
use crate::vault::keyslots::SlotInfo;
use crate::vault::slots::{KeySlot, Place, Slot};

/// The first header of a store.
pub(crate) struct NewHeader<'a> {
    /// The store's id, fresh.
    pub(crate) store: StoreId,
    /// The engine of its first generation.
    pub(crate) engine: EngineKind,
    /// The number of its first generation.
    pub(crate) generation: u64,
    /// The credential for its first slot.
    pub(crate) enrolment: Enrolment<'a>,
}

impl NewHeader<'_> {
    /// Draws the keys of a store and seals them for one credential.
    ///
    /// # Errors
    /// [`HeaderError::KdfOutOfBounds`], [`HeaderError::KdfFailed`], [`HeaderError::Randomness`].
    pub(crate) fn create(&self, limits: &KdfLimits) -> Result<Unlocked, HeaderError> {
        self.seal(HeaderId::NONE, DataKey::generate()?, limits)
    }

    fn seal(
        &self,
        before: HeaderId,
        data_key: DataKey,
        limits: &KdfLimits,
    ) -> Result<Unlocked, HeaderError> {
        on_wiped_stack::<DEEP, _>(|| {
            let master = MasterKey::generate()?;
            let Self { store, engine, generation, ref enrolment } = *self;
            let wrap_key = master.wrap_key(&store);
            let place = Place { store, number: 0 };
            let mut slots: [Slot; SLOTS] = Slot::all_free()?;
            let [first, ..] = &mut slots;
            *first = Slot::Used(KeySlot::seal(&place, enrolment, &master, limits)?);
            let fields = Fields {
                engine,
                store,
                revision: successor(before)?,
                before: before.mac,
                generation,
                data_key: Fields::seal_data_key(store, generation, engine, &wrap_key, &data_key)?,
                slots,
            };
            let header = Header::seal(fields, &master.header_mac_key(&store), limits)?;
            Ok(Unlocked { header, in_hand: Some(place.number), master, data_key })
        })
    }
}

/// The keys of a store and the header they came from, authentic.
pub(crate) struct Unlocked {
    header: Header,
    /// The slot of the credential that opened it, while it has one.
    in_hand: Option<u8>,
    master: MasterKey,
    data_key: DataKey,
}

impl Unlocked {
    /// Only for what [`Header::open_data_key`] has found authentic, opened through slot `number`.
    pub(super) fn of_authentic(
        header: Header,
        number: u8,
        master: MasterKey,
        data_key: DataKey,
    ) -> Self {
        Self { header, in_hand: Some(number), master, data_key }
    }

    /// The header in use.
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// The master key: to verify the other copy of the header.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn master(&self) -> &MasterKey {
        &self.master
    }

    /// The keys of the records of this generation.
    pub(crate) fn record_keys(&self) -> RecordKeys {
        RecordKeys::derive(&self.data_key, &self.header.store(), self.header.generation())
    }

    /// The key of the anchor.
    pub(crate) fn anchor_key(&self) -> AnchorKey {
        self.master.anchor_key(&self.header.store())
    }

    /// The used slots, in their order.
    ///
    /// # Errors
    /// [`HeaderError::Tampered`] if a label does not open.
    pub(crate) fn slots(&self) -> Result<Vec<SlotInfo>, HeaderError> {
        let key = self.master.label_key(&self.header.store());
        let used =
            self.header.fields.places().filter_map(|(place, slot)| Some((place, slot.used()?)));
        used.map(|(place, slot)| {
            let in_hand = self.in_hand == Some(place.number);
            Ok(SlotInfo { in_hand, ..slot.describe(&place, &key)? })
        })
        .collect()
    }

    /// Enrols a credential in the first free slot, and says in which.
    ///
    /// # Errors
    /// [`HeaderError::SlotsFull`], and what [`NewHeader::create`] answers.
    pub(crate) fn add_slot(&self, enrolment: &Enrolment) -> Result<(u8, NextHeader), HeaderError> {
        let (place, _) = self
            .header
            .fields
            .places()
            .find(|(_, slot)| slot.used().is_none())
            .ok_or(HeaderError::SlotsFull)?;
        Ok((place.number, self.with_slot(&place, self.seal_slot(&place, enrolment)?)?))
    }

    /// Enrols a credential in place of the one in slot `number`: how a passphrase is changed.
    ///
    /// # Errors
    /// [`HeaderError::NoSuchSlot`], and what [`NewHeader::create`] answers.
    pub(crate) fn replace_slot(
        &self,
        number: u8,
        enrolment: &Enrolment,
    ) -> Result<NextHeader, HeaderError> {
        let place = self.used_place(number)?;
        self.with_slot(&place, self.seal_slot(&place, enrolment)?)
    }

    /// Frees slot `number`.
    ///
    /// # Errors
    /// [`HeaderError::NoSuchSlot`] and [`HeaderError::LastSlot`].
    ///
    /// # Security
    /// This stops a credential in our program only: with an older copy of the header it still opens the
    /// store. Ending that takes [`rotate`](Self::rotate).
    pub(crate) fn remove_slot(&self, number: u8) -> Result<NextHeader, HeaderError> {
        let place = self.used_place(number)?;
        if self.header.fields.places().filter(|(_, slot)| slot.used().is_some()).count() == 1 {
            return Err(HeaderError::LastSlot);
        }
        self.with_slot(&place, Slot::free()?)
    }

    /// Moves the store to another generation, written under `data_key`. All slots stay.
    ///
    /// # Errors
    /// [`HeaderError::Randomness`].
    pub(crate) fn next_generation(
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

    /// Moves the store to another generation and to a new master key, which only one credential opens.
    ///
    /// # Errors
    /// What [`NewHeader::create`] answers.
    pub(crate) fn rotate(
        &self,
        generation: u64,
        engine: EngineKind,
        data_key: DataKey,
        enrolment: Enrolment,
    ) -> Result<Self, HeaderError> {
        let header = NewHeader { store: self.header.store(), engine, generation, enrolment };
        let rotated = header.seal(self.header.id(), data_key, &self.header.limits)?;
        rotated.header.check_unlock(Some(&self.header))?;
        Ok(rotated)
    }

    /// Goes on with a header that has been written.
    pub(crate) fn adopt(&mut self, next: NextHeader) {
        self.header = next.header;
        self.in_hand = self.in_hand.filter(|number| self.used_place(*number).is_ok());
        if let Some(data_key) = next.data_key {
            self.data_key = data_key;
        }
    }

    fn used_place(&self, number: u8) -> Result<Place, HeaderError> {
        self.header
            .fields
            .places()
            .find(|(place, slot)| place.number == number && slot.used().is_some())
            .map(|(place, _)| place)
            .ok_or(HeaderError::NoSuchSlot(number))
    }

    fn seal_slot(&self, place: &Place, enrolment: &Enrolment) -> Result<Slot, HeaderError> {
        on_wiped_stack::<DEEP, _>(|| {
            KeySlot::seal(place, enrolment, &self.master, &self.header.limits).map(Slot::Used)
        })
    }

    fn with_slot(&self, place: &Place, slot: Slot) -> Result<NextHeader, HeaderError> {
        let mut fields = self.header.fields.clone();
        let old = fields.slots.get_mut(usize::from(place.number));
        *old.ok_or(HeaderError::NoSuchSlot(place.number))? = slot;
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

fn successor(header: HeaderId) -> Result<u64, HeaderError> {
    header.revision.checked_add(1).ok_or(HeaderError::Tampered("a revision without successor"))
}

/// A header that has been made and not yet written.
pub(crate) struct NextHeader {
    header: Header,
    data_key: Option<DataKey>,
}

impl NextHeader {
    /// The bytes to write to both copies.
    pub(crate) fn bytes(&self) -> &[u8; HEADER_BYTES] {
        self.header.bytes()
    }

    /// What the root has to name next.
    pub(crate) fn id(&self) -> HeaderId {
        self.header.id()
    }
}

#[cfg(test)]
mod tests;
