//! Commits, checkpoints, ends, crashes and openings beside the model of the journal (docs/PROOFS.md). Each write and sync must be one
//! that the model allows, what a power cut leaves must be in it, and an opening must write and show what the model says.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::{Mutex, MutexGuard};

use super::super::layout::{self, BLOCK, MARK, Slot};
use super::super::medium::{self, Medium};
use super::*;
use crate::faulty::Fault;

#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::struct_excessive_bools,
    clippy::too_many_lines,
    clippy::trivially_copy_pass_by_ref,
    dead_code,
    reason = "a model has flags, rules that the explorer alone leaves out, and small numbers that its bounds keep small"
)]
#[path = "../../../../../../tests/model/src/journal.rs"]
mod model;
use model::{Action, BLOCKS, Block, Bounds, Commit, File, HALF, Position, State};

const BOUNDS: Bounds =
    Bounds { commits: 250, longest: 2, ends: 250, faults: 250, bypasses: 250, without: None };
const ID: JournalId = JournalId([7; 16]);

/// The states in which the model may be.
struct Follower {
    states: HashSet<State>,
    file: File,
    /// The blocks that were written.
    blocks: HashMap<Vec<u8>, Block>,
    is_following: bool,
}

#[derive(Clone)]
struct Traced {
    disk: Disk,
    memory: MemoryStorage,
    follower: Arc<Mutex<Follower>>,
}

impl Medium for Traced {
    fn read(&self) -> io::Result<Vec<u8>> {
        self.disk.read()
    }

    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        self.disk.write_at(offset, bytes)?;
        let mut follower = self.follower();
        if follower.is_following {
            follower.note(offset, bytes);
            follower.take(self.mark(), |action| {
                use Action::{End, Settle, Wipe, Write, WriteSlot};
                matches!(action, Write(_) | WriteSlot | Settle | Wipe | End)
            });
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync()?;
        let mut follower = self.follower();
        if follower.is_following {
            follower.take(self.mark(), |action| matches!(action, Action::Sync | Action::SyncSlot));
        }
        Ok(())
    }
}

impl Traced {
    fn follower(&self) -> MutexGuard<'_, Follower> {
        self.follower.lock().unwrap()
    }

    /// The mark that the engine shows.
    fn mark(&self) -> Position {
        let mark = self.memory.with_records(1, |records| records.get(&MARK).cloned());
        position(&layout::decode_mark(&mark.unwrap().unwrap(), &ID).unwrap())
    }

    /// The process is dead.
    fn crash(&self) {
        let mut follower = self.follower();
        follower.is_following = false;
        let mark = self.mark();
        follower.work_unseen(mark);
        follower.advance(|state| {
            let ends = [Action::Kill, Action::FailSync { is_engine: false }];
            ends.iter().map(|end| state.next(&BOUNDS, end)).collect()
        });
    }

    fn cut_power(&self, world: &World, random: &mut Random) {
        world.cut_power(random);
        let (file, mark) = (self.decode(), self.mark());
        let mut follower = self.follower();
        follower.file = file;
        follower.advance(|state| {
            let mut left = Vec::new();
            if state.disk.cuts().contains(&file) {
                let cut = |has_engine| Action::PowerCut { file, has_engine };
                left.extend([false, true].map(|has_engine| state.next(&BOUNDS, &cut(has_engine))));
            }
            left.retain(|state| state.engine.cached.mark == mark);
            left
        });
    }

    /// After an opening, or after one that was interrupted.
    fn opened(&self, is_whole: bool) {
        let (file, mark) = (self.decode(), self.mark());
        let mut follower = self.follower();
        follower.file = file;
        follower.advance(|state| {
            let opened = state.next(&BOUNDS, &Action::Open);
            assert_eq!(opened.violation, None);
            let mut left = Vec::new();
            if is_whole {
                left.push(opened);
            } else {
                left.push(opened.next(&BOUNDS, &Action::Kill));
                left.extend((0..4).map(|steps| state.next(&BOUNDS, &Action::DieOpening(steps))));
                let failed = left
                    .iter()
                    .map(|state| state.next(&BOUNDS, &Action::FailSync { is_engine: false }));
                left.extend(failed.collect::<Vec<_>>());
            }
            left.retain(|state| state.disk.cached == file && state.engine.cached.mark == mark);
            left
        });
        follower.is_following = is_whole;
    }

    /// The blocks that can be read.
    fn decode(&self) -> File {
        let bytes = self.disk.read().unwrap();
        let mut file = [Block::Blank; BLOCKS];
        let follower = self.follower();
        for (at, (block, bytes)) in file.iter_mut().zip(bytes.chunks(BLOCK)).enumerate() {
            *block = follower.decode(at, bytes);
        }
        file
    }
}

