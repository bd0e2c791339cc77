//! Tests of shared commits: calls from many threads share a commit, and none pays for the failure of another.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::model::{Model, dump, put, text};
use crate::session::tests::store::TestStore;
use crate::session::tests::watched::{Panics, Seen};
use crate::session::{Session, StoreError, Txn};
use crate::vfs::error::FileError;
use inmost_format::record::node::Text;
use inmost_format::record::{Kind, Node, NodeSink, NodeSource, ObjectId, RecordId};
use inmost_storage::limits::BATCH_RECORDS_MAX;

/// A call that makes one file and counts its runs. Once it has counted, it is in a group before the queue is free
/// again.
fn make(session: &Session, path: &str, text: &str, runs: &AtomicUsize) -> Result<(), FileError> {
    session.write(|txn| {
        let made = put(txn, path, text);
        runs.fetch_add(1, Ordering::SeqCst);
        made
    })
}

fn wait_for(runs: &AtomicUsize, count: usize) {
    while runs.load(Ordering::SeqCst) < count {
        thread::yield_now();
    }
}

/// Waits until so many calls have joined the open group.
pub(super) fn wait_for_calls(session: &Session, count: usize) {
    while session.joined_calls() < count {
        thread::yield_now();
    }
}

fn is_halted<T>(result: &Result<T, FileError>) -> bool {
    matches!(result, Err(FileError::Store(StoreError::Halted)))
}

#[test]
fn calls_that_wait_together_share_a_commit_and_survive_a_crash() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let runs = AtomicUsize::new(0);
    watch.hold();
    thread::scope(|scope| {
        scope.spawn(|| make(&session, "/memories/first", "x", &runs).unwrap());
        watch.wait_for_sync();
        for number in 0..8 {
            let (session, runs) = (&session, &runs);
            scope.spawn(move || {
                make(session, &format!("/memories/d/{number}"), "x", runs).unwrap();
            });
        }
        wait_for(&runs, 9);
        assert_eq!(watch.seen().batches, 1, "one batch at a time");
        watch.release();
    });
    let Seen { batches, syncs, .. } = watch.seen();
    assert_eq!((batches, syncs), (2, 2));

    store.memory.crash();
    drop(session);
    assert_eq!(dump(&store.unlock().unwrap()).unwrap().len(), 9);
    store.assert_tidy("after the crash");
}

#[test]
fn acknowledged_calls_of_many_threads_survive_a_crash() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    thread::scope(|scope| {
        for number in 0..8 {
            let session = &session;
            scope.spawn(move || {
                for file in 0..25 {
                    let path = format!("/memories/{number}/{file}");
                    session.files().write(&path, &text("x", 10 * file)).unwrap();
                }
            });
        }
    });
    store.memory.crash();
    assert!(is_halted(&session.files().write("/memories/late", "x")));
    assert!(is_halted(&session.files().list("/memories")));
    drop(session);
    assert_eq!(dump(&store.unlock().unwrap()).unwrap().len(), 200);
}

#[test]
fn the_last_expected_call_commits_for_the_one_that_waits() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let runs = AtomicUsize::new(0);
    // Without an end of the wait: if nobody commits, the test hangs.
    session.expect_calls(2);
    thread::scope(|scope| {
        scope.spawn(|| make(&session, "/memories/first", "x", &runs).unwrap());
        wait_for(&runs, 1);
        make(&session, "/memories/last", "x", &runs).unwrap();
    });
    assert_eq!(watch.seen().batches, 1);
    assert_eq!(dump(&session).unwrap().len(), 2);
}

