//! Schedules of several devices.

use std::collections::BTreeSet;
use std::rc::Rc;

use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::CircleKey;
use inmost_format::crypto::rng::seeded::dangerous_seed;
use inmost_format::secret::SecretBytes;

use super::model::{Fuse, MemoryPlace, MemoryState, ModelStore, Objects};
use crate::chains::{Dot, LogId, Tag};
use crate::device::Device;
use crate::object::Circle;
use crate::sync::{Report, run};

/// The failure of a schedule; `None` if it holds.
pub(super) fn failure(seed: u64, is_shown: bool) -> Option<String> {
    let mut world = World::new(seed);
    world.is_shown = is_shown;
    world.place.0.borrow_mut().is_delayed = true;
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
    fuse: Fuse,
    store: ModelStore,
    state: MemoryState,
    backup: Option<(ModelStore, MemoryState)>,
    was_put_back: bool,
    clock: u64,
}

pub(super) struct World {
    pub(super) rng: Rng,
    pub(super) place: MemoryPlace,
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
            place: MemoryPlace::default(),
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

    fn join(&mut self) {
        let fuse = Fuse::default();
        let label = format!("device {}", self.nodes.len());
        let key = CircleKey::new(SecretBytes::init_with(|key| key.fill(7)));
        let circle = Circle { id: StoreId([1; 16]), key };
        let state = MemoryState::with(fuse.clone());
        state.set(Device::new(circle, label, String::new()).unwrap().encode().unwrap().as_slice());
        let store = ModelStore { fuse: fuse.clone(), ..ModelStore::default() };
        let clock = self.rng.next() % 4_000_000_000_000;
        let device = self.nodes.len();
        let mut objects = self.place.0.borrow_mut();
        let truth = objects.truth.clone();
        objects.views.insert(device, truth);
        self.nodes.push(Node { fuse, store, state, backup: None, was_put_back: false, clock });
    }

