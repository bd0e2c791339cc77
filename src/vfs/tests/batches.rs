//! Tests of the size of the engine's batches.

use std::time::Duration;

use super::model::{Call, dump, make_commits, parse, put, text};
use crate::session::tests::store::TestStore;
use crate::session::{HistorySettings, Session, StoreError};
use crate::vfs::edit;
use crate::vfs::error::FileError;
use inmost_format::limits::CHUNK_BYTES;
use inmost_format::limits::PATH_DEPTH;
use inmost_storage::limits::{BATCH_RECORDS, BATCH_RECORDS_MAX};

#[test]
fn no_batch_of_ordinary_work_exceeds_its_bound() {
    ordinary_work(HistorySettings::off());
}

#[test]
fn no_batch_of_ordinary_work_exceeds_its_bound_while_versions_are_kept_and_dropped() {
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    ordinary_work(HistorySettings::keep(month).max_bytes(1 << 20));
}

fn ordinary_work(history: HistorySettings) {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    session.history().set(history).unwrap();
    let files = session.files();
    let long = text("long", (16 << 20) - 100_000);
    files.write("/memories/long", &long).unwrap();
    edit::insert(&session, &parse("/memories/long"), 200_000, &text("new", 30_000)).unwrap();
    edit::insert(&session, &parse("/memories/long"), 100_000, &text("far", 60_000)).unwrap();
    files.write("/memories/long", "short").unwrap();
    for part in 0..334 {
        Call::Fill("/memories/d", 15 * part..15 * (part + 1)).make(&store, &session).unwrap();
    }
    for number in 0..40 {
        files.write(&format!("/memories/d/{number}/long"), &text("x", 6_000)).unwrap();
    }
    files.rename("/memories/d", "/memories/e/f").unwrap();
    files.remove("/memories/e").unwrap();
    make_commits(&session, 1_000);
    let seen = watch.seen();
    assert!(seen.most <= BATCH_RECORDS, "{seen:?}");
    assert_eq!(dump(&session).unwrap().len(), 1);
    drop(session);
    store.assert_tidy("at the end");
}

/// Prints the cost of the longest file, with `--nocapture`.
#[test]
fn the_longest_file_is_created_in_batches_within_the_bound_each_synced() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let long = text("long", (16 << 20) - 100);
    watch.reset();
    session.files().write("/memories/long", &long).unwrap();
    let seen = watch.seen();
    println!("create of {} bytes: {seen:?}", long.len());
    assert!(seen.most <= BATCH_RECORDS, "{seen:?}");
    assert_eq!(seen.batches, seen.syncs);
    assert!(seen.batches > long.len() / (BATCH_RECORDS * CHUNK_BYTES));
}

/// The root in every batch was not counted: the engine refused a change that exactly filled the bound, and the session
/// halted.
#[test]
fn a_call_at_the_bound_is_taken_or_refused_and_stops_nothing() {
    let store = TestStore::create();
    let long = text("long", 200_000);
    let call = |session: &Session, files: usize, last: usize| {
        session.write(|txn| {
            put(txn, "/memories/long", &long)?;
            (0..files).try_for_each(|file| put(txn, &format!("/memories/d/{file}"), ""))?;
            put(txn, "/memories/last", &"x".repeat(last))
        })
    };
    let fits = |files| call(&store.duplicate().unlock().unwrap(), files, 0).is_ok();
    let (mut least, mut most) = (0, 1_000);
    while most - least > 1 {
        let middle = usize::midpoint(least, most);
        *(if fits(middle) { &mut least } else { &mut most }) = middle;
    }
    let mut refused = 0;
    for files in least - 4..least + 4 {
        for last in [0, 300, 600, 1_200, 2_500] {
            let store = store.duplicate();
            let (session, watch) = store.unlock_watched();
            match call(&session, files, last) {
                Ok(()) => assert!(watch.seen().most <= BATCH_RECORDS_MAX),
                Err(FileError::Store(StoreError::TooLarge)) => refused += 1,
                Err(error) => panic!("{error}"),
            }
            session.files().write("/memories/next", "x").unwrap();
        }
    }
    assert!((1..40).contains(&refused));
}

/// Two branches of the greatest depth, with enough long names at each level to make every folder a tree.
fn deep_branches(names: usize) -> (TestStore, [String; 2]) {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let paths = ["a", "b"].map(|name| {
        let mut folder = "/memories".to_owned();
        for depth in 1..PATH_DEPTH {
            folder = format!("{folder}/{name}");
            for part in 0..names.div_ceil(20) {
                let paths = (part * 20..names.min((part + 1) * 20))
                    .map(|number| format!("{folder}/{}{number:04}", "n".repeat(240)));
                session
                    .write(|txn| paths.clone().try_for_each(|path| put(txn, &path, "")))
                    .unwrap_or_else(|error| panic!("level {depth}: {error}"));
            }
        }
        folder
    });
    (store, paths)
}

/// A rename between the two changes a head, inner nodes and a leaf in each of 38 folders.
#[test]
fn a_rename_between_deep_branches_stays_within_its_bound() {
    let (store, [from, to]) = deep_branches(60);
    let session = store.unlock().unwrap();
    // An entry of the history is part of it.
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    session.history().set(HistorySettings::keep(month)).unwrap();
    let files = session.files();
    files.write(&format!("{from}/moved"), "x").unwrap();
    drop(session);
    let (session, watch) = store.unlock_watched();
    session.files().rename(&format!("{from}/moved"), &format!("{to}/moved")).unwrap();
    let seen = watch.seen();
    assert_eq!(seen.batches, 1);
    assert!(seen.most > BATCH_RECORDS, "the tree is too small for this test: {seen:?}");
    assert!(seen.most <= BATCH_RECORDS_MAX, "{seen:?}");
    assert_eq!(session.files().read(&format!("{to}/moved")).unwrap().as_str(), "x");
}

/// The largest possible rename and edit, with 500 long names at each of 2 x 19 levels. Run it with `cargo test
/// --release --lib deepest -- --ignored --nocapture`.
#[test]
#[ignore = "makes 19,000 files"]
fn a_change_in_the_deepest_branches_is_taken_or_refused() {
    let (store, [from, to]) = deep_branches(500);
    let (session, watch) = store.unlock_watched();
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    session.history().set(HistorySettings::keep(month)).unwrap();
    session.files().write(&format!("{from}/moved"), &text("x", 30_000)).unwrap();
    println!("create: {:?}", watch.seen());
    watch.reset();
    let moved = session.files().rename(&format!("{from}/moved"), &format!("{to}/moved"));
    println!("rename: {moved:?}, {:?}", watch.seen());
    assert!(watch.seen().most <= BATCH_RECORDS_MAX);
    session.files().write(&format!("{from}/next"), "x").unwrap();
}
