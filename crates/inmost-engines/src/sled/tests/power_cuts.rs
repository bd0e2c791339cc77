//! Power cuts, simulated on the files: of the blocks that differ between two neighbouring synced states, any may be there.
//!
//! No healthy state may be refused, and what sled opens must be one of the two states.

use super::log_check::{Store, memory, open_at, verdict};
use super::*;

const BLOCK: usize = 4_096;

/// Mixes two states of a log block by block.
fn mixed(before: &[u8], after: &[u8], random: &mut Sequence) -> Vec<u8> {
    let length = if random.below(2) == 0 { after.len() } else { before.len().max(BLOCK) };
    let share = random.below(101);
    let mut bytes = vec![0; length.min(before.len().max(after.len()))];
    for at in (0..bytes.len()).step_by(BLOCK) {
        let from = if random.below(100) < share { after } else { before };
        let end = (at + BLOCK).min(bytes.len());
        let part = from.get(at..end.min(from.len())).unwrap_or_default();
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

    /// Returns whether the state was accepted, and checks what sled makes of it.
    fn opens_as(&self, frontier: Frontier, states: [&HashMap<Address, Vec<u8>>; 2]) -> bool {
        let Ok(engine) = open_at(&self.folder, frontier) else { return false };
        let found: HashMap<_, _> = engine.scan(None, usize::MAX).unwrap().into_iter().collect();
        assert!(states.contains(&&found), "sled opened neither state");
        true
    }
}

/// Runs a store of this many addresses for some rounds, with cuts in each of them. Returns how many states were made, and
/// how many of them were refused.
fn run(addresses: u64, rounds: u32, cuts: u32, seed: u64) -> [u32; 2] {
    let parent = memory();
    let cut = Cut::new();
    let mut random = Sequence(seed);
    let mut store = Store::new(&parent, addresses, seed);
    store.change();
    let mut noted = store.frontier();
    let mut counts = [0; 2];
    let mut count = |is_accepted: bool| {
        counts[0] += 1;
        counts[1] += u32::from(!is_accepted);
    };
    for round in 1..=rounds {
        let (before, snapshots, values) =
            (store.log(), snapshots_of(&store.folder), store.values.clone());
        // A checkpoint notes the frontier after up to five batches.
        if round % 5 == 0 || store.frontier().position - noted.position > 1 << 20 {
            noted = store.frontier();
        }
        store.change();
        let after = store.log();
        for each in 0..cuts {
            cut.write(&mixed(&before, &after, &mut random), &snapshots);
            if each == 0 {
                count(cut.opens_as(noted, [&values, &store.values]));
            } else {
                count(verdict(&cut.folder, noted).is_ok());
            }
        }
        if round % 40 != 0 {
            continue;
        }
        // A power cut while sled is opened again: it has synced its new snapshot, maybe not the name.
        store.reopen();
        let opened = store.log();
        let renamed = snapshots_of(&store.folder);
        let unfinished: Vec<Snapshot> = renamed
            .iter()
            .map(|(name, bytes)| (format!("{name}{}", repair::UNFINISHED_SUFFIX), bytes.clone()))
            .chain(snapshots.iter().cloned())
            .collect();
        for each in 0..4 * cuts {
            let snapshots = if each % 2 == 0 { &renamed } else { &unfinished };
            cut.write(&mixed(&after, &opened, &mut random), snapshots);
            count(cut.opens_as(noted, [&store.values, &store.values]));
        }
    }
    counts
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
