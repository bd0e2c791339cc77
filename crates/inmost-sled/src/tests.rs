//! Tests of the sled engine on sound and damaged files.

mod eviction;
mod filling;
mod index;
mod log_check;
mod log_with_holes;
mod loosely;
mod power_cuts;

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
#[cfg(unix)]
use std::io::Write;

use tempfile::TempDir;

use super::handle::storage_error;
use super::*;
use inmost_engines::guard::MESSAGE_CHARACTERS;
use inmost_engines::samples::{address, puts};
use inmost_storage::limits;

/// Every value that an address ever had, oldest first.
type History = HashMap<Address, Vec<Vec<u8>>>;

/// A fixed pseudo-random sequence, so that failures are reproducible. (Knuth's MMIX generator.)
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn value(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

fn open(folder: &Path) -> Result<SledEngine, StorageError> {
    SledEngine::open(folder, &Expected::anything())
}

/// A closed generation with 150 records in commits of 5. It was reopened three times.
fn filled() -> (TempDir, PathBuf, History) {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("generation");
    let mut sequence = Sequence(1);
    let mut history = History::new();
    let mut engine = SledEngine::create(&folder).unwrap();
    for round in 0..60_u32 {
        let numbers = (0..5).map(|each| (round * 5 + each) % 150);
        let batch = puts(numbers.map(|number| {
            let classes = [297, 553, 1_065, 2_089, 4_137];
            (number, sequence.value(classes[usize::try_from(number % 5).unwrap()]))
        }));
        engine.apply(&batch).unwrap();
        engine.sync().unwrap();
        for (address, value) in batch.puts {
            history.entry(address).or_default().push(value);
        }
        if round % 20 == 10 {
            Box::new(engine).close().unwrap();
            engine = open(&folder).unwrap();
        }
    }
    Box::new(engine).close().unwrap();
    (parent, folder, history)
}

fn copy_of(folder: &Path) -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let copy = parent.path().join("generation");
    fs::create_dir_all(copy.join(repair::BLOBS)).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
        }
    }
    (parent, copy)
}

fn assert_complete(engine: &SledEngine, history: &History) {
    let found = engine.scan(None, usize::MAX).unwrap();
    assert_eq!(found.len(), history.len());
    for (address, value) in found {
        assert_eq!(Some(&value), history[&address].last());
    }
}

fn snapshots(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = paths
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with(repair::SNAPSHOT_PREFIX)
        })
        .collect();
    found.sort();
    found
}

/// Opens a damaged generation and reads as much as possible.
///
/// A panic fails the test. Every value read must be one that was written there. Returns the number of records
/// that a scan found, or `None` if the generation did not open.
fn read_damaged(folder: &Path, history: &History) -> Option<usize> {
    let engine = open(folder).ok()?;
    let check = |address: &Address, value: &Vec<u8>| assert!(history[address].contains(value));
    for known in history.keys() {
        if let Ok(found) = engine.get_many(&[*known]) {
            found[0].iter().for_each(|value| check(known, value));
        }
    }
    let mut found = 0;
    let mut after = None;
    while let Ok(page) = engine.scan(after.as_ref(), 20) {
        for (address, value) in &page {
            check(address, value);
        }
        found += page.len();
        match page.last() {
            Some((last, _)) => after = Some(*last),
            None => break,
        }
    }
    let _ = engine.apply(&puts([(1_000, vec![1])]));
    let _ = engine.sync();
    let _ = Box::new(engine).close();
    Some(found)
}

#[test]
fn a_torn_snapshot_does_not_prevent_opening() {
    let (_parent, folder, history) = filled();
    let whole = fs::read(snapshots(&folder).last().unwrap()).unwrap();
    let torn = folder.join("snap.FFFFFFFFFFFFFFFF.generating");
    fs::write(&torn, &whole[..whole.len() / 2]).unwrap();
    assert!(
        sled::Config::new().path(&folder).open().is_err(),
        "this version of sled skips torn snapshots"
    );
    assert_complete(&open(&folder).unwrap(), &history);
    assert!(!torn.exists());
}

#[test]
fn a_damaged_snapshot_is_rebuilt_from_the_log() {
    let (_parent, folder, history) = filled();
    let newest = snapshots(&folder).pop().unwrap();
    let whole = fs::read(&newest).unwrap();
    let (start, middle, end) = (0, whole.len() / 2, whole.len() - 1);
    for at in [start, middle, end] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        let (_parent, copy) = copy_of(&folder);
        fs::write(copy.join(newest.file_name().unwrap()), damaged).unwrap();
        assert_complete(&open(&copy).unwrap(), &history);
    }
    for length in [0, 1, 12, 13, whole.len() - 1] {
        let (_parent, copy) = copy_of(&folder);
        fs::write(copy.join(newest.file_name().unwrap()), &whole[..length]).unwrap();
        assert_complete(&open(&copy).unwrap(), &history);
    }
}

