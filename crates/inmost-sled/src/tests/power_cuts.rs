//! Power cuts, simulated on the files: of the blocks that were written since the last sync, any may be there, as any of these
//! writes has left it.
//!
//! No healthy state may be refused. What sled opens must be the state before or after a batch. During a checkpoint, each record
//! must be as it was before or after.

use super::log_check::{Store, memory, open_at, verdict};
use super::*;

const BLOCK: usize = 4_096;

/// Mixes states of a log block by block, the first of them durable.
fn mixed(states: &[Vec<u8>], random: &mut Sequence) -> Vec<u8> {
    let count = u64::try_from(states.len()).unwrap();
    let any = |random: &mut Sequence| usize::try_from(random.below(count)).unwrap();
    // The power may fail before the last one.
    let last = any(random).max(1).min(states.len() - 1);
    let length = states[if random.below(2) == 0 { last } else { 0 }].len().max(BLOCK);
    let share = random.below(101);
    let mut bytes = vec![0; length];
    for at in (0..bytes.len()).step_by(BLOCK) {
        let from = if random.below(100) < share { any(random).min(last) } else { 0 };
        let from = if random.below(2) == 0 && from > 0 { last } else { from };
        let end = (at + BLOCK).min(bytes.len());
        let part = states[from].get(at..end.min(states[from].len())).unwrap_or_default();
        bytes[at..at + part.len()].copy_from_slice(part);
    }
    bytes
}

/// A snapshot's name and bytes.
type Snapshot = (String, Vec<u8>);

fn snapshots_of(folder: &Path) -> Vec<Snapshot> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    snapshots(folder).into_iter().map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

struct Cut {
    folder: PathBuf,
    _parent: TempDir,
}

impl Cut {
    fn new() -> Self {
        let parent = memory();
        Self { folder: parent.path().join("generation"), _parent: parent }
    }

    fn write(&self, log: &[u8], snapshots: &[Snapshot]) {
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir_all(self.folder.join(repair::BLOBS)).unwrap();
        fs::write(self.folder.join(repair::LOG), log).unwrap();
        for (name, bytes) in snapshots {
            fs::write(self.folder.join(name), bytes).unwrap();
        }
    }

    /// Returns whether the state was accepted, and checks what sled makes of it: each record is as it was before or after
    /// the changes under way, and all are one of the two if these changes are one batch.
    fn opens_as(&self, frontier: Frontier, states: [&Values; 2], is_batch: bool) -> bool {
        let Ok(engine) = open_at(&self.folder, frontier) else { return false };
        let found: Values = engine.scan(None, usize::MAX).unwrap().into_iter().collect();
        if is_batch {
            assert!(states.contains(&&found), "sled opened neither state");
        }
        for address in states.iter().copied().chain([&found]).flat_map(HashMap::keys) {
            let is_known = states.iter().any(|state| state.get(address) == found.get(address));
            assert!(is_known, "a record is neither old nor new");
        }
        true
    }
}

type Values = HashMap<Address, Vec<u8>>;

/// A store under way, and the counts of states that cuts have left of it: all, and those that were refused.
struct Run {
    store: Store,
    cut: Cut,
    random: Sequence,
    /// The frontier in the journal.
    noted: Frontier,
    cuts: u32,
    counts: [u32; 2],
}

impl Run {
    fn count(&mut self, is_accepted: bool) {
        self.counts[0] += 1;
        self.counts[1] += u32::from(!is_accepted);
    }

    /// Cuts the power at moments at which any of these states of the log may be on the disk.
    fn cut(&mut self, logs: &[Vec<u8>], snapshots: &[Snapshot], values: [&Values; 2], batch: bool) {
        for each in 0..self.cuts {
            self.cut.write(&mixed(logs, &mut self.random), snapshots);
            let is_accepted = if each == 0 {
                self.cut.opens_as(self.noted, values, batch)
            } else {
                verdict(&self.cut.folder, self.noted).is_ok()
            };
            self.count(is_accepted);
        }
    }

    /// A batch that bypasses the journal. Its slot is synced now and then.
    fn batch(&mut self, snapshots: &[Snapshot]) {
        let (before, values) = (self.store.log(), self.store.values.clone());
        if self.store.frontier().position - self.noted.position > 1 << 20 {
            self.noted = self.store.frontier();
        }
        self.store.change();
        let logs = [before, self.store.log()];
        let after = self.store.values.clone();
        self.cut(&logs, snapshots, [&values, &after], true);
    }

