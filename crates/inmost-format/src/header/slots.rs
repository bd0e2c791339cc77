//! Keyslots: each of the eight holds the master key, sealed for one credential, or is free.
//!
//! A keyslot is 256 bytes, numbers little-endian:
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 1 | kind: 0 free, 1 passphrase, 2 passphrase and keyfile, 3 recovery key, 4 raw key |
//! | 1 | 3 | zero |
//! | 4 | 4 | Argon2id memory in KiB; zero for kinds 3 and 4, as are the next two |
//! | 8 | 4 | Argon2id passes |
//! | 12 | 4 | Argon2id lanes |
//! | 16 | 16 | salt |
//! | 32 | 32 | commitment |
//! | 64 | 72 | sealed master key: nonce 24, ciphertext 32, tag 16 |
//! | 136 | 112 | sealed label: nonce 24, ciphertext 72, tag 16 |
//! | 248 | 8 | zero |
//!
//! In a free slot all bytes but the kind are random.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::credential::{Credential, Enrolment, SlotKind};
use super::error::HeaderError;
use super::label::{SealedLabel, SlotLabel};
use super::layout::{field, is_zero, put};
use crate::crypto::aead::{Nonce, SealedKey, Tag};
use crate::crypto::cost::{AdmittedCost, KdfCost, KdfLimits};
use crate::crypto::ids::Salt;
use crate::crypto::ids::StoreId;
use crate::crypto::kdf::{self, KdfFailed};
use crate::crypto::keys::MasterKey;
use crate::crypto::master_key::LabelKey;
use crate::crypto::registry::{LabelAad, MasterKeyAad, SlotMessage};
use crate::crypto::rng::{self, RandomnessFailed};
use crate::crypto::slot_keys::{SlotKeys, WrappedMasterKey};

/// Bytes of one keyslot.
pub(super) const SLOT_BYTES: usize = 256;

/// One of the eight keyslots.
#[derive(Clone)]
pub(super) enum Slot {
    /// Random bytes.
    Free([u8; SLOT_BYTES - 1]),
    /// The master key, sealed.
    Used(KeySlot),
}

impl Slot {
    /// A free slot with new random bytes.
    pub(super) fn free() -> Result<Self, RandomnessFailed> {
        rng::array().map(Self::Free)
    }

    /// Free slots only.
    pub(super) fn all_free<const N: usize>() -> Result<[Self; N], RandomnessFailed> {
        let mut slots = std::array::from_fn(|_| Self::Free([0; SLOT_BYTES - 1]));
        for slot in &mut slots {
            *slot = Self::free()?;
        }
        Ok(slots)
    }

    /// The sealed master key, if there is one.
    pub(super) fn used(&self) -> Option<&KeySlot> {
        match self {
            Self::Free(_) => None,
            Self::Used(slot) => Some(slot),
        }
    }

    /// Does no I/O. The cost that the bytes ask for is admitted here, before it can be paid.
    pub(super) fn decode(
        bytes: &[u8; SLOT_BYTES],
        limits: &KdfLimits,
    ) -> Result<Self, HeaderError> {
        let [code] = field::<{ at::KIND }, 1, _>(bytes);
        if code == FREE {
            return Ok(Self::Free(field::<{ at::NOISE }, _, _>(bytes)));
        }
        let kind = SlotKind::from_code(code)
            .ok_or(HeaderError::Damaged("a keyslot is of no known kind"))?;
        if !is_zero::<{ at::ZERO }, { at::MEMORY }, _>(bytes)
            || !is_zero::<{ at::END }, SLOT_BYTES, _>(bytes)
        {
            return Err(HeaderError::Damaged("a keyslot's padding is not zero"));
        }
        let cost = KdfCost::new(
            u32::from_le_bytes(field::<{ at::MEMORY }, _, _>(bytes)),
            u32::from_le_bytes(field::<{ at::PASSES }, _, _>(bytes)),
            u32::from_le_bytes(field::<{ at::LANES }, _, _>(bytes)),
        );
        let cost = match (kind.has_passphrase(), cost == NO_COST) {
            (true, _) => Some(limits.admit(cost)?),
            (false, true) => None,
            (false, false) => {
                return Err(HeaderError::Damaged("a keyslot without passphrase has a cost"));
            }
        };
        Ok(Self::Used(KeySlot {
            kind,
            cost,
            salt: Salt(field::<{ at::SALT }, _, _>(bytes)),
            master: WrappedMasterKey {
                commitment: field::<{ at::COMMITMENT }, _, _>(bytes),
                sealed: decode_sealed_key(&field::<{ at::MASTER }, _, _>(bytes)),
            },
            label: SealedLabel::decode(&field::<{ at::LABEL }, _, _>(bytes)),
        }))
    }

