//! Changing who may open a store: its keyslots, listed and changed while it is unlocked.
//!
//! A change makes the next header, writes it to copy A and then to copy B, and then commits a root that names
//! it; only then is it acknowledged. A crash before copy A leaves the old state, one after it the new, and in
//! between the credentials of both open the store. Once the root is committed, the old header is refused wherever
//! it comes from.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::commit::Exclusive;
use super::copy::strict;
use super::credential::{Credential, Enrolment, NewSlot, SlotKind};
use super::error::StoreError;
use super::header::HeaderError;
use super::label::SlotLabel;
use super::rewrite::{self, Next};
use super::session::{Session, write};
use super::unlock::now;
use super::unlocked::{NextHeader, Unlocked};
use crate::crypto::cost::KdfCost;
use crate::crypto::keys::DataKey;

impl Session {
    /// The keyslots in use, in their order.
    ///
    /// # Errors
    /// [`StoreError::InMemory`] for a store that has none; [`StoreError::Tampered`], [`StoreError::Locked`],
    /// [`StoreError::Halted`].
    pub fn slots(&self) -> Result<Vec<SlotInfo>, StoreError> {
        self.read(|open| Ok(open.keys().ok_or(StoreError::InMemory)?.slots()?))
    }

    /// Gives one more credential a keyslot, and says its number.
    ///
    /// Pays one key derivation, during which readers go on and writers wait. No record but the root is written.
    ///
    /// # Errors
    /// [`StoreError::SlotsFull`]; [`StoreError::KdfOutOfBounds`] if the store could then not be unlocked within the limits it
    /// was opened with; [`StoreError::InMemory`]; and those of a commit. Nothing has changed then, unless the
    /// session is halted: in that case the next unlock finds either the old or the new slots.
    pub fn add_slot(&self, slot: &NewSlot<'_>) -> Result<u8, StoreError> {
        self.exclusive(|exclusive| {
            exclusive.change_header(|keys| Ok(enrol(slot, None, |new| keys.add_slot(new))?))
        })
    }

    /// Gives a credential the keyslot of another: how a passphrase is changed.
    ///
    /// As cheap as [`add_slot`](Session::add_slot). The new credential may be of another kind.
    ///
    /// # Errors
    /// [`StoreError::NoSuchSlot`], and as [`add_slot`](Session::add_slot).
    ///
    /// # Security
    /// As for [`remove_slot`](Session::remove_slot).
    pub fn replace_slot(&self, number: u8, slot: &NewSlot<'_>) -> Result<(), StoreError> {
        self.exclusive(|exclusive| {
            exclusive.change_header(|keys| {
                let replaced = keys.slots()?.into_iter().find(|slot| slot.number == number);
                let replaced = replaced.ok_or(StoreError::NoSuchSlot(number))?;
                let next = enrol(slot, Some(&replaced), |new| keys.replace_slot(number, new))?;
                Ok(((), next))
            })
        })
    }

    /// Frees a keyslot; its credential no longer opens the store.
    ///
    /// # Errors
    /// [`StoreError::LastSlot`], [`StoreError::NoSuchSlot`], and as [`add_slot`](Session::add_slot).
    ///
    /// # Security
    /// It stops the credential in this program. Whoever has it *and* an older copy of the header, from a backup or a
    /// synchronised folder, still gets at the keys of this store. [`rotate`](Session::rotate) ends that for everything
    /// that is in the store from then on.
    pub fn remove_slot(&self, number: u8) -> Result<(), StoreError> {
        self.exclusive(|exclusive| {
            exclusive.change_header(|keys| Ok(((), keys.remove_slot(number)?)))
        })
    }

    /// Replaces every key of the store, for when one may have leaked: draws a new master key and a new data key and writes
    /// the whole store anew. One credential is kept; the keyslots of all others are dropped, and answered, so
    /// that they can be added again.
    ///
    /// `keep` must open the store already, and stays as it is with its label and its cost. Where it is the passphrase that
    /// leaked, replace it first. Otherwise as [`purge`](Session::purge), which tells what `progress` is told.
    ///
    /// # Errors
    /// [`StoreError::WrongPassphrase`] or [`StoreError::WrongKey`] if `keep` opens no keyslot; [`StoreError::InMemory`]; and those
    /// of [`purge`](Session::purge).
    ///
    /// # Security
    /// What was in the store before stays readable to whoever has the old keys and a copy of the old records.
    pub fn rotate<'a>(
        &self,
        keep: impl Into<Credential<'a>>,
        mut progress: impl FnMut(u64),
    ) -> Result<Vec<SlotInfo>, StoreError> {
        let keep = keep.into();
        let mut dropped = Vec::new();
        self.exclusive(|exclusive| {
            exclusive.session().slots()?;
            exclusive.replace_generation(&mut progress, &mut strict, |keys, generation| {
                let (rotated, rest) = rotated(keys, generation, keep)?;
                dropped = rest;
                Ok(Next::rotated(rotated))
            })
        })?;
        Ok(dropped)
    }
}

