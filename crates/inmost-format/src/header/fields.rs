//! The fields of a header and their places in its bytes. Nothing in them is authentic.

use inmost_storage::EngineKind;

use super::credential::SlotKind;
use super::error::HeaderError;
use super::layout::{field, is_zero, put};
use super::slots::{SLOT_BYTES, Slot, SlotAddress, decode_sealed_key, encode_sealed_key};
use crate::crypto::aead::SealedKey;
use crate::crypto::cost::{AdmittedCost, KdfLimits};
use crate::crypto::ids::StoreId;
use crate::crypto::keys::DataKey;
use crate::crypto::master_key::WrapKey;
use crate::crypto::registry::DataKeyAad;
use crate::record::{HeaderId, HeaderMac};

/// Keyslots of a store: enough for a person's devices and a paper key, and few enough to try all of them in one unlock.
pub(super) const SLOTS: usize = 8;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 4_096;

/// The fields of a header. The layers above bind its [`id`](super::Header::id) to records, and `generation` to records
/// and the anchor.
#[derive(Clone)]
pub(super) struct Fields {
    pub(super) engine: EngineKind,
    pub(super) store: StoreId,
    pub(super) revision: u64,
    pub(super) generation: u64,
    pub(super) data_key: SealedKey,
    pub(super) slots: [Slot; SLOTS],
    /// The MAC of the previous header; zero in the first.
    pub(super) before: HeaderMac,
}

impl Fields {
    /// Seals the data key of a generation.
    pub(super) fn seal_data_key(
        store: StoreId,
        generation: u64,
        engine: EngineKind,
        wrap_key: &WrapKey,
        key: &DataKey,
    ) -> Result<SealedKey, HeaderError> {
        Ok(wrap_key.seal(&data_key_aad(store, generation, engine), key)?)
    }

    pub(super) fn open_data_key(&self, wrap_key: &WrapKey) -> Option<DataKey> {
        let aad = data_key_aad(self.store, self.generation, self.engine);
        wrap_key.open(&aad, &self.data_key).ok()
    }

    /// Every slot with its address.
    pub(super) fn addressed_slots(&self) -> impl Iterator<Item = (SlotAddress, &Slot)> {
        let store = self.store;
        (0..).zip(&self.slots).map(move |(number, slot)| (SlotAddress { store, number }, slot))
    }

    pub(super) fn unlock_costs(&self, kind: SlotKind) -> impl Iterator<Item = AdmittedCost> {
        let slots = self.slots.iter().filter_map(Slot::used);
        slots.filter(move |slot| slot.kind == kind).filter_map(|slot| slot.cost)
    }

    pub(super) fn decode(
        bytes: &[u8; HEADER_BYTES],
        limits: &KdfLimits,
    ) -> Result<Self, HeaderError> {
        let flags = u32::from_le_bytes(field::<{ at::FLAGS }, _, _>(bytes));
        if flags != 0 {
            return Err(HeaderError::UnknownFlags(flags));
        }
        let [code] = field::<{ at::ENGINE }, _, _>(bytes);
        let engine = engine_of(code).ok_or(HeaderError::UnknownEngine(code))?;
        if !is_zero::<{ at::ZERO }, { at::FLAGS }, _>(bytes)
            || !is_zero::<{ at::ZERO_BEFORE_SLOTS }, { at::SLOTS }, _>(bytes)
            || !is_zero::<{ at::ZERO_BEFORE_MAC }, { at::MAC }, _>(bytes)
        {
            return Err(HeaderError::Damaged("its padding is not zero"));
        }
        let slots = decode_slots(&field::<{ at::SLOTS }, _, _>(bytes), limits)?;
        if slots.iter().all(|slot| slot.used().is_none()) {
            return Err(HeaderError::Damaged("no keyslot is in use"));
        }
        Ok(Self {
            engine,
            store: StoreId(field::<{ at::STORE }, _, _>(bytes)),
            revision: u64::from_le_bytes(field::<{ at::REVISION }, _, _>(bytes)),
            generation: u64::from_le_bytes(field::<{ at::GENERATION }, _, _>(bytes)),
            data_key: decode_sealed_key(&field::<{ at::DATA_KEY }, _, _>(bytes)),
            slots,
            before: HeaderMac(field::<{ at::BEFORE }, _, _>(bytes)),
        })
    }

