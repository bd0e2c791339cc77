//! Tests of rewrites that are interrupted at any operation: nothing is lost, and nothing is left behind.

use std::sync::Arc;
use std::time::Duration;

use super::store::{TestStore, options, passphrase, unlock_on};
use crate::session::{HistorySettings, StoreError};
use inmost_engines::faulty::{Fault, FaultyStorage};
use inmost_format::record::Kind;
use inmost_storage::{EngineKind, HeaderCopy, Rewriting, Storage};

/// A change that replaces the generation of a store with one damaged file.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Of a store that is not damaged.
    Purge,
    Repair,
    /// Of a store whose history is damaged.
    RepairHistory,
}

fn store(change: Change) -> TestStore {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session.files().write("/memories/kept", "kept").unwrap();
    if matches!(change, Change::Repair) {
        let kept = store.records_of(Kind::File);
        session.files().write("/memories/damaged", "damaged").unwrap();
        let damaged =
            store.records_of(Kind::File).into_iter().find(|id| !kept.contains(id)).unwrap();
        let address = store.address(damaged);
        store.tamper(|records| records.get_mut(&address).unwrap()[40] ^= 1);
    }
    if matches!(change, Change::RepairHistory) {
        let month = Duration::from_secs(30 * 24 * 60 * 60);
        session.history().set(HistorySettings::keep(month)).unwrap();
        for number in 0..40 {
            session.files().write("/memories/kept", &format!("{number}")).unwrap();
        }
        session.files().write("/memories/kept", "kept").unwrap();
        let damaged = store.records_of(Kind::HistoryLeaf)[0];
        let address = store.address(damaged);
        store.tamper(|records| records.get_mut(&address).unwrap()[40] ^= 1);
    }
    store
}

/// Makes a change, with this fault at this operation of it. Returns whether it was made, and whether it met the fault.
fn make(change: Change, store: &TestStore, fault: Fault, operation: u64) -> (bool, bool) {
    let storage = FaultyStorage::new(store.memory.clone());
    let faults = storage.faults();
    let set = || {
        let at = faults.operations() + operation;
        faults.set(at, fault);
        at
    };
    let (made, at) = match change {
        Change::Purge => {
            let session = unlock_on(storage).unwrap();
            let at = set();
            (session.purge().is_ok(), at)
        }
        Change::Repair | Change::RepairHistory => {
            let vault = options().open_storage(Arc::new(storage)).unwrap();
            let at = set();
            let repaired = vault.repair(&passphrase(), |_| {});
            let lost = usize::from(matches!(change, Change::Repair));
            let is_right = repaired.is_ok_and(|report| {
                report.lost.len() == lost && (report.lost_versions > 0) == (lost == 0)
            });
            (is_right, at)
        }
    };
    let met = faults.operations() >= at;
    store.memory.crash();
    (made, met)
}

fn set_aside(store: &TestStore) -> Vec<u64> {
    store.memory.set_aside_generations().unwrap().iter().map(|it| it.number).collect()
}

/// Asserts that the store is as before the change or as after it.
fn check(change: Change, before: &TestStore, store: &TestStore, made: bool, context: &str) {
    let session = store.unlock().unwrap_or_else(|error| panic!("{error}: {context}"));
    assert_eq!(session.files().read("/memories/kept").unwrap().as_str(), "kept", "{context}");
    drop(session);
    assert!(store.memory.rewriting().unwrap().is_none(), "{context}");
    assert_eq!(store.memory.generations().unwrap(), [store.generation()], "{context}");
    let is_changed = store.generation() != 1;
    assert!(is_changed || !made, "{context}");
    match (change, is_changed) {
        (Change::Repair | Change::RepairHistory, true) => {
            assert_eq!(set_aside(store), [1], "{context}");
            let kept = store.memory.kept_header(1).unwrap();
            assert!(kept == before.header(HeaderCopy::A), "{context}");
        }
        _ => assert!(set_aside(store).is_empty(), "{context}"),
    }
}

#[test]
fn after_a_fault_at_any_operation_the_old_generation_is_in_use_or_gone_or_set_aside() {
    for change in [Change::Purge, Change::Repair, Change::RepairHistory] {
        let before = store(change);
        for fault in [Fault::Refused, Fault::Unreported, Fault::Stopped] {
            for operation in 1.. {
                let store = before.duplicate();
                let (made, met) = make(change, &store, fault, operation);
                let context = format!("{change:?}, {fault:?} at {operation}");
                check(change, &before, &store, made, &context);
                if !met {
                    // Two notes, the generation, both headers and the anchor, and the end of the old generation.
                    assert!(made && operation > 8, "{context}");
                    break;
                }
            }
        }
    }
}

