//! Tests of snapshots that are written while sled has the log open.

use super::log_check::{Store, memory, open_at, verdict};
use super::*;
use crate::log::SEGMENT_BYTES;
use crate::log::{Bytes, SEGMENT, SegmentHeader};
use crate::snapshot::each_message;

/// What is in a copy of the folder, which sled has not closed. Opened and closed twice.
fn found_in_a_copy(store: &Store, parent: &TempDir) -> HashMap<Address, Vec<u8>> {
    let copy = parent.path().join("copy");
    copy_folder(&store.folder, &copy);
    let frontier = store.frontier();
    Box::new(open_at(&copy, frontier).unwrap()).close().unwrap();
    let engine = open_at(&copy, frontier).unwrap();
    engine.scan(None, usize::MAX).unwrap().into_iter().collect()
}

#[test]
fn an_opening_finds_everything_through_a_snapshot_that_was_written_meanwhile() {
    for (addresses, seed) in [(30, 1), (400, 2), (3_000, 3)] {
        let parent = memory();
        let mut store = Store::new(&parent, addresses, seed);
        for round in 1..=120 {
            store.change();
            if round % 7 == 0 {
                assert!(store.engine.as_ref().unwrap().index().unwrap(), "round {round}");
                let names = repair::snapshots(&store.folder).unwrap();
                assert_eq!(names.len(), 1, "{names:?}");
                let length = u64::try_from(store.log().len()).unwrap();
                let plan = repair::inspect(&store.folder, length).unwrap();
                let frontier = store.frontier();
                assert!(plan.snapshot.unwrap().table.proves(&frontier), "round {round}");
            }
            if round % 21 == 0 || round % 10 == 0 {
                assert!(found_in_a_copy(&store, &parent) == store.values, "round {round}");
            }
            if round % 50 == 0 {
                store.reopen();
            }
        }
    }
}

/// What the newest snapshot in a folder says: the position that it covers, the active segment, and each message.
fn content(folder: &Path) -> (i64, u64, Vec<[u64; 4]>) {
    let mut body = fs::read(snapshots(folder).pop().unwrap()).unwrap();
    body.truncate(body.len() - 12);
    let active = Bytes(&body[8..]).take_number().unwrap();
    let mut messages = Vec::new();
    let stable = each_message(&body, u64::MAX, |page, _, message| {
        messages.push([page, message.position, message.offset, message.length]);
        Some(())
    });
    (stable.unwrap(), active, messages)
}

#[test]
fn it_is_the_snapshot_that_sled_makes_itself() {
    for (addresses, rounds) in [(30, 1), (30, 20), (400, 20)] {
        let parent = memory();
        let mut store = Store::new(&parent, addresses, 7);
        for _ in 0..rounds {
            store.change();
        }
        assert!(store.engine.as_ref().unwrap().index().unwrap());
        let ours = content(&store.folder);
        let copy = parent.path().join("copy");
        fs::create_dir_all(copy.join(repair::BLOBS)).unwrap();
        fs::write(copy.join(repair::LOG), store.log()).unwrap();
        Handle::open(&copy).unwrap().release();
        assert_eq!(content(&copy), ours, "{addresses} addresses");
    }
}

