//! The keyslots of an unlocked store: listed, added, replaced and removed.
//!
//! A change makes the next header, writes it to copy A and then to copy B, and then commits a root that names it; only
//! then is it acknowledged. In a database header and root change in one step. A crash before copy A leaves the old state, and a crash after the root leaves the new one.
//! In between, the credentials of both open the store. Once the root is committed, the old header is refused wherever
//! it comes from.

use inmost_format::header::{NewSlot, NextHeader, SlotInfo, Unlocked};
use inmost_storage::HeaderChange;

use crate::session::clock::now;
use crate::session::commit::exclusive::{Exclusive, TRIES};
use crate::session::commit::handle::Session;
use crate::session::error::StoreError;
use crate::session::shared;
use crate::session::transaction::Txn;
use crate::session::transaction::caller::Caller;
use crate::session::transaction::overlay::Overlay;

impl Session {
    /// Lists the keyslots in use, in order of their numbers.
    ///
    /// # Errors
    /// [`StoreError::InMemory`] for a store that has none; [`StoreError::Tampered`], [`StoreError::Locked`],
    /// [`StoreError::Halted`].
    pub fn slots(&self) -> Result<Vec<SlotInfo>, StoreError> {
        self.read(|open| Ok(open.keys().ok_or(StoreError::InMemory)?.slots()?))
    }

    /// Adds a keyslot for a credential and returns the slot's number.
    ///
    /// Costs one key derivation, during which readers go on and writers wait. No record but the root is written.
    ///
    /// # Errors
    /// [`StoreError::SlotsFull`]; [`StoreError::KdfOutOfBounds`] if the store could then no longer be unlocked within
    /// the limits it was opened with; [`StoreError::InMemory`]; and the errors of a commit. On an error nothing has
    /// changed, unless the session is halted: in that case the next unlock finds either the old or the new slots.
    pub fn add_slot(&self, slot: &NewSlot<'_>) -> Result<u8, StoreError> {
        StoreError::check_process(slot.is_of_this_process())?;
        StoreError::check_new(slot.is_one_line())?;
        self.exclusive(|exclusive| exclusive.change_header(|keys| Ok(keys.add_slot(slot, now())?)))
    }

    /// Replaces the credential of a keyslot. This is how a passphrase is changed.
    ///
    /// Costs as much as [`add_slot`](Session::add_slot). The new credential may be of another kind.
    ///
    /// # Errors
    /// [`StoreError::NoSuchSlot`], and those of [`add_slot`](Session::add_slot).
    ///
    /// # Security
    /// As for [`remove_slot`](Session::remove_slot).
    pub fn replace_slot(&self, number: u8, slot: &NewSlot<'_>) -> Result<(), StoreError> {
        StoreError::check_process(slot.is_of_this_process())?;
        StoreError::check_new(slot.is_one_line())?;
        self.exclusive(|exclusive| {
            exclusive.change_header(|keys| Ok(((), keys.replace_slot(number, slot, now())?)))
        })
    }

    /// Removes a keyslot. Its credential no longer opens the store.
    ///
    /// # Errors
    /// [`StoreError::LastSlot`], [`StoreError::NoSuchSlot`], and those of [`add_slot`](Session::add_slot).
    ///
    /// # Security
    /// This stops the credential in this program only. Anyone who has the credential *and* an older copy of the header,
    /// from a backup or a synchronised folder, can still get the keys of this store. [`rotate`](Session::rotate) ends
    /// that for everything in the store from then on.
    pub fn remove_slot(&self, number: u8) -> Result<(), StoreError> {
        self.exclusive(|exclusive| {
            exclusive.change_header(|keys| Ok(((), keys.remove_slot(number)?)))
        })
    }
}

impl Exclusive<'_> {
    /// Makes the next header with `change` and switches to it. `change` runs again if another host has changed the header.
    fn change_header<T>(
        &mut self,
        mut change: impl FnMut(&Unlocked) -> Result<(T, NextHeader), StoreError>,
    ) -> Result<T, StoreError> {
        let session = self.session().clone();
        let mut made = session.read_once(|open| {
            if !shared::header_goes_first(open) {
                return Ok(None);
            }
            let keys = open.keys().ok_or(StoreError::InMemory)?;
            let (value, next) = change(keys)?;
            Ok::<_, StoreError>(Some((keys.header().id(), value, next)))
        })?;
        if let Some((present, ..)) = &made {
            // On a full disk this is refused, while nothing has changed. And a root must name the header that the next one is made
            // from, which it does not after an unlock without room for that.
            self.commit(|txn| txn.bind_header(*present).map_err(StoreError::from))?;
        }
        self.commit_planned(TRIES, |open| {
            let keys = open.keys().ok_or(StoreError::InMemory)?;
            let header = keys.header();
            // Deriving a key is expensive, and only another header makes it necessary again.
            let (from, value, next) = match made.take() {
                Some((from, value, next)) if from == header.id() => (from, value, next),
                _ => {
                    let (value, next) = change(keys)?;
                    (header.id(), value, next)
                }
            };
            let (group, caller) = (Overlay::default(), Caller::default());
            let mut txn = Txn::new(open, &group, &caller);
            txn.bind_header(next.id())?;
            let mut changes = txn.into_overlay();
            changes.header = Some(HeaderChange {
                expect: header.bytes().to_vec(),
                next: next.bytes().to_vec(),
                generation: header.generation(),
                revision: next.id().revision,
            });
            made = Some((from, value, next));
            Ok::<_, StoreError>(((), changes))
        })?;
        let (from, value, next) = made.ok_or(StoreError::InMemory)?;
        session.adjust(|open| {
            // Another thread may have caught up with this header, or with a later one.
            if open.keys().is_some_and(|keys| keys.header().id() == from) {
                open.adopt_header(next);
            }
        })?;
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
