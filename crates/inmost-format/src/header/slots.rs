//! Keyslots: eight places that each hold the master key, sealed for one credential.
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
//! All of a free slot but its kind is random.

use super::credential::{Credential, Enrolment, SlotKind};
use super::error::HeaderError;
use super::label::SealedLabel;
use super::layout::{field, is_zero, put};
use super::slot_info::SlotInfo;
use crate::crypto::aead::{Nonce, SealedKey, Tag};
use crate::crypto::cost::{AdmittedCost, KdfCost, KdfLimits};
use crate::crypto::kdf::{self, KdfFailed, Salt};
use crate::crypto::keys::{Commitment, CredentialSecret, Kek, LabelKey, MasterKey};
use crate::crypto::prf::StoreId;
use crate::crypto::rng::{self, RandomnessFailed};

/// Bytes of one keyslot.
pub(super) const SLOT_BYTES: usize = 256;

/// One of the eight places.
#[derive(Clone)]
pub(super) enum Slot {
    /// Nothing but noise.
    Free([u8; SLOT_BYTES - 1]),
    /// The master key, sealed.
    Used(KeySlot),
}

impl Slot {
    /// A free slot with fresh noise.
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

    /// Does no I/O. The cost that the bytes ask for is admitted here, before anyone could pay it.
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
            commitment: Commitment(field::<{ at::COMMITMENT }, _, _>(bytes)),
            master: decode_sealed_key(&field::<{ at::MASTER }, _, _>(bytes)),
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
                put::<{ at::COMMITMENT }, _, _>(&mut bytes, &slot.commitment.0);
                put::<{ at::MASTER }, _, _>(&mut bytes, &encode_sealed_key(&slot.master));
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
    /// `Some` exactly for kinds with a passphrase.
    pub(super) cost: Option<AdmittedCost>,
    salt: Salt,
    commitment: Commitment,
    master: SealedKey,
    label: SealedLabel,
}

impl KeySlot {
    /// Seals the master key for a credential, under a fresh salt.
    pub(super) fn seal(
        place: &Place,
        enrolment: &Enrolment,
        master: &MasterKey,
        limits: &KdfLimits,
    ) -> Result<Self, HeaderError> {
        let kind = enrolment.credential.kind();
        let cost = kind.has_passphrase().then(|| limits.admit(enrolment.cost)).transpose()?;
        let salt = Salt::generate()?;
        let secrets = SlotSecrets::derive(place, &enrolment.credential, cost, &salt)?;
        let label = SealedLabel::seal(
            &label_aad(place, kind, &salt),
            enrolment.label,
            enrolment.now_ms,
            &master.label_key(&place.store),
        )?;
        let aad = master_aad(place, kind, cost, &salt);
        let commitment = secrets.commitment;
        Ok(Self { kind, cost, salt, commitment, master: secrets.kek.seal(&aad, master)?, label })
    }

    /// The master key, or `None` if the slot is for another credential.
    ///
    /// # Security
    /// The commitment decides that, before the AEAD is asked: the AEAD does not commit to its key, so
    /// one ciphertext could be made to open for many passphrases and tell which group a victim's is in.
    pub(super) fn open(
        &self,
        place: &Place,
        credential: &Credential,
    ) -> Result<Option<MasterKey>, HeaderError> {
        if self.kind != credential.kind() {
            return Ok(None);
        }
        let secrets = SlotSecrets::derive(place, credential, self.cost, &self.salt)?;
        if !secrets.commitment.ct_eq(&self.commitment) {
            return Ok(None);
        }
        let aad = master_aad(place, self.kind, self.cost, &self.salt);
        match secrets.kek.open(&aad, &self.master) {
            Ok(master) => Ok(Some(master)),
            Err(_) => Err(HeaderError::Tampered("a keyslot")),
        }
    }

    /// Opens the label.
    pub(super) fn describe(&self, place: &Place, key: &LabelKey) -> Result<SlotInfo, HeaderError> {
        let aad = label_aad(place, self.kind, &self.salt);
        let (label, created_ms) = self.label.open(&aad, key)?;
        let cost = self.cost.map(AdmittedCost::cost);
        let number = place.number;
        Ok(SlotInfo { number, kind: self.kind, cost, label, created_ms, is_current: false })
    }
}

/// Which slot of which store.
pub(super) struct Place {
    pub(super) store: StoreId,
    pub(super) number: u8,
}

/// What a credential's secret gives in one place.
pub(super) struct SlotSecrets {
    kek: Kek,
    commitment: Commitment,
}

impl SlotSecrets {
    /// For a passphrase this is where the cost is paid.
    fn derive(
        place: &Place,
        credential: &Credential,
        cost: Option<AdmittedCost>,
        salt: &Salt,
    ) -> Result<Self, KdfFailed> {
        let kind = credential.kind();
        let password_key = |passphrase| match cost {
            Some(cost) => kdf::derive(passphrase, cost, salt, &place.store),
            None => Err(KdfFailed::Refused),
        };
        Ok(match credential {
            Credential::Passphrase(passphrase) => {
                Self::of(place, kind, salt, &password_key(passphrase)?)
            }
            Credential::PassphraseAndKeyfile(passphrase, keyfile) => {
                Self::of(place, kind, salt, &password_key(passphrase)?.with_keyfile(keyfile))
            }
            Credential::RecoveryKey(key) => Self::of(place, kind, salt, *key),
            Credential::RawKey(key) => Self::of(place, kind, salt, *key),
        })
    }

    fn of(place: &Place, kind: SlotKind, salt: &Salt, secret: &impl CredentialSecret) -> Self {
        let context = [place.number, kind.code()];
        Self {
            kek: Kek::derive(secret, &place.store, context, salt),
            commitment: Commitment::derive(secret, &place.store, context, salt),
        }
    }
}

fn master_aad(place: &Place, kind: SlotKind, cost: Option<AdmittedCost>, salt: &Salt) -> Vec<u8> {
    let [memory, passes, lanes] = cost_fields(cost);
    let numbers = [place.number, kind.code()];
    let parts: [&[u8]; 7] =
        [MASTER_AAD, &place.store.0, &numbers, &memory, &passes, &lanes, &salt.0];
    parts.concat()
}

fn label_aad(place: &Place, kind: SlotKind, salt: &Salt) -> Vec<u8> {
    let parts: [&[u8]; 4] = [LABEL_AAD, &place.store.0, &[place.number, kind.code()], &salt.0];
    parts.concat()
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
    /// Of a free slot: the noise.
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
const MASTER_AAD: &[u8; 16] = b"inmost/1 slot\0\0\0";
const LABEL_AAD: &[u8; 16] = b"inmost/1 label\0\0";