/// A closed store whose log ends up to 20 KB before the end of a segment.
fn near_the_end_of_a_segment(parent: &TempDir) -> Store {
    let mut store = Store::new(parent, 200, 8);
    loop {
        let end = store.frontier().position;
        let rest = SEGMENT - end % SEGMENT;
        if end > SEGMENT && (3_000..20_000).contains(&rest) {
            Box::new(store.engine.take().unwrap()).close().unwrap();
            return store;
        }
        if (3_000..300_000).contains(&rest) {
            let batch = store.batch(1);
            let engine = store.engine.as_ref().unwrap();
            engine.apply(&batch).unwrap();
            engine.sync().unwrap();
            store.note(&batch);
        } else {
            store.change();
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to.join(repair::BLOBS)).unwrap();
    for path in snapshots(from).into_iter().chain([from.join(repair::LOG)]) {
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// Opens a copy of a closed store and puts one record, so long that the log ends so many bytes before the end of the segment.
fn ending_before(store: &Store, frontier: Frontier, copy: &Path, room: u64) -> (SledEngine, Batch) {
    let wanted = frontier.position.next_multiple_of(SEGMENT) - room;
    for key in 0..40 {
        let mut length = 300;
        for _ in 0..12 {
            copy_folder(&store.folder, copy);
            let engine = open_at(copy, frontier).unwrap();
            let batch =
                Batch { puts: vec![(address(key), vec![0xAB; length])], ..Batch::default() };
            engine.apply(&batch).unwrap();
            engine.sync().unwrap();
            let end = engine.frontier().position;
            if end == wanted {
                return (engine, batch);
            }
            Box::new(engine).discard();
            let missing = i64::try_from(wanted).unwrap() - i64::try_from(end).unwrap();
            let next = i64::try_from(length).unwrap() + missing;
            let Ok(next) = usize::try_from(next) else { break };
            length = next;
        }
    }
    panic!("no record is as long as that");
}

/// A running sled fills a segment up to its last byte; an opening skips the last 32. A snapshot that covered these bytes hid the
/// beginning of the next batch from the replay.
#[test]
fn a_snapshot_covers_nothing_that_sled_can_still_write() {
    let parent = memory();
    let store = near_the_end_of_a_segment(&parent);
    let frontier = verdict(&store.folder, Frontier::default()).unwrap().cursor.frontier().unwrap();
    let (copy, cut) = (parent.path().join("copy"), parent.path().join("cut"));
    for room in [33, 32, 31, 20] {
        let (engine, batch) = ending_before(&store, frontier, &copy, room);
        let mut before = store.values.clone();
        before.extend(batch.puts);
        assert!(engine.index().unwrap());
        let (noted, old) = (engine.frontier(), fs::read(copy.join(repair::LOG)).unwrap());
        let puts: Vec<_> = (0..20).map(|key| (address(key), vec![0xCD; 4_000])).collect();
        let next = Batch { puts, ..Batch::default() };
        engine.apply(&next).unwrap();
        engine.sync().unwrap();
        let mut after = before.clone();
        after.extend(next.puts);
        // The power fails when only the beginning of the next segment is on the disk.
        let new = fs::read(copy.join(repair::LOG)).unwrap();
        let begun = (0..new.len()).step_by(SEGMENT_BYTES).find(|at| {
            let header = |log: &[u8]| SegmentHeader::decode(log.get(*at..).unwrap_or_default());
            header(&new).is_some_and(|it| it.start > noted.position) && header(&old) != header(&new)
        });
        let begun = begun.unwrap();
        for blocks in 1..20 {
            let mut left = new.clone();
            for at in begun + blocks * 4_096..(begun + SEGMENT_BYTES).min(left.len()) {
                left[at] = old.get(at).copied().unwrap_or(0);
            }
            copy_folder(&copy, &cut);
            fs::write(cut.join(repair::LOG), &left).unwrap();
            let opened = open_at(&cut, noted).unwrap();
            let found: HashMap<_, _> = opened.scan(None, usize::MAX).unwrap().into_iter().collect();
            assert!(found == before || found == after, "room {room}, {blocks} blocks: torn");
        }
    }
}

#[test]
fn without_a_change_no_snapshot_is_written() {
    let parent = memory();
    let mut store = Store::new(&parent, 60, 4);
    store.change();
    let index = |store: &Store| {
        assert!(store.engine.as_ref().unwrap().index().unwrap());
        let path = snapshots(&store.folder).pop().unwrap();
        fs::metadata(path).unwrap().modified().unwrap()
    };
    assert_eq!(index(&store), index(&store));
}

#[test]
fn a_snapshot_is_not_built_on_a_damaged_or_missing_one() {
    let parent = memory();
    let mut store = Store::new(&parent, 60, 5);
    (0..5).for_each(|_| store.change());
    assert!(store.engine.as_ref().unwrap().index().unwrap());
    store.change();
    let path = snapshots(&store.folder).pop().unwrap();
    let bytes = fs::read(&path).unwrap();
    let mut damaged = bytes.clone();
    damaged[20] ^= 1;
    fs::write(&path, damaged).unwrap();
    assert!(!store.engine.as_ref().unwrap().index().unwrap());
    fs::remove_file(&path).unwrap();
    assert!(!store.engine.as_ref().unwrap().index().unwrap());
    assert!(snapshots(&store.folder).is_empty());
    fs::write(&path, bytes).unwrap();
    assert!(store.engine.as_ref().unwrap().index().unwrap());
    assert!(found_in_a_copy(&store, &parent) == store.values);
}

#[test]
fn a_draft_that_a_crash_has_left_is_removed() {
    let parent = memory();
    let mut store = Store::new(&parent, 60, 6);
    store.change();
    let frontier = store.frontier();
    Box::new(store.engine.take().unwrap()).close().unwrap();
    let draft = store.folder.join(".snap.0000000000001000.new");
    fs::write(&draft, b"torn").unwrap();
    assert!(verdict(&store.folder, frontier).is_ok());
    assert!(draft.exists(), "looking changes nothing");
    drop(open_at(&store.folder, frontier).unwrap());
    assert!(!draft.exists());
}
