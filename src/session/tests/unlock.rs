//! Tests of the cleanup at unlock: its steps, its bounds, and a fault during it.

use super::store::{TestStore, unlock_on};
use super::watched::{Watch, WatchedStorage};
use crate::session::StoreError;
use inmost_engines::faulty::{Fault, FaultyStorage};
use inmost_storage::{EngineKind, HeaderCopy, Rewriting, Storage};

/// A store with an interrupted header change, with generations that an interrupted rewrite left, with others that no header
/// names, and with objects to reap.
fn left_in_disorder() -> TestStore {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let files = session.files();
    for number in 0..60 {
        files.write(&format!("/memories/d/{number}/long"), &"line\n".repeat(2_000)).unwrap();
    }
    files.write("/memories/kept", "kept").unwrap();
    files.remove("/memories/d").unwrap();
    drop(session);
    for number in [2, 3, 4, 7] {
        drop(store.memory.create_generation(number, EngineKind::Memory).unwrap());
    }
    let rewriting = Rewriting { old: 1, new: 3, scratch: 4, switched: false, kept_header: None };
    store.memory.begin_rewrite(&rewriting).unwrap();
    store.memory.write_header(HeaderCopy::A, store.next_header().bytes()).unwrap();
    store
}

fn check_order(store: &TestStore, context: &str) {
    let session = store.unlock().unwrap_or_else(|error| panic!("{error}: {context}"));
    assert_eq!(session.files().read("/memories/kept").unwrap().as_str(), "kept", "{context}");
    assert_eq!(session.files().list("/memories").unwrap().len(), 1, "{context}");
    drop(session);
    // Unlocks as often as needed; each unlock does a part of the work.
    for _ in 0..9 {
        drop(store.unlock().unwrap());
    }
    assert_eq!(store.memory.generations().unwrap(), [1], "{context}");
    let set_aside = store.memory.set_aside_generations().unwrap();
    assert_eq!(set_aside.iter().map(|it| it.number).collect::<Vec<_>>(), [2, 7], "{context}");
    assert!(store.memory.rewriting().unwrap().is_none(), "{context}");
    assert_eq!(store.header(HeaderCopy::A), store.header(HeaderCopy::B), "{context}");
    assert_eq!(store.root().header.revision, 2, "{context}");
    store.assert_tidy(context);
}

#[test]
fn an_unlock_cleans_up_after_a_crash() {
    let store = left_in_disorder();
    assert_ne!(store.header(HeaderCopy::A), store.header(HeaderCopy::B));
    check_order(&store, "without a fault");
}

#[test]
fn an_unlock_reaps_a_bounded_part() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    for number in 0..400 {
        let path = format!("/memories/d/{number}/long");
        session.files().write(&path, &"line\n".repeat(1_000)).unwrap();
    }
    session.files().remove("/memories/d").unwrap();
    drop(session);
    let mut unlocks = 0;
    loop {
        let watch = Watch::default();
        let storage = WatchedStorage { inner: store.memory.clone(), watch: watch.clone() };
        drop(unlock_on(storage).unwrap());
        unlocks += 1;
        match watch.seen().batches {
            0 => break,
            batches => assert!(batches <= 16, "{batches}"),
        }
        assert!(unlocks < 20);
    }
    assert!(unlocks > 2, "too little to reap for this test");
    store.assert_tidy("after the last unlock");
}

#[test]
fn a_fault_at_any_step_of_an_unlock_is_made_good_by_the_next() {
    let disorder = left_in_disorder();
    let count = {
        let storage = FaultyStorage::new(disorder.duplicate().memory);
        let faults = storage.faults();
        drop(unlock_on(storage).unwrap());
        faults.operations()
    };
    let mut tried = 0;
    for operation in 1..=count {
        for fault in [Fault::Refused, Fault::Unreported, Fault::Stopped] {
            for crashed in [false, true] {
                let context = format!("operation {operation} of {count}, {fault:?} {crashed}");
                let store = disorder.duplicate();
                let storage = FaultyStorage::new(store.memory.clone());
                storage.faults().set(operation, fault);
                let refused = unlock_on(storage).err();
                // If there was no error, the fault hit the anchor.
                assert!(
                    matches!(refused, None | Some(StoreError::Io(_) | StoreError::Halted)),
                    "{refused:?}: {context}"
                );
                if crashed {
                    store.memory.crash();
                }
                check_order(&store, &context);
                tried += 1;
            }
        }
    }
    println!("{tried} faults");
}
