//! One credential tried on the keyslots of both copies of the header.
//!
//! The copies hold the same slots, or nearly so after a crash. A slot is paid for once, in whichever copies it is; and
//! all that one unlock may have to pay is admitted together, before any of it is.

use crate::crypto::cost::KdfOutOfBounds;
use crate::crypto::keys::MasterKey;
use crate::crypto::prf::StoreId;
use crate::secret::{DEEP, on_wiped_stack};
use crate::vault::credential::{Credential, SlotKind};
use crate::vault::header::{Header, HeaderError};
use crate::vault::slots::{Place, SLOT_BYTES, Slot};
use crate::vault::unlocked::Unlocked;

/// Opens the first of these headers that opens with a credential; answers which one it was.
///
/// # Errors
/// As [`Header::unlock`], of the last header that failed for another reason than a wrong credential.
pub(crate) fn unlock_first(
    headers: &[&Header],
    credential: &Credential<'_>,
) -> Result<(usize, Unlocked), HeaderError> {
    admit(headers, credential.kind())?;
    on_wiped_stack::<DEEP, _>(|| {
        let mut trials = Trials::default();
        let mut failure = HeaderError::WrongCredential;
        for (index, header) in headers.iter().enumerate() {
            match trials.unlock(header, credential) {
                Ok(keys) => return Ok((index, keys)),
                Err(HeaderError::WrongCredential) => {}
                Err(error) => failure = error,
            }
        }
        Err(failure)
    })
}

/// Whether a credential of this kind may be tried on all of these headers, one after the other. Costs nothing.
///
/// # Errors
/// [`KdfOutOfBounds`] with the sum.
pub(super) fn admit(headers: &[&Header], kind: SlotKind) -> Result<(), KdfOutOfBounds> {
    let Some(limits) = headers.first().map(|header| header.limits) else { return Ok(()) };
    let mut seen: Vec<Tried> = Vec::new();
    let mut costs = Vec::new();
    for (place, slot) in headers.iter().flat_map(|header| header.fields.places()) {
        let tried = Tried::new(&place, slot);
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

/// A slot as far as a credential is concerned: two that are equal here answer it the same.
#[derive(PartialEq, Eq)]
struct Tried {
    store: StoreId,
    number: u8,
    bytes: [u8; SLOT_BYTES],
}

impl Tried {
    fn new(place: &Place, slot: &Slot) -> Self {
        Self { store: place.store, number: place.number, bytes: slot.encode() }
    }
}

/// What slots answered so far.
#[derive(Default)]
struct Trials(Vec<(Tried, Result<Option<MasterKey>, HeaderError>)>);

impl Trials {
    fn unlock(
        &mut self,
        header: &Header,
        credential: &Credential<'_>,
    ) -> Result<Unlocked, HeaderError> {
        for (place, slot) in header.fields.places() {
            let Some(used) = slot.used() else { continue };
            let tried = Tried::new(&place, slot);
            let answer = match self.0.iter().position(|(other, _)| *other == tried) {
                Some(known) => self.0.swap_remove(known).1,
                None => used.open(&place, credential),
            };
            match answer {
                Ok(Some(master)) => match header.open_data_key(&master) {
                    Ok(data_key) => {
                        let header = header.clone();
                        return Ok(Unlocked::of_authentic(header, place.number, master, data_key));
                    }
                    // The other copy may hold the same slot and be authentic.
                    Err(error) => {
                        self.0.push((tried, Ok(Some(master))));
                        return Err(error);
                    }
                },
                Ok(None) => self.0.push((tried, Ok(None))),
                Err(error) => {
                    self.0.push((tried, Err(error)));
                    return Err(error);
                }
            }
        }
        Err(HeaderError::WrongCredential)
    }
}
