//! Tests of undoing changes after which files and folders are in each other's places.

use super::tests::{all_done, keeping, undo};
use super::*;
use crate::session::{Quotas, Session};

fn text(session: &Session, path: &str) -> String {
    session.files().read(path).unwrap().into_string()
}

/// Undoes what a did, and expects that nothing is left.
fn undo_all(session: &Session) -> Vec<Undone> {
    let (undone, left) = undo(session);
    assert!(all_done(&undone) && left == 0, "{undone:?}");
    let report = session.check().unwrap();
    assert!(report.is_clean() && report.orphans == 0, "{report:?}");
    undone
}

fn numbers(undone: &[Undone]) -> Vec<u64> {
    let number = |undone: &Undone| match undone {
        Undone::Done(number) => *number,
        Undone::Left(error) => panic!("{error}"),
    };
    undone.iter().map(number).collect()
}

fn commits(undone: &[Undone]) -> Vec<u64> {
    numbers(undone).iter().map(|number| number / 64).collect()
}

fn rename(session: &Session, moves: &[(&str, &str)]) {
    let actor = session.acting_as("a");
    for (old, new) in moves {
        actor.files().rename(&format!("/memories/{old}"), &format!("/memories/{new}")).unwrap();
    }
}

#[test]
fn two_files_that_exchanged_their_names_go_back_in_one_commit() {
    let session = keeping();
    session.files().write("/memories/x", "one").unwrap();
    session.files().write("/memories/y", "two").unwrap();
    rename(&session, &[("x", "tmp"), ("y", "x"), ("tmp", "y")]);
    let undone = undo_all(&session);
    assert_eq!(
        (text(&session, "/memories/x"), text(&session, "/memories/y")),
        ("one".into(), "two".into())
    );
    let commits = commits(&undone);
    assert!(commits.len() == 2 && commits[0] == commits[1], "{commits:?}");
    // Each has a number of its own, and its text.
    let mut texts: Vec<String> = numbers(&undone)
        .into_iter()
        .map(|number| session.history().text(number).unwrap().into_string())
        .collect();
    texts.sort();
    assert_eq!(texts, ["one", "two"]);
}

#[test]
fn an_undo_of_an_undone_exchange_exchanges_again() {
    let session = keeping();
    session.files().write("/memories/x", "one").unwrap();
    session.files().write("/memories/y", "two").unwrap();
    rename(&session, &[("x", "tmp"), ("y", "x"), ("tmp", "y")]);
    let plan = session.history().plan_undo(&VersionQuery::all().actor("a")).unwrap();
    session.acting_as("b").history().undo(&plan, |_| {}).unwrap();
    let plan = session.history().plan_undo(&VersionQuery::all().actor("b")).unwrap();
    let undone = session.history().undo(&plan, |_| {}).unwrap();
    assert!(undone.len() == 2 && all_done(&undone), "{undone:?}");
    assert_eq!(
        (text(&session, "/memories/x"), text(&session, "/memories/y")),
        ("two".into(), "one".into())
    );
}

#[test]
fn a_cycle_of_changed_files_goes_back_with_its_texts() {
    let session = keeping();
    let long = "A line of the garden book.\n".repeat(9_000);
    session.files().write("/memories/d/x", "one").unwrap();
    session.files().write("/memories/e/y", &long).unwrap();
    session.files().write("/memories/z", "three").unwrap();
    rename(&session, &[("d/x", "tmp"), ("z", "d/x"), ("e/y", "z"), ("tmp", "e/y")]);
    let actor = session.acting_as("a");
    actor.files().append("/memories/e/y", "more").unwrap();
    actor.files().write("/memories/z", "replaced").unwrap();
    undo_all(&session);
    assert_eq!(text(&session, "/memories/d/x"), "one");
    assert!(text(&session, "/memories/e/y") == long);
    assert_eq!(text(&session, "/memories/z"), "three");
    assert!(!session.files().exists("/memories/tmp").unwrap());
}

#[test]
fn a_file_and_a_folder_that_exchanged_their_names_go_back() {
    let session = keeping();
    session.files().write("/memories/x", "file").unwrap();
    session.files().write("/memories/y/f", "inside").unwrap();
    rename(&session, &[("x", "tmp"), ("y", "x"), ("tmp", "y")]);
    undo_all(&session);
    assert_eq!(text(&session, "/memories/x"), "file");
    assert_eq!(text(&session, "/memories/y/f"), "inside");
}

#[test]
fn two_folders_that_exchanged_their_names_go_back() {
    let session = keeping();
    session.files().write("/memories/x/f", "one").unwrap();
    session.files().write("/memories/y/f", "two").unwrap();
    rename(&session, &[("x", "tmp"), ("y", "x"), ("tmp", "y")]);
    session.acting_as("a").files().write("/memories/x/f", "two, changed").unwrap();
    undo_all(&session);
    assert_eq!(text(&session, "/memories/x/f"), "one");
    assert_eq!(text(&session, "/memories/y/f"), "two");
}

#[test]
fn files_whose_places_are_folders_of_each_other_go_back() {
    let session = keeping();
    session.files().write("/memories/x", "one").unwrap();
    session.files().write("/memories/y", "two").unwrap();
    rename(&session, &[("x", "tmp"), ("y", "x/deep"), ("tmp", "y")]);
    undo_all(&session);
    assert_eq!(text(&session, "/memories/x"), "one");
    assert_eq!(text(&session, "/memories/y"), "two");
}

