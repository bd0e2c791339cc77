//! Tests of redactions that take more than one step: nothing of the texts stays, reachable or not.

use super::history_repair::repair;
use super::model::text;
use super::versions::{MONTH, assert_whole, grow, keeps, log, newest, parse};
use crate::session::tests::store::TestStore;
use crate::session::{Session, shift_clock};
use crate::vfs::edit;
use crate::vfs::error::FileError;
use inmost_format::record::Kind;

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

fn redact(session: &Session, first: u64, last: u64) {
    let redacted = session.history().redact(first, last).unwrap();
    assert!(redacted > 0);
    assert!(session.history().text(first).is_err() && session.history().text(last).is_err());
}

#[test]
fn a_long_text_written_since_an_older_version_is_redacted_whole() {
    for gone in [PATH, "/memories/d"] {
        let store = TestStore::create();
        let session = keeps(store.unlock().unwrap());
        let numbers = grown(&session);
        let first = session.history().text(numbers[0]).unwrap();
        session.files().remove(gone).unwrap();
        redact(&session, numbers[1], numbers[14]);
        assert_whole(&session, gone);
        assert_eq!(session.history().text(numbers[0]).unwrap(), first, "{gone}");
        redact(&session, numbers[0], numbers[0]);
        assert_nothing_unreachable(&store, &session, gone);
    }
}

#[test]
fn records_that_an_older_version_shares_go_with_it() {
    // By a redaction, by their time, by forgetting.
    for end in 0..3 {
        let store = TestStore::create();
        let session = keeps(store.unlock().unwrap());
        session.files().write(PATH, &text("line", 400_000)).unwrap();
        let mut numbers = vec![newest(&session).number];
        let first = session.history().text(numbers[0]).unwrap();
        let lines = i64::try_from(first.as_str().lines().count()).unwrap();
        for step in 0..90 {
            edit::insert(&session, &parse(PATH), step * lines / 90, "a line\n").unwrap();
            numbers.push(newest(&session).number);
        }
        redact(&session, numbers[1], numbers[89]);
        assert_whole(&session, "redacted");
        assert_eq!(session.history().text(numbers[0]).unwrap(), first);
        let current = session.files().read(PATH).unwrap();
        match end {
            0 => redact(&session, numbers[0], numbers[0]),
            1 => {
                shift_clock(2 * i64::try_from(MONTH.as_millis()).unwrap());
                session.history().set(crate::session::HistorySettings::off()).unwrap();
                shift_clock(-2 * i64::try_from(MONTH.as_millis()).unwrap());
            }
            _ => drop(session.history().forget(PATH, |_| {}).unwrap()),
        }
        assert_eq!(session.files().read(PATH).unwrap(), current);
        if end == 0 {
            session.files().remove(PATH).unwrap();
            redact(&session, numbers[90], numbers[90]);
        }
        assert_nothing_unreachable(&store, &session, &end.to_string());
    }
}

#[test]
fn a_redaction_that_a_crash_ended_is_made_whole_by_the_next() {
    let prepared = TestStore::create();
    let session = keeps(prepared.unlock().unwrap());
    let numbers = grown(&session);
    let first = session.history().text(numbers[0]).unwrap();
    session.files().remove(PATH).unwrap();
    session.lock();
    let mut cut = 0;
    for operation in 1.. {
        let store = prepared.duplicate();
        let session = store.unlock_to_stop_at(operation * 7);
        let done = session.history().redact(numbers[1], numbers[14]);
        if done.is_ok() {
            break;
        }
        cut += 1;
        drop(session);
        let session = store.unlock().unwrap();
        for version in log(&session).iter().filter(|version| version.redacted.is_some()) {
            let found = session.history().text(version.number);
            assert!(matches!(found, Err(FileError::VersionGone(_))), "{operation}");
        }
        match session.history().redact(numbers[1], numbers[14]) {
            Ok(_) | Err(FileError::NoSuchVersion(_)) => {}
            Err(error) => panic!("{operation}: {error}"),
        }
        assert_eq!(session.history().text(numbers[0]).unwrap(), first, "{operation}");
        redact(&session, numbers[0], numbers[0]);
        let report = session.check().unwrap();
        assert!(report.is_clean(), "{operation}: {report:?}");
    }
    assert!(cut > 5, "{cut}");
}

