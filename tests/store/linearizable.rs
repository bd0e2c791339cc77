//! Tests that calls of many threads on one session take effect in one order, each at a moment between its
//! start and its end.
//!
//! Threads write and read a few files. Every text is unique, and each call records when it started and ended.
//! The results are then checked file by file with the rule of Gibbons and Korach (*Testing Shared Memories*,
//! SIAM Journal on Computing 26, 1997): the calls on one text span a zone between the earliest end and the
//! latest start among them. The history is linearizable exactly if no two zones in which their texts must
//! have been present overlap, and no such zone contains the zone of a text that appeared and was replaced.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::zones::{Call, judge};
use inmost::{HistorySettings, KdfCost, Passphrase, Session, SessionOptions, VaultOptions};

/// Runs the threads and returns the calls on each file.
fn history(session: &Session, threads: usize, rounds: usize, files: usize) -> Vec<Vec<Call>> {
    let clock = AtomicU64::new(0);
    let now = || clock.fetch_add(1, Ordering::SeqCst);
    let path = |file: usize| format!("/memories/{file}.md");
    let mut all = vec![Vec::new(); files];
    for (file, calls) in all.iter_mut().enumerate() {
        let begin = now();
        session.files().write(&path(file), &format!("first of {file}")).unwrap();
        let text = format!("first of {file}");
        calls.push(Call { begin, end: now(), is_write: true, text });
    }
    let barrier = Barrier::new(threads);
    let work = |thread: usize| {
        let mut calls = Vec::new();
        barrier.wait();
        for round in 0..rounds {
            let file = (thread * 7 + round * 5 + round / 3) % files;
            let is_write = (thread + round).is_multiple_of(3);
            let begin = now();
            let text = if is_write {
                let text = format!("{thread}.{round} {}", "x".repeat(round % 7 * 700));
                session.files().write(&path(file), &text).unwrap();
                text
            } else {
                session.files().read(&path(file)).unwrap().as_str().to_owned()
            };
            calls.push((file, Call { begin, end: now(), is_write, text }));
        }
        calls
    };
    thread::scope(|scope| {
        let handles: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        for handle in handles {
            for (file, call) in handle.join().unwrap() {
                all[file].push(call);
            }
        }
    });
    all
}

fn check(session: &Session, rounds: usize) {
    for files in [1, 3] {
        for (file, calls) in history(session, 8, rounds, files).into_iter().enumerate() {
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
    let options = VaultOptions::new()
        .kdf_cost(KdfCost::new(19 << 10, 2, 1))
        .session(SessionOptions::new().max_cache_bytes(4_000));
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