/// The head of a short file is a leaf, and that of a long one is not. Both are in the same record.
#[test]
fn of_calls_that_change_one_file_in_one_group_the_last_text_is_stored() {
    for later in ["y\n", &text("y", 20_000)] {
        let store = TestStore::create();
        let session = store.unlock().unwrap();
        session.files().write("/memories/notes", "w\n").unwrap();
        let append = |text| session.files().append("/memories/notes", text).unwrap();
        session.expect_calls(3);
        thread::scope(|scope| {
            scope.spawn(|| append("x\n"));
            wait_for_calls(&session, 1);
            scope.spawn(|| append(later));
            wait_for_calls(&session, 2);
            session.files().write("/memories/last", "x").unwrap();
        });
        session.lock();
        let read = store.unlock().unwrap().files().read("/memories/notes").unwrap();
        assert_eq!(read.as_str(), format!("w\nx\n{later}"));
    }
}

#[test]
fn several_steps_in_a_row_do_not_wait_for_expected_calls() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let runs = AtomicUsize::new(0);
    session.expect_calls(2);
    thread::scope(|scope| {
        scope.spawn(|| make(&session, "/memories/first", "x", &runs).unwrap());
        wait_for(&runs, 1);
        session.exclusive(|steps| steps.commit(|txn| put(txn, "/memories/step", "x"))).unwrap();
    });
    assert_eq!(dump(&session).unwrap().len(), 2);
}

/// A journal whose halves are both full waits for a checkpoint, which takes milliseconds.
#[test]
fn readers_go_on_while_a_commit_waits_for_room() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    session.files().write("/memories/old", "x").unwrap();
    watch.hold_room();
    thread::scope(|scope| {
        scope.spawn(|| session.files().write("/memories/new", "x").unwrap());
        watch.wait_for_batch();
        let (sender, receiver) = channel();
        let read = || session.files().read("/memories/old");
        scope.spawn(move || sender.send(read()).unwrap());
        let read = receiver.recv_timeout(Duration::from_secs(60));
        watch.free_room();
        assert_eq!(read.unwrap().unwrap().as_str(), "x");
    });
    assert_eq!(dump(&session).unwrap().len(), 2);
}

#[test]
fn a_failing_call_takes_nothing_with_it() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let runs = AtomicUsize::new(0);
    watch.hold();
    thread::scope(|scope| {
        scope.spawn(|| make(&session, "/memories/first", "x", &runs).unwrap());
        watch.wait_for_sync();
        scope.spawn(|| make(&session, "/memories/good", "x", &runs).unwrap());
        wait_for(&runs, 2);
        scope.spawn(|| {
            let failed = session.write(|txn| {
                put(txn, "/memories/good", "overwritten")?;
                put(txn, "/memories/bad", "x")?;
                runs.fetch_add(1, Ordering::SeqCst);
                Err::<(), _>(FileError::NoMatch { near: None })
            });
            assert!(matches!(failed, Err(FileError::NoMatch { .. })));
        });
        wait_for(&runs, 3);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            session.write(|txn| -> Result<(), FileError> {
                put(txn, "/memories/bad", "x")?;
                panic!("a panic that a test asked for")
            })
        }));
        assert!(panicked.is_err());
        scope.spawn(|| make(&session, "/memories/other", "x", &runs).unwrap());
        wait_for(&runs, 4);
        watch.release();
    });
    assert_eq!(watch.seen().batches, 2);
    let expected = ["first", "good", "other"].map(|name| (format!("/memories/{name}"), "x".into()));
    assert_eq!(dump(&session).unwrap(), Model::from(expected));
}

#[test]
fn a_call_that_does_not_fit_the_group_waits_and_is_worked_out_again() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let (runs, again) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let long = text("x", 60_000);
    watch.hold();
    thread::scope(|scope| {
        scope.spawn(|| make(&session, "/memories/first", "x", &runs).unwrap());
        watch.wait_for_sync();
        scope.spawn(|| make(&session, "/memories/one", &long, &runs).unwrap());
        wait_for(&runs, 2);
        scope.spawn(|| make(&session, "/memories/two", &long, &again).unwrap());
        wait_for(&again, 1);
        watch.release();
    });
    assert_eq!((runs.into_inner(), again.into_inner()), (2, 2));
    assert_eq!(watch.seen().batches, 3);
    assert_eq!(dump(&session).unwrap().len(), 3);
}

