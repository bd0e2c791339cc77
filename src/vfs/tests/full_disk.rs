//! Tests of a disk that takes no batch which adds records: the oldest texts of the history go first.

use std::thread;

use super::commit::wait_for_calls;
use super::versions::{assert_whole, keeps, log};
use crate::session::tests::store::{TestStore, passphrase};
use crate::session::tests::watched::Watch;
use crate::session::{ExpirySettings, HistorySettings, Session, StoreError};
use crate::vfs::error::FileError;
use inmost_format::header::NewSlot;
use inmost_format::header::fixtures::TINY;

fn filled(texts: usize) -> (TestStore, Session, Watch) {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let session = keeps(session);
    for number in 0..texts {
        let path = format!("/memories/{}", number % 3);
        session.files().write(&path, &format!("{number}\n").repeat(50)).unwrap();
    }
    (store, session, watch)
}

fn texts(session: &Session) -> Vec<u64> {
    let numbers = log(session).into_iter().map(|version| version.number);
    numbers.filter(|number| session.history().text(*number).is_ok()).collect()
}

fn is_full(result: &Result<(), FileError>) -> bool {
    matches!(result, Err(FileError::Store(StoreError::DiskFull)))
}

#[test]
fn the_oldest_texts_make_room_for_a_change_on_a_full_disk() {
    let (_store, session, watch) = filled(30);
    let before = texts(&session);
    watch.take_nothing_more(true);
    session.files().write("/memories/new", "a new file").unwrap();
    session.files().write("/memories/0", "a new text").unwrap();
    let after = texts(&session);
    let kept: Vec<u64> = before.iter().copied().filter(|number| after.contains(number)).collect();
    // Those that are gone are the oldest, and no more than needed.
    assert!(kept.len() >= before.len() - 6 && kept.len() < before.len(), "{}", kept.len());
    assert_eq!(kept, before[..kept.len()]);
    assert_eq!(session.files().read("/memories/new").unwrap().as_str(), "a new file");
    assert_whole(&session, "on the full disk");
}

#[test]
fn a_full_disk_refuses_when_the_history_has_no_text_left() {
    let (_store, session, watch) = filled(12);
    watch.take_nothing_more(true);
    let mut written = 0;
    let refused = loop {
        let done = session.files().write(&format!("/memories/new{written}"), "text");
        if done.is_err() {
            break done;
        }
        written += 1;
    };
    assert!(is_full(&refused), "{refused:?}");
    assert!((5..=12).contains(&written), "{written}");
    let current = session.files().list("/memories").unwrap();
    assert_eq!(current.len(), 3 + written);
    // The session goes on, and what needs no room is possible.
    session.history().set(HistorySettings::off()).unwrap();
    session.files().remove("/memories/0").unwrap();
    session.files().write("/memories/1", "another text").unwrap();
    watch.take_nothing_more(false);
    session.files().write("/memories/again", "text").unwrap();
    assert_whole(&session, "with room");
}

#[test]
fn a_disk_that_takes_nothing_costs_no_text() {
    let (_store, session, watch) = filled(30);
    let before = texts(&session);
    // The next batch, and the one that would make room.
    for _ in 0..2 {
        watch.be_full_for(2);
        assert!(is_full(&session.files().write("/memories/new", "a new file")));
    }
    assert_eq!(texts(&session), before);
    session.files().write("/memories/new", "a new file").unwrap();
    assert_eq!(texts(&session).len(), before.len() + 1);
}

#[test]
fn a_group_that_makes_room_is_stored_as_a_whole() {
    let (_store, session, watch) = filled(30);
    session.expect_calls(2);
    watch.be_full_for(1);
    thread::scope(|scope| {
        scope.spawn(|| session.files().write("/memories/first", "one").unwrap());
        wait_for_calls(&session, 1);
        session.files().write("/memories/second", "two").unwrap();
    });
    for (path, text) in [("/memories/first", "one"), ("/memories/second", "two")] {
        assert_eq!(session.files().read(path).unwrap().as_str(), text);
    }
    assert_whole(&session, "after the refusal");
}

#[test]
fn a_long_text_makes_room_piece_by_piece() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let session = keeps(session);
    let long = "A line of a long text.\n".repeat(20_000);
    session.files().write("/memories/long", &long).unwrap();
    session.files().remove("/memories/long").unwrap();
    watch.take_nothing_more(true);
    // Some 115 records can go. The new text needs half of them, in several steps.
    let half = "A word of a long text.\n".repeat(10_000);
    session.files().write("/memories/new", &half).unwrap();
    watch.take_nothing_more(false);
    assert!(session.files().read("/memories/new").unwrap().as_str().contains("word"));
    assert_whole(&session, "afterwards");
}

/// The reading needed a new record, so every change that needed none was refused as long as it waited, and a new keyslot halted the
/// session.
#[test]
fn a_reading_that_has_no_room_keeps_no_change_out() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    session.expiry().set(ExpirySettings::record()).unwrap();
    session.files().write("/memories/a", "one").unwrap();
    watch.take_nothing_more(true);
    session.files().read("/memories/a").unwrap();
    session.files().write("/memories/a", "two").unwrap();
    assert!(is_full(&session.files().write("/memories/b", "new")));
    session.add_slot(&NewSlot::new(&passphrase()).kdf_cost(TINY)).unwrap();
    assert_eq!(session.expiry().status().unwrap().readings, 0);
    watch.take_nothing_more(false);
    session.files().write("/memories/b", "new").unwrap();
    assert_eq!(session.expiry().status().unwrap().readings, 1);
    assert_whole(&session, "afterwards");
}
