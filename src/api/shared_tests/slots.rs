//! What hosts do to the keyslots of a store, and which of them must open it afterwards.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::{SharedStore, raw_key};
use crate::session::{Session, StoreError};
use inmost_format::crypto::keys::RawKey;
use inmost_format::header::NewSlot;
use inmost_testing::Random;

/// What a host has done to a keyslot or to all of them, with the time when it began, and when it ended if that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Add(u16),
    Remove(u16),
    /// Ends all keyslots but the first key's.
    Rotate,
}

#[derive(Clone, Copy, Debug)]
struct Done {
    act: Act,
    begin: u64,
    /// `None` if nobody knows whether it took effect, or will.
    end: Option<u64>,
}

/// The keyslots of one run.
#[derive(Default)]
pub(super) struct Slots {
    done: Mutex<Vec<Done>>,
    next: Mutex<u16>,
}

/// The keyslots that a host has added and not removed: the key, and its number.
pub(super) type Own = BTreeMap<u16, u8>;

fn key(number: u16) -> RawKey {
    let mut bytes = [0xAA; 32];
    bytes[..2].copy_from_slice(&number.to_le_bytes());
    RawKey::from_bytes(&bytes)
}

impl Slots {
    /// Changes the keyslots in some way. Returns the error if nobody knows whether that took effect.
    pub(super) fn change(
        &self,
        session: &Session,
        own: &mut Own,
        random: &mut Random,
        now: impl Fn() -> u64,
    ) -> Result<(), StoreError> {
        let begin = now();
        let (act, result) = match (random.below(8), own.pop_first()) {
            (0, _) => {
                own.clear();
                (Act::Rotate, session.rotate(&raw_key()).map(drop))
            }
            (1..=3, Some((number, slot))) => (Act::Remove(number), session.remove_slot(slot)),
            (_, kept) => {
                own.extend(kept);
                let number = {
                    let mut next = self.next.lock().unwrap();
                    *next += 1;
                    *next
                };
                let key = key(number);
                let added = session.add_slot(&NewSlot::new(&key));
                (
                    Act::Add(number),
                    added.map(|slot| {
                        own.insert(number, slot);
                    }),
                )
            }
        };
        let end = match &result {
            Ok(()) | Err(StoreError::OldRecordsRemain(_)) => Some(now()),
            Err(StoreError::SlotsFull | StoreError::Locked) => {
                // Another host has rotated the keys: the keyslots of this one are gone.
                return result;
            }
            Err(_) => None,
        };
        self.done.lock().unwrap().push(Done { act, begin, end });
        result
    }

    /// Tries every key that was ever added, once nobody changes the store any more.
    ///
    /// # Panics
    /// If a key opens the store and must not, or does not and must.
    pub(super) fn judge(&self, store: &SharedStore, seed: u64) -> (u64, u64) {
        let done = self.done.lock().unwrap();
        let (mut opening, mut closed) = (0, 0);
        for number in 1..=*self.next.lock().unwrap() {
            let mut vault = store.vault(store.server.host()).unwrap();
            let opens = match vault.unlock_with(&key(number)) {
                Ok(_) => true,
                Err(StoreError::WrongKey(_)) => false,
                Err(error) => panic!("seed {seed}: key {number}: {error}"),
            };
            match must_open(&done, number) {
                Some(expected) => assert_eq!(opens, expected, "seed {seed}: {number}: {done:?}"),
                None => continue,
            }
            *if opens { &mut opening } else { &mut closed } += 1;
        }
        (opening, closed)
    }
}

/// Whether a key must open the store; `None` if both can be.
fn must_open(done: &[Done], number: u16) -> Option<bool> {
    let Some(added) = done.iter().find(|done| done.act == Act::Add(number)) else {
        return Some(false);
    };
    let ends = |done: &&Done| done.act == Act::Remove(number) || done.act == Act::Rotate;
    let mut certain = added.end.is_some();
    for end in done.iter().filter(ends) {
        let is_before = end.end.is_some_and(|end| end < added.begin);
        let is_after = added.end.is_some_and(|added| end.begin > added);
        if is_before {
            continue;
        }
        if is_after && end.end.is_some() {
            return Some(false);
        }
        certain = false;
    }
    certain.then_some(true)
}
