//! Changes of keyslots on a full disk.

use inmost_format::header::NewSlot;
use inmost_format::header::fixtures::TINY;

use std::sync::Arc;

use crate::session::tests::store::{TestStore, options, passphrase};
use crate::session::tests::watched::Watch;
use crate::session::{Session, StoreError};

fn add_slot(session: &Session) -> Result<u8, StoreError> {
    session.add_slot(&NewSlot::new(&passphrase()).kdf_cost(TINY))
}

fn slots(session: &Session) -> usize {
    session.slots().unwrap().len()
}

/// The header was written first, so the session halted.
#[test]
fn a_change_that_has_no_room_is_refused_and_changes_nothing() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    session.files().write("/memories/a", "text").unwrap();
    watch.be_full_for(1);
    assert!(matches!(add_slot(&session), Err(StoreError::DiskFull)));
    assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "text");
    assert_eq!(slots(&session), 1);
    add_slot(&session).unwrap();
    drop(session);
    assert_eq!(slots(&store.unlock().unwrap()), 2);
}

/// A store whose header is one change ahead of its records, which a crash or a disk that got full in between leaves behind.
fn ahead() -> TestStore {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    session.files().write("/memories/a", "text").unwrap();
    watch.be_full_after(1);
    assert!(matches!(add_slot(&session), Err(StoreError::DiskFull)));
    assert!(matches!(session.status(), Err(StoreError::Halted)));
    drop(session);
    store
}

fn unlock_full(store: &TestStore) -> (Session, Watch) {
    let watch = Watch::default();
    watch.be_full_for(usize::MAX);
    (store.unlock_watched_by(&watch).unwrap(), watch)
}

#[test]
fn a_store_whose_header_is_ahead_opens_on_a_full_disk_as_often_as_needed() {
    let store = ahead();
    for _ in 0..3 {
        let (session, _) = unlock_full(&store);
        assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "text");
        assert_eq!(slots(&session), 2);
        // A header after this one would not be known to the records.
        assert!(matches!(add_slot(&session), Err(StoreError::DiskFull)));
    }
    let session = store.unlock().unwrap();
    assert_eq!((slots(&session), session.status().unwrap().files), (2, 1));
}

#[test]
fn the_first_change_that_has_room_names_the_header() {
    let changes: [fn(&Session); 2] = [
        |session| session.files().write("/memories/b", "text").unwrap(),
        |session| _ = add_slot(session).unwrap(),
    ];
    for change in changes {
        let store = ahead();
        let (session, watch) = unlock_full(&store);
        watch.be_full_for(0);
        change(&session);
        drop(session);
        let header = store.keys().header().id();
        assert_eq!(store.root().header, header);
        assert!(store.unlock().unwrap().check().unwrap().is_clean());
    }
}

/// The mark named the header that was not bound yet, so the store counted as rolled back at the next unlock.
#[test]
fn the_mark_of_a_session_without_room_is_that_of_the_stored_root() {
    let store = ahead();
    let (session, watch) = unlock_full(&store);
    let mark = session.mark().unwrap();
    let unlock = || {
        let options = options().at_least(mark.clone());
        let vault = options.open_storage(Arc::new(store.memory.duplicate()));
        vault.unwrap().unlock(&passphrase()).map(drop)
    };
    unlock().unwrap();
    watch.be_full_for(0);
    session.files().write("/memories/b", "text").unwrap();
    drop(session);
    unlock().unwrap();
}
