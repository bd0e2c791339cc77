//! A member of a circle for this workspace's own fuzz target. Not for users; semver does not cover it.
#![allow(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    clippy::new_without_default,
    reason = "the only caller is the fuzz target"
)]

use std::collections::BTreeMap;

use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::CircleKey;
use inmost_format::secret::{SecretBytes, Wiped};

use crate::chains::{Dot, LogId, Tag};
use crate::device::Device;
use crate::error::SyncError;
use crate::object::{Circle, decode, open, seal_body};
use crate::tree::{FileId, TreeFile, tree};

/// A device of a circle that always has the same key.
pub struct Fuzzed(Device);

impl Fuzzed {
    /// A device that knows nothing.
    pub fn new() -> Result<Self, SyncError> {
        let key = CircleKey::new(SecretBytes::init_with(|key| key.fill(7)));
        let circle = Circle { id: StoreId([7; 16]), key };
        Device::new(circle, "laptop".to_owned(), String::new()).map(Self)
    }

    /// Seals any bytes as the body of an object.
    pub fn seal(&self, log: LogId, number: u64, body: &[u8]) -> Result<(Dot, Vec<u8>), SyncError> {
        let body = Wiped::new(body.to_vec());
        let sealed = seal_body(&self.0.circle, (log, number, None), body)?;
        Ok((sealed.dot, sealed.bytes))
    }

    /// Whether an object opens.
    pub fn opens(&self, dot: &Dot, previous: Option<Tag>, bytes: &[u8]) -> bool {
        open(&self.0.circle, dot, previous, bytes).is_some()
    }

    /// Whether the body of an authentic object is sound, and whether it has a snapshot.
    pub fn inspect(dot: &Dot, body: &[u8]) -> Option<bool> {
        decode(dot, body).map(|changes| changes.snapshot.is_some())
    }

    /// Takes in an object with this body, after its predecessor. Returns whether it could be read.
    pub fn take_in(&mut self, dot: Dot, previous: Option<Tag>, body: &[u8]) -> bool {
        if self.0.chains.contains(&dot) {
            return true;
        }
        let follows = match previous {
            None => dot.number == 1,
            Some(tag) => {
                let mut before = self.0.chains.tags(dot.log, dot.number.saturating_sub(1));
                before.any(|other| other == tag)
            }
        };
        let changes = decode(&dot, body).filter(|changes| follows && self.0.is_ready(changes));
        changes.map(|changes| self.0.learn(dot, previous, changes)).is_some()
    }

    /// The files that it shows.
    pub fn files(&self) -> BTreeMap<FileId, TreeFile> {
        tree(&self.0.chains, &self.0.heads)
    }

    /// Publishes a snapshot, and has another device read it that knows nothing. `None` if that does not open it.
    pub fn copy(&mut self) -> Result<Option<Self>, SyncError> {
        self.0.make_snapshot(1)?;
        let mut copy = Self::new()?;
        let sealed = self.0.outbox.last();
        let opened =
            sealed.and_then(|it| Some((it.dot, open(&self.0.circle, &it.dot, None, &it.bytes)?)));
        Ok(opened.map(|(dot, changes)| {
            copy.0.learn(dot, None, changes);
            copy
        }))
    }

    /// The state to save.
    pub fn encode(&self) -> Result<Wiped<Vec<u8>>, SyncError> {
        self.0.encode()
    }

    /// A saved state.
    pub fn decode(bytes: &[u8]) -> Result<Self, SyncError> {
        Device::decode(bytes).map(Self)
    }
}
