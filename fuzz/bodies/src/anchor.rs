//! Anchors of slots that were forged, put back, or damaged.

use std::error::Error;
use std::sync::{Arc, Mutex, OnceLock};

use crate::input::Input;
use crate::store::COST;
use inmost::internals::{OpenAnchor, recode_slot, seal_slot};
use inmost::{FreshnessAnchor, StoreError};
use inmost_engines::memory::MemoryStorage;
use inmost_format::crypto::cost::KdfLimits;
use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::RawKey;
use inmost_format::header::{Enrolment, NewHeader, SlotLabel, Unlocked};
use inmost_format::secret::SecretBytes;
use inmost_storage::{EngineKind, Storage};

pub(crate) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    if input.one_in(8) {
        recode(&mut input);
        return;
    }
    let (found, anchored) = (text(0, &[1, 0, input.byte(), 0, 0]), u64::from(input.byte() % 16));
    let (bytes, slots) = block(&mut input);
    let storage = MemoryStorage::default();
    storage.write_anchor(&bytes).unwrap();
    let external = input.one_in(3).then(|| Given::read(&mut input));
    let expected = expected(&slots, external.as_ref(), &found, anchored);
    let external = external
        .map(|given| -> Arc<dyn FreshnessAnchor> { Arc::new(Elsewhere(Mutex::new(given.value))) });
    let open = |found: &[u8; TEXT_BYTES], anchored| {
        OpenAnchor::open(keys(), &storage, external.clone(), found, anchored)
    };
    let opened = open(&found, anchored);
    assert_eq!(name(&opened), expected);
    let is_last = slots.iter().any(|(_, slot)| slot.sequence == u64::MAX);
    let Some(anchor) = opened.ok().filter(|_| !is_last) else { return };
    // What it writes says the same of the next commit, and that this one is older.
    for commit in 300..303 {
        let next = with_commit(&found, commit);
        anchor.remember(&storage, &next).unwrap();
        let expected = if expected == "was_missing" { "known" } else { expected };
        assert_eq!(name(&open(&next, anchored)), expected);
        assert_eq!(name(&open(&found, anchored)), "RolledBack");
    }
}

/// What decodes, encodes to the same bytes.
fn recode(input: &mut Input<'_>) {
    let index = input.byte() % 8;
    let mut text = text(index, input.bytes(8));
    for _ in 0..input.below(4) {
        text[input.below(TEXT_BYTES)] = input.byte();
    }
    assert!(recode_slot(&text, index).is_none_or(|again| again == text));
    assert_eq!(recode_slot(&text, index).is_some(), decode(&text, index).is_some());
}

/// A block of four slots, and those that are to open, by their index.
fn block(input: &mut Input<'_>) -> (Vec<u8>, Vec<(u8, Slot)>) {
    let mut bytes = vec![0; BLOCK_BYTES];
    let mut slots = Vec::new();
    let pairs = input.pick(&[&[0_u8, 1][..], &[2, 3], &[0, 1, 2, 3]]);
    for &index in pairs {
        let place = &mut bytes[usize::from(index) * STRIDE..][..SEALED_BYTES];
        let sent = slot(input, index);
        place.copy_from_slice(&sent.0);
        slots.extend(
            sent.1
                .filter(|slot| slot.sequence % 2 == u64::from(index % 2))
                .map(|slot| (index, slot)),
        );
    }
    let length = if input.one_in(8) { input.below(600) } else { BLOCK_BYTES };
    bytes.resize(length, 0);
    slots.retain(|(index, _)| usize::from(*index) * STRIDE + SEALED_BYTES <= length);
    (bytes, slots)
}

/// A sealed slot for this index, and what it says if it is to open there.
fn slot(input: &mut Input<'_>, index: u8) -> ([u8; SEALED_BYTES], Option<Slot>) {
    let sealed_for = if input.one_in(12) { input.byte() % 8 } else { index };
    let text = text(sealed_for, input.bytes(8));
    let mut sealed = seal_slot(&text, keys(), sealed_for).unwrap();
    let flip = if input.one_in(8) { 1 << input.below(8) } else { 0 };
    sealed[input.below(SEALED_BYTES)] ^= flip;
    let opens = sealed_for == index && flip == 0;
    (sealed, decode(&text, index).filter(|_| opens))
}

/// The text of a slot from the few bytes that matter: trust, sequence, commit, announced, tag.
fn text(index: u8, bytes: &[u8]) -> [u8; TEXT_BYTES] {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut text = [0; TEXT_BYTES];
    (text[0], text[1], text[2]) = (index, byte(0) % 5, byte(3) % 4);
    let extreme = |byte: u8| if byte == 255 { u64::MAX } else { u64::from(byte) };
    text[8..16].copy_from_slice(&extreme(byte(1)).to_le_bytes());
    text[16..24].copy_from_slice(&u64::from(byte(2) % 16).to_le_bytes());
    text[TEXT_BYTES - 1] = byte(4) % 3;
    text
}

