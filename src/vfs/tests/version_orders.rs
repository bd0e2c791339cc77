//! Tests of the history against unusual orders of changes.

use super::model::text;
use super::pass_days;
use super::versions::{MONTH, assert_whole, keeping, keeps, newest, parse};
use crate::session::{Exclusive, HistorySettings, Session, StoreError};
use crate::vfs::error::FileError;
use crate::vfs::{NewFile, VersionQuery};
use inmost_format::record::history::Version;

/// Writes a file and returns the number of the version.
fn write(session: &Session, path: &str, text: &str) -> u64 {
    session.files().write(path, text).unwrap();
    newest(session).number
}

#[test]
fn a_forgotten_file_does_not_come_back_with_the_folder_it_was_moved_to() {
    let session = keeping();
    write(&session, "/memories/secret.md", "secret");
    write(&session, "/memories/d/other.md", "other");
    session.files().rename("/memories/secret.md", "/memories/d/x.md").unwrap();
    session.files().remove("/memories/d").unwrap();
    let deletion = newest(&session).number;
    session.history().forget("/memories/secret.md", None, |_| {}).unwrap();
    session.history().restore(deletion, None).unwrap();
    assert_eq!(session.files().read("/memories/d/other.md").unwrap().as_str(), "other");
    assert!(matches!(session.files().read("/memories/d/x.md"), Err(FileError::NotFound)));
    assert_whole(&session, "forgotten");
}

#[test]
fn a_forgotten_folder_does_not_come_back_under_its_last_name() {
    // With and without versions of the file itself.
    for keeps_before in [true, false] {
        let mut session = Session::in_memory().unwrap();
        if keeps_before {
            session = keeps(session);
        }
        session.files().write("/memories/secret/f.md", "secret").unwrap();
        session = keeps(session);
        session.files().rename("/memories/secret", "/memories/a/archive").unwrap();
        write(&session, "/memories/a/archive/later.md", "later");
        session.files().remove("/memories/a").unwrap();
        let deletion = newest(&session).number;
        session.history().forget("/memories/secret", None, |_| {}).unwrap();
        session.history().restore(deletion, None).unwrap();
        let files = session.files();
        assert_eq!(files.read("/memories/a/archive/later.md").unwrap().as_str(), "later");
        let forgotten = files.read("/memories/a/archive/f.md");
        assert!(matches!(forgotten, Err(FileError::NotFound)), "{keeps_before}");
        assert_whole(&session, "forgotten");
    }
}

#[test]
fn a_forgotten_path_is_followed_through_a_rename_before_the_first_version() {
    let session = Session::in_memory().unwrap();
    session.files().write("/memories/secret/f.md", "secret").unwrap();
    session.files().write("/memories/x/g.md", "other").unwrap();
    let session = keeps(session);
    session.files().rename("/memories/secret", "/memories/x/y").unwrap();
    write(&session, "/memories/x/y/f.md", "clean");
    let secret = newest(&session).previous.unwrap();
    write(&session, "/memories/x/g.md", "another");
    let other = newest(&session).previous.unwrap();
    assert_eq!(session.history().text(secret).unwrap().as_str(), "secret");
    session.history().forget("/memories/secret", None, |_| {}).unwrap();
    assert!(session.history().text(secret).is_err());
    assert_eq!(session.history().text(other).unwrap().as_str(), "other");
    assert_eq!(session.files().read("/memories/x/y/f.md").unwrap().as_str(), "clean");
    assert_whole(&session, "forgotten");
}

