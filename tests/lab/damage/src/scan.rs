//! Measures the search of a large store.

use std::fs;
use std::path::Path;
use std::time::Instant;

use inmost::{NewFile, Vault};

use crate::folder;
use crate::pasts::key;
use crate::random::Random;

pub fn measure(store: &Path, files: u64) {
    if !store.is_dir() {
        make(store, files);
        println!("made {files} files; run again to measure");
        return;
    }
    let bytes: usize = folder::read_lengths(store);
    let vault = Vault::open(store).unwrap();
    let start = Instant::now();
    let mut searched = None;
    let report = vault.plan_repair(&key(), |_| searched = Some(start.elapsed())).unwrap();
    let (whole, searched) = (start.elapsed(), searched.unwrap());
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{} files, {megabytes:.0} MB in the generation; search {:.2} s, {:.0} MB/s; plan_repair {:.2} s, {:.0} MB/s; {}",
        report.files,
        searched.as_secs_f64(),
        megabytes / searched.as_secs_f64(),
        whole.as_secs_f64(),
        megabytes / whole.as_secs_f64(),
        peak_memory(),
    );
    assert!(report.is_complete());
    drop(vault);
    // Afterwards, because the peak of the memory would be that of the engine.
    println!("unlock and lock {:.1} ms, the median of {UNLOCKS}", 1e3 * unlock_time(store));
}

/// The seconds that it takes to open a store with a raw key, so without key derivation, and to lock it again unchanged.
fn unlock_time(store: &Path) -> f64 {
    let mut times = [0.0; UNLOCKS];
    for time in &mut times {
        let start = Instant::now();
        Vault::open(store).unwrap().unlock_with(&key()).unwrap().lock();
        *time = start.elapsed().as_secs_f64();
    }
    times.sort_by(f64::total_cmp);
    times[UNLOCKS / 2]
}

fn make(store: &Path, files: u64) {
    let session = inmost::VaultOptions::new().create_with(store, &key()).unwrap();
    let mut random = Random(1);
    let numbers: Vec<u64> = (0..files).collect();
    for some in numbers.chunks(5_000) {
        let texts: Vec<(String, String)> = some
            .iter()
            .map(|file| {
                let line = format!("file {file}, {:x}\n", random.next());
                (format!("/memories/{}/{file}.md", file / 200), line.repeat(4 + random.below(60)))
            })
            .collect();
        let new: Vec<_> = texts.iter().map(|(path, text)| NewFile::new(path, text)).collect();
        session.files().write_many(&new).unwrap();
    }
    session.lock();
}

/// The peak of the resident memory, from Linux.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.unwrap_or("VmHWM unknown").split_whitespace().collect::<Vec<_>>().join(" ")
}

const UNLOCKS: usize = 9;