/// The text of a slot for another commit.
fn with_commit(text: &[u8; TEXT_BYTES], commit: u64) -> [u8; TEXT_BYTES] {
    let mut next = *text;
    next[16..24].copy_from_slice(&commit.to_le_bytes());
    next
}

/// What a slot says, as docs/FORMAT.md has it. The mark is compared as bytes.
#[derive(Clone, Copy)]
struct Slot {
    trust: u8,
    sequence: u64,
    commit: u64,
    mark: [u8; TEXT_BYTES - 16],
}

fn decode(text: &[u8; TEXT_BYTES], index: u8) -> Option<Slot> {
    let number = |at: usize| u64::from_le_bytes(*text[at..].first_chunk().unwrap());
    let is_one = text[0] == index
        && (1..=3).contains(&text[1])
        && text[2] <= 1
        && text[3..8].iter().all(|byte| *byte == 0);
    let mark = *text.last_chunk().unwrap();
    is_one.then(|| Slot { trust: text[1], sequence: number(8), commit: number(16), mark })
}

/// The value that an application gives, and the newest of the slots in it.
struct Given {
    value: Option<Vec<u8>>,
    newest: Option<Slot>,
}

impl Given {
    fn read(input: &mut Input<'_>) -> Self {
        if input.one_in(8) {
            return Self { value: None, newest: None };
        }
        let slots: Vec<_> = (0..=input.below(3)).map(|_| slot(input, EXTERNAL)).collect();
        let newest = slots.iter().filter_map(|(_, slot)| *slot).max_by_key(|slot| slot.commit);
        let mut value: Vec<u8> = slots.iter().flat_map(|(sealed, _)| *sealed).collect();
        value.extend(input.bytes(3));
        Self { value: Some(value), newest }
    }
}

/// The outcome for these slots, with the value that the application gives.
fn expected(
    slots: &[(u8, Slot)],
    external: Option<&Given>,
    found: &[u8; TEXT_BYTES],
    anchored: u64,
) -> &'static str {
    let found = decode(found, 0).unwrap();
    let newest = external.and_then(|external| external.newest);
    let is_foreign = external.is_some_and(|it| it.value.is_some()) && newest.is_none();
    if is_foreign || slots.iter().any(|(_, slot)| slot.trust == RETIRED) {
        return "ForeignAnchor";
    }
    let mut seen = slots.iter().map(|(_, slot)| slot).chain(&newest);
    let is_newer = |slot: &Slot| slot.commit > found.commit;
    if seen.any(|slot| is_newer(slot) || slot.commit == found.commit && slot.mark != found.mark) {
        return "RolledBack";
    }
    let is_known = match slots {
        [(one, a), (other, b)] => {
            let (earlier, later) = if a.sequence < b.sequence { (a, b) } else { (b, a) };
            one / 2 == other / 2
                && earlier.sequence.checked_add(1) == Some(later.sequence)
                && (later.commit > earlier.commit || later.mark == earlier.mark)
                && later.sequence >= anchored
                && (a.trust, b.trust) == (KNOWN, KNOWN)
        }
        _ => false,
    };
    let is_vouched = newest.is_some_and(|slot| slot.trust == KNOWN && slot.mark == found.mark);
    match external {
        _ if !is_known && !is_vouched => "unknown",
        Some(Given { value: None, .. }) => "was_missing",
        _ => "known",
    }
}

fn name(opened: &Result<OpenAnchor, StoreError>) -> &'static str {
    match opened {
        Ok(anchor) => anchor.status().name(),
        Err(StoreError::ForeignAnchor) => "ForeignAnchor",
        Err(StoreError::RolledBack { .. }) => "RolledBack",
        Err(error) => panic!("{error}"),
    }
}

/// The anchor of an application.
struct Elsewhere(Mutex<Option<Vec<u8>>>);

impl FreshnessAnchor for Elsewhere {
    fn load(&self) -> Result<Option<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn save(&self, value: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        *self.0.lock().unwrap() = Some(value.to_vec());
        Ok(())
    }
}

fn keys() -> &'static Unlocked {
    static KEYS: OnceLock<Unlocked> = OnceLock::new();
    KEYS.get_or_init(|| {
        let key = RawKey::new(SecretBytes::init_with(|bytes| bytes.fill(6)));
        let label = SlotLabel::parse("laptop").unwrap();
        let enrolment =
            Enrolment { credential: (&key).into(), cost: COST, label: &label, now_ms: 1 };
        let (store, engine) = (StoreId([5; 16]), EngineKind::Memory);
        let new = NewHeader { store, engine, generation: 1, enrolment };
        new.create(&KdfLimits::of_fuzzing()).unwrap()
    })
}

const KNOWN: u8 = 1;
const RETIRED: u8 = 3;
/// The index of a slot that the application keeps.
const EXTERNAL: u8 = 4;
const STRIDE: usize = 128;
const BLOCK_BYTES: usize = 512;
const TEXT_BYTES: usize = 80;
const SEALED_BYTES: usize = 120;
