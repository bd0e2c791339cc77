//! Tests of the disk space that a store occupies, in long use and after a rewrite.
//!
//! The bound is the rule of [`Session::compaction_due`]: a rewrite is suggested when a store occupies more than
//! four times its live bytes plus 16 MiB. A rewrite must bring it below that, or it would be suggested again at
//! once.
//!
//! The size after a rewrite depends on the engine and varies: sled reuses a segment of its log (2 MiB) when
//! its threads have found it empty and the epochs of the process have advanced. One store alone occupied 1.9
//! times its live bytes after a rewrite, 14 times out of 14; with a second busy store in the same process it
//! occupied up to 2.7 times. So these tests are a separate program, run one after the other, and allow for
//! that.
//!
//! The figures are printed: `cargo test --release --test space -- --nocapture`.

#![allow(
    clippy::unwrap_used,
    reason = "a test should stop at the first unexpected result and report it"
)]

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use inmost::{Session, VaultOptions};
use inmost_testing::{CHEAP, Random, passphrase};
use tempfile::TempDir;

const FILES: u64 = 500;
const OVERWRITES: u64 = 20_000;
const MIB: u64 = 1 << 20;

/// The number of changes between two measurements of the size.
const STEP: u64 = 25;
/// Room for the growth of the log in one step. It grows by segments of 2 MiB, and a step changes 25 files of 8 KB at most.
const GROWTH: u64 = 4 * MIB;

static ALONE: Mutex<()> = Mutex::new(());

/// Returns a text of lines, from 200 bytes to 8 KB.
fn text(random: &mut Random) -> String {
    let lines = (200 + random.below(7_800)) / 49 + 1;
    "a line of a note that is written again and again\n".repeat(lines)
}

fn path(number: u64) -> String {
    format!("/memories/{}/{number}.md", number % 20)
}

fn disk(session: &Session) -> u64 {
    session.status().unwrap().disk_bytes
}

/// The bytes of live records, as estimated by `compaction_due`.
fn live(session: &Session) -> u64 {
    let status = session.status().unwrap();
    status.bytes + status.bytes / 8 + status.files * 512
}

/// The size above which a rewrite is suggested.
fn suggested_above(live: u64) -> u64 {
    4 * live + 16 * MIB
}

fn store(place: &Path, files: u64, random: &mut Random) -> Session {
    let options = VaultOptions::new().kdf_cost(CHEAP);
    let session = options.create(place, &passphrase()).unwrap();
    for number in 0..files {
        session.files().write(&path(number), &text(random)).unwrap();
    }
    session
}

/// A folder in memory, if the system has one.
fn place() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// Every suggested rewrite is made where a command would make it, here after every [`STEP`] changes.
#[test]
fn long_use_stays_within_its_room() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place();
    let path_of_store = place.path().join("store");
    let mut random = Random(1);
    let session = store(&path_of_store, FILES, &mut random);
    let (mut most, mut most_live, mut most_rewritten, mut rewrites) = (0, 0, 0, 0);
    for number in 0..OVERWRITES {
        session.files().write(&path(random.below_u64(FILES)), &text(&mut random)).unwrap();
        if number % STEP > 0 {
            continue;
        }
        most = most.max(disk(&session));
        most_live = most_live.max(live(&session));
        if session.compaction_due().unwrap() {
            let before = disk(&session);
            // During a rewrite, the old and the new generation exist together.
            let mut progress = |_| most = most.max(folder_bytes(&path_of_store));
            session.purge_reporting(&mut progress).unwrap();
            assert!(disk(&session) < before);
            assert!(!session.compaction_due().unwrap(), "a rewrite is still due after a rewrite");
            most_rewritten = most_rewritten.max(disk(&session));
            rewrites += 1;
        }
    }
    // The old generation is at most as large as it can grow before the suggestion, and the new one is too small
    // for another one.
    let bound = 2 * suggested_above(most_live) + GROWTH;
    println!(
        "{FILES} files, {most_live} bytes live: at most {most} on disk, bound {bound}; {rewrites} rewrites, at most \
         {most_rewritten} after one"
    );
    assert!(most <= bound, "{most} bytes, bound {bound}");
}

#[test]
fn no_rewrite_is_suggested_after_a_rewrite() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place();
    let session = store(&place.path().join("store"), 3_000, &mut Random(2));
    session.purge().unwrap();
    let (after, live) = (disk(&session), live(&session));
    println!("3000 files, {live} bytes live: {after} after a rewrite, {:.2} x", ratio(after, live));
    assert!(!session.compaction_due().unwrap());
    assert!(after <= suggested_above(live));
}

/// The bytes of all files except the ballast.
fn folder_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) if entry.file_name() != "ballast" => metadata.len(),
        _ => 0,
    });
    bytes.sum()
}

#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "only for a comparison")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
