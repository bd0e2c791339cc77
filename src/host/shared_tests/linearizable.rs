//! Two hosts with four threads each, as fast as they can.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::SharedStore;
use super::zones::{Call, judge};
use crate::session::Session;

fn history(sessions: &[Session], threads: usize, rounds: usize, files: usize) -> Vec<Vec<Call>> {
    let clock = AtomicU64::new(0);
    let now = || clock.fetch_add(1, Ordering::SeqCst);
    let path = |file: usize| format!("/memories/{file}.md");
    let mut all = vec![Vec::new(); files];
    for (file, calls) in all.iter_mut().enumerate() {
        let (begin, text) = (now(), format!("first of {file}"));
        sessions[0].files().write(&path(file), &text).unwrap();
        calls.push(Call { begin, end: now(), is_write: true, text });
    }
    let barrier = Barrier::new(threads * sessions.len());
    let work = |host: usize, thread: usize| {
        let session = &sessions[host];
        let mut calls = Vec::new();
        barrier.wait();
        for round in 0..rounds {
            let file = (host + thread * 7 + round * 5 + round / 3) % files;
            let is_write = (host + thread + round).is_multiple_of(3);
            let begin = now();
            let text = if is_write {
                let text = format!("{host}.{thread}.{round} {}", "x".repeat(round % 7 * 700));
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
        let mut handles = Vec::new();
        for host in 0..sessions.len() {
            for thread in 0..threads {
                handles.push(scope.spawn(move || work(host, thread)));
            }
        }
        for handle in handles {
            for (file, call) in handle.join().unwrap() {
                all[file].push(call);
            }
        }
    });
    all
}

#[test]
fn calls_of_two_hosts_with_four_threads_each_are_linearizable() {
    for files in [1, 3] {
        let (store, one) = SharedStore::create();
        let sessions = [one, store.unlock()];
        for (file, calls) in history(&sessions, 4, 150, files).into_iter().enumerate() {
            assert!(calls.len() > 8 * 150 / files / 2);
            judge(&calls).unwrap_or_else(|wrong| panic!("file {file}: {wrong}"));
        }
        assert!(sessions[1].check().unwrap().is_clean());
    }
}