    /// The inverse of [`decode`](Self::decode).
    pub(super) fn encode(&self) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        match self {
            Self::Free(noise) => put::<{ at::NOISE }, _, _>(&mut bytes, noise),
            Self::Used(slot) => {
                let [memory, passes, lanes] = cost_fields(slot.cost);
                put::<{ at::KIND }, _, _>(&mut bytes, &[slot.kind.code()]);
                put::<{ at::MEMORY }, _, _>(&mut bytes, &memory);
                put::<{ at::PASSES }, _, _>(&mut bytes, &passes);
                put::<{ at::LANES }, _, _>(&mut bytes, &lanes);
                put::<{ at::SALT }, _, _>(&mut bytes, &slot.salt.0);
                put::<{ at::COMMITMENT }, _, _>(&mut bytes, &slot.master.commitment);
                put::<{ at::MASTER }, _, _>(&mut bytes, &encode_sealed_key(&slot.master.sealed));
                put::<{ at::LABEL }, _, _>(&mut bytes, &slot.label.encode());
            }
        }
        bytes
    }
}

/// The master key, sealed for one credential.
#[derive(Clone)]
pub(super) struct KeySlot {
    pub(super) kind: SlotKind,
    /// `Some` only for kinds with a passphrase.
    pub(super) cost: Option<AdmittedCost>,
    salt: Salt,
    master: WrappedMasterKey,
    label: SealedLabel,
}

impl KeySlot {
    /// Seals the master key for a credential, under a fresh salt.
    pub(super) fn seal(
        address: &SlotAddress,
        enrolment: &Enrolment,
        master: &MasterKey,
        limits: &KdfLimits,
    ) -> Result<Self, HeaderError> {
        let kind = enrolment.credential.kind();
        let cost = kind.has_passphrase().then(|| limits.admit(enrolment.cost)).transpose()?;
        let salt = Salt::generate()?;
        let keys = slot_keys(address, &enrolment.credential, cost, &salt)?;
        let master_aad = master_aad(address, kind, cost, salt);
        Ok(Self {
            kind,
            cost,
            salt,
            master: keys.wrap_master(&master_aad, master)?,
            label: SealedLabel::seal(
                &label_aad(address, kind, salt),
                enrolment.label,
                enrolment.now_ms,
                &master.label_key(&address.store),
            )?,
        })
    }

    /// The master key, or `None` if the slot is for another credential.
    pub(super) fn open(
        &self,
        address: &SlotAddress,
        credential: &Credential,
    ) -> Result<Option<MasterKey>, HeaderError> {
        if self.kind != credential.kind() {
            return Ok(None);
        }
        let keys = slot_keys(address, credential, self.cost, &self.salt)?;
        let aad = master_aad(address, self.kind, self.cost, self.salt);
        keys.unwrap_master(&aad, &self.master).map_err(|_| HeaderError::Tampered("a keyslot"))
    }

    /// Opens the label.
    pub(super) fn describe(
        &self,
        address: &SlotAddress,
        key: &LabelKey,
    ) -> Result<SlotInfo, HeaderError> {
        let aad = label_aad(address, self.kind, self.salt);
        let (label, created_ms) = self.label.open(&aad, key)?;
        let cost = self.cost.map(AdmittedCost::cost);
        let number = address.number;
        Ok(SlotInfo { number, kind: self.kind, cost, label, created_ms, is_current: false })
    }
}

/// The store and the number of a slot.
pub(super) struct SlotAddress {
    pub(super) store: StoreId,
    pub(super) number: u8,
}

/// The keys that a credential has in one slot. For a passphrase, this runs the key derivation.
fn slot_keys(
    address: &SlotAddress,
    credential: &Credential,
    cost: Option<AdmittedCost>,
    salt: &Salt,
) -> Result<SlotKeys, KdfFailed> {
    let slot = SlotMessage { number: address.number, kind: credential.kind().code(), salt: *salt };
    let store = &address.store;
    let password_key = |passphrase| match cost {
        Some(cost) => kdf::derive(passphrase, cost, salt, store),
        None => Err(KdfFailed::Refused),
    };
    Ok(match credential {
        Credential::Passphrase(passphrase) => {
            SlotKeys::derive(&password_key(passphrase)?, store, &slot)
        }
        Credential::PassphraseAndKeyfile(passphrase, keyfile) => {
            SlotKeys::derive(&password_key(passphrase)?.with_keyfile(keyfile), store, &slot)
        }
        Credential::RecoveryKey(key) => SlotKeys::derive(*key, store, &slot),
        Credential::RawKey(key) => SlotKeys::derive(*key, store, &slot),
    })
}

