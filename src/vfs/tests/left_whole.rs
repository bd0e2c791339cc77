//! Tests that taking texts away leaves all others whole, and nothing behind.

use super::model::{parse, text};
use super::versions::{MONTH, assert_whole, keeps, newest};
use crate::session::history::{Change, nameless};
use crate::session::tests::store::TestStore;
use crate::session::{HistorySettings, Session};
use crate::vfs::edit;
use crate::vfs::error::FileError;
use crate::vfs::folder::{ResolvedPath, Target};
use inmost_format::record::history::{Operation, Retired};
use inmost_format::record::{Kind, NodeSource};

const LONG: &str = "/memories/d/long";

/// Writes a file, and inserts a line in so many places of it. Returns the numbers of its versions.
fn versions(session: &Session, path: &str, bytes: usize, edits: usize) -> Vec<u64> {
    session.files().write(path, &text("line", bytes)).unwrap();
    let mut numbers = vec![newest(session).number];
    let lines = session.files().read(path).unwrap().as_str().lines().count();
    for step in 0..edits {
        let at = i64::try_from(step * lines / edits).unwrap();
        edit::insert(session, &parse(path), at, "a line\n").unwrap();
        numbers.push(newest(session).number);
    }
    numbers
}

/// Regression: the folder went as a whole, with records of earlier versions that were made at another path.
#[test]
fn forgetting_a_folder_in_a_deleted_folder_leaves_other_versions_whole() {
    let session = keeps(Session::in_memory().unwrap());
    session.files().write("/memories/b/keep", "keep").unwrap();
    versions(&session, "/memories/q/y", 60_000, 3);
    session.files().rename("/memories/q/y", "/memories/b/c/y").unwrap();
    session.files().remove("/memories/b").unwrap();
    let deletion = newest(&session).number;
    session.history().forget("/memories/b/c", None, |_| {}).unwrap();
    assert_whole(&session, "forgotten");
    session.history().restore(deletion, None).unwrap();
    assert!(session.files().read("/memories/b/c/y").is_err());
    assert_eq!(session.files().read("/memories/b/keep").unwrap().as_str(), "keep");
}

/// Regression: what waited to be removed counted twice against the room, so other texts were dropped.
#[test]
fn forgetting_takes_no_room_from_other_texts() {
    let session = Session::in_memory().unwrap();
    session.history().set(HistorySettings::keep(MONTH).max_bytes(1 << 20)).unwrap();
    let other = versions(&session, "/memories/other", 3_000, 1)[0];
    session.files().write("/memories/a/keep", "keep").unwrap();
    for number in 0..6 {
        let path = format!("/memories/a/b/{number}");
        session.files().write(&path, &text("long", 100_000)).unwrap();
    }
    session.files().remove("/memories/a").unwrap();
    session.history().forget("/memories/a/b", None, |_| {}).unwrap();
    session.files().write("/memories/w", "w").unwrap();
    assert!(session.history().text(other).is_ok());
    assert!(session.history().status().unwrap().bytes < 10_000);
    assert_whole(&session, "forgotten");
}

/// Regression: the folder was removed although entries still had older heads of its files.
#[test]
fn a_cut_off_forgetting_and_another_damage_nothing() {
    let prepared = TestStore::create();
    let session = keeps(prepared.unlock().unwrap());
    session.files().write("/memories/a/keep", "keep").unwrap();
    versions(&session, "/memories/a/b/x", 60_000, 12);
    session.files().remove("/memories/a").unwrap();
    let other = versions(&session, "/memories/z", 100, 3)[0];
    drop(session);
    for operation in 1.. {
        let store = prepared.duplicate();
        let session = store.unlock_to_stop_at(operation);
        let done = session.history().forget("/memories/a/b", None, |_| {});
        drop(session);
        let session = store.unlock().unwrap();
        session.history().forget("/memories/z", Some(other), |_| {}).unwrap();
        assert_whole(&session, &operation.to_string());
        if done.is_ok() {
            assert!(operation > 4, "{operation}");
            break;
        }
    }
}

/// Only someone who has the keys can make such a list. Whatever removes the entry would remove the records.
#[test]
fn a_list_that_names_records_of_a_file_in_the_tree_is_damage() {
    let session = keeps(Session::in_memory().unwrap());
    let number = versions(&session, LONG, 9_000, 1)[1];
    session
        .write::<_, FileError>(|txn| {
            let resolved = ResolvedPath::new(txn, &txn.root()?, &parse(LONG))?;
            let Target::Entry(entry) = &resolved.target else { panic!("nothing") };
            let (object, mut head) = (entry.id, txn.load(entry.head(), &entry.tag)?);
            let mut retired = Vec::new();
            head.children_mut::<FileError>(object, |id, _| {
                retired.push(Retired { is_inner: id.kind == Kind::FileInner, index: id.index });
                Ok(())
            })?;
            assert!(!retired.is_empty());
            let (object, mut history) = txn.history()?.unwrap();
            history.edit(txn, object, number, |entry| {
                entry.retired = vec![retired.remove(0)];
                true
            })?;
            Ok(txn.set_history(object, history)?)
        })
        .unwrap();
    let report = session.check().unwrap();
    assert_eq!(report.problems.len(), 1, "{report:?}");
}

/// Only someone who has the keys can make such an entry. Whatever removes what it holds would remove the file.
#[test]
fn an_entry_that_holds_a_file_of_the_tree_is_damage() {
    for path in ["/memories/d/file", "/memories/d"] {
        let session = keeps(Session::in_memory().unwrap());
        session.files().write("/memories/d/file", &text("line", 9_000)).unwrap();
        assert_whole(&session, path);
        session
            .write::<_, FileError>(|txn| {
                let resolved = ResolvedPath::new(txn, &txn.root()?, &parse(path))?;
                let Target::Entry(entry) = &resolved.target else { panic!("nothing") };
                let before = nameless(entry);
                Ok(txn.record(Change {
                    operation: Operation::Deleted,
                    path,
                    old_path: "",
                    file: None,
                    previous: 0,
                    before,
                    retired: Vec::new(),
                })?)
            })
            .unwrap();
        let report = session.check().unwrap();
        assert_eq!(report.problems.len(), 1, "{report:?}");
    }
}
