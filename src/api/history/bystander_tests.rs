//! Tests of undoing changes of folders while others use the store.

use super::tests::{all_done, keeping, undo};
use super::*;
use crate::api::files::Files;
use crate::session::tests::store::TestStore;
use crate::session::{ExpirySettings, Session};
use crate::vfs::tests::model::{of_days, set_day};
use inmost_format::record::Kind;
use std::time::Duration;

/// A folder that the actor a has brought back.
fn brought_back() -> Session {
    let session = keeping();
    session.files().write("/memories/d/f", "x").unwrap();
    session.files().remove("/memories/d").unwrap();
    let deleted = session.history().page(&VersionQuery::all(), None, 1).unwrap().items[0].number;
    session.acting_as("a").history().restore(deleted, None).unwrap();
    session
}

#[test]
fn a_folder_that_came_back_stays_if_someone_else_has_used_it() {
    let change: [fn(&Session); 4] = [
        |session| session.acting_as("b").files().write("/memories/d/new", "by b").unwrap(),
        |session| session.acting_as("b").files().write("/memories/d/f", "by b").unwrap(),
        |session| {
            session.acting_as("a").files().rename("/memories/d", "/memories/e").unwrap();
            session.acting_as("b").files().write("/memories/e/new", "by b").unwrap();
        },
        |session| session.acting_as("b").files().rename("/memories/d/f", "/memories/f").unwrap(),
    ];
    for (case, change) in change.into_iter().enumerate() {
        let session = brought_back();
        change(&session);
        let files = session.status().unwrap().files;
        let (undone, left) = undo(&session);
        assert!(all_done(&undone) && left == 1, "{case}: {undone:?}, {left}");
        assert_eq!(session.status().unwrap().files, files, "{case}");
    }
    let session = brought_back();
    session.acting_as("b").files().write("/memories/other", "by b").unwrap();
    let (undone, left) = undo(&session);
    assert!(all_done(&undone) && (undone.len(), left) == (1, 0), "{undone:?}");
    assert!(!session.files().exists("/memories/d").unwrap());
}

/// What b brings, in place of what a has restored or moved away, stays where it is.
#[test]
fn a_folder_that_someone_else_brings_to_a_place_stays_there() {
    let make: [fn(&Session, &Session); 3] = [
        |a, _| a.files().remove("/memories/p/q/f").unwrap(),
        |a, _| a.files().rename("/memories/p/q/f", "/memories/f").unwrap(),
        |a, b| {
            a.files().rename("/memories/p", "/memories/h").unwrap();
            a.files().rename("/memories/h", "/memories/i").unwrap();
            b.files().rename("/memories/i", "/memories/j").unwrap();
        },
    ];
    for (case, make) in make.into_iter().enumerate() {
        let session = keeping();
        let (a, b) = (session.acting_as("a"), session.acting_as("b"));
        b.files().write("/memories/p/q/f", "x").unwrap();
        b.files().remove("/memories/p/q").unwrap();
        let page = session.history().page(&VersionQuery::all(), None, 1).unwrap();
        a.history().restore(page.items[0].number, None).unwrap();
        make(&a, &b);
        let place = ["/memories/p", "/memories/p", "/memories/h"][case];
        b.files().write("/memories/e/q/g", "of b").unwrap();
        b.files().rename("/memories/e", place).unwrap();
        undo(&session);
        let kept = session.files().read(&format!("{place}/q/g"));
        assert_eq!(kept.unwrap().as_str(), "of b", "{case}");
    }
}

