//! Tests of texts that are sealed before their group is closed.

use std::thread;
use std::time::{Duration, Instant};

use super::model::text;
use crate::session::tests::store::TestStore;
use crate::session::{Session, StoreError};
use inmost_storage::Address;

/// Waits until a record of the open group is sealed.
pub(super) fn wait_for_seal(session: &Session) -> (Address, Vec<u8>) {
    let mut sealed = None;
    wait_until(|| {
        sealed = session.sealed_early().pop();
        sealed.is_some()
    });
    sealed.unwrap()
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "it did not come");
        thread::yield_now();
    }
}

#[test]
fn a_text_that_its_caller_has_sealed_is_stored_as_it_is() {
    let session = TestStore::create().unlock().unwrap();
    session.expect_calls(2);
    let (address, value) = thread::scope(|scope| {
        scope.spawn(|| session.files().write("/memories/first", "x").unwrap());
        let sealed = wait_for_seal(&session);
        session.files().write("/memories/last", "x").unwrap();
        sealed
    });
    let stored = session.read(|open| Ok::<_, StoreError>(open.engine().get_many(&[address])?));
    assert!(stored.unwrap() == [Some(value)]);
    assert_eq!(session.files().list("/memories").unwrap().len(), 2);
}

/// The head of a short file is a leaf, and that of a long one is not. Both are in the same record.
#[test]
fn a_text_that_a_later_call_of_the_group_changes_is_not_stored() {
    for later in ["y\n", &text("y", 20_000)] {
        let store = TestStore::create();
        let session = store.unlock().unwrap();
        session.files().write("/memories/notes", "w\n").unwrap();
        let append = |text| session.files().append("/memories/notes", text).unwrap();
        session.expect_calls(3);
        thread::scope(|scope| {
            scope.spawn(|| append("x\n"));
            wait_for_seal(&session);
            scope.spawn(|| append(later));
            wait_until(|| session.joined_calls() == 2);
            session.files().write("/memories/last", "x").unwrap();
        });
        session.lock();
        let read = store.unlock().unwrap().files().read("/memories/notes").unwrap();
        assert_eq!(read.as_str(), format!("w\nx\n{later}"));
    }
}
