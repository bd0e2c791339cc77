//! Tests of requests to the history: what is refused changes nothing.

use std::time::{Duration, SystemTime};

use super::model::dump;
use super::versions::{MONTH, assert_whole, keeping, keeps, log, newest};
use crate::session::{HistorySettings, Session, SessionOptions, shift_clock};
use crate::vfs::error::FileError;
use crate::vfs::{EntryKind, NewFile, Precondition, VersionQuery};

#[test]
fn a_deleted_folder_whose_files_were_forgotten_does_not_come_back_empty() {
    let session = keeping();
    session.files().write("/memories/alone/x", "x").unwrap();
    let file = newest(&session).number;
    session.files().remove("/memories/alone").unwrap();
    let folder = newest(&session).number;
    assert_eq!(session.history().forget("/memories/alone/x", Some(file), |_| {}).unwrap(), 1);
    let restored = session.history().restore(folder, None);
    assert!(matches!(restored, Err(FileError::VersionGone(number)) if number == folder));
    assert!(session.files().list("/memories").unwrap().is_empty());
}

/// Whether an error is the expected one.
type IsRight = fn(&FileError) -> bool;

#[test]
fn bad_requests_change_nothing() {
    let session = keeping();
    let files = session.files();
    files.write("/memories/a", "one").unwrap();
    let first = newest(&session).number;
    files.write("/memories/a", "two").unwrap();
    files.write("/memories/b/c", "three").unwrap();
    let before = (dump(&session).unwrap(), session.status().unwrap().commit);
    let history = session.history();
    let wrong: [(Result<u64, FileError>, IsRight); 8] = [
        (history.restore(first + 1_000_000, None), |e| matches!(e, FileError::NoSuchVersion(_))),
        (history.restore(1, None), |e| matches!(e, FileError::NoSuchVersion(1))),
        (history.restore(first, Some("/memories/b/c")), |e| matches!(e, FileError::AlreadyExists)),
        (history.restore(first, Some("/memories/b")), |e| matches!(e, FileError::AlreadyExists)),
        (history.restore(first, Some("/memories")), |e| matches!(e, FileError::AlreadyExists)),
        (history.restore(first, Some("/memories/b/c/d")), |e| {
            matches!(e, FileError::NotAFolder(_))
        }),
        (history.restore(first, Some("/etc")), |e| matches!(e, FileError::InvalidPath(_))),
        (history.forget("/memories/a", Some(u64::MAX), |_| {}), |e| {
            matches!(e, FileError::NoSuchVersion(u64::MAX))
        }),
    ];
    for (number, (result, is_right)) in (0..).zip(wrong) {
        match result {
            Err(error) => assert!(is_right(&error), "{number}: {error}"),
            Ok(made) => panic!("{number} made version {made}"),
        }
    }
    assert_eq!((dump(&session).unwrap(), session.status().unwrap().commit), before);
    assert_eq!(history.forget("/memories/none", None, |_| {}).unwrap(), 0);
    let nothing = history.plan_undo(&VersionQuery::all().actor("nobody")).unwrap();
    assert!(nothing.steps.is_empty() && nothing.left.is_empty());
}

#[test]
fn a_restore_keeps_within_the_quotas() {
    let session = SessionOptions::new().max_files(1).max_file_bytes(1_000).in_memory();
    let session = keeps(session.unwrap());
    session.files().write("/memories/a", "one").unwrap();
    let first = newest(&session).number;
    session.files().remove("/memories/a").unwrap();
    session.files().write("/memories/b", "two").unwrap();
    let refused = session.history().restore(first, None);
    assert!(matches!(refused, Err(FileError::TooManyFiles(1))));
}

/// Regression: the file counted twice, at the path that it leaves and at the one to which it goes back.
#[test]
fn an_undo_of_a_move_needs_no_room_for_another_file() {
    let session = keeps(SessionOptions::new().max_files(2).in_memory().unwrap());
    session.files().write("/memories/a", "one").unwrap();
    session.files().write("/memories/b", "two").unwrap();
    session.acting_as("agent").files().rename("/memories/a", "/memories/c").unwrap();
    let plan = session.history().plan_undo(&VersionQuery::all().actor("agent")).unwrap();
    let undone = session.history().undo(&plan, |_| {}).unwrap();
    assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "one", "{undone:?}");
}

