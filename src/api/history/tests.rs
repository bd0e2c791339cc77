//! Tests of labels and of undoing.

use std::time::Duration;

use super::*;
use crate::api::MemoryTool;
use crate::session::Session;
use crate::tool::ToolOptions;

#[test]
fn the_tool_and_the_actor_are_in_the_history_and_control_characters_are_not() {
    let session = keeping();
    let newest = |session: &Session| {
        session.history().page(&VersionQuery::all(), None, 1).unwrap().items.remove(0)
    };
    let memory = MemoryTool::with_options(
        session.clone(),
        ToolOptions::new().actor("night\u{1b}[31m agent"),
    );
    let call = r#"{"command": "create", "path": "/memories/a", "file_text": "x"}"#;
    assert!(!memory.run_json(call).result().is_error());
    let version = newest(&session);
    assert_eq!((version.actor.as_str(), version.channel.name()), ("night[31m agent", "tool"));
    session.files().write("/memories/a", "y").unwrap();
    let version = newest(&session);
    assert_eq!((version.actor.as_str(), version.channel.name()), ("", "files"));
}

pub(super) fn keeping() -> Session {
    let session = Session::in_memory().unwrap();
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    session.history().set(HistorySettings::keep(month)).unwrap();
    session
}

/// Undoes everything by the actor a. Returns the results and what is left.
pub(super) fn undo(session: &Session) -> (Vec<Undone>, usize) {
    let plan = session.history().plan_undo(&VersionQuery::all().actor("a")).unwrap();
    (session.history().undo(&plan, |_| {}).unwrap(), plan.left.len())
}

pub(super) fn all_done(undone: &[Undone]) -> bool {
    undone.iter().all(|undone| matches!(undone, Undone::Done(_)))
}

#[test]
fn the_undo_of_a_restore_of_a_deleted_file_deletes_it_again() {
    let session = keeping();
    let (files, history) = (session.files(), session.history());
    files.write("/memories/f", "x").unwrap();
    files.remove("/memories/f").unwrap();
    let deleted = history.page(&VersionQuery::all(), None, 1).unwrap().items[0].number;
    session.acting_as("a").history().restore(deleted, None).unwrap();
    let (undone, left) = undo(&session);
    assert!(undone.len() == 1 && all_done(&undone) && left == 0, "{undone:?}");
    assert!(!files.exists("/memories/f").unwrap());
}

#[test]
fn a_deletion_and_its_restore_by_one_actor_need_no_undo() {
    let session = keeping();
    session.files().write("/memories/d/f", "x").unwrap();
    let actor = session.acting_as("a");
    actor.files().remove("/memories/d").unwrap();
    let deleted = actor.history().page(&VersionQuery::all(), None, 1).unwrap().items[0].number;
    actor.history().restore(deleted, None).unwrap();
    actor.files().write("/memories/d/f", "y").unwrap();
    let (undone, left) = undo(&session);
    assert!(undone.len() == 1 && all_done(&undone) && left == 0, "{undone:?}");
    assert_eq!(session.files().read("/memories/d/f").unwrap().as_str(), "x");
}

#[test]
fn a_folder_that_an_actor_brought_back_and_changed_goes_again() {
    let session = keeping();
    session.files().write("/memories/d/f", "x").unwrap();
    session.files().remove("/memories/d").unwrap();
    let history = session.history();
    let deleted = history.page(&VersionQuery::all(), None, 1).unwrap().items[0].number;
    let actor = session.acting_as("a");
    actor.history().restore(deleted, None).unwrap();
    actor.files().write("/memories/d/f", "y").unwrap();
    let (undone, left) = undo(&session);
    assert!(undone.len() == 2 && all_done(&undone) && left == 0, "{undone:?}");
    assert!(!session.files().exists("/memories/d").unwrap());
}

#[test]
fn a_renamed_folder_that_someone_else_deleted_is_left() {
    let session = keeping();
    session.files().write("/memories/d/f", "x").unwrap();
    session.acting_as("a").files().rename("/memories/d", "/memories/e").unwrap();
    session.files().remove("/memories/e").unwrap();
    let (undone, left) = undo(&session);
    assert_eq!((undone.len(), left), (0, 1));
}
