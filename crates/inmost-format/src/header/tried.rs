//! On which slots a credential is tried, and what that may cost.

use super::credential::SlotKind;
use super::fields::Fields;
use super::slots::{SLOT_BYTES, Slot, SlotAddress};
use crate::crypto::cost::{KdfLimits, KdfOutOfBounds};
use crate::crypto::ids::StoreId;

/// Whether a credential of this kind may be tried on all of these headers, one after the other. Derives no key.
///
/// # Errors
/// [`KdfOutOfBounds`] with the sum.
pub(super) fn admit(
    headers: &[&Fields],
    kind: SlotKind,
    limits: &KdfLimits,
) -> Result<(), KdfOutOfBounds> {
    let mut seen: Vec<Tried> = Vec::new();
    let mut costs = Vec::new();
    for (address, slot) in headers.iter().flat_map(|fields| fields.addressed_slots()) {
        let tried = Tried::new(&address, slot);
        if let Some(used) = slot.used()
            && used.kind == kind
            && !seen.contains(&tried)
        {
            costs.extend(used.cost);
            seen.push(tried);
        }
    }
    limits.admit_unlock(costs)
}

/// The parts of a slot that a credential is tried on: two slots with equal parts give the same result.
#[derive(PartialEq, Eq)]
pub(super) struct Tried {
    store: StoreId,
    number: u8,
    bytes: [u8; SLOT_BYTES],
}

impl Tried {
    pub(super) fn new(address: &SlotAddress, slot: &Slot) -> Self {
        Self { store: address.store, number: address.number, bytes: slot.encode() }
    }
}