#[test]
fn a_panic_in_the_engine_acknowledges_nothing_and_halts() {
    for at in [Panics::BeforeApply, Panics::AfterApply] {
        let store = TestStore::create();
        let (session, watch) = store.unlock_watched();
        session.files().write("/memories/kept", "x").unwrap();
        watch.reset();
        let runs = AtomicUsize::new(0);
        watch.hold();
        thread::scope(|scope| {
            scope.spawn(|| make(&session, "/memories/first", "x", &runs).unwrap());
            watch.wait_for_sync();
            let calls: Vec<_> = (0..4)
                .map(|number| {
                    let (session, runs) = (&session, &runs);
                    scope.spawn(move || make(session, &format!("/memories/{number}"), "x", runs))
                })
                .collect();
            wait_for(&runs, 5);
            watch.panic_at(at);
            watch.release();
            let results: Vec<_> = calls.into_iter().map(thread::ScopedJoinHandle::join).collect();
            assert_eq!(results.iter().filter(|result| result.is_err()).count(), 1, "the leader");
            assert!(results.into_iter().flatten().all(|result| is_halted(&result)));
        });
        assert!(is_halted(&session.files().read("/memories/kept")));
        drop(session);
        store.memory.crash();
        let mut model = dump(&store.unlock().unwrap()).unwrap();
        assert_eq!(model.remove("/memories/first").as_deref(), Some("x"), "was acknowledged");
        assert_eq!(model, Model::from([("/memories/kept".to_owned(), "x".to_owned())]));
    }
}

#[test]
fn a_panic_while_syncing_acknowledges_nothing_and_halts() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    watch.panic_at(Panics::InSync);
    let call = catch_unwind(AssertUnwindSafe(|| session.files().write("/memories/a", "x")));
    assert!(call.is_err());
    assert!(is_halted(&session.files().read("/memories/a")));
    assert!(is_halted(&session.files().write("/memories/b", "x")));
    drop(session);
    store.memory.crash();
    assert!(dump(&store.unlock().unwrap()).unwrap().is_empty());
}

/// The calls of the refused group were acknowledged: they waited for a commit, and the next one was empty.
#[test]
fn a_group_that_an_exclusive_writer_finds_no_room_for_is_not_acknowledged() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let call = session.series(|series| {
        series.run(|txn| put(txn, "/memories/lost", "x"))?;
        watch.be_full_after(0);
        let exclusive = session.exclusive(|_| Ok::<_, StoreError>(()));
        assert!(matches!(exclusive, Err(StoreError::DiskFull)));
        Ok::<_, FileError>(())
    });
    assert!(matches!(call, Err(FileError::Store(StoreError::DiskFull))), "{call:?}");
    session.files().write("/memories/next", "x").unwrap();
    assert_eq!(dump(&session).unwrap().len(), 1);
}

/// The error named a file that was never stored: it was returned before the group was.
#[test]
fn an_error_that_rests_on_a_call_that_is_not_stored_is_not_returned() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let runs = AtomicUsize::new(0);
    watch.hold();
    thread::scope(|scope| {
        scope.spawn(|| make(&session, "/memories/first", "x", &runs).unwrap());
        watch.wait_for_sync();
        let made = scope.spawn(|| make(&session, "/memories/file", "x", &runs));
        wait_for(&runs, 2);
        let refused = scope.spawn(|| {
            session.write(|_| {
                runs.fetch_add(1, Ordering::SeqCst);
                Err(FileError::NoMatch { near: None })
            })
        });
        wait_for(&runs, 3);
        watch.be_full_for(2);
        watch.release();
        for result in [made, refused].map(thread::ScopedJoinHandle::join) {
            assert!(matches!(result.unwrap(), Err(FileError::Store(StoreError::DiskFull))));
        }
    });
    assert_eq!(dump(&session).unwrap().len(), 1);
}