fn position(stored: &layout::Position) -> Position {
    let small = |number: u64| u8::try_from(number).unwrap();
    Position {
        epoch: small(stored.epoch),
        number: small(stored.sequence),
        bypassed: small(stored.bypassed),
    }
}

impl Follower {
    /// Takes note of what was written.
    fn note(&mut self, offset: usize, bytes: &[u8]) {
        assert!(offset.is_multiple_of(BLOCK) && bytes.len().is_multiple_of(BLOCK));
        let commit = self.newest() + 1;
        let is_entry = offset >= 2 * BLOCK && bytes.iter().any(|byte| *byte != 0);
        for (number, bytes) in bytes.chunks(BLOCK).enumerate() {
            let at = offset / BLOCK + number;
            if is_entry {
                let header = layout::decode_header(bytes, &ID).filter(|_| number == 0);
                let block = header.map_or(Block::Later { commit }, |header| first(&header, commit));
                self.blocks.insert(bytes.to_vec(), block);
            }
            self.file[at] = self.decode(at, bytes);
        }
    }

    fn decode(&self, at: usize, bytes: &[u8]) -> Block {
        if at < 2 {
            return Slot::decode(bytes).map_or(Block::Torn, |slot| Block::Slot {
                stored: position(&slot.stored),
                revision: u8::try_from(slot.revision).unwrap(),
            });
        }
        if bytes.iter().all(|byte| *byte == 0) {
            return Block::Blank;
        }
        if let Some(block) = self.blocks.get(bytes) {
            return *block;
        }
        if layout::decode_header(bytes, &ID).is_none() {
            return Block::Torn;
        }
        let mut written = self.blocks.iter();
        let (_, block) =
            written.find(|(block, _)| block[..layout::HEADER] == bytes[..layout::HEADER]).unwrap();
        let Block::First { at, commit, blocks, .. } = *block else { panic!("{block:?}") };
        Block::First { at, commit, blocks, is_whole: false }
    }

    /// The newest commit, which all states agree on.
    fn newest(&self) -> Commit {
        let newest: BTreeSet<Commit> = self.states.iter().map(State::newest).collect();
        assert_eq!(newest.len(), 1);
        newest.into_iter().next().unwrap()
    }

    fn advance(&mut self, next: impl Fn(&State) -> Vec<State>) {
        let states = self.states.iter().flat_map(next);
        let states: HashSet<State> = states.map(State::uncounted).collect();
        assert!(
            !states.is_empty(),
            "not in the model: {:#?}\nafter {:#?}",
            self.file,
            self.states.iter().next()
        );
        self.states = states;
    }

    /// The steps that do not change the journal.
    fn work_unseen(&mut self, mark: Position) {
        let mut todo: Vec<State> = self.states.iter().cloned().collect();
        while let Some(state) = todo.pop() {
            for action in state.actions(&BOUNDS) {
                use Action::{Bypass, Close, Freeze, Mark, Part, SyncEngine};
                if matches!(action, Freeze | Part | Mark | SyncEngine | Bypass | Close) {
                    let next = state.next(&BOUNDS, &action).uncounted();
                    if self.states.insert(next.clone()) {
                        todo.push(next);
                    }
                }
            }
        }
        self.states.retain(|state| state.engine.cached.mark == mark);
    }

    /// A write or a sync, after any steps that do not change the journal.
    fn take(&mut self, mark: Position, is_it: impl Fn(&Action) -> bool) {
        self.work_unseen(mark);
        let file = self.file;
        self.advance(|state| {
            let actions = state.actions(&BOUNDS).into_iter().filter(&is_it);
            let states = actions.map(|action| state.next(&BOUNDS, &action));
            states.filter(|state| state.disk.cached == file).collect()
        });
    }
}

fn first(header: &layout::EntryHeader, commit: Commit) -> Block {
    let at = layout::Position {
        epoch: header.epoch,
        sequence: header.sequence,
        bypassed: header.bypassed,
    };
    let blocks = u8::try_from(header.padded() / BLOCK).unwrap();
    Block::First { at: position(&at), commit, blocks, is_whole: true }
}

