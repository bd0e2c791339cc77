//! Tests that what was forgotten stays gone, and all else stays, when a repair begins at an older root.

use super::forgotten::flip;
use super::history_repair_cases::fill;
use super::model::{dump, parse, text};
use super::older_root::{OnDisk, tags};
use super::versions::{MONTH, assert_whole, newest};
use crate::maintenance::BareRecords;
use crate::session::{HistorySettings, Session};
use crate::vfs::edit;
use inmost_format::record::history::Versions;
use inmost_format::record::tree::Body;
use inmost_format::record::{NodeSource, load_folder, load_history};

const SECRET: &str = "secret secret\n";

/// Writes a file with a secret, and changes it to one without. Returns the number of the first version.
fn changed(session: &Session) -> u64 {
    session.files().write("/memories/a", SECRET).unwrap();
    let first = newest(session).number;
    edit::replace(session, &parse("/memories/a"), "secret secret", "harmless", 1).unwrap();
    first
}

/// Neither a file nor this version has the secret.
fn assert_gone(session: &Session, version: u64, context: &str) {
    assert!(session.history().text(version).is_err(), "{context}");
    assert!(dump(session).unwrap().iter().all(|(_, text)| !text.contains(SECRET)), "{context}");
    assert_whole(session, context);
}

/// Regression: no note is behind the entries that went, so the later history seemed to be an older one.
#[test]
fn forgotten_versions_of_a_file_that_stays_do_not_come_back() {
    for (lost, has_anchor) in [(1, true), (1, false), (2, true), (2, false)] {
        let (store, session) = OnDisk::create();
        session.files().write("/memories/other", "other\n").unwrap();
        let first = changed(&session);
        edit::insert(&session, &parse("/memories/a"), 1, "more\n").unwrap();
        session.history().forget("/memories/a", None, |_| {}).unwrap();
        drop(session);
        let report = store.repair_without_roots(lost, has_anchor);
        let context = format!("{lost} lost, anchor {has_anchor}: {report:?}");
        assert_gone(&store.unlock(), first, &context);
    }
}

/// Regression: a repair took the state of the history before the forgetting for a later one, and dropped the folder.
#[test]
fn a_deleted_folder_stays_without_what_was_forgotten_in_it() {
    for is_until in [false, true] {
        for (lost, locks) in [(0, false), (0, true), (1, false)] {
            let (store, session) = OnDisk::create();
            session.files().write("/memories/d/secret", SECRET).unwrap();
            let first = newest(&session).number;
            session.files().write("/memories/d/kept", "kept\n").unwrap();
            let kept = newest(&session).number;
            session.files().remove("/memories/d").unwrap();
            let deletion = newest(&session).number;
            let until = is_until.then_some(first);
            session.history().forget("/memories/d/secret", until, |_| {}).unwrap();
            if locks {
                session.lock();
            }
            drop(session);
            let report = store.repair_without_roots(lost, true);
            let session = store.unlock();
            let context = format!("until {until:?}, {lost} lost, locked {locks}: {report:?}");
            assert_eq!(session.history().text(kept).unwrap().as_str(), "kept\n", "{context}");
            session.history().restore(deletion, None).unwrap();
            assert_gone(&session, first, &context);
        }
    }
}

/// Regression: an older list of names brought the file back.
#[test]
fn a_forgotten_file_does_not_come_back_with_an_older_list() {
    for (lost, has_anchor) in [(0, true), (1, true), (0, false), (1, false)] {
        let (store, session) = OnDisk::create();
        session.files().write("/memories/kept", "kept\n").unwrap();
        session.files().write("/memories/a", SECRET).unwrap();
        let first = newest(&session).number;
        session.files().remove("/memories/a").unwrap();
        session.history().forget("/memories/a", None, |_| {}).unwrap();
        drop(session);
        let list = tags(store.path(), |records| records.root().unwrap().tree.tag.0);
        assert!(flip(store.path(), &list) > 0);
        let report = store.repair_without_roots(lost, has_anchor);
        let context = format!("{lost} lost, anchor {has_anchor}: {report:?}");
        assert_gone(&store.unlock(), first, &context);
    }
}

/// Regression: where the leaf that says so is lost too, the older one counted.
#[test]
fn a_forgotten_text_does_not_come_back_if_its_entry_is_lost_too() {
    for has_anchor in [true, false] {
        let (store, session) = OnDisk::create();
        let first = changed(&session);
        fill(&session);
        session.history().forget("/memories/a", Some(first), |_| {}).unwrap();
        drop(session);
        let leaf = tags(store.path(), |records| {
            let history = records.root().unwrap().history;
            let head = load_history(records, history.id, &history.tag).unwrap();
            let Body::Tree(inner) = &head.body else { panic!("no leaf") };
            let has_it = |id, tag| {
                let node = records.load(id, tag).unwrap();
                node.versions().is_some_and(|leaf| leaf.0.iter().any(|it| it.previous == first))
            };
            let mut leaves = inner.children::<Versions>(history.id);
            leaves.find(|(id, tag, _)| has_it(*id, tag)).unwrap().1.0
        });
        assert!(flip(store.path(), &leaf) > 0);
        let report = store.repair_without_roots(2, has_anchor);
        assert_gone(&store.unlock(), first, &format!("anchor {has_anchor}: {report:?}"));
    }
}

