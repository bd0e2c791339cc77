//! The header: who may open the store, and which generation holds its records.
//!
//! 4,096 bytes outside the engine, numbers little-endian:
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic: `89 49 4e 4d 4f 53 54 0a`, that is 0x89, `INMOST`, line feed |
//! | 8 | 2 | format version, 1 |
//! | 10 | 1 | engine: 1 sled, 2 redb, 255 memory |
//! | 11 | 1 | zero |
//! | 12 | 4 | flags, all reserved |
//! | 16 | 16 | store id |
//! | 32 | 8 | header revision |
//! | 40 | 8 | data generation |
//! | 48 | 72 | sealed data key: nonce 24, ciphertext 32, tag 16 |
//! | 120 | 8 | zero |
//! | 128 | 2,048 | eight keyslots of 256 bytes ([`slots`](crate::vault::slots)) |
//! | 2,176 | 16 | the header before this one: the first half of its MAC |
//! | 2,192 | 1,840 | zero |
//! | 4,032 | 32 | MAC of all before it |
//! | 4,064 | 32 | checksum of all before it |
//!
//! [`Header::parse`] trusts nothing: until [`Header::unlock`] has verified the MAC, every byte may be an
//! attacker's. It panics for no input, and costs a hash of 4 KiB.

use crate::crypto::aead::SealedKey;
use crate::crypto::cost::{AdmittedCost, KdfLimits, KdfOutOfBounds};
use crate::crypto::kdf::KdfFailed;
use crate::crypto::keys::{DataKey, HeaderMacKey, MasterKey, WrapKey};
use crate::crypto::prf::{self, StoreId};
use crate::crypto::rng::RandomnessFailed;
use crate::record::{HeaderId, HeaderMac};
use crate::storage::EngineKind;
use crate::vault::credential::{Credential, SlotKind};
use crate::vault::layout::{field, is_zero, put};
use crate::vault::slots::{Place, SLOT_BYTES, Slot, decode_sealed_key, encode_sealed_key};
use crate::vault::trials;
use crate::vault::unlocked::Unlocked;

/// Keyslots of a store: enough for a person's devices and a paper key, few enough to try all at unlock.
pub(super) const SLOTS: usize = 8;

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 4_096;

/// A header whose form is right. Whether it is true, only [`unlock`](Self::unlock) can tell.
#[derive(Clone)]
pub(crate) struct Header {
    pub(super) fields: Fields,
    bytes: Box<[u8; HEADER_BYTES]>,
    pub(super) limits: KdfLimits,
}

impl Header {
    /// The header in these bytes. Does no I/O, and derives no key.
    ///
    /// Magic and version come first, because another version may differ in everything else.
    ///
    /// # Errors
    /// In this order: [`NotAStore`](HeaderError::NotAStore),
    /// [`UnknownFormat`](HeaderError::UnknownFormat), [`Damaged`](HeaderError::Damaged) for length and
    /// checksum, [`UnknownFlags`](HeaderError::UnknownFlags),
    /// [`EngineNotBuilt`](HeaderError::EngineNotBuilt), [`Damaged`](HeaderError::Damaged) for padding,
    /// and slot by slot `Damaged` or [`KdfOutOfBounds`](HeaderError::KdfOutOfBounds).
    pub(crate) fn parse(bytes: &[u8], limits: &KdfLimits) -> Result<Self, HeaderError> {
        check_magic(bytes)?;
        let bytes: &[u8; HEADER_BYTES] =
            bytes.try_into().map_err(|_| HeaderError::Damaged("it is not 4,096 bytes long"))?;
        if prf::checksum(before::<{ at::CHECKSUM }>(bytes))
            != field::<{ at::CHECKSUM }, _, _>(bytes)
        {
            return Err(HeaderError::Damaged("its checksum does not fit"));
        }
        let fields = Fields::decode(bytes, limits)?;
        Ok(Self { fields, bytes: Box::new(*bytes), limits: *limits })
    }

    /// Opens the store's keys with a credential, which is tried on each slot of its kind in turn. Of both copies of a
    /// header [`unlock_first`](crate::vault::trials::unlock_first) does the same.
    ///
    /// # Errors
    /// [`KdfOutOfBounds`](HeaderError::KdfOutOfBounds) before anything is paid, if trying all of these
    /// slots would cost too much; [`WrongCredential`](HeaderError::WrongCredential);
    /// [`Tampered`](HeaderError::Tampered) if a slot knows the credential and still something does not
    /// authenticate; [`KdfFailed`](HeaderError::KdfFailed).
    pub(crate) fn unlock(&self, credential: &Credential) -> Result<Unlocked, HeaderError> {
        trials::unlock_first(&[self], credential).map(|(_, keys)| keys)
    }

    /// The data key, if the whole header is authentic under this master key.
    pub(super) fn open_data_key(&self, master: &MasterKey) -> Result<DataKey, HeaderError> {
        self.authenticate(master)?;
        self.fields
            .open_data_key(&master.wrap_key(&self.fields.store))
            .ok_or(HeaderError::Tampered("the data key"))
    }

