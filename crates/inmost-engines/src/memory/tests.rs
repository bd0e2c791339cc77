//! Tests of what distinguishes applied from synced.

use super::*;
use inmost_storage::Batch;

fn put(byte: u8) -> Batch {
    Batch { puts: vec![(Address([byte; 32]), vec![byte])], ..Batch::default() }
}

#[test]
fn a_crash_discards_unsynced_changes() {
    let storage = MemoryStorage::default();
    let engine = storage.create_generation(1, EngineKind::Memory).unwrap();
    engine.apply(&put(1)).unwrap();
    engine.sync().unwrap();
    engine.apply(&put(2)).unwrap();
    let again = Batch {
        puts: vec![(Address([2; 32]), vec![3])],
        deletes: vec![Address([1; 32])],
        ..Batch::default()
    };
    engine.apply(&again).unwrap();

    storage.crash();

    assert!(matches!(engine.scan(None, 9), Err(StorageError::Poisoned)));
    let reopened = storage.open_generation(1, EngineKind::Memory).unwrap();
    assert_eq!(reopened.scan(None, 9).unwrap(), [(Address([1; 32]), vec![1])]);
    drop(engine);
    reopened.apply(&put(4)).unwrap();
}

#[test]
fn headers_survive_a_crash() {
    let storage = MemoryStorage::default();
    storage.write_header(HeaderCopy::A, b"one").unwrap();
    storage.crash();
    assert_eq!(storage.clone().read_header(HeaderCopy::A).unwrap().unwrap(), b"one");
}