    /// A copy of a device goes on beside it.
    fn copy(&mut self, device: usize) {
        let node = &self.nodes[device];
        let fuse = Fuse::default();
        let state = MemoryState::with(fuse.clone());
        state.set(&node.state.get());
        let store = node.store.clone();
        let store = ModelStore { fuse: fuse.clone(), meddler: Rc::default(), ..store };
        let (clock, backup) = (node.clock, None);
        self.nodes.push(Node { fuse, store, state, backup, was_put_back: true, clock });
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
            "junk", "lose", "small", "full", "no place", "meddle", "meddle", "copy",
        ]);
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
                let mut objects = self.place.0.borrow_mut();
                objects.views.values_mut().for_each(|view| {
                    view.insert(dot, vec![1; 100]);
                });
            }
            "lose" => self.lose(device),
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
                let (is_absent, is_full) = (self.rng.is_one_in(2), self.rng.is_one_in(2));
                let place = self.place.clone();
                let set = |is_absent, is_full| {
                    let mut objects = place.0.borrow_mut();
                    (objects.is_absent, objects.is_full) = (is_absent, is_full);
                };
                set(is_absent, is_full);
                let _ = self.sync(device, false);
                set(false, false);
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
        let mut objects = self.place.0.borrow_mut();
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
        let mut objects = self.place.0.borrow_mut();
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
        // What the place has lost and its device too is gone.
        let is_lost = |dot: &Dot| {
            let objects = self.place.0.borrow();
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
            self.sync(device, acts > 0).unwrap();
            // Somebody accepts it. Until then, another copy that is put back would not be noticed.
            self.sync(device, false).unwrap();
            return;
        }
        (node.store, node.state) = (store, restored);
    }

    pub(super) fn sync(&mut self, device: usize, is_doubtful: bool) -> Result<Report, String> {
        let node = &self.nodes[device];
        let before = lines_of(&node.store);
        let view = self.place.seen_by(device, node.fuse.clone());
        let report = run(&node.state, &node.store, &view, (is_doubtful, node.clock), &mut |_| ());
        if report.is_ok() {
            self.published.extend(before);
        }
        report.map_err(|error| error.to_string())
    }

    pub(super) fn make_quiet(&mut self, first: usize) {
        for _ in 0..3 {
            for device in (first..self.nodes.len()).chain(0..first) {
                self.place.settle();
                self.sync(device, false).unwrap();
            }
        }
    }

    fn end(&mut self) -> Result<(), String> {
        self.nodes.iter().for_each(|node| node.store.most.set(None));
        let mut is_quiet = false;
        for turn in 0..14 {
            let mut sent = 0;
            for device in 0..self.nodes.len() {
                self.place.settle();
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

    fn line(&mut self) -> String {
        self.lines += 1;
        let line = format!("L{}", self.lines);
        self.created.insert(line.clone());
        line
    }

    fn create(&mut self, device: usize, path: &str, lines: &[String]) {
        let store = &self.nodes[device].store;
        let version = store.next();
        let text = text_of(lines);
        store.files.borrow_mut().insert(version, (path.to_owned(), text, version));
    }

    /// What people and agents do.
    pub(super) fn act(&mut self, device: usize) {
        let kind = *self.rng.of(&[
            "create", "same", "edit", "edit", "edit", "append", "append", "rename", "delete",
            "folder", "swap", "replace",
        ]);
        let numbers: Vec<u64> = self.nodes[device].store.files.borrow().keys().copied().collect();
        let path = *self.rng.of(&["x", "y", "a/x", "a/y", "b/x", "a", "x (2)", "d.json"]);
        if matches!(kind, "create" | "same") {
            if self.nodes[device].store.is_free(path, &BTreeSet::new()) {
                let count = 1 + self.rng.below(3);
                let lines = match kind {
                    "same" => vec!["same".to_owned()],
                    _ => (0..count).map(|_| self.line()).collect(),
                };
                self.create(device, path, &lines);
            }
            return;
        }
        if numbers.is_empty() {
            return;
        }
        let number = *self.rng.of(&numbers);
        let (old_path, text, _) = self.nodes[device].store.files.borrow()[&number].clone();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        match kind {
            "edit" | "append" => {
                let at = self.rng.below(lines.len().max(1));
                if kind == "append" || lines.is_empty() {
                    lines.push(self.line());
                } else {
                    match self.rng.below(3) {
                        0 => {
                            let line = self.line();
                            lines.insert(at, line);
                        }
                        1 => {
                            self.removed.insert(lines.remove(at));
                        }
                        _ => {
                            let line = self.line();
                            self.removed.insert(std::mem::replace(&mut lines[at], line));
                        }
                    }
                }
                self.put(device, number, &old_path, &lines);
            }
            "rename" => {
                let store = &self.nodes[device].store;
                if store.is_free(path, &BTreeSet::from([number])) {
                    self.put(device, number, path, &lines);
                }
            }
            "delete" => {
                self.removed.extend(lines);
                let store = &self.nodes[device].store;
                store.files.borrow_mut().remove(&number);
                store.next();
            }
            "replace" => {
                let line = self.line();
                lines.push(line);
                self.nodes[device].store.files.borrow_mut().remove(&number);
                self.create(device, &old_path, &lines);
            }
            "folder" => self.move_folder(device),
            _ => {
                let other = *self.rng.of(&numbers);
                if other != number {
                    let store = &self.nodes[device].store;
                    let (first, second) = (store.next(), store.next());
                    let mut files = store.files.borrow_mut();
                    let other_path = files[&other].0.clone();
                    for (number, path, version) in
                        [(number, other_path, first), (other, old_path, second)]
                    {
                        if let Some(file) = files.get_mut(&number) {
                            (file.0, file.2) = (path, version);
                        }
                    }
                }
            }
        }
    }

    fn put(&self, device: usize, number: u64, path: &str, lines: &[String]) {
        let store = &self.nodes[device].store;
        let version = store.next();
        let text = text_of(lines);
        store.files.borrow_mut().insert(number, (path.to_owned(), text, version));
    }

    /// One entry in the history: no version of a file below moves.
    fn move_folder(&mut self, device: usize) {
        let (from, to) = *self.rng.of(&[("a", "b"), ("b", "a"), ("a", "c"), ("c", "b")]);
        let store = &self.nodes[device].store;
        let moved: BTreeSet<u64> = {
            let files = store.files.borrow();
            let is_below = |path: &str| path.starts_with(&format!("{from}/"));
            files.iter().filter(|(_, file)| is_below(&file.0)).map(|(number, _)| *number).collect()
        };
        let new = |path: &str| path.replacen(from, to, 1);
        let is_free = moved.iter().all(|number| {
            let path = new(&store.files.borrow()[number].0);
            store.is_free(&path, &moved)
        });
        if is_free {
            store.next();
            for number in &moved {
                if let Some(file) = store.files.borrow_mut().get_mut(number) {
                    file.0 = new(&file.0);
                }
            }
        }
    }
}

fn text_of(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}

fn lines_of(store: &ModelStore) -> Vec<String> {
    let files = store.files.borrow();
    files.values().flat_map(|(_, text, _)| text.lines().map(str::to_owned)).collect()
}
