//! Operations on a store whose stored bytes are modified between them.
//!
//! Every result must be right for a state that the store once had, or be a store error that reports the
//! damage. The tag of the tree's head identifies the state, because only the holder of the keys can write a
//! root.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::input::Input;
use crate::model::Memory;
use crate::ops::{FilesCall, Op, Setup};
use crate::stateful::apply;
use crate::store::{Store, children, store_error};
use inmost::StoreError;
use inmost::internals::{self, Committed};
use inmost_format::record::{NodeSource, RecordId, Tag};
use inmost_storage::{Address, HeaderCopy, Storage};

pub(crate) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut run = Run::new(&Setup::read(&mut input));
    let mut steps = 0;
    while !input.is_empty() && steps < STEPS && !run.is_lost {
        if input.one_in(3) {
            run.attack(&mut input);
        } else {
            run.step(&Op::read(&mut input));
        }
        steps += 1;
    }
    run.finish();
}

type Records = BTreeMap<Address, Vec<u8>>;

struct Run {
    store: Store,
    memory: Memory,
    cache_bytes: usize,
    /// The memory for each tag that the tree's head has had.
    states: HashMap<[u8; 16], Memory>,
    /// Earlier states of the stored records.
    past: Vec<Records>,
    /// Every root that this run has written. They are stored at the address `root`.
    roots: HashSet<Vec<u8>>,
    root: Address,
    commit: u64,
    header: Vec<u8>,
    is_header_touched: bool,
    is_lost: bool,
}

impl Run {
    fn new(setup: &Setup) -> Self {
        let store = Store::create(setup);
        let header = store.place.read_header(HeaderCopy::A).unwrap().unwrap();
        let mut run = Self {
            store,
            memory: Memory::new(setup.rules.clone()),
            cache_bytes: setup.cache_bytes,
            states: HashMap::new(),
            past: Vec::new(),
            roots: HashSet::new(),
            root: Address([0; 32]),
            commit: 0,
            header,
            is_header_touched: false,
            is_lost: false,
        };
        run.root = run.places()[0];
        run.remember();
        run
    }

    fn step(&mut self, operation: &Op) {
        match operation {
            Op::Tool(_) | Op::Files(_) => self.one(operation),
            Op::Fill { folder, first, count, long, text } => {
                for at in 0..*count {
                    let name = format!("{:03}{}", (first + at) % 256, "n".repeat(*long));
                    let path = format!("{folder}/{name}");
                    self.one(&Op::Files(FilesCall::Write { path, text: text.clone() }));
                }
            }
            Op::Reopen { cache_bytes, .. } => {
                self.cache_bytes = *cache_bytes;
                self.reopen();
            }
            // No purge here, because the addresses of records must not change. Other tests purge damaged stores.
            Op::Lock
            | Op::Fail(_)
            | Op::LosePower
            | Op::Purge
            | Op::Past(_)
            | Op::Clock(_)
            | Op::Settle => self.reopen(),
        }
    }

    fn one(&mut self, operation: &Op) {
        if self.is_lost {
            return;
        }
        let mut after = self.memory.clone();
        let tag = tree_tag(&self.store);
        match apply(&self.store, &mut after, operation) {
            Ok(()) => self.memory = after,
            Err(error) => {
                assert!(reports_damage(&error), "{error}");
                assert!(self.store.session().is_locked() || tree_tag(&self.store) == tag);
            }
        }
        if self.store.session().is_locked() {
            self.reopen();
        } else {
            self.remember();
        }
    }

    fn remember(&mut self) {
        if let Some(tag) = tree_tag(&self.store) {
            self.states.insert(tag, self.memory.clone());
        }
        if self.past.len() >= PAST {
            self.past.remove(1);
        }
        let now = self.records(|records| records.clone()).unwrap();
        let commit = self.store.session().status().map(|status| status.commit).unwrap_or_default();
        if std::mem::replace(&mut self.commit, commit) != commit {
            // No commit replaces a modified root, so the stored root was written by this run.
            self.roots.extend(now.get(&self.root).cloned());
        }
        self.past.push(now);
    }

    fn reopen(&mut self) {
        if self.is_lost {
            return;
        }
        if let Err(error) = self.store.reopen(self.cache_bytes, None) {
            let root = self.records(|records| records.get(&self.root).cloned()).unwrap();
            let is_ours = root.is_some_and(|root| self.roots.contains(&root));
            // The anchor causes the refusal of an older root of this run.
            let is_old = matches!(error, StoreError::RolledBack { .. });
            assert!(
                !is_ours || is_old || self.is_header_touched,
                "a modified record prevents the store from opening: {error}"
            );
            assert!(
                reports_damage(&error) || (self.is_header_touched && is_header_error(&error)),
                "{error}"
            );
            for copy in [HeaderCopy::A, HeaderCopy::B] {
                self.store.place.write_header(copy, &self.header).unwrap();
            }
            self.is_header_touched = false;
            if let Err(error) = self.store.reopen(self.cache_bytes, None) {
                assert!(reports_damage(&error), "{error}");
                self.is_lost = true;
                return;
            }
        }
        self.is_header_touched = false;
        let tag = tree_tag(&self.store).unwrap();
        self.memory =
            self.states.get(&tag).cloned().expect("the store is in a state that it never had");
        self.remember();
    }

