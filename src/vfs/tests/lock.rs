//! Tests of locking with many threads, and of dropping a session without locking it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::model::{Model, dump, text};
use crate::session::tests::store::TestStore;
use crate::session::{SessionOptions, StoreError};
use crate::vfs::error::FileError;

fn is_locked<T>(result: &Result<T, FileError>) -> bool {
    matches!(result, Err(FileError::Store(StoreError::Locked)))
}

#[test]
fn a_lock_keeps_acknowledged_calls_and_refuses_the_rest() {
    for round in 0..6 {
        let store = TestStore::create();
        let session = store.unlock().unwrap();
        let acknowledged = Mutex::new(Model::new());
        let count = AtomicUsize::new(0);
        let write = |writer: usize, bytes: usize| {
            for number in 0.. {
                let path = format!("/memories/{writer}/{number}");
                let text = text(&path, bytes);
                match session.files().write(&path, &text) {
                    Ok(()) => drop(acknowledged.lock().unwrap().insert(path, text)),
                    refused => return assert!(is_locked(&refused), "{refused:?}"),
                }
                count.fetch_add(1, Ordering::SeqCst);
            }
        };
        let read = || {
            loop {
                match session.files().list("/memories") {
                    Ok(entries) => assert!(entries.len() <= 5),
                    refused => return assert!(is_locked(&refused), "{refused:?}"),
                }
            }
        };
        thread::scope(|scope| {
            for writer in 0..4 {
                scope.spawn(move || write(writer, 100));
            }
            scope.spawn(|| write(4, 90_000));
            scope.spawn(read);
            while count.load(Ordering::SeqCst) < 10 * round + 1 {
                thread::yield_now();
            }
            session.clone().lock();
            assert!(session.is_locked());
            // The store is released although handles of the session still exist.
            drop(store.unlock().unwrap());
        });
        assert!(is_locked(&session.files().read("/memories/0/0")));
        session.lock();
        store.memory.crash();
        let found = dump(&store.unlock().unwrap()).unwrap();
        assert!(found == acknowledged.into_inner().unwrap(), "round {round}");
        store.assert_tidy("after the lock");
    }
}

#[test]
fn a_session_that_is_dropped_lets_go_and_loses_nothing() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session.files().write("/memories/a", "x").unwrap();
    assert!(matches!(store.unlock().err(), Some(StoreError::InUse(_))));
    drop(session);
    store.memory.crash();
    let session = store.unlock().unwrap();
    assert_eq!(dump(&session).unwrap(), BTreeMap::from([("/memories/a".into(), "x".into())]));
}

#[test]
fn the_first_call_after_a_suspend_is_too_late() {
    let hour = Duration::from_secs(3_600);
    let session = SessionOptions::new().idle_lock(hour).in_memory().unwrap();
    session.suspend(hour / 2);
    session.files().write("/memories/a", "x").unwrap();
    session.suspend(hour);
    assert!(is_locked(&session.files().read("/memories/a")));
    assert!(session.is_locked());
}

#[test]
fn an_idle_session_locks_itself_and_one_in_use_does_not() {
    let limit = Duration::from_secs(2);
    // Where a busy machine has kept the uses too far apart, it tries again.
    let used = (0..20).find_map(|_| {
        let session = SessionOptions::new().idle_lock(limit).in_memory().unwrap();
        let (since, mut last, mut longest) = (Instant::now(), Instant::now(), Duration::ZERO);
        while since.elapsed() < 2 * limit {
            let used = session.files().list("/memories");
            longest = longest.max(last.elapsed());
            last = Instant::now();
            if used.is_err() {
                assert!(longest > limit / 2, "it locks while it is used: {longest:?}");
                return None;
            }
            thread::sleep(limit / 20);
        }
        Some((session, since))
    });
    let (session, since) = used.expect("the machine is too busy");
    // A long purge is not interrupted.
    session
        .exclusive::<_, StoreError>(|_| {
            thread::sleep(2 * limit);
            Ok(())
        })
        .unwrap();
    assert!(!session.is_locked());
    while !session.is_locked() {
        assert!(since.elapsed() < 50 * limit, "it does not lock");
        // Status calls do not count as use.
        let _ = session.status();
        thread::sleep(limit / 20);
    }
    assert!(is_locked(&session.files().read("/memories/a")));
}
