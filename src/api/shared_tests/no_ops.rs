//! Calls that change nothing on the state that their session knows, while another host has changed it: the newest state counts.

use std::time::Duration;

use super::{SharedStore, raw_key};
use crate::api::MemoryTool;
use crate::session::{HistorySettings, Session};
use crate::vfs::{FileError, NewFile, Precondition, WriteOutcome};
use inmost_format::crypto::keys::RawKey;
use inmost_format::header::NewSlot;

const A: &str = "/memories/a.md";
const B: &str = "/memories/b.md";

/// A session that knows A and no B, and a session of another host.
fn hosts() -> (SharedStore, Session, Session) {
    let (store, one) = SharedStore::create();
    one.files().write(A, "known").unwrap();
    let two = store.unlock();
    (store, one, two)
}

fn text(session: &Session, path: &str) -> String {
    session.files().read(path).unwrap().as_str().to_owned()
}

#[test]
fn a_text_that_is_there_no_more_is_written() {
    let long = "line\n".repeat(20_000);
    for new in ["known", &long] {
        let (_store, one, two) = hosts();
        one.files().write(A, new).unwrap();
        two.files().write(A, "changed").unwrap();
        let written = one.files().write_many(&[NewFile::new(A, new)]).unwrap();
        assert!(matches!(written[..], [Ok(WriteOutcome::Written)]));
        assert_eq!(text(&two, A), new);
        let again = one.files().write_many(&[NewFile::new(A, new)]).unwrap();
        assert!(matches!(again[..], [Ok(WriteOutcome::Unchanged)]));
    }
}

#[test]
fn a_condition_is_judged_on_the_newest_state() {
    let long = "line\n".repeat(20_000);
    for new in ["new", &long] {
        let (_store, one, two) = hosts();
        two.files().remove(A).unwrap();
        one.files().write_if(A, new, &Precondition::Absent).unwrap();
        assert_eq!(text(&two, A), new);

        let (_store, one, two) = hosts();
        two.files().write(A, "newer").unwrap();
        let version = two.files().version(A).unwrap().unwrap().version;
        one.files().write_if(A, new, &Precondition::Version(version)).unwrap();
        assert_eq!(text(&two, A), new);

        let (_store, one, two) = hosts();
        let version = one.files().version(A).unwrap().unwrap().version;
        two.files().write(A, "newer").unwrap();
        let late = one.files().write_if(A, new, &Precondition::Version(version));
        assert!(matches!(late, Err(FileError::Changed(Some(_)))));
        assert_eq!(text(&two, A), "newer");
    }
}

#[test]
fn a_file_that_is_there_by_now_is_found() {
    let (_store, one, two) = hosts();
    two.files().write(B, "b").unwrap();
    one.files().rename(B, "/memories/c.md").unwrap();
    two.files().write(B, "b").unwrap();
    one.files().remove(B).unwrap();
    assert!(!two.files().exists(B).unwrap());
    two.files().write(B, "b\n").unwrap();
    let tool = MemoryTool::new(one);
    let insert =
        format!(r#"{{"command":"insert","path":"{B}","insert_line":1,"insert_text":"c\n"}}"#);
    assert!(!tool.try_run_json(insert).unwrap().is_error());
    two.files().remove(A).unwrap();
    let create = format!(r#"{{"command":"create","path":"{A}","file_text":"tool"}}"#);
    assert!(!tool.try_run_json(create).unwrap().is_error());
    assert_eq!((text(&two, A).as_str(), text(&two, B).as_str()), ("tool", "b\nc\n"));
}

#[test]
fn a_setting_that_another_host_has_changed_is_set_again() {
    let (_store, one, two) = hosts();
    let settings = HistorySettings::keep(Duration::from_secs(24 * 60 * 60));
    one.history().set(settings).unwrap();
    two.history().set(HistorySettings::off()).unwrap();
    one.history().set(settings).unwrap();
    assert_eq!(two.history().status().unwrap().settings, settings);
}

#[test]
fn a_keyslot_that_is_there_by_now_is_removed() {
    let (store, one, two) = hosts();
    let other = RawKey::from_bytes(&[9; 32]);
    let slot = two.add_slot(&NewSlot::new(&other)).unwrap();
    one.remove_slot(slot).unwrap();
    let mut vault = store.vault(store.server.host()).unwrap();
    assert!(vault.unlock_with(&other).is_err());
    assert!(vault.unlock_with(&raw_key()).is_ok());
}
