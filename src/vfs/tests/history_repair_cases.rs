//! Tests of a repair of a damaged history: what a lost entry may have done is not taken for undone, and what may have been
//! forgotten does not come back.

use super::history_repair::{damage, filled, of_history, repair};
use super::model::{parse, text};
use super::versions::{MONTH, assert_whole, keeps, log, newest};
use crate::session::tests::store::TestStore;
use crate::session::{HistorySettings, Session, shift_clock};
use crate::vfs::edit;
use crate::vfs::error::FileError;
use crate::vfs::folder::{ResolvedPath, Target};
use inmost_format::record::node::What;
use inmost_format::record::{Kind, Node, RecordId};

/// Regression: without a sign of the lost entries, the file was taken for one that is still deleted, and got a twin.
#[test]
fn a_file_that_a_lost_change_brought_back_gets_no_twin() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    let files = session.files();
    files.write("/memories/a", "text\n").unwrap();
    let number = newest(&session).file;
    files.remove("/memories/a").unwrap();
    let deletion = newest(&session).number;
    fill(&session);
    let back = session.history().restore(deletion, Some("/memories/b")).unwrap();
    fill(&session);
    drop(session);
    let lost = leaf_with(&store, back);
    damage(&store, &[lost]);
    repair(&store, "back");
    let session = store.unlock().unwrap();
    session.history().restore(deletion, Some("/memories/c")).unwrap();
    assert_ne!(newest(&session).file, number);
    assert_eq!(session.files().read("/memories/b").unwrap().as_str(), "text\n");
}

/// The entry of the move is lost: the file is found by its number, and forgotten like any other.
#[test]
fn a_file_that_a_lost_change_moved_with_its_folder_keeps_its_versions_and_can_be_forgotten() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    session.files().write("/memories/d/f", "first\n").unwrap();
    edit::insert(&session, &parse("/memories/d/f"), 1, "second\n").unwrap();
    let second = newest(&session);
    fill(&session);
    session.files().rename("/memories/d", "/memories/e").unwrap();
    let moved = newest(&session).number;
    fill(&session);
    drop(session);
    damage(&store, &[leaf_with(&store, moved)]);
    repair(&store, "moved");
    let session = store.unlock().unwrap();
    let text = |number| session.history().text(number).map(|text| text.as_str().to_owned());
    assert_eq!(text(second.number).unwrap(), "first\nsecond\n");
    assert_eq!(text(second.previous.unwrap()).unwrap(), "first\n");
    let head = || {
        let head = session.read::<_, FileError>(|open| {
            let resolved = ResolvedPath::new(open, open.root(), &parse("/memories/e/f"))?;
            let Target::Entry(entry) = &resolved.target else { panic!("no file") };
            let What::File(info) = entry.what else { panic!("a folder") };
            Ok(info.head)
        });
        head.unwrap()
    };
    let before = head();
    assert_eq!(session.history().forget("/memories/d/f", None, |_| {}).unwrap(), 2);
    assert!(head() > before, "no repair shows an earlier head");
    assert_whole(&session, "forgotten");
}

pub(super) fn fill(session: &Session) {
    for number in 0..12 {
        let path = format!("/memories/{}/{}", "n".repeat(240), number % 7);
        session.files().write(&path, &format!("{number}\n")).unwrap();
    }
}

/// The leaf of the history that has the entry of this number.
pub(super) fn leaf_with(store: &TestStore, number: u64) -> RecordId {
    let has = |node: &Node| {
        let versions = node.versions();
        versions.is_some_and(|leaf| leaf.0.iter().any(|version| version.number == number))
    };
    let found = store.reachable().into_iter().find(|(_, node)| has(node)).unwrap().0;
    assert_eq!(found.kind, Kind::HistoryLeaf);
    found
}

