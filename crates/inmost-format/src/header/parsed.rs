//! A parsed header: its form is valid, but its content is not authentic until a key has verified it.

use inmost_storage::EngineKind;

use super::credential::SlotKind;
use super::error::HeaderError;
use super::fields::{Fields, HEADER_BYTES, at, check_magic};
use super::layout::{field, put};
use super::slots::Slot;
use super::tried::admit;
use crate::crypto::cost::{AdmittedCost, KdfLimits, KdfOutOfBounds};
use crate::crypto::ids::StoreId;
use crate::crypto::keys::{DataKey, HeaderMacKey, MasterKey};
use crate::crypto::prf;
use crate::crypto::registry::HeaderMessage;
use crate::record::{HeaderId, HeaderMac};

/// A header of valid form. Only [`unlock`](Self::unlock) can verify that it is authentic.
#[derive(Clone)]
pub struct Header {
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
    /// [`UnknownEngine`](HeaderError::UnknownEngine), [`Damaged`](HeaderError::Damaged) for padding,
    /// and slot by slot `Damaged` or [`KdfOutOfBounds`](HeaderError::KdfOutOfBounds).
    pub fn parse(bytes: &[u8], limits: &KdfLimits) -> Result<Self, HeaderError> {
        check_magic(bytes)?;
        let bytes: &[u8; HEADER_BYTES] =
            bytes.try_into().map_err(|_| HeaderError::Damaged("it is not 4,096 bytes long"))?;
        if prf::checksum(before_checksum(bytes)) != field::<{ at::CHECKSUM }, _, _>(bytes) {
            return Err(HeaderError::Damaged("its checksum does not match"));
        }
        let fields = Fields::decode(bytes, limits)?;
        Ok(Self { fields, bytes: Box::new(*bytes), limits: *limits })
    }

    /// The data key, if the whole header is authentic under this master key.
    pub(super) fn open_data_key(&self, master: &MasterKey) -> Result<DataKey, HeaderError> {
        self.authenticate(master)?;
        self.fields
            .open_data_key(&master.wrap_key(&self.fields.store))
            .ok_or(HeaderError::Tampered("the data key"))
    }

    /// Verifies the MAC over the whole header. Also verifies the other copy without another key derivation.
    ///
    /// # Errors
    /// [`Tampered`](HeaderError::Tampered).
    pub fn authenticate(&self, master: &MasterKey) -> Result<(), HeaderError> {
        let mac = field::<{ at::MAC }, _, _>(&self.bytes);
        let key = master.header_mac_key(&self.fields.store);
        if key.verify(&self.fields.store, &before_mac(&self.bytes), &mac) {
            return Ok(());
        }
        Err(HeaderError::Tampered("the header"))
    }

    /// The encoded fields without MAC and checksum, to compare a decoded header with its source.
    #[cfg(any(test, feature = "testing"))]
    pub fn encoded_fields(&self) -> Box<[u8; HEADER_BYTES]> {
        self.fields.encode()
    }

    /// The bytes as they are stored.
    pub fn bytes(&self) -> &[u8; HEADER_BYTES] {
        &self.bytes
    }

    /// Whether the limits allow an unlock of this header, and of this header with `other` as the second copy. A store that
    /// could not be unlocked is never written.
    pub(super) fn check_unlock(&self, other: Option<&Self>) -> Result<(), KdfOutOfBounds> {
        let fields: Vec<&Fields> =
            std::iter::once(self).chain(other).map(|header| &header.fields).collect();
        SlotKind::ALL.into_iter().try_for_each(|kind| admit(&fields, kind, &self.limits))
    }

    /// The kinds of the used slots, without duplicates. Not authentic.
    pub fn kinds(&self) -> Vec<SlotKind> {
        let used =
            |kind| self.fields.slots.iter().filter_map(Slot::used).any(|slot| slot.kind == kind);
        SlotKind::ALL.into_iter().filter(|kind| used(*kind)).collect()
    }

    /// The costs of trying all slots of one kind.
    pub fn unlock_costs(&self, kind: SlotKind) -> impl Iterator<Item = AdmittedCost> {
        self.fields.unlock_costs(kind)
    }

    /// The identifier of this header in a root record: [`revision`](Self::revision) and MAC.
    pub fn id(&self) -> HeaderId {
        let mac = HeaderMac(field::<{ at::MAC }, _, _>(&self.bytes));
        HeaderId { revision: self.fields.revision, mac }
    }

    /// Whether this header was made from the header with this identifier by a single change.
    pub fn follows(&self, other: &HeaderId) -> bool {
        other.revision.checked_add(1) == Some(self.fields.revision)
            && other.mac == self.fields.before
    }

    /// The limits that it was parsed within.
    pub fn limits(&self) -> &KdfLimits {
        &self.limits
    }

    /// Grows by one with every change of the header.
    pub fn revision(&self) -> u64 {
        self.fields.revision
    }

    /// The generation whose data key this header holds.
    pub fn generation(&self) -> u64 {
        self.fields.generation
    }

    /// The engine of that generation.
    pub fn engine(&self) -> EngineKind {
        self.fields.engine
    }

    /// The store's id.
    pub fn store(&self) -> StoreId {
        self.fields.store
    }

    /// A header of these fields, authentic because the caller holds the master key.
    pub(super) fn seal(
        fields: Fields,
        key: &HeaderMacKey,
        limits: &KdfLimits,
    ) -> Result<Self, HeaderError> {
        let mut bytes = fields.encode();
        let mac = key.mac(&fields.store, &before_mac(&bytes));
        put::<{ at::MAC }, _, _>(&mut bytes, &mac);
        let checksum = prf::checksum(before_checksum(&bytes));
        put::<{ at::CHECKSUM }, _, _>(&mut bytes, &checksum);
        let header = Self { fields, bytes, limits: *limits };
        header.check_unlock(None)?;
        Ok(header)
    }
}

/// The bytes that the MAC covers.
fn before_mac(bytes: &[u8; HEADER_BYTES]) -> HeaderMessage {
    field::<0, { at::MAC }, _>(bytes)
}

/// The bytes that the checksum covers.
fn before_checksum(bytes: &[u8; HEADER_BYTES]) -> &[u8] {
    const { assert!(at::CHECKSUM < HEADER_BYTES) };
    bytes.get(..at::CHECKSUM).unwrap_or_default()
}

#[cfg(test)]
mod tests;