/// Plans to undo what the actor a did, makes changes as b, and undoes. Returns the result of the only step.
fn undo_after(session: &Session, changes: impl FnOnce(Files<'_>)) -> Undone {
    let plan = session.history().plan_undo(&VersionQuery::all().actor("a")).unwrap();
    changes(session.acting_as("b").files());
    let mut undone = session.history().undo(&plan, |_| {}).unwrap();
    assert_eq!(undone.len(), 1);
    undone.remove(0)
}

#[test]
fn a_folder_that_someone_else_changes_after_the_plan_stays() {
    let session = brought_back();
    let undone = undo_after(&session, |files| files.write("/memories/d/new", "by b").unwrap());
    assert!(matches!(undone, Undone::Left(FileError::Changed(_))), "{undone:?}");
    assert!(session.files().exists("/memories/d/new").unwrap());

    let session = brought_back();
    let undone = undo_after(&session, |files| {
        files.rename("/memories/d", "/memories/e").unwrap();
        files.write("/memories/d", "a file").unwrap();
    });
    assert!(matches!(undone, Undone::Left(FileError::Changed(_))), "{undone:?}");
    assert_eq!(session.files().read("/memories/d").unwrap().as_str(), "a file");

    let session = keeping();
    session.files().write("/memories/d/f", "x").unwrap();
    session.acting_as("a").files().rename("/memories/d", "/memories/e").unwrap();
    let undone = undo_after(&session, |files| {
        files.rename("/memories/e", "/memories/g").unwrap();
        files.write("/memories/e/other", "another folder").unwrap();
    });
    assert!(matches!(undone, Undone::Left(FileError::Changed(_))), "{undone:?}");
    assert!(session.files().exists("/memories/e/other").unwrap());
}

#[test]
fn a_folder_goes_back_though_someone_else_changes_other_things_meanwhile() {
    let session = brought_back();
    let undone = undo_after(&session, |files| files.write("/memories/other", "by b").unwrap());
    assert!(matches!(undone, Undone::Done(_)), "{undone:?}");
    assert!(!session.files().exists("/memories/d").unwrap());

    let session = keeping();
    session.files().write("/memories/d/f", "x").unwrap();
    session.acting_as("a").files().rename("/memories/d", "/memories/e").unwrap();
    let undone = undo_after(&session, |files| files.write("/memories/e/new", "by b").unwrap());
    assert!(matches!(undone, Undone::Done(_)), "{undone:?}");
    assert_eq!(session.files().read("/memories/d/new").unwrap().as_str(), "by b");
}

/// The store itself refuses a step that was planned before the newest change, so nothing can come between the look and the step.
#[test]
fn a_step_of_a_folder_that_is_out_of_date_changes_nothing() {
    let session = brought_back();
    let plan = session.history().plan_undo(&VersionQuery::all().actor("a")).unwrap();
    session.files().write("/memories/other", "x").unwrap();
    let refused = session.revert(&plan.steps[0]);
    assert!(matches!(refused, Err(FileError::Changed(None))), "{refused:?}");
    assert!(session.files().exists("/memories/d/f").unwrap());
}

/// Deletes a folder as b, and brings it back as a.
fn bring_back(session: &Session) {
    session.files().write("/memories/d/g", "x").unwrap();
    session.files().remove("/memories/d").unwrap();
    let deleted = session.history().page(&VersionQuery::all(), None, 1).unwrap().items[0].number;
    session.acting_as("a").history().restore(deleted, None).unwrap();
}

/// What others own was deleted with the folder that a had moved it into.
#[test]
fn a_folder_stays_while_something_cannot_leave_it() {
    for name in ["f", "x/f"] {
        let session = keeping();
        let path = format!("/memories/{name}");
        session.files().write(&path, "of b").unwrap();
        bring_back(&session);
        let top = name.split('/').next().unwrap();
        let (from, to) = (format!("/memories/{top}"), format!("/memories/d/{top}"));
        session.acting_as("a").files().rename(&from, &to).unwrap();
        session.acting_as("b").files().write(&path, "in its place").unwrap();
        let (undone, _) = undo(&session);
        assert!(!all_done(&undone), "{name}: {undone:?}");
        let kept = session.files().read(&format!("/memories/d/{name}")).unwrap();
        assert_eq!(kept.as_str(), "of b");
    }
}

#[test]
fn changes_of_files_keep_no_other_folder_from_going_back() {
    let session = keeping();
    session.files().write("/memories/x/f", "x").unwrap();
    let actor = session.acting_as("a");
    actor.files().rename("/memories/x", "/memories/y").unwrap();
    actor.files().rename("/memories/y", "/memories/z").unwrap();
    bring_back(&session);
    session.files().write("/memories/y", "a file").unwrap();
    session.files().remove("/memories/y").unwrap();
    let (undone, left) = undo(&session);
    assert!(all_done(&undone) && left == 0, "{undone:?}, {left}");
    assert!(session.files().exists("/memories/x/f").unwrap());
}

#[test]
fn the_newest_change_can_be_forgotten_after_the_plan() {
    let session = keeping();
    session.files().write("/memories/x/f", "x").unwrap();
    session.acting_as("a").files().rename("/memories/x", "/memories/y").unwrap();
    session.files().write("/memories/other", "x").unwrap();
    let plan = session.history().plan_undo(&VersionQuery::all().actor("a")).unwrap();
    session.history().forget("/memories/other", None, |_| {}).unwrap();
    let undone = session.history().undo(&plan, |_| {}).unwrap();
    assert!(all_done(&undone), "{undone:?}");
}

#[test]
fn a_file_that_expires_is_not_used_by_anybody() {
    set_day(0);
    let session = Session::in_memory().unwrap();
    session.history().set(HistorySettings::keep(of_days(1_000))).unwrap();
    session.expiry().set(ExpirySettings::record()).unwrap();
    session.files().write("/memories/d/f", "x").unwrap();
    bring_back(&session);
    for day in (10..=100).step_by(10) {
        set_day(day);
        session.files().write("/memories/clock", &day.to_string()).unwrap();
        session.files().read("/memories/d/f").unwrap();
    }
    session.files().write("/memories/clock", "the last reading").unwrap();
    let expired = session.expiry().expire(of_days(60), false, |_| {}).unwrap();
    assert_eq!((expired.files.len(), expired.hindrance), (1, None));
    let (undone, left) = undo(&session);
    assert!(all_done(&undone) && (undone.len(), left) == (1, 0), "{undone:?}, {left}");
}

#[test]
fn damage_to_older_entries_keeps_no_folder_from_going_back() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session.history().set(HistorySettings::keep(Duration::from_secs(86_400))).unwrap();
    for number in 0..120 {
        session.files().write("/memories/noise", &number.to_string()).unwrap();
    }
    session.files().write("/memories/x/f", "x").unwrap();
    session.acting_as("a").files().rename("/memories/x", "/memories/y").unwrap();
    drop(session);
    let leaves = store.records_of(Kind::HistoryLeaf);
    assert!(leaves.len() > 2);
    for leaf in leaves {
        let store = store.duplicate();
        let address = store.address(leaf);
        store.tamper(|values| values.remove(&address));
        let session = store.unlock().unwrap();
        let (undone, _) = undo(&session);
        assert!(all_done(&undone) && undone.len() == 1, "{undone:?}");
    }
}
