//! Making the first header of a store, or the first under a new master key.

use inmost_storage::EngineKind;

use super::credential::Enrolment;
use super::error::HeaderError;
use super::fields::{Fields, SLOTS, successor};
use super::parsed::Header;
use super::slots::{KeySlot, Slot, SlotAddress};
use super::unlocked::Unlocked;
use crate::crypto::cost::KdfLimits;
use crate::crypto::keys::{DataKey, MasterKey};
use crate::crypto::store_id::StoreId;
use crate::record::HeaderId;
use crate::secret::{DEEP, on_wiped_stack};

/// The first header of a store.
pub struct NewHeader<'a> {
    /// The store's id, fresh.
    pub store: StoreId,
    /// The engine of its first generation.
    pub engine: EngineKind,
    /// The number of its first generation.
    pub generation: u64,
    /// The credential for its first slot.
    pub enrolment: Enrolment<'a>,
}

impl NewHeader<'_> {
    /// Draws the keys of a store and seals them for one credential.
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
