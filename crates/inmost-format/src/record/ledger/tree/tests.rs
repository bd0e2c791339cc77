//! A ledger against a plain map.

use std::collections::BTreeMap;

use super::*;
use crate::record::plain::{OBJECT, Plain, Random};
use crate::record::{RecordId, Tag};

#[derive(Default)]
struct Tested {
    nodes: Plain,
    ledger: Option<Ledger>,
    model: BTreeMap<u64, u64>,
}

type Change =
    fn(&mut Ledger, &mut Plain, ObjectId, &[Reading], usize) -> Result<Taken, RecordError>;

impl Tested {
    fn ledger(&self) -> &Ledger {
        self.ledger.as_ref().unwrap()
    }

    /// Changes all of a list, a few leaves at a time.
    fn change(&mut self, readings: &[Reading], change: Change) {
        let mut ledger = self.ledger.take().unwrap_or_else(Ledger::empty);
        let mut done = 0;
        while done < readings.len() {
            let taken = change(&mut ledger, &mut self.nodes, OBJECT, &readings[done..], 2).unwrap();
            assert!(taken.readings > 0, "a step must make progress");
            done += taken.readings;
        }
        self.ledger = Some(ledger);
    }

    fn all(&self) -> Vec<Reading> {
        let mut found = Vec::new();
        let body = &self.ledger().body;
        body.visit::<RecordError>(&self.nodes, OBJECT, 0, &mut |_, leaf: &Readings| {
            found.extend(leaf.0.iter().copied());
            Ok(true)
        })
        .unwrap();
        found
    }

    fn check(&self, context: &str) {
        assert_eq!(self.all(), readings(&self.model), "{context}");
        assert_eq!(self.ledger().body.count(), u64::try_from(self.model.len()).unwrap());
        for (file, day) in self.model.iter().step_by(97) {
            let found = self.ledger().day_of(&self.nodes, OBJECT, *file).unwrap();
            assert_eq!(found, Some(*day), "{context}: {file}");
        }
        let absent = (0..100_000).find(|file| !self.model.contains_key(file)).unwrap();
        assert_eq!(self.ledger().day_of(&self.nodes, OBJECT, absent).unwrap(), None);
    }
}

fn readings(days: &BTreeMap<u64, u64>) -> Vec<Reading> {
    days.iter().map(|(file, day)| Reading { file: *file, day: *day }).collect()
}

fn below(random: &mut Random, bound: usize) -> u64 {
    u64::try_from(random.below(bound)).unwrap()
}

#[test]
fn a_ledger_holds_what_a_plain_map_holds() {
    for seed in 0..6 {
        let mut random = Random(seed + 50);
        let mut tested = Tested { ledger: Some(Ledger::empty()), ..Tested::default() };
        for step in 0..100 {
            let count = 1 + random.below(if step % 9 == 0 { 3_000 } else { 20 });
            let list: BTreeMap<u64, u64> = (0..count)
                .map(|_| (below(&mut random, 40_000), 20_000 + below(&mut random, 300)))
                .collect();
            if step % 4 == 3 {
                // A third of what is there, and of that some that seem to have been read again since.
                let part = tested.model.iter().filter(|(file, _)| **file % 3 == step % 3);
                let part: BTreeMap<u64, u64> =
                    part.map(|(file, day)| (*file, day + u64::from(file % 7 == 0))).collect();
                tested.change(&readings(&part), Ledger::remove);
                tested.model.retain(|file, day| part.get(file) != Some(day));
            } else {
                tested.change(&readings(&list), Ledger::note);
                tested.model.extend(list);
            }
            tested.check(&format!("seed {seed}, step {step}"));
        }
        let mut ledger = tested.ledger.take().unwrap();
        while ledger.body.count() > 0 {
            ledger.cut(&mut tested.nodes, OBJECT, 3).unwrap();
        }
        assert_eq!(tested.nodes.len(), 0, "nodes that nothing refers to");
    }
}

#[test]
fn a_reading_that_is_noted_already_changes_nothing() {
    let mut tested = Tested::default();
    let all: Vec<Reading> =
        (0..5_000).map(|file| Reading { file: file * 64, day: 20_000 }).collect();
    tested.change(&all, Ledger::note);
    let mut ledger = tested.ledger().clone();
    let mut done = 0;
    while done < all.len() {
        let taken = ledger.note(&mut tested.nodes, OBJECT, &all[done..], 1).unwrap();
        assert!(!taken.changed && taken.readings > 0);
        done += taken.readings;
    }
    assert_eq!(ledger.next_index, tested.ledger().next_index);
}

#[test]
fn a_step_writes_few_records() {
    let mut tested = Tested::default();
    let all: Vec<Reading> =
        (0..50_000).map(|file| Reading { file: file * 640, day: 20_000 }).collect();
    tested.change(&all, Ledger::note);
    assert!(tested.ledger().body.level() > 1);
    let spread: Vec<Reading> =
        (0..500).map(|file| Reading { file: file * 64_000 + 1, day: 20_001 }).collect();
    let mut done = 0;
    while done < spread.len() {
        let mut ledger = tested.ledger().clone();
        let mut changes = Changes { nodes: &tested.nodes, put: Plain::default(), removed: 0 };
        let taken = ledger.note(&mut changes, OBJECT, &spread[done..], 2).unwrap();
        done += taken.readings;
        // Two leaves, each cut in two, and an inner node above each, which may be cut too.
        assert!(changes.put.len() + changes.removed <= 8, "{}", changes.put.len());
        let put: Vec<_> = changes.put.iter().map(|(id, node)| (*id, node.clone())).collect();
        for (id, node) in put {
            tested.nodes.put(id, node);
        }
        tested.ledger = Some(ledger);
    }
}

#[test]
fn a_ledger_of_a_list_is_dense() {
    let model: BTreeMap<u64, u64> = (0..9_999).map(|file| (file, 20_000)).collect();
    let mut nodes = Plain::default();
    let ledger = Ledger::of(&mut nodes, OBJECT, readings(&model)).unwrap();
    let count = model.len();
    let tested = Tested { nodes, ledger: Some(ledger), model };
    tested.check("of a list");
    let bytes: usize = tested.nodes.iter().map(|(_, node)| node.encoded_len().unwrap()).sum();
    assert!(bytes < 7 * count, "{bytes} bytes");
}

/// Changes on top of nodes, to count them.
struct Changes<'n> {
    nodes: &'n Plain,
    put: Plain,
    removed: usize,
}

impl NodeSource for Changes<'_> {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        self.put.load(id, tag).or_else(|_| self.nodes.load(id, tag))
    }
}

impl NodeSink for Changes<'_> {
    fn put(&mut self, id: RecordId, node: Node) {
        self.put.put(id, node);
    }

    fn remove(&mut self, _id: RecordId) {
        self.removed += 1;
    }
}
