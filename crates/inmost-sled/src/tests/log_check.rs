//! Tests of the verification on logs that sled has written.

use std::collections::HashSet;
use std::ops::Range;

use super::*;
use crate::log::{Read, SEGMENT, SegmentHeader};
use crate::log_check::{Checked, check, walk};

/// A generation that is in use, in folders in memory if there are any.
pub(super) struct Store {
    pub(super) folder: PathBuf,
    pub(super) engine: Option<SledEngine>,
    sequence: Sequence,
    /// The newest value of each record.
    pub(super) values: HashMap<Address, Vec<u8>>,
    addresses: u64,
}

impl Store {
    pub(super) fn new(parent: &TempDir, addresses: u64, seed: u64) -> Self {
        let folder = parent.path().join("generation");
        let engine = Some(SledEngine::create(&folder).unwrap());
        let values = HashMap::new();
        Self { folder, engine, sequence: Sequence(seed), values, addresses }
    }

    /// Changes up to 25 records, durably, as a batch that bypasses the journal does.
    pub(super) fn change(&mut self) {
        let records = 1 + self.sequence.below(25);
        let batch = self.batch(records);
        let engine = self.engine.as_ref().unwrap();
        engine.apply(&batch).unwrap();
        engine.sync().unwrap();
        self.note(&batch);
    }

    /// A batch of changes of random records, at most one of each.
    pub(super) fn batch(&mut self, records: u64) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..records {
            let number = self.sequence.below(self.addresses);
            let key = address(u32::try_from(number).unwrap());
            if batch.puts.iter().any(|(put, _)| *put == key) || batch.deletes.contains(&key) {
                continue;
            }
            if self.sequence.below(10) == 0 {
                batch.deletes.push(key);
            } else {
                let classes = [297, 553, 1_065, 2_089, 4_137];
                let class = classes[usize::try_from(self.sequence.below(5)).unwrap()];
                batch.puts.push((key, self.sequence.value(class)));
            }
        }
        batch
    }

    /// Notes that a batch was made.
    pub(super) fn note(&mut self, batch: &Batch) {
        self.values.extend(batch.puts.iter().cloned());
        batch.deletes.iter().for_each(|key| drop(self.values.remove(key)));
    }

    pub(super) fn frontier(&self) -> Frontier {
        self.engine.as_ref().unwrap().frontier()
    }

    /// Closes it, and opens it again with the frontier that it had.
    pub(super) fn reopen(&mut self) {
        let frontier = self.frontier();
        Box::new(self.engine.take().unwrap()).close().unwrap();
        self.engine = Some(open_at(&self.folder, frontier).unwrap());
        self.engine.as_ref().unwrap().sync().unwrap();
        assert_eq!(self.frontier(), frontier, "opening and closing writes no message");
    }

    pub(super) fn log(&self) -> Vec<u8> {
        fs::read(self.folder.join(repair::LOG)).unwrap()
    }
}

pub(super) fn memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

pub(super) fn open_at(folder: &Path, frontier: Frontier) -> Result<SledEngine, StorageError> {
    SledEngine::open(folder, &Expected { frontier, ..Expected::anything() })
}

/// The verdict on the files in a folder.
pub(super) fn verdict(folder: &Path, frontier: Frontier) -> Result<Checked, StorageError> {
    let log = File::open(folder.join(repair::LOG)).unwrap();
    let length = log.metadata().unwrap().len();
    let plan = repair::inspect(folder, length)?;
    check(&log, length, plan.snapshot, &frontier, &[0xFF; 16])
}

/// sled uses the segments of an old frontier again. An opening after a crash that expected it would find damage.
#[test]
fn a_log_that_can_no_longer_be_followed_is_not_taken_for_damaged() {
    let parent = memory();
    let mut store = Store::new(&parent, 400, 1);
    (0..60).for_each(|_| store.change());
    assert_ne!(store.frontier(), Frontier::default());
    store.engine.as_ref().unwrap().progress().cursor.lose();
    (0..1_500).for_each(|_| store.change());
    let frontier = store.frontier();
    assert!(verdict(&store.folder, frontier).is_ok());
    Box::new(store.engine.take().unwrap()).close().unwrap();
    let engine = open_at(&store.folder, frontier).unwrap();
    let found: HashMap<_, _> = engine.scan(None, 1_000).unwrap().into_iter().collect();
    assert!(found == store.values);
}