#[test]
fn a_forgotten_text_is_not_mistaken_for_the_one_that_an_undo_brought_back() {
    let session = keeping();
    let agent = session.acting_as("agent");
    write(&session, "/memories/a.md", "one");
    agent.files().rename("/memories/a.md", "/memories/b.md").unwrap();
    agent.files().write("/memories/b.md", "two").unwrap();
    let second = newest(&session).number;
    let history = session.history();
    let plan = history.plan_undo(&VersionQuery::all().actor("agent")).unwrap();
    history.undo(&plan, |_| {}).unwrap();
    assert_eq!(session.files().read("/memories/a.md").unwrap().as_str(), "one");
    assert_eq!(history.text(second).unwrap().as_str(), "two");
    history.forget("/memories/a.md", Some(second), |_| {}).unwrap();
    assert!(matches!(history.text(second), Err(FileError::VersionGone(_))));
    assert_eq!(session.files().read("/memories/a.md").unwrap().as_str(), "one");
}

#[test]
fn a_crash_while_the_history_is_switched_off_leaves_nothing_of_it() {
    let session = keeping();
    let path = parse("/memories/a.md");
    write(&session, "/memories/a.md", &text("w", 60_000));
    let edit = |line| crate::vfs::edit::insert(&session, &path, line, "line\n").unwrap();
    (0..300).for_each(|_| edit(0));
    // Without the steps that remove the versions.
    let switch = |exclusive: &mut Exclusive<'_>| {
        exclusive
            .commit(|txn| Ok::<_, StoreError>(txn.set_history_settings(HistorySettings::off())?))
    };
    session.exclusive(switch).unwrap();
    for line in [0, 310, 320] {
        edit(line);
    }
    assert!(session.history().status().unwrap().entries > 100);
    let report = session.check().unwrap();
    assert!(report.is_clean() && report.orphans == 0, "{report:?}");
    session.history().set(HistorySettings::keep(MONTH)).unwrap();
    assert_eq!(session.history().status().unwrap().entries, 0);
    assert_whole(&session, "on again");
}

#[test]
fn a_folder_that_came_back_is_not_mistaken_for_one_that_had_its_name_meanwhile() {
    let session = keeping();
    let first = write(&session, "/memories/d/f.md", "one");
    session.files().remove("/memories/d").unwrap();
    let deletion = newest(&session).number;
    write(&session, "/memories/d/f.md", "two");
    session.files().rename("/memories/d", "/memories/e").unwrap();
    session.files().remove("/memories/e").unwrap();
    session.history().restore(deletion, None).unwrap();
    assert_eq!(session.history().text(first).unwrap().as_str(), "one");
    session.files().remove("/memories/d").unwrap();
    assert_eq!(session.history().text(first).unwrap().as_str(), "one");
}

#[test]
fn a_forgotten_path_that_a_deleted_folder_did_not_have_changes_nothing() {
    let session = keeping();
    for number in 0..40 {
        write(&session, "/memories/a.md", &format!("{number}"));
    }
    write(&session, "/memories/d/f.md", "f");
    session.files().remove("/memories/d").unwrap();
    let deletion = newest(&session).number;
    session.history().forget("/memories/d/never.md", None, |_| {}).unwrap();
    assert_eq!(newest(&session).number, deletion);
    assert_whole(&session, "forgotten");
    session.history().restore(deletion, None).unwrap();
    assert_eq!(session.files().read("/memories/d/f.md").unwrap().as_str(), "f");
}

#[test]
fn a_version_from_before_the_history_goes_back_to_its_own_path() {
    let session = Session::in_memory().unwrap();
    session.files().write("/memories/a.md", "x").unwrap();
    let session = keeps(session);
    session.files().rename("/memories/a.md", "/memories/d/b.md").unwrap();
    let first = newest(&session).previous.unwrap();
    write(&session, "/memories/d/other.md", "other");
    session.files().remove("/memories/d").unwrap();
    session.history().restore(first, None).unwrap();
    assert_eq!(session.files().read("/memories/a.md").unwrap().as_str(), "x");
    assert!(newest(&session).file.is_some());
    assert_whole(&session, "restored");
}