/// What is known of a keyslot once the store is unlocked.
pub struct SlotInfo {
    pub(super) number: u8,
    pub(super) kind: SlotKind,
    pub(super) cost: Option<KdfCost>,
    pub(super) label: SlotLabel,
    pub(super) created_ms: u64,
    pub(super) in_hand: bool,
}

impl SlotInfo {
    /// From 0 to 7.
    #[must_use]
    pub fn number(&self) -> u8 {
        self.number
    }

    /// What opens it.
    #[must_use]
    pub fn kind(&self) -> SlotKind {
        self.kind
    }

    /// What its owner calls it.
    #[must_use]
    pub fn label(&self) -> &str {
        self.label.as_str()
    }

    /// What one guess at its passphrase costs, if it has one.
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
    pub fn is_in_hand(&self) -> bool {
        self.in_hand
    }
}

impl Exclusive<'_> {
    /// Makes a header from the one in use, and goes on with it.
    fn change_header<T>(
        &mut self,
        change: impl FnOnce(&Unlocked) -> Result<(T, NextHeader), StoreError>,
    ) -> Result<T, StoreError> {
        let session = self.session().clone();
        let (answer, next) =
            session.read(|open| change(open.keys().ok_or(StoreError::InMemory)?))?;
        let id = next.id();
        let written = session
            .read(|open| rewrite::write_headers(open.storage(), next.bytes()))
            .and_then(|()| {
                write(&session.shared.state).open_mut()?.adopt_header(next);
                Ok(())
            })
            .and_then(|()| self.commit(|txn| txn.bind_header(id).map_err(StoreError::from)));
        // From the first copy on, only a new unlock can tell how far it came.
        written.map_err(|error| session.halt(error))?;
        Ok(answer)
    }
}

/// Settles what a new slot leaves open.
fn enrol<T>(
    slot: &NewSlot<'_>,
    replaced: Option<&SlotInfo>,
    seal: impl FnOnce(&Enrolment<'_>) -> Result<T, HeaderError>,
) -> Result<T, HeaderError> {
    let credential = slot.credential;
    let usual = SlotLabel::of_kind(credential.kind());
    let label = slot.label.as_ref().or(replaced.map(|slot| &slot.label)).unwrap_or(&usual);
    // Whoever made guessing dearer meant it for the next passphrase as well.
    let inherited = replaced.and_then(|slot| slot.cost).filter(|cost| !cost.is_below_default());
    let cost = slot.cost.or(inherited).unwrap_or_default();
    seal(&Enrolment { credential, cost, label, now_ms: now() })
}

/// The keys of a rotated store, and the slots that it lacks.
fn rotated(
    keys: &Unlocked,
    generation: u64,
    keep: Credential<'_>,
) -> Result<(Unlocked, Vec<SlotInfo>), StoreError> {
    // Enrolling a credential that was mistyped would lock its owner out of the store for good.
    let opened =
        keys.header().unlock(&keep).map_err(|error| StoreError::of_unlock(error, keep.kind()))?;
    let (kept, mut dropped): (Vec<_>, Vec<_>) =
        opened.slots()?.into_iter().partition(|slot| slot.in_hand);
    let kept = kept.into_iter().next().ok_or(StoreError::HeaderDamaged)?;
    for slot in &mut dropped {
        slot.in_hand = false;
    }
    let enrolment = Enrolment {
        credential: keep,
        cost: kept.cost.unwrap_or_default(),
        label: &kept.label,
        now_ms: kept.created_ms,
    };
    let engine = keys.header().engine();
    Ok((keys.rotate(generation, engine, DataKey::generate()?, enrolment)?, dropped))
}

#[cfg(test)]
mod tests;