/// The call saw the file of a group that was applied and not synced. It returned before the sync, and a power cut then took the file
/// that it had reported.
#[test]
fn a_call_that_changes_nothing_waits_for_the_group_that_its_result_rests_on() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let runs = AtomicUsize::new(0);
    watch.hold();
    thread::scope(|scope| {
        scope.spawn(|| make(&session, "/memories/first", "x", &runs).unwrap());
        watch.wait_for_sync();
        let (send, returned) = channel();
        let (session, runs) = (&session, &runs);
        scope.spawn(move || {
            let refused = session.write(|_| {
                runs.fetch_add(1, Ordering::SeqCst);
                Err::<(), _>(FileError::AlreadyExists)
            });
            send.send(matches!(refused, Err(FileError::AlreadyExists))).unwrap();
        });
        wait_for(runs, 2);
        let early = returned.recv_timeout(Duration::from_millis(200));
        watch.release();
        assert!(early.is_err(), "it did not wait");
        assert!(returned.recv().unwrap());
    });
}

/// Chunks of an orphaned object.
fn put_orphans(txn: &mut Txn<'_>, count: usize) {
    for index in (0..).take(count) {
        let id = RecordId { kind: Kind::Chunk, object: ObjectId([0xdd; 16]), index };
        txn.put(id, Node::Chunk(Text::new("x").into()));
    }
}

#[test]
fn a_call_that_changes_nothing_makes_no_commit() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let commit = session.status().unwrap().commit;
    assert_eq!(session.write(|_| Ok::<_, FileError>(7)).unwrap(), 7);
    let alone = session.exclusive(|alone| alone.commit(|_| Ok::<_, FileError>(8)));
    assert_eq!(alone.unwrap(), 8);
    assert_eq!(watch.seen(), Seen::default());
    assert_eq!(session.status().unwrap().commit, commit);
}

#[test]
fn a_step_that_is_too_large_for_any_batch_is_refused_and_changes_nothing() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    // With the root that is one record too many.
    let alone = session.exclusive(|alone| {
        alone.commit(|txn| {
            put_orphans(txn, BATCH_RECORDS_MAX);
            Ok::<(), FileError>(())
        })
    });
    assert!(matches!(alone, Err(FileError::Store(StoreError::TooLarge))));
    let shared = session.write(|txn| {
        put_orphans(txn, BATCH_RECORDS_MAX);
        Ok::<(), FileError>(())
    });
    assert!(matches!(shared, Err(FileError::Store(StoreError::TooLarge))));
    assert_eq!(watch.seen(), Seen::default());
    session.files().write("/memories/next", "x").unwrap();
    assert_eq!(dump(&session).unwrap().len(), 1);
}

/// A change of the store that need not be consistent.
type Change = fn(&mut Txn<'_>);

/// Either would leave a store that only appears intact: a record without a parent, or a parent without its record.
#[test]
fn a_change_that_does_not_hang_together_is_not_committed() {
    let changes: [(Change, &str, &str); 2] = [
        (
            |txn| put_orphans(txn, 1),
            "a part of a long file",
            "is not the version its parent refers to",
        ),
        (
            |txn| {
                let tree = txn.root().unwrap().tree;
                txn.remove(RecordId::folder(tree.id));
                let gone = txn.load(RecordId::folder(tree.id), &tree.tag);
                assert!(gone.is_err(), "a call sees what it has removed");
            },
            "a folder",
            "is missing",
        ),
    ];
    for (change, expected_what, expected_how) in changes {
        let store = TestStore::create();
        let (session, watch) = store.unlock_watched();
        session.files().write("/memories/kept", "x").unwrap();
        watch.reset();
        let result = session.write(|txn| {
            change(txn);
            Ok::<(), FileError>(())
        });
        let Err(FileError::Store(StoreError::Tampered { what, how })) = result else {
            panic!("{result:?}")
        };
        assert_eq!((what, how), (expected_what, expected_how));
        assert_eq!(watch.seen(), Seen::default());
        assert!(is_halted(&session.files().write("/memories/late", "x")));
        drop(session);
        assert_eq!(dump(&store.unlock().unwrap()).unwrap().len(), 1);
        store.assert_tidy(what);
    }
}