/// Regression: the text counted at its old path and at its new one, before the move.
#[test]
fn a_file_that_takes_the_place_of_another_needs_no_room_for_both() {
    let session = SessionOptions::new().max_store_bytes(1_000).in_memory().unwrap();
    session.files().write("/memories/draft", &"d".repeat(600)).unwrap();
    session.files().write("/memories/plan", &"p".repeat(300)).unwrap();
    let now = |path| Precondition::Version(session.files().version(path).unwrap().unwrap().version);
    let (moved, replaced) = (now("/memories/draft"), now("/memories/plan"));
    session.files().replace_if("/memories/draft", "/memories/plan", &moved, &replaced).unwrap();
    assert_eq!(session.files().read("/memories/plan").unwrap().as_str(), "d".repeat(600));
}

/// Regression: it became that of the undo.
#[test]
fn an_undo_keeps_the_time_of_creation() {
    let session = keeps(SessionOptions::new().in_memory().unwrap());
    let created = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    for name in ["edited", "moved"] {
        let path = format!("/memories/{name}");
        let mut file = NewFile::new(&path, "one");
        file.created = Some(created);
        session.files().write_many(&[file]).unwrap().pop().unwrap().unwrap();
    }
    let agent = session.acting_as("agent");
    agent.files().write("/memories/edited", "two").unwrap();
    agent.files().rename("/memories/moved", "/memories/else").unwrap();
    let plan = session.history().plan_undo(&VersionQuery::all().actor("agent")).unwrap();
    session.history().undo(&plan, |_| {}).unwrap();
    for name in ["edited", "moved"] {
        let found = session.files().metadata(&format!("/memories/{name}")).unwrap();
        let EntryKind::File { created: now, .. } = found.kind else { panic!("a folder") };
        assert_eq!(
            (session.files().read(&format!("/memories/{name}")).unwrap().as_str(), now),
            ("one", created)
        );
    }
}

/// A clock that was a long time behind wrote the newest entry of a file. By its time it was over, so it was not listed, the file
/// looked deleted, and a restore of the deletion to another path gave the number of the file to a second one.
#[test]
fn two_files_never_have_one_number_after_a_clock_went_back() {
    let day = 24 * 60 * 60 * 1_000;
    let session = keeping();
    session.files().write("/memories/a", "text").unwrap();
    session.files().remove("/memories/a").unwrap();
    let deletion = newest(&session);
    shift_clock(-60 * day);
    session.history().restore(deletion.number, None).unwrap();
    shift_clock(60 * day);
    assert_eq!(newest(&session).previous, Some(deletion.number));
    let copied = session.history().restore(deletion.number, Some("/memories/b")).unwrap();
    let copy = newest(&session);
    assert_eq!((copy.number, copy.previous), (copied, None));
    assert_ne!(copy.file, deletion.file);
    for path in ["/memories/a", "/memories/b"] {
        assert_eq!(session.files().read(path).unwrap().as_str(), "text");
    }
    // Each has its own history: a change of one is not in that of the other.
    session.files().write("/memories/a", "changed").unwrap();
    assert_eq!(newest(&session).file, deletion.file);
    assert_eq!(session.history().text(copied).unwrap().as_str(), "text");
    assert_whole(&session, "two files");
}

/// The fuzz target `model` found this: a clock that was a long time behind wrote the rename of a folder. By its time it was over,
/// so the current text of a file in the folder was looked for at its old path. It was gone for a reader.
#[test]
fn a_current_text_is_found_below_a_folder_that_was_renamed_while_the_clock_was_behind() {
    let day = 24 * 60 * 60 * 1_000;
    let session = keeping();
    session.files().write("/memories/a/b", "text").unwrap();
    let first = newest(&session).number;
    shift_clock(-60 * day);
    session.files().rename("/memories/a", "/memories/c").unwrap();
    session.files().rename("/memories/c/b", "/memories/c/d").unwrap();
    shift_clock(60 * day);
    assert_eq!(log(&session).len(), 3);
    assert_eq!(session.history().text(first).unwrap().as_str(), "text");
}