#[test]
fn a_sound_snapshot_is_kept() {
    let (_parent, folder, _) = filled();
    let before = snapshots(&folder);
    assert_eq!(before.len(), 1);
    let log_bytes = fs::metadata(folder.join(repair::LOG)).unwrap().len();
    repair::inspect(&folder, log_bytes).unwrap().carry_out(&folder).unwrap();
    assert_eq!(snapshots(&folder), before);
}

/// sled itself would accept this snapshot; only its length shows that it is forged.
#[test]
fn a_snapshot_longer_than_the_log_is_deleted_unread() {
    let (_parent, folder, history) = filled();
    let log = fs::metadata(folder.join(repair::LOG)).unwrap().len();
    let body = vec![0x55; usize::try_from(log).unwrap().max(log::SEGMENT_BYTES)];
    let length = u64::try_from(body.len()).unwrap().to_le_bytes();
    let checksum = crc32fast::hash(&body).to_le_bytes();
    let endless = folder.join("snap.FFFFFFFFFFFFFFFF");
    fs::write(&endless, [&body[..], &length, &checksum].concat()).unwrap();
    assert_complete(&open(&folder).unwrap(), &history);
    assert!(!endless.exists());
}

#[test]
fn the_expected_configuration_is_what_sled_writes_and_a_damaged_one_is_replaced() {
    let (_parent, folder, history) = filled();
    let path = folder.join(repair::CONFIGURATION);
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole, repair::expected_configuration());
    let mut flipped = whole.clone();
    flipped[14] ^= 1;
    let long = [&whole[..], b"x"].concat();
    for damaged in [&flipped[..], &long, &whole[..20], b""] {
        fs::write(&path, damaged).unwrap();
        assert_complete(&open(&folder).unwrap(), &history);
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
    fs::remove_file(&path).unwrap();
    assert_complete(&open(&folder).unwrap(), &history);
    assert_eq!(fs::read(&path).unwrap(), whole, "a missing configuration is written again");
}

#[test]
fn a_truncated_log_never_panics_or_returns_wrong_values() {
    let (_parent, folder, history) = filled();
    let length = fs::metadata(folder.join(repair::LOG)).unwrap().len();
    let lengths = [0, 1, 20, 4_096, 524_288, length / 3, length / 2, length - 4_096, length - 1];
    for length in lengths {
        let (_parent, copy) = copy_of(&folder);
        OpenOptions::new()
            .write(true)
            .open(copy.join(repair::LOG))
            .unwrap()
            .set_len(length)
            .unwrap();
        read_damaged(&copy, &history);
    }
}

/// A cut-off end of the log was noticed only when sled read from it, after it had written to its files.
#[test]
fn a_snapshot_that_refers_to_more_than_the_log_has_is_not_used() {
    let (_parent, folder, _) = filled();
    let length = fs::metadata(folder.join(repair::LOG)).unwrap().len();
    assert!(repair::inspect(&folder, length).unwrap().snapshot.is_some());
    assert!(repair::inspect(&folder, 4_096).unwrap().snapshot.is_none());
}

#[test]
fn a_missing_log_is_reported_as_damage() {
    let (_parent, folder, _) = filled();
    fs::remove_file(folder.join(repair::LOG)).unwrap();
    assert!(matches!(open(&folder), Err(StorageError::Corrupt(_))));
    assert!(!folder.join(repair::LOG).exists());
}

#[test]
fn a_flipped_bit_never_panics_or_returns_wrong_values() {
    let (_parent, folder, history) = filled();
    let length = fs::metadata(folder.join(repair::LOG)).unwrap().len();
    let mut sequence = Sequence(2);
    let (mut opened, mut complete) = (0, 0);
    for _ in 0..50 {
        let (_parent, copy) = copy_of(&folder);
        let log = OpenOptions::new().read(true).write(true).open(copy.join(repair::LOG)).unwrap();
        let at = sequence.below(length);
        let mut byte = [0];
        files::read_exact_at(&log, &mut byte, at).unwrap();
        byte[0] ^= 1 << sequence.below(8);
        files::write_all_at(&log, &byte, at).unwrap();
        if let Some(found) = read_damaged(&copy, &history) {
            opened += 1;
            complete += u32::from(found == history.len());
        }
    }
    println!("{opened} of 50 damaged stores opened, {complete} of them complete");
}