#[test]
fn the_frontier_is_the_end_of_a_log_whose_segments_are_used_again() {
    let parent = memory();
    let mut store = Store::new(&parent, 400, 1);
    for round in 1..=260 {
        store.change();
        let frontier = store.frontier();
        let checked = verdict(&store.folder, frontier).unwrap();
        assert_eq!(checked.cursor.frontier(), Some(frontier), "round {round}");
        if round % 30 == 0 {
            store.reopen();
        }
    }
    let file = u64::try_from(store.log().len()).unwrap();
    let written = store.frontier().position;
    assert!(written > file + SEGMENT, "no segment was used again: {written} written, {file} long");
}

/// The messages of pages in a log: their bytes in the file, and the page of each.
fn messages(log: &[u8]) -> Vec<(Range<usize>, u64)> {
    let mut messages = Vec::new();
    let segment = usize::try_from(SEGMENT).unwrap();
    for (bytes, offset) in log.chunks(segment).zip((0..).step_by(segment)) {
        let Some(header) = SegmentHeader::decode(bytes) else { continue };
        walk(bytes, header.start, |position, message| {
            if let Read::Page { page, length, .. } = message {
                let start = offset + usize::try_from(position - header.start).unwrap();
                messages.push((start..start + usize::try_from(length).unwrap(), page));
            }
            Ok(true)
        })
        .unwrap();
    }
    messages
}

/// Damages the log in many places. Each damage must be noticed before sled opens the log, or be harmless, or be an error of
/// the records of the pages whose messages it hits. Returns the counts of these.
fn damage_is_noticed_or_harmless(store: &Store, stride: usize) -> [u32; 3] {
    let frontier = store.frontier();
    let log = store.log();
    let messages = messages(&log);
    let copy = memory();
    let folder = copy.path().join("generation");
    let mut counts = [0; 3];
    let mut attempt = |hit: Range<usize>, damage: &dyn Fn(&mut [u8])| {
        let at = hit.start;
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join(repair::BLOBS)).unwrap();
        for path in snapshots(&store.folder) {
            fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
        let mut damaged = log.clone();
        damage(&mut damaged[hit.clone()]);
        fs::write(folder.join(repair::LOG), &damaged).unwrap();
        match open_at(&folder, frontier) {
            Err(StorageError::Corrupt(_)) => {
                counts[0] += 1;
                assert!(fs::read(folder.join(repair::LOG)).unwrap() == damaged, "{at}: changed");
            }
            Err(error) => panic!("{at}: {error}"),
            Ok(engine) => {
                let mut unreadable = 0;
                for (address, value) in &store.values {
                    match engine.get_many(&[*address]) {
                        Ok(found) => {
                            assert!(
                                found[0].as_ref() == Some(value),
                                "{at}: a record is missing or old"
                            );
                        }
                        Err(_) => unreadable += 1,
                    }
                }
                let pages: HashSet<u64> = messages
                    .iter()
                    .filter(|(bytes, _)| bytes.start < hit.end && hit.start < bytes.end)
                    .map(|(_, page)| *page)
                    .collect();
                assert!(
                    unreadable <= pages.len() * RECORDS_OF_A_PAGE,
                    "{at}: {unreadable} records of {} pages are lost",
                    pages.len()
                );
                counts[if unreadable == 0 { 1 } else { 2 }] += 1;
            }
        }
    };
    for at in (0..log.len()).step_by(stride) {
        attempt(at..at + 1, &|bytes| bytes[0] ^= 1 << (at % 8));
    }
    for at in (0..log.len()).step_by(4_096 * 2) {
        attempt(at..log.len().min(at + 4_096), &|bytes| bytes.fill(0));
    }
    counts
}

/// The most records in a leaf of sled's tree.
const RECORDS_OF_A_PAGE: usize = 17;

