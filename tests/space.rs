//! The room a store takes on disk, in long use and after a rewrite.
//!
//! The figures are printed: `cargo test --release --test space -- --nocapture`.

#![allow(
    clippy::unwrap_used,
    reason = "a test that meets the unexpected should stop there and say so"
)]

use std::fs;
use std::path::Path;

use inmost::{KdfCost, Passphrase, Session, VaultOptions};
use tempfile::TempDir;

const FILES: u64 = 500;
const OVERWRITES: u64 = 20_000;
const MIB: u64 = 1 << 20;

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// From 200 bytes to 8 KB of lines.
    fn text(&mut self) -> String {
        let bytes = 200 + self.below(7_800);
        "a line of a note that is written again and again\n"
            .repeat(usize::try_from(bytes / 49 + 1).unwrap())
    }
}

fn path(number: u64) -> String {
    format!("/memories/{}/{number}.md", number % 20)
}

fn disk(session: &Session) -> u64 {
    session.status().unwrap().disk_bytes
}

fn store(place: &Path, files: u64, random: &mut Random) -> Session {
    let passphrase = Passphrase::new("a passphrase for tests").unwrap();
    let options = VaultOptions::new().kdf_cost(KdfCost::new(19 << 10, 2, 1));
    let session = options.create(place, &passphrase).unwrap();
    for number in 0..files {
        session.files().write(&path(number), &random.text()).unwrap();
    }
    session
}

/// A folder in memory, if there is one.
fn place() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// Addresses and sealed values of all records of a closed store without garbage.
fn live(store: &Path) -> u64 {
    let mut entries = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let generation = entries.find(|path| path.is_dir()).unwrap();
    let db = sled::Config::new().path(generation).segment_size(2 << 20).open().unwrap();
    let bytes = db.iter().map(|record| record.map(|(key, value)| key.len() + value.len()).unwrap());
    u64::try_from(bytes.sum::<usize>()).unwrap()
}

/// Bytes on disk after a rewrite, and those that are live.
fn rewritten(session: Session, store: &Path) -> (u64, u64) {
    session.purge().unwrap();
    let after = disk(&session);
    session.lock();
    drop(session);
    (after, live(store))
}

/// Every offer to compact is accepted; one is made where a command would make it, here after every 25 changes.
#[test]
fn long_use_stays_within_its_room() {
    let place = place();
    let path_of_store = place.path().join("store");
    let mut random = Random(1);
    let session = store(&path_of_store, FILES, &mut random);
    let (mut most, mut compactions, mut generation) = (0, 0, 0);
    for number in 0..OVERWRITES {
        session.files().write(&path(random.below(FILES)), &random.text()).unwrap();
        if number % 25 > 0 {
            continue;
        }
        most = most.max(disk(&session));
        if session.compaction_due().unwrap() {
            let before = disk(&session);
            // Old and new are there at once for a moment.
            session
                .with_progress(|_| most = most.max(folder_bytes(&path_of_store)))
                .purge()
                .unwrap();
            generation = generation.max(disk(&session));
            assert!(disk(&session) < before);
            compactions += 1;
        }
    }
    let (after, live) = rewritten(session, &path_of_store);
    println!(
        "{FILES} files, {live} bytes live: at most {most} on disk with {compactions} compactions, bound {}; {after} after \
         a rewrite, {:.2} x live",
        3 * live + 8 * MIB + generation,
        ratio(after, live)
    );
    assert!(compactions > 0, "nothing was compacted");
    assert!(most <= 3 * live + 8 * MIB + generation);
    // The engine keeps up to three segments of 2 MiB that hold little or nothing.
    assert!(after <= live * 5 / 2 + 6 * MIB);
}

#[test]
fn a_rewritten_store_takes_less_than_two_and_a_half_times_what_it_holds() {
    let place = place();
    let path_of_store = place.path().join("store");
    let session = store(&path_of_store, 3_000, &mut Random(2));
    let (after, live) = rewritten(session, &path_of_store);
    println!(
        "3000 files, {live} bytes live: {after} after a rewrite, {:.2} x live",
        ratio(after, live)
    );
    assert!(2 * after < 5 * live);
}

/// All files but what is set aside for a full disk.
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
