//! Tests that a text which was forgotten does not come back: by a crash and a restore, or by damage and a repair.

use std::collections::BTreeMap;

use super::history_repair::{damage, repair};
use super::model::{dump, parse};
use super::older_root::OnDisk;
use super::versions::{assert_whole, keeps, newest};
use crate::session::Session;
use crate::session::tests::store::TestStore;
use crate::vfs::edit;
use inmost_format::record::{Kind, Node, RecordId};
use inmost_storage::Address;

/// Writes three versions of a file. Returns their numbers.
fn three_versions(session: &Session) -> [u64; 3] {
    session.files().write("/memories/a", "secret secret\n").unwrap();
    let first = newest(session).number;
    [first, edited(session), edited(session)]
}

fn edited(session: &Session) -> u64 {
    edit::insert(session, &parse("/memories/a"), 1, "more\n").unwrap();
    newest(session).number
}

/// Regression: the entries went before the file in the folder, and only they said that it was at the path.
#[test]
fn a_path_that_a_crash_has_half_forgotten_is_forgotten_when_asked_again() {
    let prepared = TestStore::create();
    let session = keeps(prepared.unlock().unwrap());
    session.files().write("/memories/x", "secret secret\n").unwrap();
    for _ in 0..20 {
        edit::insert(&session, &parse("/memories/x"), 1, "more\n").unwrap();
    }
    session.files().rename("/memories/x", "/memories/d/y").unwrap();
    session.files().write("/memories/d/other", "other\n").unwrap();
    session.files().remove("/memories/d").unwrap();
    let deletion = newest(&session).number;
    drop(session);
    for operation in 1.. {
        let store = prepared.duplicate();
        let session = store.unlock_to_stop_at(operation);
        let done = session.history().forget("/memories/x", None, |_| {});
        drop(session);
        let session = store.unlock().unwrap();
        session.history().forget("/memories/x", None, |_| {}).unwrap();
        session.history().restore(deletion, None).unwrap();
        assert_eq!(dump(&session).unwrap().len(), 1, "{operation}");
        assert_whole(&session, &operation.to_string());
        if done.is_ok() {
            assert!(operation > 3, "{operation}");
            break;
        }
    }
}

/// Adds records that were there before under addresses of no record, as a log keeps them.
fn add_past_values(store: &TestStore, old: &BTreeMap<Address, Vec<u8>>) {
    let now = store.values();
    let replaced = old.iter().filter(|(address, value)| now.get(*address) != Some(value));
    store.tamper(|records| {
        for (number, (_, value)) in (0_u64..).zip(replaced) {
            let mut at = [0xEE; 32];
            at[..8].copy_from_slice(&number.to_le_bytes());
            records.insert(Address(at), value.clone());
        }
    });
}

/// Regression: the older root names an older history, which has the texts.
#[test]
fn what_was_forgotten_does_not_come_back_with_an_older_root() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    let [first, second, third] = three_versions(&session);
    session.lock();
    let old = store.values();
    let session = store.unlock().unwrap();
    assert_eq!(session.history().forget("/memories/a", Some(second), |_| {}).unwrap(), 2);
    drop(session);
    add_past_values(&store, &old);
    damage(&store, &[RecordId::ROOT]);
    repair(&store, "root");
    let session = store.unlock().unwrap();
    assert!(session.history().text(first).is_err() && session.history().text(second).is_err());
    assert!(session.history().text(third).is_ok());
    assert_whole(&session, "older root");
}

/// The same in files of the default engine. Without the anchor, nothing says that the root is older.
#[test]
fn what_was_forgotten_does_not_come_back_when_the_newest_root_is_damaged_on_disk() {
    for (is_deleted, has_anchor) in [(false, true), (true, true), (false, false), (true, false)] {
        let (store, session) = OnDisk::create();
        let [first, second, _] = three_versions(&session);
        if is_deleted {
            session.files().remove("/memories/a").unwrap();
            session.history().forget("/memories/a", None, |_| {}).unwrap();
        } else {
            assert_eq!(session.history().forget("/memories/a", Some(first), |_| {}).unwrap(), 1);
        }
        drop(session);
        let report = store.repair_without_roots(1, has_anchor);
        let session = store.unlock();
        let context = format!("deleted {is_deleted}, anchor {has_anchor}: {report:?}");
        assert!(session.history().text(first).is_err(), "{context}");
        assert_eq!(session.history().text(second).is_err(), is_deleted, "{context}");
        assert_whole(&session, &context);
    }
}

/// Regression: the walk through the folder stopped at the damage.
#[test]
fn a_damaged_folder_does_not_keep_the_rest_of_a_deleted_folder_from_coming_back() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    let paths = ["a", "b", "c"].map(|name| format!("/memories/d/{name}/file"));
    for path in &paths {
        session.files().write(path, "text\n").unwrap();
    }
    session.files().remove("/memories/d").unwrap();
    let deletion = newest(&session).number;
    drop(session);
    let has_file = |node: &Node| node.entries().iter().any(|it| it.name.as_str() == "file");
    let reachable = store.reachable();
    let below = reachable.iter().find(|(id, node)| id.kind == Kind::Folder && has_file(node));
    damage(&store, &[*below.unwrap().0]);
    let session = store.unlock().unwrap();
    session.history().restore(deletion, None).unwrap();
    let left = paths.iter().filter(|path| session.files().read(path).is_ok());
    assert_eq!(left.count(), 2);
}