#[test]
fn a_cycle_too_long_for_one_commit_stays_as_it_is() {
    let session = keeping();
    let path = |number: usize| format!("f{number}");
    for number in 0..70 {
        let at = format!("/memories/{}", path(number));
        session.files().write(&at, &number.to_string()).unwrap();
    }
    rename(&session, &[("f0", "tmp")]);
    for number in 1..70 {
        rename(&session, &[(&path(number), &path(number - 1))]);
    }
    rename(&session, &[("tmp", "f69")]);
    let (undone, _) = undo(&session);
    let is_left = |undone: &Undone| matches!(undone, Undone::Left(FileError::AlreadyExists));
    assert!(undone.len() == 70 && undone.iter().all(is_left), "{undone:?}");
    for number in 0..70 {
        let moved = ((number + 1) % 70).to_string();
        assert_eq!(text(&session, &format!("/memories/{}", path(number))), moved);
    }
}

#[test]
fn an_exchange_whose_place_somebody_else_took_changes_nothing() {
    let session = keeping();
    session.files().write("/memories/x", "one").unwrap();
    session.files().write("/memories/y", "two").unwrap();
    rename(&session, &[("x", "tmp"), ("y", "z"), ("tmp", "y")]);
    session.files().write("/memories/x", "other").unwrap();
    let (undone, _) = undo(&session);
    let is_left = |undone: &Undone| matches!(undone, Undone::Left(FileError::AlreadyExists));
    assert!(undone.len() == 2 && undone.iter().all(is_left), "{undone:?}");
    let texts = ["x", "y", "z"].map(|name| text(&session, &format!("/memories/{name}")));
    assert_eq!(texts, ["other", "one", "two"]);
}

#[test]
fn an_exchange_to_a_text_that_is_gone_changes_nothing() {
    let session = keeping();
    session.files().write("/memories/x", "one").unwrap();
    let first = session.history().page(&VersionQuery::all(), None, 1).unwrap().items[0].number;
    session.files().write("/memories/y", "two").unwrap();
    session.acting_as("a").files().write("/memories/x", "changed").unwrap();
    rename(&session, &[("x", "tmp"), ("y", "x"), ("tmp", "y")]);
    let history = session.history();
    let plan = history.plan_undo(&VersionQuery::all().actor("a")).unwrap();
    history.forget("/memories/y", Some(first), |_| {}).unwrap();
    let undone = history.undo(&plan, |_| {}).unwrap();
    let is_left = |undone: &Undone| matches!(undone, Undone::Left(_));
    assert!(undone.len() == 2 && undone.iter().all(is_left), "{undone:?}");
    let texts = ["x", "y"].map(|name| text(&session, &format!("/memories/{name}")));
    assert_eq!(texts, ["two", "changed"]);
}

/// The files were exchanged, and the results said that nothing had changed.
#[test]
fn an_exchange_whose_text_has_no_room_moves_nothing() {
    let session = keeping();
    session.files().write("/memories/x", &"long".repeat(150)).unwrap();
    session.files().write("/memories/y", "two").unwrap();
    let actor = session.acting_as("a");
    let files = actor.files();
    files.rename("/memories/x", "/memories/tmp").unwrap();
    files.rename("/memories/y", "/memories/x").unwrap();
    files.rename("/memories/tmp", "/memories/y").unwrap();
    files.write("/memories/y", "short").unwrap();
    session.files().write("/memories/z", &"other".repeat(180)).unwrap();
    let small = session.within(Quotas { store_bytes: 1_000, ..Quotas::NONE });
    let (undone, _) = undo(&small);
    let has_no_room =
        |undone: &Undone| matches!(undone, Undone::Left(FileError::TooMuchText(1_000)));
    assert!(undone.len() == 2 && undone.iter().all(has_no_room), "{undone:?}");
    assert_eq!(session.files().read("/memories/x").unwrap().as_str(), "two");
    assert_eq!(session.files().read("/memories/y").unwrap().as_str(), "short");
    assert!(all_done(&undo(&session).0));
    assert_eq!(session.files().read("/memories/y").unwrap().as_str(), "two");
}

#[test]
fn an_exchange_waits_for_the_room_that_another_one_makes() {
    for order in [["x", "p"], ["p", "x"]] {
        let session = keeping();
        session.files().write("/memories/x1", &"long".repeat(150)).unwrap();
        for name in ["x2", "p1", "p2"] {
            session.files().write(&format!("/memories/{name}"), name).unwrap();
        }
        let actor = session.acting_as("a");
        let files = actor.files();
        for name in order {
            let at = |place: &str| format!("/memories/{name}{place}");
            files.rename(&at("1"), &at("t")).unwrap();
            files.rename(&at("2"), &at("1")).unwrap();
            files.rename(&at("t"), &at("2")).unwrap();
        }
        files.write("/memories/x2", "short").unwrap();
        files.write("/memories/p2", &"other".repeat(180)).unwrap();
        let small = session.within(Quotas { store_bytes: 1_000, ..Quotas::NONE });
        let (undone, _) = undo(&small);
        assert!(all_done(&undone), "{order:?}: {undone:?}");
    }
}
