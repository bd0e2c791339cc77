//! Schedules of several devices.

mod acts;

use std::collections::BTreeSet;
use std::rc::Rc;

use inmost_format::crypto::rng::seeded::dangerous_seed;

use super::model::{Fuse, MemoryPlace, MemoryState, ModelStore, Objects};
use super::run;
use crate::chains::{Dot, LogId, Tag};
use crate::device::Device;
use crate::object::Circle;
use crate::sync::Report;

/// The failure of a schedule; `None` if it holds.
pub(super) fn failure(seed: u64, is_shown: bool) -> Option<String> {
    let mut world = World::new(seed);
    world.is_shown = is_shown;
    world.places[0].0.borrow_mut().is_delayed = true;
    let steps = 5 + world.rng.below(40);
    for _ in 0..steps {
        world.step();
    }
    world.end().err()
}

/// A generator whose numbers follow from its seed (`SplitMix64`).
pub(super) struct Rng(pub(super) u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    pub(super) fn is_one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    fn of<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }
}

struct Node {
    /// The number of its circle, and of the place.
    circle: usize,
    /// Whether the others have removed it.
    is_gone: bool,
    fuse: Fuse,
    store: ModelStore,
    state: MemoryState,
    backup: Option<(ModelStore, MemoryState)>,
    was_put_back: bool,
    clock: u64,
}