    /// A checkpoint, now and then a long one: its changes are made piece by piece, and its slot is synced when the engine was.
    fn checkpoint(&mut self, snapshots: &[Snapshot]) {
        let values = self.store.values.clone();
        let most = if self.random.below(4) == 0 { 1_000 } else { 125 };
        let records = 1 + self.random.below(most);
        let changes = self.store.batch(records);
        self.store.note(&changes);
        let after = self.store.values.clone();
        self.noted = self.store.frontier();
        let mut logs = vec![self.store.log()];
        let (puts, deletes) = (changes.puts.chunks(12), changes.deletes.chunks(12));
        let pieces = puts.map(|puts| Batch { puts: puts.to_vec(), ..Batch::default() });
        let deletes = deletes.map(|it| Batch { deletes: it.to_vec(), ..Batch::default() });
        for piece in pieces.chain(deletes) {
            let was_synced = self.store.engine.as_ref().unwrap().apply_loosely(&piece).unwrap();
            let log = self.store.log();
            if logs.last() != Some(&log) {
                logs.push(log);
            }
            if was_synced {
                self.cut(&logs, snapshots, [&values, &after], false);
                logs.drain(..logs.len() - 1);
                self.noted = self.store.frontier();
            }
        }
        self.store.engine.as_ref().unwrap().sync().unwrap();
        logs.push(self.store.log());
        self.cut(&logs, snapshots, [&values, &after], false);
        self.noted = self.store.frontier();
    }

    /// A power cut while a snapshot is written: the name of the draft is durable, or not yet, or the older one is still there.
    fn index(&mut self, snapshots: &[Snapshot]) {
        assert!(self.store.engine.as_ref().unwrap().index().unwrap());
        let written = snapshots_of(&self.store.folder);
        let draft = |it: &Snapshot| (format!(".{}.new", it.0), it.1.clone());
        let unnamed: Vec<Snapshot> = written.iter().map(draft).chain(snapshots.to_vec()).collect();
        let both = [&written, snapshots].concat();
        let values = self.store.values.clone();
        // The log was synced before.
        let log = [self.store.log()];
        for left in [&written, &unnamed, &both] {
            self.cut(&log, left, [&values, &values], true);
        }
    }

    /// A power cut while sled is opened again: it has synced its new snapshot, maybe not the name.
    fn reopen(&mut self, snapshots: &[Snapshot]) {
        let before = self.store.log();
        self.store.reopen();
        let logs = [before, self.store.log()];
        let values = self.store.values.clone();
        let renamed = snapshots_of(&self.store.folder);
        let unfinished: Vec<Snapshot> = renamed
            .iter()
            .map(|(name, bytes)| (format!("{name}{}", repair::UNFINISHED_SUFFIX), bytes.clone()))
            .chain(snapshots.iter().cloned())
            .collect();
        for each in 0..4 * self.cuts {
            let snapshots = if each % 2 == 0 { &renamed } else { &unfinished };
            self.cut.write(&mixed(&logs, &mut self.random), snapshots);
            let is_accepted = self.cut.opens_as(self.noted, [&values, &values], true);
            self.count(is_accepted);
        }
    }
}

/// Runs a store of this many addresses for some rounds, with cuts in each of them. Returns how many states were made, and
/// how many of them were refused.
fn run(addresses: u64, rounds: u32, cuts: u32, seed: u64) -> [u32; 2] {
    let parent = memory();
    let mut store = Store::new(&parent, addresses, seed);
    store.change();
    let (noted, random) = (store.frontier(), Sequence(seed));
    let mut run = Run { store, cut: Cut::new(), random, noted, cuts, counts: [0; 2] };
    for round in 1..=rounds {
        let snapshots = snapshots_of(&run.store.folder);
        if run.random.below(3) == 0 {
            run.checkpoint(&snapshots);
        } else {
            run.batch(&snapshots);
        }
        if round % 40 == 0 {
            run.reopen(&snapshots);
        } else if round % 7 == 0 {
            run.index(&snapshots);
        }
    }
    run.counts
}

#[test]
fn a_healthy_state_is_never_refused() {
    assert_eq!(run(300, 85, 2, 1)[1], 0);
}

#[test]
#[ignore = "minutes in a release build; the short form is above"]
fn no_healthy_state_of_thousands_is_refused() {
    for (addresses, seed) in [(20, 11), (60, 12), (300, 13), (1_000, 14), (5_000, 15)] {
        let [made, refused] = run(addresses, 400, 5, seed);
        println!("{addresses} addresses: {made} states, {refused} refused");
        assert_eq!(refused, 0);
    }
}
