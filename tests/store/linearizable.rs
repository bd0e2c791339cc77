//! Tests that calls of many threads on one session take effect in one order, each at a moment between its
//! start and its end.
//!
//! Threads write and read a few files. Every text is unique, and each call records when it started and ended.
//! The results are then checked file by file with the rule of Gibbons and Korach (*Testing Shared Memories*,
//! SIAM Journal on Computing 26, 1997): the calls on one text span a zone between the earliest end and the
//! latest start among them. The history is linearizable exactly if no two zones in which their texts must
//! have been present overlap, and no such zone contains the zone of a text that appeared and was replaced.

use std::slice;
use std::time::Duration;

use crate::zones::{Call, Files, history, judge};
use inmost::{HistorySettings, Passphrase, Session, SessionOptions, VaultOptions};
use inmost_testing::CHEAP;

impl Files for Session {
    fn write(&self, path: &str, text: &str) {
        self.files().write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        self.files().read(path).unwrap().as_str().to_owned()
    }
}

fn check(session: &Session, rounds: usize) {
    for files in [1, 3] {
        for (file, calls) in
            history(slice::from_ref(session), 8, rounds, files).into_iter().enumerate()
        {
            assert!(calls.len() > 8 * rounds / files / 2);
            judge(&calls).unwrap_or_else(|wrong| panic!("file {file}: {wrong}"));
        }
    }
}

#[test]
fn calls_of_many_threads_are_linearizable_in_memory() {
    let session = SessionOptions::new().in_memory().unwrap();
    check(&session, 1_500);
}

#[test]
fn calls_of_many_threads_are_linearizable_on_disk_and_a_small_cache() {
    let place = tempfile::tempdir().unwrap();
    let options =
        VaultOptions::new().kdf_cost(CHEAP).session(SessionOptions::new().max_cache_bytes(4_000));
    let passphrase = Passphrase::new("a passphrase for tests").unwrap();
    let session = options.create(place.path().join("store"), &passphrase).unwrap();
    check(&session, 150);
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    session.history().set(HistorySettings::keep(month).max_bytes(100_000)).unwrap();
    check(&session, 150);
    assert!(session.check().unwrap().is_clean());
}

#[test]
fn a_history_that_is_not_linearizable_is_detected() {
    let call = |begin, end, is_write, text: &str| Call { begin, end, is_write, text: text.into() };
    let a = call(0, 1, true, "a");
    let b = call(2, 3, true, "b");
    let read = |begin, end, text| call(begin, end, false, text);
    assert!(judge(&[a.clone(), read(4, 5, "a")]).is_ok());
    assert!(judge(&[a.clone(), b.clone(), read(4, 5, "b")]).is_ok());
    // Overlapping calls may take effect in either order.
    assert!(judge(&[a.clone(), call(2, 9, true, "b"), read(4, 5, "a"), read(6, 7, "b")]).is_ok());
    // A lost update, a text that was never written, a text from the future, and a reader that goes back in
    // time.
    assert!(judge(&[a.clone(), b.clone(), read(4, 5, "a")]).is_err());
    assert!(judge(&[a.clone(), read(2, 3, "c")]).is_err());
    assert!(judge(&[a.clone(), read(2, 3, "b"), call(4, 5, true, "b")]).is_err());
    let long = call(2, 20, true, "b");
    assert!(judge(&[a, long, read(4, 5, "b"), read(6, 7, "a")]).is_err());
}
