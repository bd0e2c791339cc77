//! Tests that everything a delete or a long write leaves behind is reaped, and disturbs no call meanwhile.

use std::collections::HashSet;

use super::model::{Call, Model, dump, make_commits, put, tampered, text};
use crate::session::tests::store::{TestStore, unlock_on};
use crate::session::tests::watched::{Watch, WatchedStorage};
use inmost_format::record::{Kind, RecordId};

/// Long files in folders wait to be reaped while another long file is written. The objects that reaping moved into the
/// system folder came after the file being staged there, which was then not found again.
#[test]
fn a_long_write_goes_well_while_folders_are_reaped() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let files = session.files();
    for folder in 0..20 {
        for file in 0..3 {
            files.write(&format!("/memories/d/{folder}/{file}"), &text("x", 5_000)).unwrap();
        }
    }
    files.remove("/memories/d").unwrap();
    let long = text("long", 300_000);
    files.write("/memories/long", &long).unwrap();
    assert_eq!(files.read("/memories/long").unwrap().as_str(), long);
    make_commits(&session, 100);
    drop(session);
    store.assert_tidy("after the last commit");
}

/// An edit that removes most of a file wrote the short rest as a rope. A later delete took it for a single record and
/// left the chunks behind.
#[test]
fn a_file_that_shrinks_in_one_edit_leaves_nothing_behind() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let long = text("long", 50_000);
    let mut model = Model::new();
    for call in [
        Call::Write("/memories/a", format!("head\n{long}tail\n")),
        Call::Replace("/memories/a", long.clone(), String::new()),
        Call::Write("/memories/b", format!("head\n{long}tail\n")),
        Call::Replace("/memories/b", long.clone(), text("rest", 3_500)),
        Call::Write("/memories/c", long.clone()),
        Call::Replace("/memories/c", long, String::new()),
    ] {
        call.make(&store, &session).unwrap();
        call.apply(&mut model);
        assert_eq!(dump(&session).unwrap(), model);
    }
    for path in ["/memories/a", "/memories/b", "/memories/c"] {
        session.files().remove(path).unwrap();
    }
    make_commits(&session, 9);
    drop(session);
    store.assert_tidy("after the last commit");
}

/// Calls that share a commit each leave more behind than one long file. Reaping one of them a commit fell behind for
/// ever.
#[test]
fn reaping_keeps_up_with_many_files_of_middle_length() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    for number in 0..100 {
        session.files().write(&format!("/memories/d/{number}"), &text("x", 5_000)).unwrap();
    }
    session.files().remove("/memories/d").unwrap();
    make_commits(&session, 40);
    drop(session);
    store.assert_tidy("after the last commit");
}

/// Damage in an object that waits to be reaped left half of a change to it in the next commit, which was then refused
/// and halted the session.
#[test]
fn damaged_garbage_is_forgotten_and_stops_no_commit() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session.files().write("/memories/kept", "kept").unwrap();
    for part in 0..5 {
        let paths = (0..80).map(|file| format!("/memories/d/{part}{file:02}{}", "n".repeat(240)));
        session.write(|txn| paths.clone().try_for_each(|path| put(txn, &path, "text"))).unwrap();
    }
    drop(session);
    let nodes = store.records_of(Kind::FolderInner);
    assert!(nodes.len() > 9, "not a deep tree");
    for node in nodes.into_iter().chain(store.records_of(Kind::FolderLeaf)) {
        let store = store.duplicate();
        let address = store.address(node);
        store.tamper(|records| *records.get_mut(&address).unwrap().last_mut().unwrap() ^= 1);
        let session = store.unlock().unwrap();
        session.files().remove("/memories/d").unwrap();
        make_commits(&session, 30);
        drop(session);
        let session = store.unlock().unwrap();
        let kept = Model::from([("/memories/kept".to_owned(), "kept".to_owned())]);
        assert_eq!(dump(&session).unwrap(), kept);
        let waiting = store.reachable().len();
        assert_eq!(waiting, 4, "only root, two folders and the file: {node:?}");
    }
}

/// The folder of objects to reap was read at unlock, and damage to it made the whole store unusable.
#[test]
fn a_store_opens_and_takes_changes_when_its_system_folder_is_damaged() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session.files().write("/memories/a", "one").unwrap();
    session.files().write("/memories/long", &text("long", 9_000)).unwrap();
    drop(session);
    let address = store.address(RecordId::folder(store.root().system.id));
    store.tamper(|records| *records.get_mut(&address).unwrap().last_mut().unwrap() ^= 1);

    let session = store.unlock().unwrap();
    let files = session.files();
    files.write("/memories/a", "two").unwrap();
    files.write("/memories/b", "three").unwrap();
    assert_eq!(files.read("/memories/a").unwrap().as_str(), "two");
    // Only changes that would have to go through that folder are refused.
    let refused = files.remove("/memories/long").err().unwrap();
    assert_eq!(tampered(&refused), Some(("a folder", "does not authenticate")));
    assert_eq!(files.read("/memories/long").unwrap().as_str(), text("long", 9_000));
    files.remove("/memories/b").unwrap();
}

/// A bad page of the engine that held only discarded records failed the checkpoint that removed them, and then every unlock until a
/// repair.
#[test]
fn discarded_records_that_the_engine_cannot_read_stop_no_call_and_no_unlock() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session.files().write("/memories/kept", "x").unwrap();
    session.files().write("/memories/long", &text("line", 2_000_000)).unwrap();
    session.files().remove("/memories/long").unwrap();
    drop(session);
    let chunks = store.records_of(Kind::Chunk);
    let bad: HashSet<_> = chunks.iter().step_by(7).map(|id| store.address(*id)).collect();
    assert!(bad.len() > 50, "more than an unlock reaps at once");
    let watch = Watch::default();
    let unreadable = bad.clone();
    watch.make_unreadable(move |address| unreadable.contains(address));
    let session = unlock_on(WatchedStorage { inner: store.memory.clone(), watch }).unwrap();
    make_commits(&session, 80);
    drop(session);
    let mut left: HashSet<_> = store.values().into_keys().collect();
    for id in store.reachable().into_keys() {
        assert!(left.remove(&store.address(id)), "{id:?}");
    }
    assert_eq!(left, bad);
}
