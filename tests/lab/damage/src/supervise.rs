//! Runs seeds in child processes, so that a panic, an abort or a hang ends only one of them. An engine also refuses all work
//! in a process after a panic in one of its threads.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::record::Record;
use crate::trial::{self, label_of};

pub fn run(cache: &Path, results: &Path, seeds: Range<u64>) {
    let known: HashSet<u64> = match File::open(results) {
        Ok(file) => lines(file).filter_map(|line| Some(Record::parse(&line)?.seed)).collect(),
        Err(_) => HashSet::new(),
    };
    let mut out = OpenOptions::new().create(true).append(true).open(results).unwrap();
    let work = cache.join("failed");
    fs::create_dir_all(&work).unwrap();
    let size = trial::batch();
    let mut next = seeds.start;
    while next < seeds.end {
        if known.contains(&next) {
            next += 1;
            continue;
        }
        let end = (next / size * size + size).min(seeds.end);
        let end = (next..end).find(|seed| known.contains(seed)).unwrap_or(end);
        next = batch(cache, &work, next..end, &mut |record: &Record| {
            writeln!(out, "{record}").unwrap();
            for failure in &record.failures {
                let Record { seed, label, kind, file, places, .. } = record;
                println!("FAILED seed {seed} ({label}): {kind} in {file} at {places}: {failure}");
            }
        });
    }
}

/// Runs seeds until the end or until one ends the process. Returns the next one.
fn batch(cache: &Path, work: &Path, seeds: Range<u64>, done: &mut dyn FnMut(&Record)) -> u64 {
    let mut next = seeds.start;
    let log = work.join("panics.log");
    let errors = OpenOptions::new().create(true).append(true).open(&log).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("seeds")
        .args([cache, work])
        .args([seeds.start.to_string(), seeds.end.to_string()])
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .unwrap();
    let (sender, receiver) = channel();
    let output = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        for line in lines(output) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let crash = loop {
        match receiver.recv_timeout(LIMIT) {
            Ok(line) => {
                let record = Record::parse(&line).expect("a record");
                assert_eq!(record.seed, next);
                done(&record);
                next += 1;
            }
            Err(RecvTimeoutError::Disconnected) => break "the process ended: a panic or an abort",
            Err(RecvTimeoutError::Timeout) => break "no end within two minutes",
        }
    };
    let _ = child.kill();
    child.wait().unwrap();
    reader.join().unwrap();
    if next < seeds.end {
        done(&Record::of_crash(next, &label_of(next), crash));
        next += 1;
    }
    next
}

fn lines(from: impl std::io::Read) -> impl Iterator<Item = String> {
    BufReader::new(from).lines().map_while(Result::ok)
}

/// A hundred times what a store takes.
const LIMIT: Duration = Duration::from_secs(120);
