//! Tests of the writer queue.

use std::thread;

use super::*;
use crate::session::Exclusive;
use crate::session::sync::write;
use crate::session::tests::store::{TestStore, unlock_on};
use inmost_engines::faulty::{Fault, FaultyStorage};
use inmost_storage::StorageError;

/// A long write stored the group of other callers before it began, met a full disk, and told only its own caller. The
/// others returned as if their calls were durable.
#[test]
fn calls_that_an_exclusive_writer_finds_refused_return_the_refusal() {
    let storage = FaultyStorage::new(TestStore::create().memory);
    let faults = storage.faults();
    faults.set_error(|| StorageError::Full);
    let session = unlock_on(storage).unwrap();
    let leader = session.lead();
    thread::scope(|scope| {
        let call = scope.spawn(|| {
            session.write(|txn| {
                txn.skip_commits(9)?;
                Ok::<_, StoreError>(())
            })
        });
        while lock(&session.inner.queue).group.is_empty() {
            thread::yield_now();
        }
        // The first operation of a session's first commit writes the anchor again.
        faults.set(faults.operations() + 2, Fault::Refused);
        let mut exclusive = Exclusive::new(&session);
        let flushed = exclusive.flush();
        assert!(matches!(flushed, Err(StoreError::DiskFull)), "{flushed:?}");
        drop((exclusive, leader));
        let returned = call.join().unwrap();
        assert!(matches!(returned, Err(StoreError::DiskFull)), "{returned:?}");
    });
}

/// A rewrite of a vault in a database holds the state while it reports its progress. A binding that asked from there, with the
/// lock of its interpreter, waited for ever.
#[test]
fn whether_a_session_is_locked_is_known_at_once() {
    let session = TestStore::create().unlock().unwrap();
    let state = write(&session.inner.state);
    assert!(!session.is_locked());
    drop(state);
    session.lock();
    let _state = write(&session.inner.state);
    assert!(session.is_locked());
}