/// A change that ended a text was made by a clock that was a long time behind.
#[test]
fn forgetting_removes_a_text_that_a_change_with_a_clock_behind_has_ended() {
    let day = 24 * 60 * 60 * 1_000;
    let session = keeping();
    session.files().write("/memories/a", "secret").unwrap();
    let first = newest(&session).number;
    shift_clock(-60 * day);
    session.files().write("/memories/a", "public").unwrap();
    shift_clock(60 * day);
    assert_eq!(session.history().text(first).unwrap().as_str(), "secret");
    assert_eq!(session.history().status().unwrap().bytes, 6);
    assert_eq!(session.history().forget("/memories/a", Some(first), |_| {}).unwrap(), 1);
    assert_eq!(session.history().status().unwrap().bytes, 0);
    assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "public");
    assert_whole(&session, "forgotten");
}

/// A change deep in folders writes so many records that none were left to drop with it. Where all changes were like that, no
/// text was dropped for want of room, and no entry whose time was over was removed.
#[test]
fn changes_deep_in_folders_drop_what_time_and_room_leave_no_place_for() {
    let session = Session::in_memory().unwrap();
    session.history().set(HistorySettings::keep(MONTH).max_bytes(10)).unwrap();
    let path = |name: &str| format!("/memories{}", format!("/{name}").repeat(20));
    for step in 0..40 {
        session.files().write(&path("a"), &format!("text {step}")).unwrap();
        let status = session.history().status().unwrap();
        assert!(status.bytes <= 10 + 7, "step {step}: {status:?}");
    }
    for step in 0..53 {
        if step < 12 {
            shift_clock(3 * 24 * 60 * 60 * 1_000);
        }
        let (old, new) = if step % 2 == 0 { ("a", "b") } else { ("b", "a") };
        session.files().rename(&path(old), &path(new)).unwrap();
    }
    let status = session.history().status().unwrap();
    assert_eq!((status.entries, status.bytes), (53, 0));
    assert_whole(&session, "deep");
}

/// The fuzz target `model` found this: the error said that a folder without a name was there.
#[test]
fn a_note_of_what_was_forgotten_cannot_be_restored() {
    let session = keeping();
    session.files().write("/memories/a", "text").unwrap();
    session.files().remove("/memories/a").unwrap();
    session.history().forget("/memories/a", None, |_| {}).unwrap();
    let note = newest(&session).number;
    let restored = session.history().restore(note, Some("/memories/b"));
    assert!(matches!(restored, Err(FileError::VersionGone(number)) if number == note));
    assert!(!session.files().exists("/memories/b").unwrap());
}

/// The fuzz target `model` found this: the head of a history without entries stayed when the history was switched off, and had
/// no owner when it was switched on again.
#[test]
fn an_empty_history_that_is_switched_off_leaves_no_record() {
    let session = keeping();
    session.files().write("/memories/a", "text").unwrap();
    session.history().forget("/memories", None, |_| {}).unwrap();
    session.history().set(HistorySettings::off()).unwrap();
    assert_whole(&keeps(session), "on again");
}

/// The fuzz target `model` found this: the path of a deleted file moved with a later folder of that name, so that its versions
/// were forgotten with the new path of the folder.
#[test]
fn a_deleted_file_does_not_move_with_a_folder_that_took_its_path() {
    let session = keeping();
    session.files().write("/memories/b", "kept").unwrap();
    let kept = newest(&session).number;
    session.files().remove("/memories/b").unwrap();
    session.files().write("/memories/b/c", "forgotten").unwrap();
    session.files().rename("/memories/b", "/memories/d").unwrap();
    session.history().forget("/memories/d", None, |_| {}).unwrap();
    assert_eq!(session.history().text(kept).unwrap().as_str(), "kept");
}
