//! What a malicious place and a former member do to a device, at each moment of its life.
//!
//! Whatever is done, a device shows no line that no member has written, loses nothing that it had, but for what a member has removed,
//! and shows what it would have shown without the attack as soon as the place has what was published.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::circle;
use super::model::{MemoryPlace, MemoryState, ModelStore};
use super::run;
use crate::chains::{Dot, LogId, Tag, Vector};
use crate::device::Device;
use crate::object::{Change, Changes, seal};
use crate::pool::{Pool, text};
use crate::rules::{Rule, switch};
use crate::tree::FileId;

type Objects = BTreeMap<Dot, Vec<u8>>;
type Files = BTreeMap<String, String>;

struct Machine {
    store: ModelStore,
    state: MemoryState,
}

impl Machine {
    fn new(label: &str) -> Self {
        let state = MemoryState::default();
        let device = Device::new(circle(7), label.to_owned(), String::new()).unwrap();
        state.set(device.encode().unwrap().as_slice());
        Self { store: ModelStore::default(), state }
    }

    fn copy(&self) -> Self {
        let state = MemoryState::default();
        state.set(&self.state.get());
        let store = ModelStore { meddler: Rc::default(), ..self.store.clone() };
        Self { store, state }
    }

    fn write(&self, path: &str, text: &str) {
        let version = self.store.next();
        let number = self.store.number_of(path).unwrap_or(version);
        let file = (path.to_owned(), text.to_owned(), version);
        self.store.files.borrow_mut().insert(number, file);
    }

    fn remove(&self, path: &str) {
        self.store.next();
        let number = self.store.number_of(path).unwrap();
        self.store.files.borrow_mut().remove(&number);
    }

    fn sync(&self, place: &MemoryPlace) {
        run(&self.state, &self.store, &place.of(0), (false, super::DAY), &mut |_| ()).unwrap();
    }

    fn files(&self) -> Files {
        let files = self.store.files.borrow();
        files.values().map(|(path, text, _)| (path.clone(), text.clone())).collect()
    }
}

fn place(objects: &Objects) -> MemoryPlace {
    let place = MemoryPlace::default();
    place.0.borrow_mut().truth.clone_from(objects);
    place.0.borrow_mut().is_hostile = true;
    place
}

fn objects(place: &MemoryPlace) -> Objects {
    place.0.borrow().truth.clone()
}

/// What the place had and what the desk was, at each moment. At the end nothing of the laptop is unpublished.
fn history() -> Vec<(Objects, Machine)> {
    let (shared, laptop, desk) =
        (place(&Objects::new()), Machine::new("laptop"), Machine::new("desk"));
    let steps: [&dyn Fn(); 9] = [
        &|| laptop.write("a", "a1\na2\na3\n"),
        &|| laptop.write("b", "b1\n"),
        &|| desk.write("a", "a1\na2\na3\na4\n"),
        &|| laptop.write("a", "a0\na1\na2\na3\na4\n"),
        &|| laptop.remove("b"),
        &|| laptop.write("c", "c1\n"),
        &|| desk.write("d", "d1\n"),
        &|| laptop.write("c", "c2\n"),
        &|| laptop.write("e", "e1\n"),
    ];
    let mut moments = Vec::new();
    for step in steps {
        step();
        // The desk has something of its own that it has not sent.
        let victim = desk.copy();
        victim.write("own", &format!("own{}\n", moments.len()));
        laptop.sync(&shared);
        moments.push((objects(&shared), victim));
        desk.sync(&shared);
        laptop.sync(&shared);
    }
    moments.push((objects(&shared), Machine::new("phone")));
    moments
}

/// What a device has whose store was put back while it could not reach the place, and whose next file got the number of a lost one.
fn put_back_away_from_its_place() -> Files {
    let (shared, laptop) = (place(&Objects::new()), Machine::new("laptop"));
    laptop.write("a", "a1\n");
    laptop.sync(&shared);
    let backup = laptop.store.clone();
    laptop.write("b", "b1\n");
    laptop.sync(&shared);
    let laptop = Machine { store: backup, ..laptop };
    shared.0.borrow_mut().is_absent = true;
    let device = (&laptop.state, &laptop.store);
    run(device.0, device.1, &shared.of(0), (false, super::DAY), &mut |_| ()).unwrap_err();
    shared.0.borrow_mut().is_absent = false;
    laptop.write("c", "c1\n");
    laptop.sync(&shared);
    laptop.files()
}

#[test]
fn a_round_without_its_place_remembers_that_the_store_was_put_back() {
    let files = [("a", "a1\n"), ("b", "b1\n"), ("c", "c1\n")];
    let files: Files = files.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    assert_eq!(put_back_away_from_its_place(), files);
    switch::OFF.set(Some(Rule::SaveBeforePut));
    let forgotten = put_back_away_from_its_place();
    switch::OFF.set(None);
    assert_ne!(forgotten, files);
}

/// What a former member writes.
fn forged() -> Changes {
    let (file, over, path) = (FileId([8; 16]), Vector::default(), "forged".to_owned());
    let mut pool = Pool::default();
    let text = pool.put(&text("forged\n"));
    let states = vec![
        Change::Text { file, over: over.clone(), text, path: path.clone(), bases: Vec::new() },
        Change::Path { file, over: over.clone(), path },
    ];
    let (lamport, time) = (u64::MAX, u64::MAX);
    Changes { label: "laptop".to_owned(), lamport, time, seen: over, pool, states, snapshot: None }
}