#[test]
fn damage_in_a_log_of_one_segment_is_noticed_or_harmless() {
    let parent = memory();
    let mut store = Store::new(&parent, 60, 2);
    (0..4).for_each(|_| store.change());
    let [noticed, _, unreadable] = damage_is_noticed_or_harmless(&store, 1_997);
    assert!(noticed > 50, "{noticed}");
    assert_eq!(unreadable, 0, "all of it is replayed");
}

#[test]
fn an_older_or_a_newer_log_than_that_of_the_frontier_is_noticed() {
    let parent = memory();
    let mut store = Store::new(&parent, 60, 3);
    (0..10).for_each(|_| store.change());
    let (before, old_log) = (store.frontier(), store.log());
    store.change();
    let after = store.frontier();
    assert!(verdict(&store.folder, after).is_ok());
    assert!(verdict(&store.folder, before).is_ok(), "behind the frontier there may be more");
    fs::write(store.folder.join(repair::LOG), &old_log).unwrap();
    assert!(verdict(&store.folder, before).is_ok());
    assert!(verdict(&store.folder, after).is_err());
    let other = Frontier { position: before.position, proof: after.proof };
    assert!(verdict(&store.folder, other).is_err());
    assert!(verdict(&store.folder, Frontier::default()).is_ok(), "a journal without a frontier");
}

/// sled goes on in a segment that its snapshot names, with or without a header, and finds nothing there when it opens the log again.
#[test]
fn a_lost_header_of_the_last_segment_is_noticed_even_if_the_snapshot_covers_all() {
    let parent = memory();
    let mut store = Store::new(&parent, 400, 9);
    (0..60).for_each(|_| store.change());
    assert!(store.engine.as_ref().unwrap().index().unwrap());
    let frontier = store.frontier();
    Box::new(store.engine.take().unwrap()).close().unwrap();
    let mut log = store.log();
    let headers = (0..log.len()).step_by(log::SEGMENT_BYTES);
    let newest = headers.max_by_key(|at| SegmentHeader::decode(&log[*at..]).map(|it| it.start));
    log[newest.unwrap() + 5] ^= 1;
    fs::write(store.folder.join(repair::LOG), &log).unwrap();
    let refused = open_at(&store.folder, frontier).err().unwrap().to_string();
    assert!(
        refused.contains("the last segment of the engine's log has lost its header"),
        "{refused}"
    );
}

#[test]
#[ignore = "minutes in a release build; the short form is above"]
fn damage_in_a_log_of_many_segments_is_noticed_or_harmless() {
    for seed in 0..4 {
        let parent = memory();
        let mut store = Store::new(&parent, 100 + 300 * seed, 4 + seed);
        for round in 1..=150 {
            store.change();
            if round % 48 == 0 {
                store.reopen();
            }
        }
        let log = store.log().len() >> 10;
        let [noticed, harmless, page] = damage_is_noticed_or_harmless(&store, 6_151);
        println!("log of {log} KiB: {noticed} noticed, {harmless} harmless, {page} in a page");
    }
}

/// Without a snapshot, sled takes such a log for torn where it has zeroed a segment itself, and destroys the rest.
#[test]
fn a_lost_snapshot_is_made_anew() {
    let parent = memory();
    let mut store = Store::new(&parent, 60, 77);
    let copy = parent.path().join("copy");
    let mut made = 0;
    for _ in 0..8 {
        (0..20).for_each(|_| store.change());
        store.reopen();
        let frontier = store.frontier();
        let _ = fs::remove_dir_all(&copy);
        fs::create_dir_all(copy.join(repair::BLOBS)).unwrap();
        fs::write(copy.join(repair::LOG), store.log()).unwrap();
        made += u32::from(verdict(&copy, frontier).is_err());
        let engine = open_at(&copy, frontier).unwrap();
        let found: HashMap<_, _> = engine.scan(None, usize::MAX).unwrap().into_iter().collect();
        assert!(found == store.values);
        Box::new(engine).close().unwrap();
        let found: HashMap<_, _> =
            open_at(&copy, frontier).unwrap().scan(None, usize::MAX).unwrap().into_iter().collect();
        assert!(found == store.values, "opened again");
    }
    assert!(made > 0, "sled could replay every log");
}
