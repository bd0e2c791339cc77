//! Tests of changes that are applied loosely, as those of a checkpoint are.

use super::log_check::{Store, memory, open_at};
use super::*;
use crate::cursor::{NEXT_RECORDS, RECORD_BYTES};
use crate::log::SEGMENT;

#[test]
fn loosely_applied_changes_are_there_at_once_and_after_a_sync() {
    let parent = memory();
    let folder = parent.path().join("generation");
    let engine = SledEngine::create(&folder).unwrap();
    let value = |number: u32| vec![number.to_le_bytes()[0]; 100];
    let few = puts((0..12).map(|number| (number, value(number))));
    engine.apply_loosely(&few).unwrap();
    let removal = Batch { deletes: vec![address(3), address(99)], ..Batch::default() };
    engine.apply_loosely(&removal).unwrap();
    let many = u32::try_from(NEXT_RECORDS).unwrap() + 20;
    let many = puts((100..100 + many).map(|number| (number, value(number))));
    assert!(engine.apply_loosely(&many).unwrap(), "more than sled may be given at once are synced");
    let mut expected: Vec<_> = few.puts.into_iter().chain(many.puts).collect();
    expected.retain(|(put, _)| *put != address(3));
    expected.sort();
    assert_eq!(engine.scan(None, usize::MAX).unwrap(), expected);
    let last = puts([(500, value(5))]);
    engine.apply_loosely(&last).unwrap();
    engine.sync().unwrap();
    let frontier = engine.frontier();
    drop(engine);
    expected.extend(last.puts);
    expected.sort();
    let engine = open_at(&folder, frontier).unwrap();
    assert_eq!(engine.scan(None, usize::MAX).unwrap(), expected);
}

/// Makes checkpoints, and looks at what sled writes between two looks of the engine at its log, and between two syncs. Returns the most
/// bytes for a record.
fn written(addresses: u64, checkpoints: u32, length: usize) -> u64 {
    let parent = memory();
    let mut store = Store::new(&parent, addresses, addresses);
    let mut random = Sequence(addresses);
    let mut most = 0;
    for checkpoint in 1..=checkpoints {
        let engine = store.engine.as_ref().unwrap();
        let (mut seen, mut records) = (engine.progress().position(), 0);
        for piece in 0..50 {
            let mut batch = Batch::default();
            while batch.puts.len() < 12 {
                let key = address(u32::try_from(random.below(addresses)).unwrap());
                if batch.puts.iter().all(|(put, _)| *put != key) {
                    batch.puts.push((key, random.value(length)));
                }
            }
            let synced = engine.frontier().position;
            if piece < 49 {
                engine.apply_loosely(&batch).unwrap();
            } else {
                engine.apply(&batch).unwrap();
                engine.sync().unwrap();
            }
            records += 12;
            let Some(position) = engine.progress().followed() else { continue };
            assert!(position / SEGMENT <= synced / SEGMENT + 1, "{synced} to {position}");
            // Fewer are looked at only where a checkpoint ends.
            if records >= 18 {
                most = most.max((position - seen) / records);
            }
            (seen, records) = (position, 0);
        }
        if checkpoint % 3 == 0 {
            store.reopen();
        }
    }
    most
}

#[test]
fn sled_begins_at_most_one_segment_between_two_syncs() {
    let most = written(700, 4, limits::RECORD_VALUE_BYTES);
    assert!(most < RECORD_BYTES, "{most} bytes a record");
}

#[test]
#[ignore = "minutes in a release build; the short form is above"]
fn sled_begins_at_most_one_segment_between_thousands_of_syncs() {
    for addresses in [30, 100, 300, 1_000, 3_000, 10_000, 30_000] {
        for length in [297, 2_089, limits::RECORD_VALUE_BYTES] {
            let most = written(addresses, 100, length);
            println!("{addresses} addresses of {length} bytes: at most {most} bytes a record");
            assert!(most < RECORD_BYTES);
        }
    }
}