    fn attack(&mut self, input: &mut Input<'_>) {
        let places = self.places();
        let one = input.below(places.len());
        let other = input.below(places.len());
        let (one, other) = (places[one], places[other]);
        match input.below(10) {
            0 | 1 => {
                let (at, byte) = (input.below(4_200), input.byte() | 1);
                self.change(one, |value| {
                    let at = at % value.len().max(1);
                    value.iter_mut().skip(at).take(1).for_each(|changed| *changed ^= byte);
                });
            }
            2 => {
                let length = input.pick(&[0, 1, 40, 297, 553, 4_137, 100_000]);
                self.change(one, |value| value.resize(length, 0));
            }
            3 => {
                let bytes = input.bytes(300);
                self.change(one, |value| *value = bytes.to_vec());
            }
            4 | 5 => drop(self.records(|records| records.remove(&one))),
            6 => drop(self.records(|records| {
                let (first, second) = (records.remove(&one), records.remove(&other));
                records.extend(second.map(|value| (one, value)));
                records.extend(first.map(|value| (other, value)));
            })),
            7 => {
                let past = input.below(self.past.len());
                let old = self.past[past].get(&one).cloned();
                drop(self.records(|records| old.and_then(|old| records.insert(one, old))));
            }
            8 => {
                let past = input.below(self.past.len());
                let old = self.past[past].clone();
                let _ = self.records(|records| *records = old);
            }
            _ => self.attack_header(input),
        }
    }

    fn attack_header(&mut self, input: &mut Input<'_>) {
        let mut bytes = self.header.clone();
        let at = input.pick(&[0, 8, 10, 12, 32, 40, 48, 132, 160, 192, 4_040, 4_070]);
        let changed = bytes.iter_mut().skip(at + input.below(8)).take(1);
        changed.for_each(|byte| *byte ^= input.byte() | 1);
        if input.one_in(2) {
            let checksum = inmost_format::crypto::prf::checksum(&bytes[..4_064]);
            bytes[4_064..].copy_from_slice(&checksum);
        }
        bytes.truncate(input.pick(&[4_096, 4_096, 4_096, 0, 9]));
        let copies: &[HeaderCopy] = match input.below(3) {
            0 => &[HeaderCopy::A],
            1 => &[HeaderCopy::B],
            _ => &[HeaderCopy::A, HeaderCopy::B],
        };
        for copy in copies {
            self.store.place.write_header(*copy, &bytes).unwrap();
        }
        self.is_header_touched = true;
    }

    /// The addresses of records, in an order that does not depend on the keys as long as the tree can be walked.
    fn places(&self) -> Vec<Address> {
        let mut places = Vec::new();
        if !self.store.session().is_locked() {
            let walked = internals::read(self.store.session(), |state| {
                let root = state.root();
                places.push(state.address(RecordId::ROOT));
                for (object, tag) in
                    [(root.tree.id, root.tree.tag), (root.system.id, root.system.tag)]
                {
                    walk(state, RecordId::folder(object), &tag, &mut places);
                }
            });
            walked.unwrap();
        }
        // An address without a record.
        places.push(Address([1; 32]));
        places
    }

    fn change(&self, place: Address, change: impl FnOnce(&mut Vec<u8>)) {
        let _ = self.records(|records| change(records.entry(place).or_default()));
    }

    fn records<T>(&self, work: impl FnOnce(&mut Records) -> T) -> Option<T> {
        self.store.place.with_records(GENERATION, work)
    }

    /// Checks everything that is readable at the end.
    fn finish(mut self) {
        self.read_all();
        self.reopen();
        self.read_all();
    }

    fn read_all(&self) {
        if self.is_lost {
            return;
        }
        let files = self.store.session().files();
        for (path, text) in &self.memory.files {
            match files.read(path).map_err(store_error) {
                Ok(found) => assert!(found.as_str() == &**text, "the text of {path} differs"),
                Err(error) => assert!(reports_damage(&error), "{error}"),
            }
        }
        match self.store.contents() {
            Ok(found) => assert!(found == self.memory.files, "the files or their texts differ"),
            Err(error) => assert!(reports_damage(&error), "{error}"),
        }
    }
}

fn walk(state: &Committed<'_>, id: RecordId, tag: &Tag, places: &mut Vec<Address>) {
    if places.len() >= PLACES {
        return;
    }
    places.push(state.address(id));
    let Ok(node) = state.load(id, tag) else { return };
    for (child, tag) in children(node, id.object) {
        walk(state, child, &tag, places);
    }
}

fn tree_tag(store: &Store) -> Option<[u8; 16]> {
    internals::read(store.session(), |state| state.root().tree.tag.0).ok()
}

/// Returns whether a store with modified records may return this error.
fn reports_damage(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Tampered { .. } | StoreError::RolledBack { .. } | StoreError::Halted
    )
}

/// Returns whether a store with a modified header may return this error too. A modified header can look like
/// a different one.
fn is_header_error(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::EngineNotBuilt
            | StoreError::HeaderDamaged
            | StoreError::KdfOutOfBounds(_)
            | StoreError::NotAStore
            | StoreError::UnknownFormat { .. }
            | StoreError::WrongPassphrase
    )
}

/// The generation of a store that has never been rewritten.
const GENERATION: u64 = 1;
const STEPS: usize = 50;
/// The number of past states that are kept.
const PAST: usize = 12;
/// The number of records that an attack chooses from.
const PLACES: usize = 250;
