//! Tests of forgetting that takes more than one step: nothing of the texts stays, reachable or not.

use super::history_repair::repair;
use super::model::text;
use super::versions::{assert_whole, grow, keeps, log, newest, parse};
use crate::session::Session;
use crate::session::tests::store::TestStore;
use crate::vfs::edit;
use crate::vfs::error::FileError;

const PATH: &str = "/memories/d/long";

/// A file that grew by edits, and the numbers of its versions. The first is much shorter than the last.
fn grown(session: &Session) -> Vec<u64> {
    session.files().write("/memories/d/other", "other").unwrap();
    session.files().write(PATH, &text("first", 9_000)).unwrap();
    let first = newest(session).number;
    [vec![first], grow(session, PATH, 14)].concat()
}

/// Every record of the store is one that the root leads to.
fn assert_nothing_unreachable(store: &TestStore, session: &Session, context: &str) {
    assert_whole(session, context);
    session.lock();
    assert_eq!(store.values().len(), store.reachable().len(), "{context}");
}

fn forget(session: &Session, until: u64) {
    assert!(session.history().forget(PATH, Some(until), |_| {}).unwrap() > 0);
    assert!(session.history().text(until).is_err());
}

#[test]
fn the_old_end_of_a_long_file_goes_whole_and_the_rest_stays() {
    for gone in [None, Some(PATH), Some("/memories/d")] {
        let store = TestStore::create();
        let session = keeps(store.unlock().unwrap());
        let numbers = grown(&session);
        let kept = [9, 13, 14].map(|at| session.history().text(numbers[at]).unwrap());
        if let Some(gone) = gone {
            session.files().remove(gone).unwrap();
        }
        forget(&session, numbers[8]);
        for (at, text) in [9, 13, 14].into_iter().zip(&kept) {
            assert_eq!(&session.history().text(numbers[at]).unwrap(), text, "{gone:?}");
        }
        session.compact().unwrap();
        forget(&session, numbers[13]);
        assert_eq!(session.history().text(numbers[14]).unwrap(), kept[2], "{gone:?}");
        forget(&session, numbers[14]);
        assert_nothing_unreachable(&store, &session, &format!("{gone:?}"));
    }
}

#[test]
fn forgetting_that_a_crash_ended_is_made_whole_by_the_next() {
    for gone in [PATH, "/memories/d"] {
        let prepared = TestStore::create();
        let session = keeps(prepared.unlock().unwrap());
        let numbers = grown(&session);
        let last = session.history().text(numbers[14]).unwrap();
        session.files().remove(gone).unwrap();
        session.lock();
        let mut cut = 0;
        for operation in 1.. {
            let store = prepared.duplicate();
            let session = store.unlock_to_stop_at(operation);
            let done = session.history().forget(PATH, Some(numbers[13]), |_| {});
            drop(session);
            if operation % 4 == 3 {
                repair(&store, "cut off");
            }
            let session = store.unlock().unwrap();
            let context = format!("{gone}, {operation}");
            assert_whole(&session, &context);
            assert_eq!(session.history().text(numbers[14]).unwrap(), last, "{context}");
            session.history().forget(PATH, Some(numbers[13]), |_| {}).unwrap();
            for number in &numbers[..14] {
                let found = session.history().text(*number);
                let is_gone =
                    matches!(found, Err(FileError::VersionGone(_) | FileError::NoSuchVersion(_)));
                assert!(is_gone, "{context}: {found:?}");
            }
            assert_eq!(session.history().text(numbers[14]).unwrap(), last, "{context}");
            assert_nothing_unreachable(&store, &session, &context);
            if done.is_ok() {
                break;
            }
            cut += 1;
        }
        assert!(cut > 3, "{gone}: {cut}");
    }
}

#[test]
fn records_that_versions_share_go_with_the_last_of_them() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    session.files().write(PATH, &text("line", 400_000)).unwrap();
    let mut numbers = vec![newest(&session).number];
    let lines =
        i64::try_from(session.files().read(PATH).unwrap().as_str().lines().count()).unwrap();
    for step in 0..90 {
        edit::insert(&session, &parse(PATH), step * lines / 90, "a line\n").unwrap();
        numbers.push(newest(&session).number);
    }
    let current = session.files().read(PATH).unwrap();
    for until in [10, 11, 40, 89] {
        forget(&session, numbers[until]);
        assert_whole(&session, "forgotten");
        assert!(session.history().text(numbers[until + 1]).is_ok(), "{until}");
    }
    assert_eq!(session.files().read(PATH).unwrap(), current);
    assert_nothing_unreachable(&store, &session, "forgotten");
}

/// Each file is noted as forgotten when it leaves its folder. The notes in the entries of many folders outgrew a record once.
#[test]
fn every_file_of_many_deleted_folders_can_be_forgotten() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    for folder in 0..12 {
        for file in 0..32 {
            session.files().write(&format!("/memories/{folder}/{file}"), "secret").unwrap();
        }
    }
    let last = newest(&session).number;
    for folder in 0..12 {
        session.files().remove(&format!("/memories/{folder}")).unwrap();
    }
    let numbers: Vec<u64> = log(&session).iter().map(|version| version.number).collect();
    session.history().forget("/memories", Some(last), |_| {}).unwrap();
    assert!(numbers.into_iter().all(|number| session.history().text(number).is_err()));
    assert_eq!(session.history().status().unwrap().bytes, 0);
    assert_nothing_unreachable(&store, &session, "forgotten");
}
