//! Tests of what a small store takes: disk, memory and open files.
//!
//! Memory is that of a process, so each measurement runs in one of its own: this program, started again. The figures are printed:
//! `cargo test --test small -- --nocapture`.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test should stop at the first unexpected result and report it"
)]

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use inmost::{NewSlot, RawKey, VaultOptions};
use inmost_testing::{CHEAP, passphrase};

/// Set in a process that measures itself: the folder of its stores, and how many it opens.
const FOLDER: &str = "INMOST_TEST_FOLDER";
const STORES: &str = "INMOST_TEST_STORES";

/// With a raw key, because what a key derivation frees is used again by the allocator, and counts.
fn key() -> RawKey {
    RawKey::from_bytes(&[7; 32])
}

fn create(place: &Path, files: u64) {
    let session = VaultOptions::new().kdf_cost(CHEAP).create(place, &passphrase()).unwrap();
    session.add_slot(&NewSlot::new(&key())).unwrap();
    for number in 0..files {
        let text = "a line of a note\n".repeat(60);
        session.files().write(&format!("/memories/{number}.md"), &text).unwrap();
    }
    session.lock();
}

/// The KiB that a folder occupies on the disk.
fn occupied(folder: &Path) -> u64 {
    let kib = |entry: fs::DirEntry| {
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() { occupied(&entry.path()) } else { metadata.blocks() / 2 }
    };
    fs::read_dir(folder).unwrap().map(|entry| kib(entry.unwrap())).sum()
}

/// The KiB of memory of this process, without the pages of its program.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn open_files() -> u64 {
    u64::try_from(fs::read_dir("/proc/self/fd").unwrap().count()).unwrap()
}

/// What the test below starts: opens stores, and prints the KiB and the files that they take.
#[test]
#[ignore = "a part of the next test, in a process of its own"]
fn measure() {
    let folder = env::var_os(FOLDER).unwrap();
    let stores = env::var(STORES).unwrap().parse::<u64>().unwrap();
    let before = [memory(), open_files()];
    let open = |number: u64| {
        let store = Path::new(&folder).join(number.to_string());
        VaultOptions::new().open(&store).unwrap().unlock_with(&key()).unwrap()
    };
    let sessions: Vec<_> = (0..stores).map(open).collect();
    println!("\n#{} {}", memory() - before[0], open_files() - before[1]);
    drop(sessions);
}

/// Returns the KiB of memory and the open files of so many unlocked stores.
fn measured(folder: &Path, stores: u64) -> [u64; 2] {
    let mut program = Command::new(env::current_exe().unwrap());
    program.args(["--exact", "measure", "--ignored", "--nocapture"]);
    let output = program.env(STORES, stores.to_string()).env(FOLDER, folder).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let line = output.lines().find_map(|line| line.strip_prefix('#')).unwrap();
    let (memory, files) = line.split_once(' ').unwrap();
    [memory, files].map(|number| number.parse().unwrap())
}

#[test]
fn a_small_store_takes_little() {
    let parent = tempfile::tempdir().unwrap();
    let stores = 9;
    for number in 0..stores {
        create(&parent.path().join(number.to_string()), if number == 1 { 100 } else { 0 });
    }
    let [new, used] = ["0", "1"].map(|name| occupied(&parent.path().join(name)));
    println!("on the disk: {new} KiB new, {used} KiB with 100 files of 1 KiB");
    // Of that, 4 MiB are the ballast.
    assert!(new < 7_400, "{new} KiB");
    assert!(used < 7_800, "{used} KiB");
    let [[memory, files], [more_memory, more_files]] =
        [1, stores].map(|stores| measured(parent.path(), stores));
    let memory = more_memory.saturating_sub(memory) / (stores - 1);
    let files = more_files.saturating_sub(files) / (stores - 1);
    println!("each more unlocked store: {memory} KiB, {files} open files");
    assert!(memory < 8_000, "{memory} KiB");
    assert!(files <= 4, "{files} files");
}
