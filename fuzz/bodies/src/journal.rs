//! Journals that were damaged, forged, or put back from a copy.

use std::collections::BTreeMap;

use crate::input::Input;
use inmost_engines::local::JournalInMemory;
use inmost_storage::{Address, Batch, Engine, StorageError};

type Records = BTreeMap<Address, Vec<u8>>;

pub(crate) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut history = History::new();
    for _ in 0..input.below(STEPS) {
        history.step(&mut input);
    }
    let History { mut place, mut engine, states, copies } = history;
    drop(engine.take());
    let mut is_forged = false;
    for _ in 0..input.below(5) {
        is_forged |= attack(&mut input, &mut place, &copies);
    }
    let engine = match place.open() {
        Err(StorageError::Corrupt(_) | StorageError::Damaged(_)) => return,
        opened => opened.unwrap(),
    };
    let found = contents(&*engine);
    assert!(is_forged || states.contains(&found), "a state that never was");
    assert!(!found.contains_key(&MARK));
    // An opening that a crash ends changes nothing, and neither does a clean end.
    drop(engine);
    assert!(contents(&*place.open().unwrap()) == found, "opened twice");
    place.open().unwrap().close().unwrap();
    assert!(contents(&*place.open().unwrap()) == found, "closed");
    let engine = Some(place.open().unwrap());
    let mut history = History { place, engine, states: vec![found], copies };
    for _ in 0..input.below(12) {
        history.step(&mut input);
    }
    history.reopen(false);
}

/// A journal, and every state that was committed to it.
struct History {
    place: JournalInMemory,
    engine: Option<Box<dyn Engine>>,
    /// The last one is the present state.
    states: Vec<Records>,
    /// Copies from days before.
    copies: Vec<JournalInMemory>,
}

impl History {
    fn new() -> Self {
        let (place, engine) = JournalInMemory::create().unwrap();
        let states = vec![Records::new()];
        let mut new = Self { place, engine: Some(engine), states, copies: Vec::new() };
        // The first batch of a generation goes to the engine uncounted, and no header names a generation before that. The
        // second one is in the journal.
        for _ in 0..2 {
            new.commit(&mut Input::new(&[]), 0);
        }
        new
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.below(16) {
            0 => self.reopen(true),
            1 | 2 => self.reopen(false),
            3 if self.copies.len() < 4 => self.copies.push(self.place.duplicate()),
            4 => self.commit(input, 24),
            _ => {
                let most = input.pick(&[1, 2, 6]);
                self.commit(input, most);
            }
        }
    }

    fn commit(&mut self, input: &mut Input<'_>, changes: usize) {
        let state = self.states.last().unwrap();
        let mut batch =
            Batch { expect: Some((ROOT, state.get(&ROOT).cloned())), ..Batch::default() };
        let mut after = state.clone();
        let first = input.byte() % 60;
        for byte in (first..).take(changes) {
            let address = Address([1 + byte; 32]);
            if input.one_in(4) {
                after.remove(&address);
                batch.deletes.push(address);
            } else {
                let value = value(input);
                after.insert(address, value.clone());
                batch.puts.push((address, value));
            }
        }
        // Every state has another root.
        let number = self.states.len().to_le_bytes().to_vec();
        after.insert(ROOT, number.clone());
        batch.puts.push((ROOT, number));
        let engine = self.engine.as_ref().unwrap();
        engine.apply(&batch).unwrap();
        engine.sync().unwrap();
        self.states.push(after);
    }

    /// Opens the engine again, after a clean end or a crash.
    fn reopen(&mut self, clean: bool) {
        let engine = self.engine.take().unwrap();
        if clean {
            engine.close().unwrap();
        } else {
            drop(engine);
        }
        let engine = self.place.open().unwrap();
        assert!(contents(&*engine) == *self.states.last().unwrap(), "a commit is lost or torn");
        self.engine = Some(engine);
    }
}

fn value(input: &mut Input<'_>) -> Vec<u8> {
    vec![input.byte(); input.pick(&[0, 1, 297, 1_065, 4_137])]
}

fn contents(engine: &dyn Engine) -> Records {
    engine.verify().unwrap();
    let found: Records = engine.scan(None, usize::MAX).unwrap().into_iter().collect();
    let addresses: Vec<_> = found.keys().copied().collect();
    let values = engine.get_many(&addresses).unwrap();
    assert!(values.iter().flatten().eq(found.values()) && values.len() == found.len());
    found
}