#[test]
fn an_undo_leaves_a_file_in_a_folder_that_someone_else_moved() {
    let session = keeping();
    write(&session, "/memories/d/f.md", "one");
    let agent = session.acting_as("agent");
    agent.files().write("/memories/d/f.md", "two").unwrap();
    session.files().rename("/memories/d", "/memories/e").unwrap();
    let history = session.history();
    let plan = history.plan_undo(&VersionQuery::all().actor("agent")).unwrap();
    history.undo(&plan, |_| {}).unwrap();
    assert_eq!(session.files().read("/memories/e/f.md").unwrap().as_str(), "one");
    assert!(matches!(session.files().read("/memories/d/f.md"), Err(FileError::NotFound)));
}

#[test]
fn an_undo_comes_back_to_a_place_that_another_step_frees() {
    let session = keeping();
    write(&session, "/memories/a.md", "a");
    write(&session, "/memories/b.md", "b");
    let agent = session.acting_as("agent");
    for (old, new) in [("a", "moved"), ("b", "a"), ("moved", "c")] {
        let path = |name| format!("/memories/{name}.md");
        agent.files().rename(&path(old), &path(new)).unwrap();
    }
    let history = session.history();
    let plan = history.plan_undo(&VersionQuery::all().actor("agent")).unwrap();
    let done = history.undo(&plan, |_| {}).unwrap();
    let is_done = |result| format!("{result:?}").starts_with("Done");
    assert!(done.iter().all(is_done), "{done:?}");
    assert_eq!(session.files().read("/memories/a.md").unwrap().as_str(), "a");
    assert_eq!(session.files().read("/memories/b.md").unwrap().as_str(), "b");
}

#[test]
fn a_folder_that_comes_back_elsewhere_does_not_take_what_has_its_old_path() {
    let session = keeping();
    write(&session, "/memories/d/e.md", "e");
    session.files().remove("/memories/d").unwrap();
    let deletion = newest(&session).number;
    let first = write(&session, "/memories/a.md", "one");
    session.files().rename("/memories/a.md", "/memories/d/f.md").unwrap();
    session.history().restore(deletion, Some("/memories/r")).unwrap();
    assert_eq!(session.history().text(first).unwrap().as_str(), "one");
    write(&session, "/memories/d/f.md", "two");
    session.history().forget("/memories/r", None, |_| {}).unwrap();
    assert_eq!(session.history().text(first).unwrap().as_str(), "one");
    assert_whole(&session, "forgotten");
}

/// A holder of the keys could make a tree that leads to one leaf any number of times.
#[test]
fn entries_out_of_order_are_damage() {
    let session = keeping();
    write(&session, "/memories/a.md", "a");
    let append = |exclusive: &mut Exclusive<'_>| {
        exclusive.commit(|txn| {
            let (object, mut history) = txn.history()?.unwrap();
            for number in [1_000, 1_000] {
                history.append(txn, object, Version::nothing(number, 0))?;
            }
            Ok::<_, StoreError>(txn.set_history(object, history)?)
        })
    };
    session.exclusive(append).unwrap();
    let page = session.history().page(&VersionQuery::all(), None, 10);
    assert!(matches!(page, Err(FileError::Store(StoreError::Tampered { .. }))));
}

/// Entries that hold no text cost no record but those of the history. One step tried to remove all of them, which was too much
/// for a batch, and so none was ever removed.
#[test]
fn thousands_of_entries_without_a_text_are_trimmed_in_steps() {
    let session = keeping();
    let name = "n".repeat(200);
    let paths: Vec<String> = (0..3_000).map(|number| format!("/memories/{number}{name}")).collect();
    let files: Vec<_> = paths.iter().map(|path| NewFile::new(path, "x")).collect();
    session.files().write_many(&files).unwrap();
    let entries = || session.history().status().unwrap().entries;
    assert_eq!(entries(), 3_000);
    pass_days(&session, 36);
    assert!(entries() < 3_000, "a commit removes some");
    session.history().set(HistorySettings::off()).unwrap();
    assert_eq!(entries(), 0);
    assert_whole(&session, "off");
}