fn master_aad(
    address: &SlotAddress,
    kind: SlotKind,
    cost: Option<AdmittedCost>,
    salt: Salt,
) -> MasterKeyAad {
    let cost = cost.map_or(NO_COST, AdmittedCost::cost);
    MasterKeyAad {
        store: address.store,
        number: address.number,
        kind: kind.code(),
        memory_kib: cost.memory_kib(),
        passes: cost.passes(),
        lanes: cost.lanes(),
        salt,
    }
}

fn label_aad(address: &SlotAddress, kind: SlotKind, salt: Salt) -> LabelAad {
    LabelAad { store: address.store, number: address.number, kind: kind.code(), salt }
}

fn cost_fields(cost: Option<AdmittedCost>) -> [[u8; 4]; 3] {
    let cost = cost.map_or(NO_COST, AdmittedCost::cost);
    [cost.memory_kib(), cost.passes(), cost.lanes()].map(u32::to_le_bytes)
}

/// Nonce, ciphertext, tag, as both keyslots and the header store a sealed key.
pub(super) fn encode_sealed_key(key: &SealedKey) -> [u8; SEALED_KEY_BYTES] {
    let mut bytes = [0; SEALED_KEY_BYTES];
    put::<0, _, _>(&mut bytes, &key.nonce.0);
    put::<24, _, _>(&mut bytes, &key.ciphertext);
    put::<56, _, _>(&mut bytes, &key.tag.0);
    bytes
}

/// The inverse of [`encode_sealed_key`].
pub(super) fn decode_sealed_key(bytes: &[u8; SEALED_KEY_BYTES]) -> SealedKey {
    SealedKey {
        nonce: Nonce(field::<0, _, _>(bytes)),
        ciphertext: field::<24, _, _>(bytes),
        tag: Tag(field::<56, _, _>(bytes)),
    }
}

/// Offsets within a keyslot.
mod at {
    pub(super) const KIND: usize = 0;
    /// The random bytes of a free slot.
    pub(super) const NOISE: usize = 1;
    pub(super) const ZERO: usize = 1;
    pub(super) const MEMORY: usize = 4;
    pub(super) const PASSES: usize = 8;
    pub(super) const LANES: usize = 12;
    pub(super) const SALT: usize = 16;
    pub(super) const COMMITMENT: usize = 32;
    pub(super) const MASTER: usize = 64;
    pub(super) const LABEL: usize = 136;
    pub(super) const END: usize = 248;
}

const FREE: u8 = 0;
const NO_COST: KdfCost = KdfCost::new(0, 0, 0);
const SEALED_KEY_BYTES: usize = 24 + 32 + 16;

/// The facts about a keyslot that an unlocked store provides.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SlotInfo {
    pub(super) number: u8,
    pub(super) kind: SlotKind,
    pub(super) cost: Option<KdfCost>,
    pub(super) label: SlotLabel,
    pub(super) created_ms: u64,
    pub(super) is_current: bool,
}

impl SlotInfo {
    /// The number of the slot, from 0 to 7.
    #[must_use]
    pub fn number(&self) -> u8 {
        self.number
    }

    /// The kind of credential that opens it.
    #[must_use]
    pub fn kind(&self) -> SlotKind {
        self.kind
    }

    /// Its label, chosen by the owner.
    #[must_use]
    pub fn label(&self) -> &str {
        self.label.as_str()
    }

    /// The cost of one guess at its passphrase, if it has one.
    #[must_use]
    pub fn kdf_cost(&self) -> Option<KdfCost> {
        self.cost
    }

    /// When its credential was enrolled, by the clock of the machine that did it.
    #[must_use]
    pub fn created(&self) -> SystemTime {
        UNIX_EPOCH.checked_add(Duration::from_millis(self.created_ms)).unwrap_or(UNIX_EPOCH)
    }

    /// Whether this session was unlocked through it.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.is_current
    }
}