    /// Verifies the MAC over the whole header; also how the other copy is checked without paying again.
    ///
    /// # Errors
    /// [`Tampered`](HeaderError::Tampered).
    pub(crate) fn authenticate(&self, master: &MasterKey) -> Result<(), HeaderError> {
        let mac = field::<{ at::MAC }, _, _>(&self.bytes);
        let key = master.header_mac_key(&self.fields.store);
        if key.verify(&self.fields.store, before::<{ at::MAC }>(&self.bytes), &mac) {
            return Ok(());
        }
        Err(HeaderError::Tampered("the header"))
    }

    /// The bytes as they are stored.
    pub(crate) fn bytes(&self) -> &[u8; HEADER_BYTES] {
        &self.bytes
    }

    /// Whether the header's own limits let it be unlocked, also while `other` is still in the place of one copy: a store
    /// that cannot be unlocked must not come into being.
    pub(super) fn check_unlock(&self, other: Option<&Self>) -> Result<(), KdfOutOfBounds> {
        let headers: Vec<&Self> = std::iter::once(self).chain(other).collect();
        SlotKind::ALL.into_iter().try_for_each(|kind| trials::admit(&headers, kind))
    }

    /// The kinds of slot that are in use, each once. Nothing in it is authentic.
    pub(crate) fn kinds(&self) -> Vec<SlotKind> {
        let used =
            |kind| self.fields.slots.iter().filter_map(Slot::used).any(|slot| slot.kind == kind);
        SlotKind::ALL.into_iter().filter(|kind| used(*kind)).collect()
    }

    /// What a try of all slots of one kind costs.
    pub(crate) fn unlock_costs(&self, kind: SlotKind) -> impl Iterator<Item = AdmittedCost> {
        self.fields.unlock_costs(kind)
    }

    /// What a root names this header by: [`revision`](Self::revision) and MAC.
    pub(crate) fn id(&self) -> HeaderId {
        let mac = HeaderMac(field::<{ at::MAC }, _, _>(&self.bytes));
        HeaderId { revision: self.fields.revision, mac }
    }

    /// Whether this header was made from the one of this name, by a single change.
    pub(crate) fn follows(&self, other: &HeaderId) -> bool {
        other.revision.checked_add(1) == Some(self.fields.revision)
            && other.mac == self.fields.before
    }

    /// Grows by one with every change of the header.
    pub(crate) fn revision(&self) -> u64 {
        self.fields.revision
    }

    /// The generation whose data key this header holds.
    pub(crate) fn generation(&self) -> u64 {
        self.fields.generation
    }

    /// The engine of that generation.
    pub(crate) fn engine(&self) -> EngineKind {
        self.fields.engine
    }

    /// The store's id.
    pub(crate) fn store(&self) -> StoreId {
        self.fields.store
    }

    /// A header of these fields, authentic because the caller holds the master key.
    pub(super) fn seal(
        fields: Fields,
        key: &HeaderMacKey,
        limits: &KdfLimits,
    ) -> Result<Self, HeaderError> {
        let mut bytes = fields.encode();
        let mac = key.mac(&fields.store, before::<{ at::MAC }>(&bytes));
        put::<{ at::MAC }, _, _>(&mut bytes, &mac);
        let checksum = prf::checksum(before::<{ at::CHECKSUM }>(&bytes));
        put::<{ at::CHECKSUM }, _, _>(&mut bytes, &checksum);
        let header = Self { fields, bytes, limits: *limits };
        header.check_unlock(None)?;
        Ok(header)
    }
}