pub(super) struct World {
    pub(super) rng: Rng,
    /// The places of the circles that devices were removed by, the first one at first.
    pub(super) places: Vec<MemoryPlace>,
    nodes: Vec<Node>,
    lines: u64,
    created: BTreeSet<String>,
    removed: BTreeSet<String>,
    /// Lines that only a disk had that was put back.
    excused: BTreeSet<String>,
    /// Lines that are in objects for certain.
    published: BTreeSet<String>,
    /// Objects that the place has lost, and may have got again.
    lost: BTreeSet<Dot>,
    is_shown: bool,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        dangerous_seed(Some(seed));
        let mut world = Self {
            rng: Rng(seed),
            places: vec![MemoryPlace::default()],
            nodes: Vec::new(),
            lines: 0,
            created: BTreeSet::new(),
            removed: BTreeSet::new(),
            excused: BTreeSet::new(),
            published: BTreeSet::new(),
            lost: BTreeSet::new(),
            is_shown: false,
        };
        for _ in 0..2 + world.rng.below(3) {
            world.join();
        }
        if !world.rng.is_one_in(3) {
            for path in ["x", "y"] {
                let text: Vec<_> = (0..4).map(|_| world.line()).collect();
                world.create(0, path, &text);
            }
            world.make_quiet(0);
        }
        world
    }

    /// A device joins the newest circle.
    fn join(&mut self) {
        let fuse = Fuse::default();
        let label = format!("device {}", self.nodes.len());
        let circle = self.places.len() - 1;
        let state = MemoryState::with(fuse.clone());
        let new = Device::new(circle_of(circle), label, String::new()).unwrap();
        state.set(new.encode().unwrap().as_slice());
        let store = ModelStore { fuse: fuse.clone(), ..ModelStore::default() };
        let clock = self.rng.next() % 4_000_000_000_000;
        self.arrive(self.nodes.len(), circle);
        let (backup, was_put_back, is_gone) = (None, false, false);
        let node = Node { circle, is_gone, fuse, store, state, backup, was_put_back, clock };
        self.nodes.push(node);
    }

    /// All that a place has becomes visible to a device.
    fn arrive(&self, device: usize, place: usize) {
        let mut objects = self.places[place].0.borrow_mut();
        let truth = objects.truth.clone();
        objects.views.insert(device, truth);
    }

    /// A device goes on in a new circle, without another one or to change the key only.
    fn remove(&mut self, device: usize) {
        let other = self.rng.below(self.nodes.len());
        if self.places.len() > 3 || other != device && self.staying() < 3 {
            return;
        }
        self.see(device);
        if self.nodes.iter().any(|node| node.was_put_back) {
            // What one that was put back has published is in the old place only.
            self.arrive(device, self.nodes[device].circle);
        }
        self.sync(device, false).unwrap();
        let mut state = self.state(device);
        let label = format!("device {other}");
        if state.end_logs_of(&label).is_ok() {
            // Copies have the same name.
            for (at, node) in self.nodes.iter_mut().enumerate() {
                node.is_gone |=
                    at != device && Device::decode(&node.state.get()).unwrap().label == label;
            }
            // What only they have is lost.
            let gone: BTreeSet<String> = lines_where(&self.nodes, |node| node.is_gone);
            let held: BTreeSet<String> = lines_where(&self.nodes, |node| !node.is_gone);
            self.excused.extend(gone.difference(&held).cloned());
        }
        let delayed = MemoryPlace::default();
        delayed.0.borrow_mut().is_delayed = self.places[0].0.borrow().is_delayed;
        self.places.push(delayed);
        self.go_on(device, state, self.places.len() - 1);
    }

    /// A device follows the others into a newer circle. There may be several, if devices were removed by several at once.
    fn follow(&mut self, device: usize, circle: usize) {
        if circle > self.nodes[device].circle {
            self.read_again(device);
            let state = self.state(device);
            self.go_on(device, state, circle);
        }
    }

    /// One that was put back reads all that it had published, before it leaves the place that has it.
    fn read_again(&mut self, device: usize) {
        if self.nodes[device].was_put_back {
            self.arrive(device, self.nodes[device].circle);
            self.sync(device, false).unwrap();
        }
    }

    fn go_on(&mut self, device: usize, mut state: Device, circle: usize) {
        state.go_on_in(circle_of(circle), 1).unwrap();
        let node = &mut self.nodes[device];
        node.state.set(state.encode().unwrap().as_slice());
        node.circle = circle;
        self.arrive(device, circle);
    }

    fn staying(&self) -> usize {
        self.nodes.iter().filter(|node| !node.is_gone).count()
    }

    /// The place of a device.
    fn place(&self, device: usize) -> &MemoryPlace {
        &self.places[self.nodes[device].circle]
    }

    pub(super) fn settle(&self) {
        self.places.iter().for_each(MemoryPlace::settle);
    }

    /// A copy of a device goes on beside it.
    fn copy(&mut self, device: usize) {
        let node = &self.nodes[device];
        let fuse = Fuse::default();
        let state = MemoryState::with(fuse.clone());
        state.set(&node.state.get());
        let store = node.store.clone();
        let store = ModelStore { fuse: fuse.clone(), meddler: Rc::default(), ..store };
        let (clock, backup, circle) = (node.clock, None, node.circle);
        let (was_put_back, is_gone) = (true, false);
        self.arrive(self.nodes.len(), circle);
        let node = Node { circle, is_gone, fuse, store, state, backup, was_put_back, clock };
        self.nodes.push(node);
        self.nodes[device].was_put_back = true;
    }

    pub(super) fn devices(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn store(&self, device: usize) -> &ModelStore {
        &self.nodes[device].store
    }

    pub(super) fn state(&self, device: usize) -> Device {
        Device::decode(&self.nodes[device].state.get()).unwrap()
    }

    pub(super) fn tree(&self, device: usize) -> Vec<(String, String)> {
        let files = self.nodes[device].store.files.borrow();
        let mut tree: Vec<_> =
            files.values().map(|(path, text, _)| (path.clone(), text.clone())).collect();
        tree.sort();
        tree
    }

    fn step(&mut self) {
        let device = self.rng.below(self.nodes.len());
        let kind = *self.rng.of(&[
            "act", "act", "act", "act", "act", "act", "act", "act", "see", "see", "sync", "sync",
            "sync", "sync", "sync", "crash", "crash", "backup", "restore", "rollback", "join",
            "junk", "lose", "small", "full", "no place", "meddle", "meddle", "copy", "remove",
            "follow", "follow",
        ]);
        if self.nodes[device].is_gone {
            return;
        }
        if self.is_shown {
            eprintln!("{kind} {device}: {:?}", self.tree(device));
        }
        match kind {
            "act" => self.act(device),
            "see" => self.see(device),
            "sync" => {
                if self.rng.is_one_in(2) {
                    self.see(device);
                }
                self.sync(device, false).unwrap();
            }
            "crash" => {
                self.crash(device);
            }
            "backup" => self.back_up(device),
            "restore" => self.restore(device, true),
            "rollback" => self.restore(device, false),
            "join" if self.nodes.len() < 5 => self.join(),
            "copy" if self.nodes.len() < 5 => self.copy(device),
            "junk" => {
                let (log, tag) = (LogId([9; 16]), Tag([self.rng.below(9).try_into().unwrap(); 16]));
                let dot = Dot { log, number: 1, tag };
                let mut objects = self.place(device).0.borrow_mut();
                objects.views.values_mut().for_each(|view| {
                    view.insert(dot, vec![1; 100]);
                });
            }
            "lose" => self.lose(device),
            "remove" => self.remove(device),
            "follow" => {
                let circle = self.rng.below(self.places.len());
                self.follow(device, circle);
            }
            "small" => {
                let most = &self.nodes[device].store.most;
                most.set(if most.get().is_some() { None } else { Some(12) });
                self.see(device);
                self.sync(device, false).unwrap();
                self.act(device);
            }
            "full" => {
                self.nodes[device].store.is_full.set(true);
                let _ = self.sync(device, false);
                self.nodes[device].store.is_full.set(false);
            }
            "meddle" => {
                let line = format!("L{}", self.lines + 1);
                let steps = u32::try_from(self.rng.below(4)).unwrap();
                let meddler = self.nodes[device].store.meddler.clone();
                *meddler.borrow_mut() = Some((steps, line));
                self.see(device);
                self.sync(device, false).unwrap();
                if meddler.take().is_none() {
                    self.line();
                }
            }
            "no place" => {
                let is_absent = self.rng.is_one_in(2);
                self.sync_without_place(device, is_absent, false);
            }
            _ => {}
        }
    }

    /// A device synchronises and crashes at some step.
    pub(super) fn crash(&mut self, device: usize) {
        let steps = u32::try_from(self.rng.below(9)).unwrap();
        let is_after = self.rng.is_one_in(2);
        self.nodes[device].fuse.set(Some((steps, is_after)));
        let _ = self.sync(device, false);
        self.nodes[device].fuse.set(None);
    }

    pub(super) fn back_up(&mut self, device: usize) {
        let node = &mut self.nodes[device];
        let state = MemoryState::with(node.fuse.clone());
        state.set(&node.state.get());
        node.backup = Some((node.store.clone(), state));
    }

    /// A backup is put back of a device that has published all that it had, with its state.
    pub(super) fn put_back(&mut self, device: usize) {
        let node = &mut self.nodes[device];
        let Some((store, state)) = node.backup.take() else { return };
        node.state.set(&state.get());
        node.store = store;
        node.was_put_back = true;
    }

    /// The place loses or cuts an object that its device must still keep, because another one that it knows has not read it.
    pub(super) fn lose(&mut self, device: usize) {
        let state = |node: &Node| Device::decode(&node.state.get()).unwrap();
        let node = &self.nodes[device];
        if node.was_put_back {
            return;
        }
        let own = state(node);
        let others: Vec<_> =
            self.nodes.iter().filter(|node| !node.was_put_back).map(state).collect();
        let is_unread = |dot: &Dot| {
            let mut others = others.iter().filter(|other| own.peers.contains_key(&other.log));
            others.any(|other| !other.chains.contains(dot))
        };
        let mut objects = self.places[node.circle].0.borrow_mut();
        let put = objects.truth.keys().filter(|dot| own.chains.contains(dot) && dot.log == own.log);
        let kept: Vec<Dot> = put.filter(|dot| is_unread(dot)).copied().collect();
        if kept.is_empty() {
            return;
        }
        let dot = *self.rng.of(&kept);
        let is_cut = self.rng.is_one_in(2);
        self.lost.insert(dot);
        let Objects { truth, views, .. } = &mut *objects;
        for object in views.values_mut().chain([truth]) {
            if is_cut {
                object.entry(dot).and_modify(|bytes| bytes.truncate(9));
            } else {
                object.remove(&dot);
            }
        }
    }

    /// Some of the objects become visible to a device, some of them in part.
    pub(super) fn see(&mut self, device: usize) {
        let mut objects = self.places[self.nodes[device].circle].0.borrow_mut();
        let truth: Vec<_> =
            objects.truth.iter().map(|(dot, bytes)| (*dot, bytes.clone())).collect();
        let view = objects.views.entry(device).or_default();
        let known: BTreeSet<Dot> = truth.iter().map(|(dot, _)| *dot).collect();
        view.retain(|dot, _| known.contains(dot) || !self.rng.is_one_in(2));
        for (dot, bytes) in truth {
            if self.rng.is_one_in(2) {
                let length =
                    if self.rng.is_one_in(8) { self.rng.below(bytes.len()) } else { bytes.len() };
                view.insert(dot, bytes[..length].to_vec());
            }
        }
    }

    /// A backup of a device is put back. If that can be noticed, the state of synchronisation stays.
    fn restore(&mut self, device: usize, is_noticed: bool) {
        let Some((store, state)) = self.nodes[device].backup.clone() else { return };
        // What it has published in a place that nobody reads any more would be lost with it.
        if self.places.len() > 1 {
            return;
        }
        // What the place has lost and its device too is gone.
        let is_lost = |dot: &Dot| {
            let objects = self.place(device).0.borrow();
            let is_whole = objects.truth.get(dot).is_some_and(|bytes| bytes.len() > 99);
            !is_whole && !objects.collected.contains(dot)
        };
        if self.lost.iter().any(is_lost) {
            return;
        }
        let mut held = self.published.clone();
        for (other, node) in self.nodes.iter().enumerate() {
            if other == device {
                continue;
            }
            held.extend(lines_of(&node.store));
        }
        let kept: BTreeSet<String> = lines_of(&store).into_iter().collect();
        let lost =
            self.created.iter().filter(|line| !held.contains(*line) && !kept.contains(*line));
        self.excused.extend(lost.cloned().collect::<Vec<_>>());
        let node = &mut self.nodes[device];
        node.was_put_back = true;
        let restored = MemoryState::with(node.fuse.clone());
        restored.set(&state.get());
        let saved = Device::decode(&node.state.get()).unwrap();
        if is_noticed && saved.commit > store.commits.get() {
            // The store is put back without its state. After more changes its count of commits would tell nothing.
            node.store = store;
            let acts = self.rng.below(3);
            for _ in 0..acts {
                self.act(device);
            }
            if self.rng.is_one_in(2) {
                self.sync_without_place(device, true, acts > 0);
                for _ in 0..self.rng.below(9) {
                    self.act(device);
                }
            } else {
                self.sync(device, acts > 0).unwrap();
            }
            // Somebody accepts it. Until then, another copy that is put back would not be noticed.
            self.sync(device, false).unwrap();
            return;
        }
        (node.store, node.state) = (store, restored);
    }

    pub(super) fn sync(&mut self, device: usize, is_doubtful: bool) -> Result<Report, String> {
        let node = &self.nodes[device];
        let before = lines_of(&node.store);
        let view = self.place(device).seen_by(device, node.fuse.clone());
        let report = run(&node.state, &node.store, &view, (is_doubtful, node.clock), &mut |_| ());
        if report.is_ok() {
            self.published.extend(before);
        }
        report.map_err(|error| error.to_string())
    }

    /// A device tries to synchronise while the place is absent, or perhaps full.
    pub(super) fn sync_without_place(&mut self, device: usize, is_absent: bool, is_doubtful: bool) {
        let place = self.place(device).clone();
        let set = |is_absent, is_full| {
            let mut objects = place.0.borrow_mut();
            (objects.is_absent, objects.is_full) = (is_absent, is_full);
        };
        set(is_absent, self.rng.is_one_in(2));
        let _ = self.sync(device, is_doubtful);
        set(false, false);
    }

    pub(super) fn make_quiet(&mut self, first: usize) {
        for _ in 0..3 {
            for device in (first..self.nodes.len()).chain(0..first) {
                self.settle();
                self.sync(device, false).unwrap();
            }
        }
    }

    fn end(&mut self) -> Result<(), String> {
        self.nodes.retain(|node| !node.is_gone);
        for device in 0..self.nodes.len() {
            self.nodes[device].store.most.set(None);
            self.arrive(device, self.nodes[device].circle);
            self.follow(device, self.places.len() - 1);
        }
        let mut is_quiet = false;
        for turn in 0..14 {
            let mut sent = 0;
            for device in 0..self.nodes.len() {
                self.settle();
                let report = self.sync(device, false)?;
                if self.is_shown {
                    eprintln!(
                        "turn {turn}, device {device}: {report:?}\n    {:?}",
                        self.tree(device)
                    );
                }
                sent += report.sent;
            }
            is_quiet = sent == 0 && turn > 2;
            if is_quiet {
                break;
            }
        }
        if !is_quiet {
            return Err("devices go on publishing".to_owned());
        }
        let tree = self.tree(0);
        for device in 1..self.nodes.len() {
            let other = self.tree(device);
            if other != tree {
                return Err(format!("trees differ: {tree:?} / {device} {other:?}"));
            }
        }
        // A store that was put back without its state repeats what it cannot recognise.
        let may_not_repeat = self.nodes.iter().all(|node| !node.was_put_back);
        let mut texts = BTreeSet::new();
        for (path, text) in &tree {
            let mut lines = BTreeSet::new();
            let has_repeated = text.lines().any(|line| !lines.insert(line));
            let is_twice = text.contains('L') && !texts.insert(text);
            if path.starts_with("moving ") || may_not_repeat && (has_repeated || is_twice) {
                return Err(format!("{path} is wrong: {tree:?}"));
            }
        }
        let lines: BTreeSet<&str> = tree.iter().flat_map(|(_, text)| text.lines()).collect();
        let is_lost = |line: &&String| {
            !lines.contains(line.as_str())
                && !self.removed.contains(*line)
                && !self.excused.contains(*line)
        };
        let lost: Vec<_> = self.created.iter().filter(is_lost).collect();
        if lost.is_empty() { Ok(()) } else { Err(format!("lost {lost:?} in {tree:?}")) }
    }
}

fn circle_of(number: usize) -> Circle {
    super::circle(u8::try_from(number).unwrap())
}

fn lines_where(nodes: &[Node], holds: impl Fn(&&Node) -> bool) -> BTreeSet<String> {
    nodes.iter().filter(holds).flat_map(|node| lines_of(&node.store)).collect()
}

fn lines_of(store: &ModelStore) -> Vec<String> {
    let files = store.files.borrow();
    files.values().flat_map(|(_, text, _)| text.lines().map(str::to_owned)).collect()
}