#[test]
fn an_interrupted_cleanup_after_an_interrupted_change_is_finished_by_the_next() {
    for change in [Change::Purge, Change::Repair, Change::RepairHistory] {
        let before = store(change);
        for operation in 1.. {
            let interrupted = before.duplicate();
            let (made, met) = make(change, &interrupted, Fault::Stopped, operation);
            for recovery in 1.. {
                let store = interrupted.duplicate();
                let storage = FaultyStorage::new(store.memory.clone());
                let faults = storage.faults();
                faults.set(recovery, Fault::Stopped);
                drop(unlock_on(storage));
                let done = faults.operations() < recovery;
                store.memory.crash();
                let context = format!("{change:?} at {operation}, unlock at {recovery}");
                check(change, &before, &store, made, &context);
                if done {
                    break;
                }
            }
            if !met {
                break;
            }
        }
    }
}

/// The session goes on after such an error, and may be used for long.
#[test]
fn what_a_rewrite_could_not_remove_is_removed_by_the_next() {
    let before = store(Change::Purge);
    let mut left = 0;
    for operation in 1.. {
        let store = before.duplicate();
        let storage = FaultyStorage::new(store.memory.clone());
        let faults = storage.faults();
        let session = unlock_on(storage).unwrap();
        let begin = faults.operations();
        faults.set(begin + operation, Fault::Refused);
        if let Err(StoreError::OldRecordsRemain(_)) = session.purge() {
            left += 1;
            session.files().write("/memories/later", "later").unwrap();
            session.purge().unwrap();
            assert_eq!(store.memory.generations().unwrap().len(), 1);
            assert!(store.memory.rewriting().unwrap().is_none());
            drop(session);
            check(Change::Purge, &before, &store, true, &format!("at {operation}"));
        }
        if faults.operations() < begin + operation {
            break;
        }
    }
    // The removal of the old generation and of the note.
    assert_eq!(left, 2);
}

/// A note stays if the old generation could not be removed. Meanwhile the new one is in use.
#[test]
fn a_header_that_is_put_back_does_not_take_the_generation_in_use_for_unfinished() {
    let store = store(Change::Purge);
    let old = store.duplicate();
    let session = store.unlock().unwrap();
    session.purge().unwrap();
    session.files().write("/memories/newer", "newer").unwrap();
    drop(session);
    let newer = store.header(HeaderCopy::A);
    let switched = Rewriting { old: 1, new: 2, scratch: 3, switched: true, kept_header: None };
    store.memory.begin_rewrite(&switched).unwrap();
    // The old generation, its anchor and one copy of its header come back. The other copy of the header is damaged.
    drop(store.memory.create_generation(1, EngineKind::Memory).unwrap());
    let records = old.values();
    store.memory.with_records(1, |place| *place = records).unwrap();
    store.memory.tamper_header(HeaderCopy::A, Some(&old.header(HeaderCopy::A)));
    store.memory.tamper_header(HeaderCopy::B, Some(b"damaged"));
    let session = store.unlock_accepting_rollback();
    assert!(session.files().read("/memories/newer").is_err());
    drop(session);
    assert_eq!(set_aside(&store), [2]);
    assert!(store.memory.rewriting().unwrap().is_none());
    assert!(newer != store.header(HeaderCopy::A));
}

/// Only one copy of the header was put back: the other still has the key of the newer records.
#[test]
fn a_generation_is_set_aside_with_the_copy_of_the_header_that_names_it() {
    let store = store(Change::Purge);
    let old = store.duplicate();
    let session = store.unlock().unwrap();
    session.purge().unwrap();
    drop(session);
    // Copy A is tried first, because its revision is higher. Copy B names the generation of the older folder.
    drop(store.memory.create_generation(1, EngineKind::Memory).unwrap());
    let records = old.values();
    store.memory.with_records(1, |place| *place = records).unwrap();
    store.memory.tamper_header(HeaderCopy::B, Some(&old.header(HeaderCopy::B)));
    drop(store.unlock().unwrap());
    assert_eq!(store.generation(), 2);
    assert_eq!(set_aside(&store), [1]);
    assert!(store.memory.kept_header(1).unwrap() == old.header(HeaderCopy::B));
}