/// Why a header cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum HeaderError {
    /// Something else than a header.
    #[error("this is no Inmost store")]
    NotAStore,
    /// A format version that this build does not know.
    #[error("format version {0} is unknown to this build")]
    UnknownFormat(u16),
    /// Flags that this build does not know.
    #[error("flags {0:#x} are unknown to this build")]
    UnknownFlags(u32),
    /// The code of an engine that this build lacks.
    #[error("engine {0} is not part of this build")]
    EngineNotBuilt(u8),
    /// An accident, by all that can be seen without a key.
    #[error("the header is damaged: {0}")]
    Damaged(&'static str),
    /// Opening would cost more, or guessing less, than is accepted.
    #[error(transparent)]
    KdfOutOfBounds(#[from] KdfOutOfBounds),
    /// No slot is for this credential.
    #[error("no keyslot opens with this credential")]
    WrongCredential,
    /// The credential is right and something does not authenticate.
    #[error("the header was changed by someone without its keys: {0} does not authenticate")]
    Tampered(&'static str),
    /// No key could be derived.
    #[error(transparent)]
    KdfFailed(#[from] KdfFailed),
    /// Nothing could be sealed.
    #[error(transparent)]
    Randomness(#[from] RandomnessFailed),
    /// All eight slots are in use.
    #[error("all keyslots are in use")]
    SlotsFull,
    /// There is no used slot of this number.
    #[error("keyslot {0} is not in use")]
    NoSuchSlot(u8),
    /// Without it nobody could open the store again.
    #[error("the last keyslot cannot be removed")]
    LastSlot,
}

/// What a header says. Its [`id`](Header::id) is bound to records, and so is `generation` to records and anchor, by the
/// layers above.
#[derive(Clone)]
pub(super) struct Fields {
    pub(super) engine: EngineKind,
    pub(super) store: StoreId,
    pub(super) revision: u64,
    pub(super) generation: u64,
    pub(super) data_key: SealedKey,
    pub(super) slots: [Slot; SLOTS],
    /// The MAC of the header that this one was made from; zero in the first.
    pub(super) before: HeaderMac,
}

impl Fields {
    /// Seals the data key of a generation; its context is what the fields say of it.
    pub(super) fn seal_data_key(
        store: StoreId,
        generation: u64,
        engine: EngineKind,
        wrap_key: &WrapKey,
        key: &DataKey,
    ) -> Result<SealedKey, HeaderError> {
        Ok(wrap_key.seal(&data_key_aad(store, generation, engine), key)?)
    }

    fn open_data_key(&self, wrap_key: &WrapKey) -> Option<DataKey> {
        let aad = data_key_aad(self.store, self.generation, self.engine);
        wrap_key.open(&aad, &self.data_key).ok()
    }

    /// Every slot with its place.
    pub(super) fn places(&self) -> impl Iterator<Item = (Place, &Slot)> {
        let store = self.store;
        (0..).zip(&self.slots).map(move |(number, slot)| (Place { store, number }, slot))
    }

    fn unlock_costs(&self, kind: SlotKind) -> impl Iterator<Item = AdmittedCost> {
        let slots = self.slots.iter().filter_map(Slot::used);
        slots.filter(move |slot| slot.kind == kind).filter_map(|slot| slot.cost)
    }

    fn decode(bytes: &[u8; HEADER_BYTES], limits: &KdfLimits) -> Result<Self, HeaderError> {
        let flags = u32::from_le_bytes(field::<{ at::FLAGS }, _, _>(bytes));
        if flags != 0 {
            return Err(HeaderError::UnknownFlags(flags));
        }
        let [code] = field::<{ at::ENGINE }, _, _>(bytes);
        let engine = engine_of(code).ok_or(HeaderError::EngineNotBuilt(code))?;
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
    slots.try_into().map_err(|_| HeaderError::Damaged("it has not eight keyslots"))
}

/// Whether this begins like a header that this build can read.
fn check_magic(bytes: &[u8]) -> Result<(), HeaderError> {
    // What is cut short within the magic is still recognised as what it was.
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

/// What MAC and checksum cover.
fn before<const END: usize>(bytes: &[u8; HEADER_BYTES]) -> &[u8] {
    const { assert!(END <= HEADER_BYTES) };
    bytes.get(..END).unwrap_or_default()
}

fn data_key_aad(store: StoreId, generation: u64, engine: EngineKind) -> Vec<u8> {
    let parts: [&[u8]; 4] = [DATA_KEY_AAD, &store.0, &generation.to_le_bytes(), &[code_of(engine)]];
    parts.concat()
}

const fn code_of(engine: EngineKind) -> u8 {
    match engine {
        EngineKind::Sled => 1,
        EngineKind::Redb => 2,
        EngineKind::Memory => 255,
    }
}

/// The engine of a code, if this build has it.
fn engine_of(code: u8) -> Option<EngineKind> {
    [EngineKind::Sled, EngineKind::Redb, EngineKind::Memory]
        .into_iter()
        .find(|engine| code_of(*engine) == code && engine.is_built())
}

/// Offsets within the header.
mod at {
    pub(super) const MAGIC: usize = 0;
    pub(super) const VERSION: usize = 8;
    pub(super) const ENGINE: usize = 10;
    pub(super) const ZERO: usize = 11;
    pub(super) const FLAGS: usize = 12;
    pub(super) const STORE: usize = 16;
    pub(super) const REVISION: usize = 32;
    pub(super) const GENERATION: usize = 40;
    pub(super) const DATA_KEY: usize = 48;
    pub(super) const ZERO_BEFORE_SLOTS: usize = 120;
    pub(super) const SLOTS: usize = 128;
    pub(super) const BEFORE: usize = 2_176;
    pub(super) const ZERO_BEFORE_MAC: usize = 2_192;
    pub(super) const MAC: usize = 4_032;
    pub(super) const CHECKSUM: usize = 4_064;
}

/// Not text, so that no editor or version control takes a header for it; the line feed shows if one did.
const MAGIC: [u8; 8] = *b"\x89INMOST\n";
const VERSION: u16 = 1;
const DATA_KEY_AAD: &[u8; 16] = b"inmost/1 datakey";

#[cfg(test)]
mod tests;
