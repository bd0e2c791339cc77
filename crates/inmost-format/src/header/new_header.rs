//! Headers under a new master key: the first header of a store, and the header after a rotation.

use inmost_storage::EngineKind;

use super::credential::{Credential, Enrolment};
use super::error::HeaderError;
use super::fields::{Fields, SLOTS, successor};
use super::parsed::Header;
use super::slots::SlotInfo;
use super::slots::{KeySlot, Slot, SlotAddress};
use super::unlocked::Unlocked;
use crate::crypto::cost::KdfLimits;
use crate::crypto::ids::StoreId;
use crate::crypto::keys::{DataKey, MasterKey};
use crate::record::HeaderId;
use crate::secret::{DEEP, on_wiped_stack};

/// The first header of a store.
pub struct NewHeader<'a> {
    /// The store's new id.
    pub store: StoreId,
    /// The engine of its first generation.
    pub engine: EngineKind,
    /// The number of its first generation.
    pub generation: u64,
    /// The credential for its first slot.
    pub enrolment: Enrolment<'a>,
}

impl NewHeader<'_> {
    /// Generates the keys of a store and seals them for one credential.
    ///
    /// # Errors
    /// [`HeaderError::KdfOutOfBounds`], [`HeaderError::KdfFailed`], [`HeaderError::Randomness`].
    pub fn create(&self, limits: &KdfLimits) -> Result<Unlocked, HeaderError> {
        self.seal(HeaderId::NONE, DataKey::generate()?, limits)
    }

    pub(super) fn seal(
        &self,
        before: HeaderId,
        data_key: DataKey,
        limits: &KdfLimits,
    ) -> Result<Unlocked, HeaderError> {
        on_wiped_stack::<DEEP, _>(|| {
            let master = MasterKey::generate()?;
            let Self { store, engine, generation, ref enrolment } = *self;
            let wrap_key = master.wrap_key(&store);
            let address = SlotAddress { store, number: 0 };
            let mut slots: [Slot; SLOTS] = Slot::all_free()?;
            let [first, ..] = &mut slots;
            *first = Slot::Used(KeySlot::seal(&address, enrolment, &master, limits)?);
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
            Ok(Unlocked::of_authentic(header, address.number, master, data_key))
        })
    }
}

impl Unlocked {
    /// Moves the store to another generation and to a new master key, which only `keep` opens. Its slot keeps its
    /// label and its cost. Also returns the slots that are dropped.
    ///
    /// # Errors
    /// [`HeaderError::WrongCredential`] if `keep` opens no slot, and the errors of [`NewHeader::create`].
    pub fn rotate(
        &self,
        generation: u64,
        engine: EngineKind,
        data_key: DataKey,
        keep: &Credential,
    ) -> Result<(Self, Vec<SlotInfo>), HeaderError> {
        // Enrolling a mistyped credential would lock the owner out of the store forever.
        let opened = self.header().unlock(keep)?;
        let (kept, mut dropped): (Vec<_>, Vec<_>) =
            opened.slots()?.into_iter().partition(|slot| slot.is_current);
        let kept = kept.into_iter().next().ok_or(HeaderError::WrongCredential)?;
        for slot in &mut dropped {
            slot.is_current = false;
        }
        let enrolment = Enrolment {
            credential: *keep,
            cost: kept.cost.unwrap_or_default(),
            label: &kept.label,
            now_ms: kept.created_ms,
        };
        Ok((self.rotate_to(generation, engine, data_key, enrolment)?, dropped))
    }

    pub(super) fn rotate_to(
        &self,
        generation: u64,
        engine: EngineKind,
        data_key: DataKey,
        enrolment: Enrolment,
    ) -> Result<Self, HeaderError> {
        let header = NewHeader { store: self.header().store(), engine, generation, enrolment };
        let rotated = header.seal(self.header().id(), data_key, &self.header().limits)?;
        rotated.header().check_unlock(Some(self.header()))?;
        Ok(rotated)
    }
}