/// Changes the journal or what is behind it. Returns whether this took an entry that only a forger writes, or the key of the slots.
fn attack(input: &mut Input<'_>, place: &mut JournalInMemory, copies: &[JournalInMemory]) -> bool {
    let copy = copies.get(input.below(copies.len() + 1));
    match (input.below(10), copy) {
        (0, Some(copy)) => place.take_engine_of(copy),
        (1, Some(copy)) => {
            let bytes = copy.tamper(|bytes| bytes.clone());
            place.tamper(|journal| *journal = bytes);
        }
        (2, Some(copy)) => {
            let (from, to) = (input.below(BLOCKS), input.below(BLOCKS));
            let bytes = copy.tamper(|bytes| block(bytes, from).to_vec());
            place.tamper(|journal| block_mut(journal, to).copy_from_slice(&bytes));
        }
        (3, _) => place.tamper(|journal| {
            let bytes = block(journal, input.below(BLOCKS)).to_vec();
            block_mut(journal, input.below(BLOCKS)).copy_from_slice(&bytes);
        }),
        (4, _) => place.tamper(|journal| block_mut(journal, input.below(BLOCKS)).fill(0)),
        (5, _) if input.one_in(8) => {
            let length =
                input.pick(&[0, 1, BLOCK, 2 * BLOCK, BLOCKS * BLOCK - 1, BLOCKS * BLOCK + 1]);
            place.tamper(|journal| {
                journal.resize(length, 0);
                // The other attacks expect all blocks, so these bytes are judged at once.
                assert!(matches!(place_of(journal), Err(StorageError::Damaged(_))));
                journal.resize(BLOCKS * BLOCK, 0);
            });
        }
        _ => return overwrite(input, place),
    }
    false
}

/// The outcome of opening these bytes in front of an engine without records.
fn place_of(bytes: &[u8]) -> Result<(), StorageError> {
    let (place, engine) = JournalInMemory::create()?;
    drop(engine);
    place.tamper(|journal| *journal = bytes.to_vec());
    place.open().map(drop)
}

/// Overwrites some bytes of a block. Returns whether it was made to fit: an entry by anybody, a slot with the key.
fn overwrite(input: &mut Input<'_>, place: &JournalInMemory) -> bool {
    let number = input.below(BLOCKS);
    let at = if input.one_in(3) { input.below(BLOCK) } else { input.pick(&FIELDS) };
    let mends = input.one_in(2);
    let has_key = input.one_in(2);
    place.tamper(|journal| {
        let bytes = &mut block_mut(journal, number)[at..];
        let new = input.bytes(40);
        bytes.iter_mut().zip(new).for_each(|(to, from)| *to = *from);
        if mends {
            mend(journal, number, has_key);
        }
    });
    mends && (has_key || number > 1)
}

/// Makes the checksums of the slot or the entry in a block fit its bytes, and with the key the MAC of a slot.
fn mend(journal: &mut [u8], number: usize, has_key: bool) {
    let from = number * BLOCK;
    if number < 2 {
        if has_key {
            JournalInMemory::authenticate(block_mut(journal, number), number == 1);
        }
        let checksum = crc32fast::hash(&journal[from..from + BLOCK - 4]);
        journal[from + BLOCK - 4..from + BLOCK].copy_from_slice(&checksum.to_le_bytes());
        return;
    }
    let length = u32::from_le_bytes(*journal[from + 4..].first_chunk().unwrap());
    let body = &journal[from + 128..];
    let length = usize::try_from(length).unwrap().min(body.len());
    let checksum = crc32fast::hash(&body[..length]);
    journal[from + 52..from + 56].copy_from_slice(&checksum.to_le_bytes());
    let checksum = crc32fast::hash(&journal[from..from + 124]);
    journal[from + 124..from + 128].copy_from_slice(&checksum.to_le_bytes());
}

fn block(journal: &[u8], number: usize) -> &[u8] {
    &journal[number * BLOCK..][..BLOCK]
}

fn block_mut(journal: &mut [u8], number: usize) -> &mut [u8] {
    &mut journal[number * BLOCK..][..BLOCK]
}

const ROOT: Address = Address([0xAA; 32]);
const MARK: Address = Address([0; 32]);
const STEPS: usize = 40;
const BLOCK: usize = 4_096;
/// Two slots and two halves of eight blocks.
const BLOCKS: usize = 18;
/// Where the fields of a slot and of an entry begin, and the first changes of an entry.
const FIELDS: [usize; 15] = [0, 4, 8, 10, 12, 16, 24, 32, 40, 48, 52, 56, 128, 160, 162];