/// A commit with an entry of one block or two, or one that bypasses the journal.
fn batch(random: &mut Random, state: &Records) -> Batch {
    let mut batch = Batch { expect: Some((ROOT, state.get(&ROOT).cloned())), ..Batch::default() };
    let values = [1, 1, 1, 2, 2, 6][usize::try_from(random.below(6)).unwrap()];
    let stamp = |random: &mut Random| random.below(1 << 31).to_le_bytes();
    for number in 0..values {
        let address = Address([1 + u8::try_from(random.below(8) * 8).unwrap() + number; 32]);
        let mut value = stamp(random).repeat(200);
        value.truncate(if values == 1 { 300 } else { 1_600 });
        batch.puts.push((address, value));
    }
    batch.puts.push((ROOT, stamp(random).to_vec()));
    batch
}

#[test]
fn the_journal_does_what_the_model_says() {
    let paths = std::env::var("INMOST_JOURNAL_PATHS").ok().and_then(|paths| paths.parse().ok());
    let (mut commits, mut crashes) = (0, 0);
    for seed in 0..paths.unwrap_or(50) {
        let counts = follow(seed);
        commits += counts.0;
        crashes += counts.1;
    }
    assert!(commits > 150 && crashes > 100, "{commits} commits, {crashes} crashes");
}

/// Walks one path. Returns the numbers of commits and crashes.
fn follow(seed: u64) -> (u32, u32) {
    let mut random = Random::new(seed);
    let mut world = World::new();
    let half = u32::try_from(HALF).unwrap();
    let blank = medium::blank(ID, half, layout::Position::default(), &Known);
    world.disk = Disk::new(blank, &world.faults);
    let state = State::new().next(&BOUNDS, &Action::Kill);
    let follower = Follower {
        file: state.disk.cached,
        states: HashSet::from([state]),
        blocks: HashMap::new(),
        is_following: false,
    };
    let mut traced = Traced {
        disk: world.disk.clone(),
        memory: world.memory.clone(),
        follower: Arc::new(Mutex::new(follower)),
    };
    let tuning = Tuning { half_blocks: half, ..SMALL };
    let around = |world: &World| Surroundings { tuning, ..world.around(world.opener()) };
    let created = world.create_engine().unwrap();
    let engine =
        JournaledEngine::begin(ID, Box::new(traced.clone()), created, around(&world)).unwrap();
    // The first commit of a generation has no journal.
    let mut writing = Writing::new();
    writing.commit(&engine, &batch(&mut random, &Records::new())).unwrap();
    Box::new(engine).close().unwrap();
    let mut contents = vec![writing.acknowledged.clone()];
    let (mut commits, mut crashes) = (0, 0);
    for _ in 0..6 {
        while random.below(3) == 0 {
            world.faults.set(world.faults.operations() + 1 + random.below(6), Fault::Stopped);
            let opened = JournaledEngine::resume(Box::new(traced.clone()), around(&world));
            drop(opened);
            traced.opened(false);
            crashes += 1;
            (world, traced) = revived(world, traced);
            if random.below(2) == 0 {
                traced.cut_power(&world, &mut random);
            }
        }
        let engine = JournaledEngine::resume(Box::new(traced.clone()), around(&world)).unwrap();
        traced.opened(true);
        let shown = traced.follower().states.iter().next().unwrap().acknowledged;
        writing.acknowledged = contents[usize::from(shown)].clone();
        writing.under_way = None;
        writing.check(&engine, &format!("seed {seed}"));
        let stop = world.faults.operations() + 1 + random.below(40);
        world.faults.set(stop, Fault::Stopped);
        let mut result = Ok(());
        for _ in 0..random.below(9) {
            let batch = batch(&mut random, &writing.acknowledged);
            let mut after = writing.acknowledged.clone();
            after.extend(batch.puts.iter().cloned());
            result = writing.commit(&engine, &batch);
            if result.is_err() {
                // Perhaps the engine has it and nothing else does yet.
                let mark = traced.mark();
                traced.follower().work_unseen(mark);
            }
            let newest = usize::from(traced.follower().newest());
            if newest == contents.len() {
                contents.push(after);
                commits += 1;
            }
            if result.is_err() {
                break;
            }
        }
        if result.is_ok() {
            result = Box::new(engine).close();
        } else {
            drop(engine);
        }
        if result.is_err() {
            traced.crash();
            crashes += 1;
        }
        (world, traced) = revived(world, traced);
        traced.follower().is_following = false;
        if random.below(2) == 0 {
            traced.cut_power(&world, &mut random);
        }
    }
    (commits, crashes)
}

/// The machine goes on, with what was in its cache.
fn revived(world: World, traced: Traced) -> (World, Traced) {
    let faults = Faults::new();
    let world = World { disk: world.disk.duplicate(&faults), faults, ..world };
    let traced = Traced { disk: world.disk.clone(), ..traced };
    (world, traced)
}