/// The attacks on these objects, by name.
fn attacks(now: &Objects, moments: &[(Objects, Machine)]) -> Vec<(String, Objects)> {
    let mut attacks = vec![("withhold all".to_owned(), Objects::new())];
    let mut add = |name: &str, at: usize, change: &dyn Fn(&mut Objects)| {
        let mut objects = now.clone();
        change(&mut objects);
        attacks.push((format!("{name} {at}"), objects));
    };
    let logs: BTreeSet<LogId> = now.keys().map(|dot| dot.log).collect();
    for (at, log) in logs.iter().enumerate() {
        add("withhold log", at, &|objects| objects.retain(|dot, _| dot.log != *log));
    }
    for (at, (past, _)) in moments.iter().enumerate() {
        add("roll back to", at, &|objects| objects.clone_from(past));
        // What was removed from the place comes back.
        add("bring back", at, &|objects| objects.extend(past.clone()));
    }
    let next = now.iter().skip(1).chain(now);
    for (at, ((dot, bytes), (other, others))) in now.iter().zip(next).enumerate() {
        add("withhold", at, &|objects| drop(objects.remove(dot)));
        for length in [0, bytes.len() - 1] {
            add("cut", at, &|objects| drop(objects.insert(*dot, bytes[..length].to_vec())));
        }
        add("lengthen", at, &|objects| drop(objects.insert(*dot, [bytes, &[0][..]].concat())));
        for index in [0, 1, bytes.len() - 1] {
            add("flip a bit of", at, &|objects| {
                objects.entry(*dot).and_modify(|bytes| bytes[index] ^= 1);
            });
        }
        add("swap with the next", at, &|objects| {
            objects.insert(*dot, others.clone());
            objects.insert(*other, bytes.clone());
        });
        for (name, to) in [
            ("as a first one", Dot { number: 1, ..*dot }),
            ("as the next one", Dot { number: dot.number + 1, ..*dot }),
            ("in another log", Dot { log: other.log, ..*dot }),
            ("in a new log", Dot { log: LogId([8; 16]), ..*dot }),
            ("with another tag", Dot { tag: Tag([8; 16]), ..*dot }),
        ] {
            add(&format!("copy {name}"), at, &|objects| drop(objects.insert(to, bytes.clone())));
            add(&format!("move {name}"), at, &|objects| {
                objects.remove(dot);
                objects.insert(to, bytes.clone());
            });
        }
        // A former member has the key of a former circle.
        for (number, previous) in [(dot.number, None), (dot.number + 1, Some(dot.tag))] {
            let sealed = seal(&circle(6), (dot.log, number, previous), &forged()).unwrap();
            add("a former member goes on with", at, &|objects| {
                objects.insert(sealed.dot, sealed.bytes.clone());
            });
            add("a former member replaces", at, &|objects| {
                objects.insert(*dot, sealed.bytes.clone());
            });
        }
    }
    attacks
}

#[test]
fn no_attack_of_the_place_or_of_a_former_member_shows_or_loses_anything() {
    let moments = history();
    let (honest, _) = moments.last().unwrap();
    let written: BTreeSet<&str> =
        ["a0", "a1", "a2", "a3", "a4", "b1", "c1", "c2", "d1", "e1"].into();
    // What was put at any time, and what is left of it.
    let all: Objects = moments.iter().flat_map(|(objects, _)| objects.clone()).collect();
    let attacks = [attacks(&all, &moments), attacks(honest, &moments)].concat();
    assert!(attacks.len() > 300, "{}", attacks.len());
    // With the key of the circle it would show.
    let sealed = seal(&circle(7), (LogId([8; 16]), 1, None), &forged()).unwrap();
    let deceived = Machine::new("phone");
    deceived.sync(&place(&[(sealed.dot, sealed.bytes)].into()));
    assert_eq!(deceived.files()["forged"], "forged\n");
    for (moment, (_, victim)) in moments.iter().enumerate().step_by(3) {
        let settled = |attacked: Option<&Objects>| {
            let machine = victim.copy();
            let before = machine.files();
            if let Some(attacked) = attacked {
                let attacked = place(attacked);
                machine.sync(&attacked);
                machine.sync(&attacked);
            }
            let during = machine.files();
            // All that was published is there again.
            let restored = place(honest);
            (0..3).for_each(|_| machine.sync(&restored));
            (before, during, machine.files())
        };
        let (before, _, expected) = settled(None);
        for (name, attacked) in &attacks {
            let (_, during, after) = settled(Some(attacked));
            let context = format!("moment {moment}, {name}: {before:?} {during:?}");
            let mut lines = during.values().flat_map(|text| text.lines());
            assert!(
                lines.all(|line| written.contains(line) || line.starts_with("own")),
                "{context}"
            );
            // Only `b` and lines of `c` were removed by anybody.
            for (path, text) in before.iter().filter(|(path, _)| !["b", "c"].contains(&&***path)) {
                let now = during.get(path).unwrap_or_else(|| panic!("{path} is gone: {context}"));
                assert!(text.lines().all(|line| now.lines().any(|now| now == line)), "{context}");
            }
            assert_eq!(after, expected, "{context}");
        }
    }
}