    /// The inverse of [`decode`](Self::decode), still without MAC and checksum.
    pub(super) fn encode(&self) -> Box<[u8; HEADER_BYTES]> {
        let mut bytes = Box::new([0; HEADER_BYTES]);
        put::<{ at::MAGIC }, _, _>(&mut bytes, &MAGIC);
        put::<{ at::VERSION }, _, _>(&mut bytes, &VERSION.to_le_bytes());
        put::<{ at::ENGINE }, _, _>(&mut bytes, &[code_of(self.engine)]);
        put::<{ at::STORE }, _, _>(&mut bytes, &self.store.0);
        put::<{ at::REVISION }, _, _>(&mut bytes, &self.revision.to_le_bytes());
        put::<{ at::GENERATION }, _, _>(&mut bytes, &self.generation.to_le_bytes());
        put::<{ at::DATA_KEY }, _, _>(&mut bytes, &encode_sealed_key(&self.data_key));
        let mut slots = [0; SLOTS * SLOT_BYTES];
        for (to, slot) in slots.as_chunks_mut().0.iter_mut().zip(&self.slots) {
            *to = slot.encode();
        }
        put::<{ at::SLOTS }, _, _>(&mut bytes, &slots);
        put::<{ at::BEFORE }, _, _>(&mut bytes, &self.before.0);
        bytes
    }
}

fn decode_slots(
    bytes: &[u8; SLOTS * SLOT_BYTES],
    limits: &KdfLimits,
) -> Result<[Slot; SLOTS], HeaderError> {
    let slots: Vec<Slot> = bytes
        .as_chunks()
        .0
        .iter()
        .map(|slot| Slot::decode(slot, limits))
        .collect::<Result<_, _>>()?;
    slots.try_into().map_err(|_| HeaderError::Damaged("it does not have eight keyslots"))
}

/// The revision that follows that of a header.
pub(super) fn successor(header: HeaderId) -> Result<u64, HeaderError> {
    header.revision.checked_add(1).ok_or(HeaderError::Tampered("a revision without successor"))
}

/// Whether the bytes begin like a header that this build can read.
pub(super) fn check_magic(bytes: &[u8]) -> Result<(), HeaderError> {
    // A header that is truncated within the magic is still recognised.
    if !bytes.iter().zip(&MAGIC).all(|(byte, magic)| byte == magic) {
        return Err(HeaderError::NotAStore);
    }
    let version = bytes
        .get(at::VERSION..)
        .and_then(|bytes| bytes.first_chunk())
        .ok_or(HeaderError::Damaged("it is not 4,096 bytes long"))?;
    match u16::from_le_bytes(*version) {
        VERSION => Ok(()),
        unknown => Err(HeaderError::UnknownFormat(unknown)),
    }
}

fn data_key_aad(store: StoreId, generation: u64, engine: EngineKind) -> DataKeyAad {
    DataKeyAad { store, generation, engine: code_of(engine) }
}

const fn code_of(engine: EngineKind) -> u8 {
    match engine {
        EngineKind::Sled => 1,
        EngineKind::Redb => 2,
        EngineKind::Postgres => 3,
        EngineKind::Memory => 255,
    }
}

/// The engine of a code, if it is known.
fn engine_of(code: u8) -> Option<EngineKind> {
    [EngineKind::Sled, EngineKind::Redb, EngineKind::Postgres, EngineKind::Memory]
        .into_iter()
        .find(|engine| code_of(*engine) == code)
}

/// Offsets within the header.
pub(super) mod at {
    pub(in crate::header) const MAGIC: usize = 0;
    pub(in crate::header) const VERSION: usize = 8;
    pub(in crate::header) const ENGINE: usize = 10;
    pub(in crate::header) const ZERO: usize = 11;
    pub(in crate::header) const FLAGS: usize = 12;
    pub(in crate::header) const STORE: usize = 16;
    pub(in crate::header) const REVISION: usize = 32;
    pub(in crate::header) const GENERATION: usize = 40;
    pub(in crate::header) const DATA_KEY: usize = 48;
    pub(in crate::header) const ZERO_BEFORE_SLOTS: usize = 120;
    pub(in crate::header) const SLOTS: usize = 128;
    pub(in crate::header) const BEFORE: usize = 2_176;
    pub(in crate::header) const ZERO_BEFORE_MAC: usize = 2_192;
    pub(in crate::header) const MAC: usize = 4_032;
    pub(in crate::header) const CHECKSUM: usize = 4_064;
}

/// Not text, so that editors and version control do not change a header. If one converts line ends anyway, the line feed
/// shows it.
pub(super) const MAGIC: [u8; 8] = *b"\x89INMOST\n";
const VERSION: u16 = 1;
