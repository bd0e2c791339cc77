//! Tests of calls that share commits, beside other writers.

use std::thread;

use super::many::as_new;
use super::model::{Model, dump, put, text};
use crate::session::StoreError;
use crate::session::tests::store::TestStore;
use crate::vfs::error::FileError;
use inmost_storage::limits::BATCH_RECORDS;

/// Another thread closes the group of a series between two of its calls, and the group is refused.
#[test]
fn a_series_learns_that_its_group_was_refused_before_its_next_call() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let call = session.series(|series| {
        series.run(|txn| put(txn, "/memories/first", "x"))?;
        watch.be_full_after(0);
        let other = session.files().write("/memories/other", "x");
        assert!(matches!(other, Err(FileError::Store(StoreError::DiskFull))));
        series.run(|txn| put(txn, "/memories/second", "x"))
    });
    assert!(matches!(call, Err(FileError::Store(StoreError::DiskFull))), "{call:?}");
    assert_eq!(dump(&session).unwrap(), Model::new());
    session.files().write("/memories/next", "x").unwrap();
}

#[test]
fn another_writer_does_not_wait_for_the_end_of_a_series() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let together = session.series(|series| {
        series.run(|txn| put(txn, "/memories/first", "x"))?;
        // Returns only when it is durable, and the first file with it.
        thread::scope(|scope| {
            let other = scope.spawn(|| session.files().write("/memories/other", "x"));
            other.join().unwrap()
        })?;
        let read = session.files().read("/memories/first")?;
        series.run(|txn| put(txn, "/memories/second", "x"))?;
        Ok::<_, FileError>(read)
    });
    assert_eq!(together.unwrap().as_str(), "x");
    store.memory.crash();
    drop(session);
    let expected =
        ["first", "other", "second"].map(|name| (format!("/memories/{name}"), "x".into()));
    assert_eq!(dump(&store.unlock().unwrap()).unwrap(), Model::from(expected));
}

#[test]
fn series_of_several_threads_are_all_durable() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let many = |thread: usize| -> Vec<(String, String)> {
        let long = if thread == 0 { 40_000 } else { 10 };
        let path = |number| format!("/memories/{}/{thread}-{number}", number % 7);
        (0..60)
            .map(|number| (path(number), text("x", if number == 9 { long } else { 9 })))
            .collect()
    };
    thread::scope(|scope| {
        for thread in 0..4 {
            let session = &session;
            scope.spawn(move || {
                let files = many(thread);
                let results = session.files().write_many(&as_new(&files)).unwrap();
                assert!(results.iter().all(Result::is_ok));
            });
        }
    });
    store.memory.crash();
    drop(session);
    let expected = (0..4).flat_map(many).collect();
    assert_eq!(dump(&store.unlock().unwrap()).unwrap(), expected);
}

#[test]
fn records_of_replaced_files_are_reaped_as_fast_as_they_are_discarded() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let all = |name: &str| -> Vec<(String, String)> {
        (0..200).map(|number| (format!("/memories/{number}"), text(name, 9_000))).collect()
    };
    session.files().write_many(&as_new(&all("before"))).unwrap();
    let records = store.values().len();
    session.files().write_many(&as_new(&all("after"))).unwrap();
    let after = store.values().len();
    assert!(after < records + 4 * BATCH_RECORDS, "{records} records became {after}");
    assert_eq!(dump(&session).unwrap(), all("after").into_iter().collect());
}