/// A crash may come after the head is gone, and before the records that later entries keep.
#[test]
fn records_that_later_entries_keep_go_although_a_crash_ended_the_redaction() {
    let prepared = TestStore::create();
    let session = keeps(prepared.unlock().unwrap());
    session.files().write(PATH, &text("line", 200_000)).unwrap();
    let mut numbers = vec![newest(&session).number];
    let first = session.history().text(numbers[0]).unwrap();
    let lines = i64::try_from(first.as_str().lines().count()).unwrap();
    for step in 0..8 {
        edit::insert(&session, &parse(PATH), step * lines / 8, "a line\n").unwrap();
        numbers.push(newest(&session).number);
    }
    redact(&session, numbers[1], numbers[7]);
    session.lock();
    let mut was_left = 0;
    for operation in 1.. {
        let store = prepared.duplicate();
        let session = store.unlock_to_stop_at(operation);
        let done = session.history().redact(numbers[0], numbers[0]);
        drop(session);
        let session = store.unlock().unwrap();
        match session.history().redact(numbers[0], numbers[0]) {
            // It was redacted before the crash, but records were left.
            Ok(0) => was_left += 1,
            Ok(_) | Err(FileError::NoSuchVersion(_)) => {}
            Err(error) => panic!("{operation}: {error}"),
        }
        session.files().remove(PATH).unwrap();
        redact(&session, numbers[8], numbers[8]);
        assert_nothing_unreachable(&store, &session, &operation.to_string());
        assert_eq!(store.records_of(Kind::Chunk).len(), 0, "{operation}");
        if done.is_ok() {
            break;
        }
    }
    assert!(was_left > 0, "{was_left}");
}

/// The last text of a file is redacted of which many versions were redacted before: so many entries keep what the first version needs
/// that the file cannot go to that version in one step.
#[test]
fn the_first_of_many_versions_stays_whole_while_the_others_go() {
    let prepared = TestStore::create();
    let session = keeps(prepared.unlock().unwrap());
    session.files().write(PATH, &text("line", 400_000)).unwrap();
    let mut numbers = vec![newest(&session).number];
    let first = session.history().text(numbers[0]).unwrap();
    let lines = i64::try_from(first.as_str().lines().count()).unwrap();
    for step in 0..40 {
        edit::insert(&session, &parse(PATH), step * lines / 40, "a line\n").unwrap();
        numbers.push(newest(&session).number);
    }
    redact(&session, numbers[1], numbers[39]);
    session.files().remove(PATH).unwrap();
    let listed = log(&session).len();
    session.lock();
    let mut cut = 0;
    for operation in 1.. {
        let store = prepared.duplicate();
        let session = store.unlock_to_stop_at(operation);
        let done = session.history().redact(numbers[40], numbers[40]);
        drop(session);
        let session = store.unlock().unwrap();
        let is_redacted = session.history().text(numbers[40]).is_err();
        assert_eq!(session.history().text(numbers[0]).unwrap(), first, "{operation}");
        let session = if operation % 4 == 3 {
            drop(session);
            repair(&store, "redacted");
            let session = store.unlock().unwrap();
            assert_eq!(session.history().text(numbers[0]).unwrap(), first, "{operation}");
            session
        } else {
            session
        };
        match (operation % 3, is_redacted) {
            (0, true) => {
                // Whatever is left goes in time.
                let off = crate::session::HistorySettings::off();
                session.history().set(off).unwrap();
            }
            (1, true) => {
                session.compact().unwrap();
                assert_eq!(session.history().text(numbers[0]).unwrap(), first, "{operation}");
                redact(&session, numbers[0], numbers[0]);
            }
            _ => {
                drop(session.history().redact(numbers[40], numbers[40]));
                assert_whole(&session, &operation.to_string());
                assert_eq!(log(&session).len(), listed + 1, "one note, however many steps");
                assert_eq!(session.history().text(numbers[0]).unwrap(), first, "{operation}");
                redact(&session, numbers[0], numbers[0]);
            }
        }
        assert_nothing_unreachable(&store, &session, &operation.to_string());
        assert_eq!(store.records_of(Kind::Chunk).len(), 0, "{operation}");
        cut += usize::from(is_redacted && done.is_err());
        if done.is_ok() {
            break;
        }
    }
    assert!(cut > 3, "{cut}");
}

#[test]
fn a_rewrite_keeps_what_a_redaction_left_and_drops_the_rest() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    let numbers = grown(&session);
    redact(&session, numbers[3], numbers[9]);
    let kept = [0, 1, 2, 10, 13].map(|at| session.history().text(numbers[at]).unwrap());
    session.compact().unwrap();
    for (at, text) in [0, 1, 2, 10, 13].into_iter().zip(&kept) {
        assert_eq!(&session.history().text(numbers[at]).unwrap(), text);
    }
    redact(&session, numbers[0], numbers[2]);
    redact(&session, numbers[10], numbers[13]);
    assert_nothing_unreachable(&store, &session, "after a rewrite");
}

/// Each file is noted in the entry that deleted its folder. Of several such entries in one record, the notes outgrew it, and no
/// more of the texts could be redacted.
#[test]
fn every_file_of_many_deleted_folders_can_be_redacted() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    for folder in 0..12 {
        for file in 0..32 {
            session.files().write(&format!("/memories/{folder}/{file}"), "secret").unwrap();
        }
    }
    for folder in 0..12 {
        session.files().remove(&format!("/memories/{folder}")).unwrap();
    }
    let versions = log(&session);
    let numbers = versions.iter().map(|version| version.number);
    let (first, last) = (numbers.clone().min().unwrap(), numbers.clone().max().unwrap());
    redact(&session, first, last);
    assert!(numbers.into_iter().all(|number| session.history().text(number).is_err()));
    assert_nothing_unreachable(&store, &session, "redacted");
}