/// Regression: without an anchor nothing said that the root is older, so the head before the damaged one was shown, or the text was
/// current in the older tree.
#[test]
fn a_forgotten_text_does_not_become_the_current_one() {
    for (lost, has_anchor) in [(1, true), (1, false), (2, true), (2, false)] {
        let (store, session) = OnDisk::create();
        let first = changed(&session);
        session.history().forget("/memories/a", Some(first), |_| {}).unwrap();
        drop(session);
        let head = tags(store.path(), |records: &BareRecords| {
            let tree = records.root().unwrap().tree;
            let folder = load_folder(records, tree.id, &tree.tag).unwrap();
            folder.body.entry(records, tree.id, "a").unwrap().unwrap().tag.0
        });
        if lost == 1 {
            assert!(flip(store.path(), &head) > 0);
        }
        let report = store.repair_without_roots(lost, has_anchor);
        let context = format!("{lost} lost, anchor {has_anchor}: {report:?}");
        assert_gone(&store.unlock(), first, &context);
    }
}

/// Regression: the text was listed as kept or as gone, by the size of the page, and could not be read.
#[test]
fn the_current_text_of_an_older_tree_is_a_version() {
    let (store, session) = OnDisk::create();
    session.files().write("/memories/a", "first\n").unwrap();
    let first = newest(&session).number;
    edit::insert(&session, &parse("/memories/a"), 1, "second\n").unwrap();
    session.files().write("/memories/y/x", &text("x", 100)).unwrap();
    drop(session);
    for older in 0..2 {
        let list = tags(store.path(), |records| records.roots()[older].tree.tag.0);
        assert!(flip(store.path(), &list) > 0);
    }
    let report = store.repair_without_roots(1, true);
    let session = store.unlock();
    let current = session.files().read("/memories/a").unwrap();
    assert_eq!(current.as_str(), "first\n", "{report:?}");
    assert_eq!(session.history().text(first).unwrap(), current, "{report:?}");
    assert_whole(&session, &format!("{report:?}"));
}

/// Regression: the file was in the older root's folder as it was before it came back and was changed there.
#[test]
fn forgotten_versions_do_not_come_back_with_a_folder_that_came_back_since() {
    for has_anchor in [true, false] {
        let (store, session) = OnDisk::create();
        session.files().write("/memories/d/x", &format!("{SECRET}other\n")).unwrap();
        let first = newest(&session).number;
        session.files().write("/memories/d/y", "yyy\n").unwrap();
        session.files().remove("/memories/d").unwrap();
        let deletion = newest(&session).number;
        let commit = session.status().unwrap().commit;
        session.history().restore(deletion, None).unwrap();
        edit::replace(&session, &parse("/memories/d/x"), SECRET, "", 1).unwrap();
        session.history().forget("/memories/d/x", None, |_| {}).unwrap();
        session.files().remove("/memories/d").unwrap();
        let lost = session.status().unwrap().commit - commit;
        drop(session);
        let report = store.repair_without_roots(usize::try_from(lost).unwrap(), has_anchor);
        let session = store.unlock();
        session.history().restore(deletion, Some("/memories/back")).unwrap();
        assert_eq!(session.files().read("/memories/back/y").unwrap().as_str(), "yyy\n");
        assert_gone(&session, first, &format!("anchor {has_anchor}: {report:?}"));
    }
}

/// Regression: only heads of the history that the root names counted as later.
#[test]
fn a_root_without_a_history_is_older_than_a_history() {
    let (store, session) = OnDisk::create();
    session.history().set(HistorySettings::off()).unwrap();
    session.files().write("/memories/x", SECRET).unwrap();
    session.history().set(HistorySettings::keep(MONTH)).unwrap();
    let commit = session.status().unwrap().commit;
    session.files().remove("/memories/x").unwrap();
    session.history().forget("/memories/x", None, |_| {}).unwrap();
    session.files().write("/memories/after", "after").unwrap();
    let lost = session.status().unwrap().commit - commit;
    drop(session);
    let report = store.repair_without_roots(usize::try_from(lost).unwrap(), false);
    assert!(!report.lost.is_empty(), "{report:?}");
    assert!(store.unlock().files().read("/memories/x").is_err(), "{report:?}");
}
