//! Paths of the model of devices that share a place (docs/PROOFS.md), with real devices and sealed objects: after each step a device
//! must have read the same objects as the model's, and have the same heads.
//!
//! Each seed is one path. `INMOST_SYNC_PATHS=20000 cargo test -p inmost-sync --lib modelled` runs more.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::simulator::Rng;
use super::{circle, number};
use crate::chains::{Dot, Vector};
use crate::device::Device;
use crate::object::{Change, Changes, seal};
use crate::place::Place;
use crate::pool::{Pool, text};
use crate::tree::FileId;

#[allow(dead_code, reason = "a checker uses the rest")]
#[path = "../../../../tests/model/src/sync.rs"]
mod sync;
use sync::{Action, Bounds, Id, Kind, State};

const BOUNDS: Bounds =
    Bounds { devices: 3, operations: 6, snapshots: 3, copies: 1, restores: 1, without: None };
const FILE: FileId = FileId([7; 16]);

#[derive(Default)]
struct Shelf(RefCell<BTreeMap<Dot, Vec<u8>>>);

impl Place for Shelf {
    fn list(&self) -> io::Result<BTreeSet<Dot>> {
        Ok(self.0.borrow().keys().copied().collect())
    }

    fn get(&self, dot: &Dot) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.borrow().get(dot).cloned())
    }

    fn put(&self, dot: &Dot, bytes: &[u8]) -> io::Result<()> {
        self.0.borrow_mut().insert(*dot, bytes.to_vec());
        Ok(())
    }

    fn remove(&self, dot: &Dot) -> io::Result<()> {
        self.0.borrow_mut().remove(dot);
        Ok(())
    }
}

/// What the model does, with real devices.
struct World {
    devices: Vec<Vec<u8>>,
    backup: Vec<u8>,
    place: Shelf,
    dots: BTreeMap<Id, Dot>,
}

impl World {
    fn apply(&mut self, action: &Action, before: &State, after: &State) {
        let at = match *action {
            Action::Copy => {
                self.devices[1] = self.devices[0].clone();
                return;
            }
            Action::Backup(at) => {
                self.backup = self.devices[at].clone();
                return;
            }
            Action::Restore => {
                let (at, _) = before.backup.as_ref().unwrap();
                self.devices[*at] = self.backup.clone();
                return;
            }
            Action::Show(_) => return,
            Action::Edit(at)
            | Action::Delete(at)
            | Action::Put(at)
            | Action::Read(at, _)
            | Action::Acknowledge(at)
            | Action::Snapshot(at)
            | Action::Collect(at) => at,
        };
        let mut device = Device::decode(&self.devices[at]).unwrap();
        match *action {
            Action::Edit(_) | Action::Delete(_) => {
                let id = sync::id_of(at, before.objects[at].len());
                let (Kind::Text { over } | Kind::Deletion { over }) = after.object(id).kind else {
                    unreachable!()
                };
                let over: Vector = sync::ids(over).map(|id| self.dots[&id]).collect();
                let over = device.chains.join([&over]);
                change(&mut device, over, matches!(action, Action::Edit(_)));
            }
            Action::Put(_) => {
                let listed = self.place.list().unwrap();
                let whole = device.whole(&self.place, &listed);
                device.flush(&self.place, &whole).unwrap();
                device.settle(&device.outbox.iter().map(|sealed| sealed.dot).collect());
            }
            Action::Read(_, id) => {
                let exchanged = device
                    .pull(&self.place, &BTreeSet::from([self.dots[&id]]), &mut |_| ())
                    .unwrap();
                assert_eq!(exchanged.read, 1);
            }
            Action::Acknowledge(_) => device.acknowledge(0).unwrap(),
            Action::Snapshot(_) => device.make_snapshot(0).unwrap(),
            _ => drop(device.collect(&self.place, &self.place.list().unwrap()).unwrap()),
        }
        if after.objects[at].len() > before.objects[at].len() {
            let dot = Dot { log: device.log, number: device.number, tag: device.previous.unwrap() };
            self.dots.insert(sync::id_of(at, before.objects[at].len()), dot);
        }
        self.devices[at] = device.encode().unwrap().as_slice().to_vec();
    }

    fn compare(&self, model: &State, context: &str) {
        let placed: BTreeSet<Dot> = sync::ids(model.place).map(|id| self.dots[&id]).collect();
        assert_eq!(self.place.list().unwrap(), placed, "in the place, {context}");
        for (device, modelled) in self.devices.iter().zip(&model.devices) {
            let device = Device::decode(device).unwrap();
            for (id, dot) in &self.dots {
                let is_read = device.chains.covers(&device.vector, dot);
                assert_eq!(
                    is_read,
                    sync::has(modelled.seen, *id),
                    "whether {id} is read, {context}"
                );
            }
            let heads = device.heads.get(&FILE).map(|file| &file.texts[..]).unwrap_or_default();
            let heads: BTreeSet<Dot> = heads.iter().map(|head| head.dot).collect();
            assert_eq!(
                heads,
                sync::ids(modelled.heads).map(|id| self.dots[&id]).collect(),
                "heads, {context}"
            );
            assert_eq!(
                device.is_silent(),
                model.is_silent(modelled),
                "whether it is silent, {context}"
            );
            let outbox: BTreeSet<Dot> = device.outbox.iter().map(|sealed| sealed.dot).collect();
            assert_eq!(
                outbox,
                sync::ids(modelled.outbox).map(|id| self.dots[&id]).collect(),
                "outbox, {context}"
            );
        }
    }
}

/// Publishes a change of the file as a capture does.
fn change(device: &mut Device, over: Vector, is_text: bool) {
    let mut pool = Pool::default();
    let state = if is_text {
        let text = pool.put(&text(&format!("{:?} {}\n", device.log, device.number)));
        Change::Text { file: FILE, over, text, path: "a.md".to_owned(), bases: Vec::new() }
    } else {
        Change::Delete { file: FILE, over, paths: Vector::default() }
    };
    let changes = Changes {
        label: device.label.clone(),
        lamport: device.lamport + 1,
        time: 0,
        seen: device.vector.clone(),
        pool,
        states: vec![state],
        snapshot: None,
    };
    let sealed =
        seal(&device.circle, (device.log, device.number + 1, device.previous), &changes).unwrap();
    let (dot, previous) = (sealed.dot, device.previous);
    device.outbox.push(sealed);
    device.unacknowledged.clear();
    (device.number, device.previous) = (device.number + 1, Some(dot.tag));
    device.learn(dot, previous, changes);
}

#[test]
fn devices_do_what_the_model_says() {
    for seed in 0..number("INMOST_SYNC_PATHS").unwrap_or(100) {
        let mut rng = Rng(seed);
        let mut model = State::new(&BOUNDS);
        let devices = (0..BOUNDS.devices).map(|at| {
            Device::new(circle(7), format!("device {at}"), String::new())
                .unwrap()
                .encode()
                .unwrap()
                .as_slice()
                .to_vec()
        });
        let mut world = World {
            devices: devices.collect(),
            backup: Vec::new(),
            place: Shelf::default(),
            dots: BTreeMap::new(),
        };
        let mut path = Vec::new();
        for _ in 0..40 {
            let actions = model.actions(&BOUNDS);
            if actions.is_empty() || (0..BOUNDS.devices).any(|at| model.objects[at].len() == 7) {
                break;
            }
            let action = actions[rng.below(actions.len())].clone();
            let next = model.next(&BOUNDS, &action);
            path.push(action.clone());
            world.apply(&action, &model, &next);
            world.compare(&next, &format!("seed {seed}, after {path:?}"));
            model = next;
        }
    }
}