#[test]
fn values_never_leave_the_log() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("generation");
    let engine = SledEngine::create(&folder).unwrap();
    let mut sequence = Sequence(3);
    let blobs = || fs::read_dir(folder.join(repair::BLOBS)).unwrap().count();
    for round in 0..2_u32 {
        for first in (0..2_000).step_by(25) {
            let records = (first..first + 25)
                .filter(|number| round == 0 || number % 3 != 0)
                .map(|number| (number, sequence.value(limits::RECORD_VALUE_BYTES)));
            engine.apply(&puts(records.collect::<Vec<_>>())).unwrap();
            engine.sync().unwrap();
        }
        assert_eq!(blobs(), 0);
    }
    Box::new(engine).close().unwrap();
    let engine = open(&folder).unwrap();
    assert_eq!(engine.scan(None, usize::MAX).unwrap().len(), 2_000);
    Box::new(engine).close().unwrap();
    assert_eq!(blobs(), 0);
}

#[test]
fn closing_reports_values_outside_the_log() {
    let (_parent, folder, _) = filled();
    let engine = open(&folder).unwrap();
    fs::write(folder.join(repair::BLOBS).join("12345"), b"blob").unwrap();
    assert!(matches!(Box::new(engine).close(), Err(StorageError::Corrupt(_))));
}

#[cfg(unix)]
#[test]
fn a_failed_sync_poisons_the_engine() {
    let (_parent, folder, history) = filled();
    let mut engine = open(&folder).unwrap();
    let (reader, _writer) = std::io::pipe().unwrap();
    engine.log = File::from(std::os::fd::OwnedFd::from(reader)); // a pipe cannot be synced
    assert!(matches!(engine.sync(), Err(StorageError::Io(_))));
    assert!(matches!(engine.sync(), Err(StorageError::Poisoned)));
    assert!(matches!(engine.apply(&puts([(1, vec![1])])), Err(StorageError::Poisoned)));
    assert!(matches!(engine.get_many(&[address(1)]), Err(StorageError::Poisoned)));
    assert!(matches!(engine.scan(None, 1), Err(StorageError::Poisoned)));
    assert!(matches!(Box::new(engine).close(), Err(StorageError::Poisoned)));
    assert_complete(&open(&folder).unwrap(), &history);
}

#[test]
fn a_panic_inside_is_reported_as_damage_and_poisons_only_writes() {
    let (_parent, folder, history) = filled();
    let engine = open(&folder).unwrap();
    let panicking = engine.handle.call::<()>(|_| panic!("{}", "x".repeat(9_999)));
    let Err(StorageError::Corrupt(message)) = panicking else { panic!("the panic was not caught") };
    assert_eq!(message.len(), MESSAGE_CHARACTERS);
    assert_complete(&engine, &history);
}

#[test]
fn fast_reopening_waits_for_the_lock() {
    let (_parent, folder, history) = filled();
    for _ in 0..50 {
        drop(open(&folder).unwrap());
    }
    assert_complete(&open(&folder).unwrap(), &history);
}

#[cfg(unix)]
#[test]
fn a_link_among_the_files_is_refused_before_sled_follows_it() {
    let (_parent, folder, _) = filled();
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    elsewhere.as_file().write_all(b"precious").unwrap();
    for name in [repair::CONFIGURATION, repair::LOG] {
        fs::remove_file(folder.join(name)).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.join(name)).unwrap();
        assert!(open(&folder).is_err());
    }
    assert_eq!(fs::read(elsewhere.path()).unwrap(), b"precious");
}

#[cfg(unix)]
#[test]
fn files_are_private_whatever_sled_created() {
    use std::os::unix::fs::PermissionsExt;
    let (_parent, folder, _) = filled();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.join(repair::LOG), fs::Permissions::from_mode(0o644)).unwrap();
    let _engine = open(&folder).unwrap();
    assert_eq!(mode(&folder), 0o700);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
    }
}

#[test]
fn a_full_disk_is_distinguished_from_other_errors() {
    let full = std::io::Error::from(io::ErrorKind::StorageFull);
    assert!(matches!(storage_error(sled::Error::Io(full)), StorageError::Full));
    let end = std::io::Error::from(io::ErrorKind::UnexpectedEof);
    assert!(matches!(storage_error(sled::Error::Io(end)), StorageError::Corrupt(_)));
    let denied = std::io::Error::from(io::ErrorKind::PermissionDenied);
    assert!(matches!(storage_error(sled::Error::Io(denied)), StorageError::Io(_)));
}

/// On Windows, sled's lock keeps the log from being read while sled has it open.
#[test]
fn a_log_that_cannot_be_followed_is_synced_and_opened_all_the_same() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("generation");
    let engine = SledEngine::create(&folder).unwrap();
    engine.progress().cursor.lose();
    engine.apply(&puts([(1, vec![7; 297])])).unwrap();
    engine.sync().unwrap();
    assert_eq!(engine.frontier(), Frontier::default());
    Box::new(engine).close().unwrap();
    let engine = open(&folder).unwrap();
    assert_eq!(engine.scan(None, 9).unwrap(), [(address(1), vec![7; 297])]);
    Box::new(engine).close().unwrap();
}
