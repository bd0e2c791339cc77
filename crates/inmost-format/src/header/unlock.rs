//! Tries one credential on the keyslots of both copies of the header.
//!
//! The copies have the same slots, or almost the same after a crash. Keys are derived once for each slot, even if both
//! copies have it. The costs of one unlock are admitted together, before the first derivation.

use super::credential::Credential;
use super::error::HeaderError;
use super::fields::Fields;
use super::parsed::Header;
use super::tried::{Tried, admit};
use super::unlocked::Unlocked;
use crate::crypto::keys::MasterKey;
use crate::secret::{DEEP, on_wiped_stack};

impl Header {
    /// Opens the store's keys with a credential, which is tried on each slot of its kind in turn. [`unlock_first`] does
    /// the same for both copies of a header.
    ///
    /// # Errors
    /// [`KdfOutOfBounds`](HeaderError::KdfOutOfBounds) before any derivation, if trying all of these
    /// slots would cost too much; [`WrongCredential`](HeaderError::WrongCredential);
    /// [`Tampered`](HeaderError::Tampered) if a slot belongs to the credential but a part of the header does
    /// not authenticate; [`KdfFailed`](HeaderError::KdfFailed).
    pub fn unlock(&self, credential: &Credential<'_>) -> Result<Unlocked, HeaderError> {
        unlock_first(&[self], credential).map(|(_, keys)| keys)
    }
}

/// Opens the first of these headers that the credential opens. Also returns its index.
///
/// # Errors
/// The same as for [`Header::unlock`], from the last header that failed for a reason other than a wrong credential.
pub fn unlock_first(
    headers: &[&Header],
    credential: &Credential<'_>,
) -> Result<(usize, Unlocked), HeaderError> {
    if let Some(first) = headers.first() {
        let fields: Vec<&Fields> = headers.iter().map(|header| &header.fields).collect();
        admit(&fields, credential.kind(), &first.limits)?;
    }
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

/// The results of the slots tried so far.
#[derive(Default)]
struct Trials(Vec<(Tried, Result<Option<MasterKey>, HeaderError>)>);

impl Trials {
    fn unlock(
        &mut self,
        header: &Header,
        credential: &Credential<'_>,
    ) -> Result<Unlocked, HeaderError> {
        for (address, slot) in header.fields.addressed_slots() {
            let Some(used) = slot.used() else { continue };
            let tried = Tried::new(&address, slot);
            let result = match self.0.iter().position(|(other, _)| *other == tried) {
                Some(known) => self.0.swap_remove(known).1,
                None => used.open(&address, credential),
            };
            match result {
                Ok(Some(master)) => match header.open_data_key(&master) {
                    Ok(data_key) => {
                        let header = header.clone();
                        return Ok(Unlocked::of_authentic(
                            header,
                            address.number,
                            master,
                            data_key,
                        ));
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