#[test]
fn a_text_whose_own_entry_is_lost_stays_with_the_entry_that_holds_it() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    let files = session.files();
    fill(&session);
    let texts = [("short", "short\n".to_owned()), ("long", text("long", 300_000))];
    let mut numbers = Vec::new();
    for (name, text) in &texts {
        files.write(&format!("/memories/{name}"), text).unwrap();
        numbers.push(newest(&session).number);
    }
    fill(&session);
    for (name, _) in &texts {
        files.write(&format!("/memories/{name}"), "last\n").unwrap();
    }
    drop(session);
    damage(&store, &[leaf_with(&store, numbers[0])]);
    let report = repair(&store, "lost");
    assert_eq!(report.lost_texts, 0, "{report:?}");
    let session = store.unlock().unwrap();
    assert!(log(&session).iter().all(|version| !numbers.contains(&version.number)));
    for (number, (_, text)) in numbers.iter().zip(&texts) {
        assert_eq!(session.history().text(*number).unwrap().as_str(), text);
    }
    assert_whole(&session, "lost");
}

/// Regression: the version that is restored named one as the one before it which the file never had after the repair. That one then
/// had its text.
#[test]
fn a_restore_after_a_repair_gives_no_version_another_text() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    session.files().write("/memories/a", &text("first", 9_000)).unwrap();
    let first = newest(&session).number;
    edit::insert(&session, &parse("/memories/a"), 1, "second\n").unwrap();
    let second = newest(&session).number;
    let head = session.read::<_, FileError>(|open| {
        let resolved = ResolvedPath::new(open, open.root(), &parse("/memories/a"))?;
        let Target::Entry(entry) = &resolved.target else { panic!("no file") };
        Ok(entry.head())
    });
    drop(session);
    damage(&store, &[head.unwrap()]);
    repair(&store, "head");
    let session = store.unlock().unwrap();
    session.history().restore(first, None).unwrap();
    let found = session.history().text(second);
    assert!(matches!(found, Err(FileError::VersionGone(_))), "{found:?}");
    assert_whole(&session, "restored");
}

/// Regression: records that went out of use with a change whose entry is lost belonged to nobody.
#[test]
fn what_went_out_of_use_with_a_lost_entry_goes_with_the_version_before_it() {
    // By forgetting, by their time, by forgetting everything.
    for end in 0..3 {
        let store = TestStore::create();
        let session = keeps(store.unlock().unwrap());
        let path = "/memories/a";
        session.files().write(path, &text("first", 60_000)).unwrap();
        let lines = session.files().read(path).unwrap().as_str().lines().count();
        let lines = i64::try_from(lines).unwrap();
        let mut numbers = Vec::new();
        for at in [lines - 3, lines / 2, 1] {
            fill(&session);
            edit::insert(&session, &parse(path), at, "a line\n").unwrap();
            numbers.push(newest(&session).number);
        }
        fill(&session);
        drop(session);
        damage(&store, &[leaf_with(&store, numbers[1])]);
        repair(&store, "leaf");
        let session = store.unlock().unwrap();
        assert_whole(&session, "repaired");
        match end {
            0 => drop(session.history().forget(path, None, |_| {}).unwrap()),
            1 => {
                shift_clock(2 * i64::try_from(MONTH.as_millis()).unwrap());
                session.history().set(HistorySettings::off()).unwrap();
                for number in 0..30 {
                    session.files().write("/memories/x", &number.to_string()).unwrap();
                }
                shift_clock(-2 * i64::try_from(MONTH.as_millis()).unwrap());
            }
            _ => drop(session.history().forget("/memories", None, |_| {}).unwrap()),
        }
        let report = session.check().unwrap();
        assert!(report.is_clean() && report.orphans == 0, "{end}: {report:?}");
    }
}

#[test]
fn the_rest_of_a_history_that_is_switched_off_is_not_kept_by_a_repair() {
    let store = filled();
    let session = store.unlock().unwrap();
    let leaf = of_history(&store).into_iter().find(|id| id.kind == Kind::HistoryLeaf).unwrap();
    damage(&store, &[leaf]);
    session.history().set(HistorySettings::off()).unwrap();
    drop(session);
    assert!(repair(&store, "off").is_complete());
    let session = store.unlock().unwrap();
    assert_eq!(session.history().status().unwrap().entries, 0);
    assert_whole(&session, "off");
    session.history().set(HistorySettings::keep(MONTH)).unwrap();
    assert!(log(&session).is_empty());
}
