//! Schedules in which devices forget texts. Once all have synchronised, no object, state or history has them.

use std::collections::BTreeSet;

use super::simulator::World;
use crate::device::Device;
use crate::object::open;
use crate::tree::FileId;

/// The failure of a schedule; `None` if it holds.
pub(super) fn failure(seed: u64) -> Option<String> {
    let mut world = World::new(seed);
    world.places[0].0.borrow_mut().is_delayed = true;
    let mut texts = Texts::default();
    texts.note(&world, 0);
    for step in 0..6 {
        for _ in 0..world.rng.below(8) {
            work(&mut world, &mut texts);
        }
        world.make_quiet(0);
        let device = world.rng.below(world.devices());
        let Some(mut forgotten) = forget(&mut world, device) else { continue };
        // Others do not know of it yet.
        for _ in 0..world.rng.below(5) {
            work(&mut world, &mut texts);
        }
        for _ in 0..2 {
            world.make_quiet(device);
        }
        (0..world.devices()).for_each(|device| texts.note(&world, device));
        forgotten.texts.retain(|text| !texts.several.contains(text));
        if let Some(found) = find(&world, &forgotten) {
            return Some(format!("step {step}, device {device}: {found}"));
        }
    }
    None
}

/// The texts that somebody has made.
#[derive(Default)]
struct Texts {
    made: BTreeSet<String>,
    /// Those that were made twice, and those of conflict copies, which are texts of two files: they may have been forgotten once.
    several: BTreeSet<String>,
}

impl Texts {
    /// Takes note of what a device shows.
    fn note(&mut self, world: &World, device: usize) {
        for (path, text) in world.tree(device) {
            if path.contains(" (from ") {
                self.several.insert(text.clone());
            }
            self.made.insert(text);
        }
    }
}

fn work(world: &mut World, texts: &mut Texts) {
    let device = world.rng.below(world.devices());
    match world.rng.below(6) {
        0..3 => {
            let before = world.tree(device);
            world.act(device);
            let made = world.tree(device).into_iter().filter(|file| !before.contains(file));
            texts
                .several
                .extend(made.map(|(_, text)| text).filter(|text| texts.made.contains(text)));
        }
        3 => {
            world.see(device);
            world.sync(device, false).unwrap();
        }
        4 => world.sync(device, false).map(drop).unwrap(),
        _ => world.crash(device),
    }
    texts.note(world, device);
}

/// Texts of a file.
struct Forgotten {
    file: Option<FileId>,
    texts: BTreeSet<String>,
}

/// Forgets versions of a file, which may be deleted.
fn forget(world: &mut World, device: usize) -> Option<Forgotten> {
    let past = world.store(device).past.borrow().clone();
    let numbers: Vec<u64> = past.keys().copied().collect();
    let number = *numbers.get(world.rng.below(numbers.len().max(1)))?;
    let versions = &past[&number];
    let until = match world.rng.below(2) {
        0 => u64::MAX,
        _ => versions.get(world.rng.below(versions.len().max(1)))?.0,
    };
    let file = world.state(device).numbered().get(&number).copied();
    let store = world.store(device);
    store.forgets.borrow_mut().insert(number, until);
    store.forget_file(number, until);
    let past = store.past.borrow();
    let left: BTreeSet<&String> = past.values().flatten().map(|(_, text)| text).collect();
    let texts = versions.iter().map(|(_, text)| text);
    let texts = texts.filter(|text| text.contains('L') && !left.contains(text)).cloned().collect();
    Some(Forgotten { file, texts })
}

/// Where a text is that nobody shows.
fn find(world: &World, Forgotten { file, texts }: &Forgotten) -> Option<String> {
    let mut lost = texts.clone();
    for device in 0..world.devices() {
        world.tree(device).iter().for_each(|(_, text)| {
            lost.remove(text);
        });
    }
    let devices: Vec<Device> = (0..world.devices()).map(|device| world.state(device)).collect();
    let is_lost = |text: &str| lost.contains(text);
    for (number, device) in devices.iter().enumerate() {
        for head in device.heads.values().flat_map(|file| &file.texts) {
            let bases = head.bases.iter().map(|base| &base.text);
            if let Some(text) = [&head.text].into_iter().chain(bases).find(|text| is_lost(text)) {
                return Some(format!("device {number} knows {:?}", text.as_str()));
            }
        }
        for shown in device.shown.values() {
            let bases = shown.bases.iter().map(|base| &base.text);
            if let Some(text) = [&shown.text].into_iter().chain(bases).find(|text| is_lost(text)) {
                return Some(format!("device {number} shows {:?}", text.as_str()));
            }
        }
        // A conflict copy is another file, with a history of its own.
        let numbered = device.numbered();
        for (version, past) in &*world.store(number).past.borrow() {
            let is_it = file.is_some() && numbered.get(version) == file.as_ref();
            if let Some((_, text)) = past.iter().find(|(_, text)| is_it && is_lost(text)) {
                return Some(format!("the history of device {number} has {text:?}"));
            }
        }
    }
    let objects = world.places[0].0.borrow();
    let kept = devices.iter().flat_map(|device| &device.outbox);
    let kept = kept.map(|sealed| (sealed.dot, &sealed.bytes));
    for (dot, bytes) in objects.truth.iter().map(|(dot, bytes)| (*dot, bytes)).chain(kept) {
        let before = dot.number.saturating_sub(1);
        let tags = devices.iter().flat_map(|device| device.chains.tags(dot.log, before));
        let circle = &devices[0].circle;
        let mut opened = tags.map(Some).chain([None]);
        let Some(changes) = opened.find_map(|tag| open(circle, &dot, tag, bytes)) else {
            return Some(format!("{dot:?} does not open"));
        };
        let mut pool = (0..).map_while(|index| changes.pool.get(index));
        if let Some(text) = pool.find(|text| is_lost(text)) {
            return Some(format!("{dot:?} has {:?}", text.as_str()));
        }
    }
    None
}
