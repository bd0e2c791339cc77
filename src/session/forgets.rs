//! The note of what was forgotten in a store that takes part in synchronisation, until that passes it on to other devices.
//!
//! It is a sealed file beside the state of synchronisation: a history that is off or was rewritten says nothing of what it lost.

use std::collections::BTreeMap;

use inmost_format::crypto::aead::{Nonce, Tag};
use inmost_format::crypto::registry::SyncStateAad;
use inmost_format::header::Unlocked;
use inmost_format::secret::Wiped;

use super::commit::handle::Session;
use super::error::StoreError;
use super::open::Open;

/// Up to which version each file was forgotten, by its number. `u64::MAX` stands for all versions.
pub(crate) type Forgets = BTreeMap<u64, u64>;

impl Session {
    /// Whether other devices are to learn of what is forgotten.
    pub(crate) fn is_synchronised(&self) -> Result<bool, StoreError> {
        self.read(|open| Ok(open.keys().is_some() && open.storage().is_synchronised()))
    }

    /// Notes what is about to be forgotten, durably. Only for an exclusive writer.
    pub(crate) fn note_forgets(&self, forgets: &Forgets) -> Result<(), StoreError> {
        self.read(|open| {
            let mut all = read(open)?;
            for (file, until) in forgets {
                let known = all.entry(*file).or_default();
                *known = (*known).max(*until);
            }
            write(open, &all)
        })
    }

    /// Returns what was noted.
    pub(crate) fn forgets(&self) -> Result<Forgets, StoreError> {
        self.exclusive(|exclusive| exclusive.session().read(read))
    }

    /// Drops from the note what other devices will learn.
    pub(crate) fn drop_forgets(&self, done: &Forgets) -> Result<(), StoreError> {
        self.exclusive(|exclusive| {
            exclusive.session().read(|open| {
                let mut all = read(open)?;
                all.retain(|file, until| done.get(file) != Some(until));
                write(open, &all)
            })
        })
    }
}

/// A note that does not open was sealed before the keys of the store were replaced, and so was the state that it belongs to.
fn read(open: &Open) -> Result<Forgets, StoreError> {
    let (Some(keys), Some(sealed)) = (open.keys(), open.storage().read_forgets()?) else {
        return Ok(Forgets::new());
    };
    let body = open_state(keys, &sealed);
    let pairs = body.as_ref().and_then(|body| body.strip_prefix(&[KIND]));
    let pairs = pairs.unwrap_or_default().as_chunks::<16>().0.iter();
    let pair = |pair: &[u8; 16]| {
        let number = u128::from_le_bytes(*pair);
        Some((
            u64::try_from(number & u128::from(u64::MAX)).ok()?,
            u64::try_from(number >> 64).ok()?,
        ))
    };
    Ok(pairs.filter_map(pair).collect())
}

fn write(open: &Open, forgets: &Forgets) -> Result<(), StoreError> {
    let Some(keys) = open.keys() else { return Ok(()) };
    if forgets.is_empty() {
        return Ok(open.storage().write_forgets(&[])?);
    }
    let pairs = forgets.iter().flat_map(|(file, until)| [file.to_le_bytes(), until.to_le_bytes()]);
    let mut body = Wiped::new([KIND].into_iter().chain(pairs.flatten()).collect());
    Ok(open.storage().write_forgets(&seal_state(keys, &mut body)?)?)
}

/// Seals a value of synchronisation under a key that follows from the master key. A rotation replaces it. A one and zeros
/// behind it hide its exact length (ISO/IEC 7816-4).
pub(crate) fn seal_state(
    keys: &Unlocked,
    state: &mut Wiped<Vec<u8>>,
) -> Result<Vec<u8>, StoreError> {
    let aad = SyncStateAad { store: keys.header().store() };
    let key = keys.sync_state_key();
    let zeros = STEP.saturating_sub(state.len() % STEP).saturating_sub(1);
    state.append(&[1]);
    state.append(&vec![0; zeros]);
    let (nonce, tag) =
        key.seal(&aad, state.as_mut_slice()).map_err(|_| StoreError::RandomnessFailed)?;
    Ok([&nonce.0, state.as_slice(), &tag.0].concat())
}

/// Opens what [`seal_state`] returned. `None` if it is damaged, or was sealed under other keys.
pub(crate) fn open_state(keys: &Unlocked, sealed: &[u8]) -> Option<Wiped<Vec<u8>>> {
    let (nonce, rest) = sealed.split_first_chunk::<24>()?;
    let (body, tag) = rest.split_last_chunk::<16>()?;
    let aad = SyncStateAad { store: keys.header().store() };
    let mut body = Wiped::new(body.to_vec());
    let key = keys.sync_state_key();
    key.open(&Nonce(*nonce), &aad, body.as_mut_slice(), &Tag(*tag)).ok()?;
    let end = body.iter().rposition(|byte| *byte != 0)?;
    body.truncate(end);
    Some(body)
}

/// What is sealed is a multiple of this long.
const STEP: usize = 4_096;

/// The first byte of the note. A state of synchronisation, which is sealed under the same key, begins with another one.
const KIND: u8 = b'f';
