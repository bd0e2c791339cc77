//! Rotation: replaces every key of a store.

use super::rewrite::Versions;
use inmost_format::crypto::keys::DataKey;
use inmost_format::header::{Credential, SlotInfo};

use crate::session::generation::NextGeneration;
use crate::session::{Session, StoreError};

impl Session {
    /// Replaces every key of the store, for when one may have leaked: draws a new master key and a new data key and
    /// rewrites the whole store. One credential is kept. The keyslots of all others are dropped and returned, so that
    /// they can be added again.
    ///
    /// `keep` must already open the store; its keyslot keeps its label and its cost. If the passphrase itself leaked,
    /// replace it first. Apart from the keys this is a [`compact`](Session::compact): versions that the history keeps stay.
    ///
    /// # Errors
    /// [`StoreError::WrongPassphrase`] or [`StoreError::WrongKey`] if `keep` opens no keyslot;
    /// [`StoreError::InMemory`]; [`StoreError::AnchorUnavailable`]; and those of [`compact`](Session::compact).
    ///
    /// # Security
    /// The earlier content of the store stays readable to anyone who has the old keys and a copy of the old records.
    pub fn rotate<'a>(&self, keep: impl Into<Credential<'a>>) -> Result<Vec<SlotInfo>, StoreError> {
        self.rotate_reporting(keep.into(), &mut |_| {})
    }

    /// As [`rotate`](Session::rotate), with a callback that gets the number of records written so far.
    /// It must not use the session: a store that several hosts share is locked meanwhile, and it would wait for itself.
    ///
    /// # Errors
    /// Those of [`rotate`](Session::rotate).
    pub fn rotate_reporting(
        &self,
        keep: Credential<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Vec<SlotInfo>, StoreError> {
        StoreError::check_process(keep.is_of_this_process())?;
        let mut dropped = Vec::new();
        self.exclusive(|exclusive| {
            exclusive.session().slots()?;
            exclusive.replace_generation(Versions::Keep, progress, |keys, generation| {
                let engine = keys.header().engine();
                let rotated = keys.rotate(generation, engine, DataKey::generate()?, &keep);
                let (rotated, rest) =
                    rotated.map_err(|error| StoreError::of_unlock(error, keep.kind()))?;
                dropped = rest;
                Ok(NextGeneration::rotated(rotated))
            })
        })?;
        Ok(dropped)
    }
}
