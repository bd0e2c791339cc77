//! Tests of the redb engine on sound and damaged files.

use std::fs::{self, File, OpenOptions};

use tempfile::TempDir;

use super::*;
use inmost_engines::samples::{address, puts};

/// A fixed pseudo-random sequence, so that failures are reproducible. (Knuth's MMIX generator.)
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16
    }

    fn value(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

fn open(folder: &Path) -> Result<RedbEngine, StorageError> {
    RedbEngine::open(folder, &Expected::anything())
}

/// A closed generation with 150 records in commits of 5.
fn filled() -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("generation");
    let mut sequence = Sequence(1);
    let engine = RedbEngine::create(&folder).unwrap();
    for round in 0..60_u32 {
        let numbers = (0..5).map(|each| (round * 5 + each) % 150);
        let classes = [297, 553, 1_065, 2_089, 4_137];
        engine
            .apply(&puts(numbers.map(|number| {
                (number, sequence.value(classes[usize::try_from(number % 5).unwrap()]))
            })))
            .unwrap();
        engine.sync().unwrap();
    }
    Box::new(engine).close().unwrap();
    (parent, folder)
}

fn copy_of(folder: &Path) -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let copy = parent.path().join("generation");
    fs::create_dir(&copy).unwrap();
    fs::copy(folder.join(DATABASE), copy.join(DATABASE)).unwrap();
    (parent, copy)
}

fn all(engine: &RedbEngine) -> Vec<(Address, Vec<u8>)> {
    engine.scan(None, usize::MAX).unwrap()
}

/// Opens a damaged generation, then reads and writes as much as possible. A panic or a hang fails the test.
///
/// The values read may be wrong: redb does not check them, and the layer above does. Returns whether it
/// opened.
fn use_damaged(folder: &Path) -> bool {
    let Ok(engine) = open(folder) else { return false };
    for number in 0..150 {
        let _ = engine.get_many(&[address(number)]);
    }
    let _ = engine.scan(None, 1_000);
    let _ = engine.apply(&puts([(1_000, vec![1])]));
    let _ = engine.sync();
    let _ = Box::new(engine).close();
    true
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let (_parent, folder) = filled();
    let length = fs::metadata(folder.join(DATABASE)).unwrap().len();
    let mut sequence = Sequence(2);
    let mut opened = 0;
    for round in 0..60 {
        let (_parent, copy) = copy_of(&folder);
        let file = OpenOptions::new().read(true).write(true).open(copy.join(DATABASE)).unwrap();
        let at = sequence.next() % length;
        match round % 3 {
            0 => {
                let mut byte = [0];
                files::read_exact_at(&file, &mut byte, at).unwrap();
                byte[0] ^= 1 << (sequence.next() % 8);
                files::write_all_at(&file, &byte, at).unwrap();
            }
            1 => files::write_all_at(&file, &[0; 4_096], at & !4_095).unwrap(),
            _ => file.set_len(at).unwrap(),
        }
        drop(file);
        opened += u32::from(use_damaged(&copy));
    }
    println!("{opened} of 60 damaged stores opened");
}

#[test]
fn the_first_page_can_be_damaged_anywhere() {
    let (_parent, folder) = filled();
    for at in 0..512 {
        let (_parent, copy) = copy_of(&folder);
        let file = OpenOptions::new().read(true).write(true).open(copy.join(DATABASE)).unwrap();
        let mut byte = [0];
        files::read_exact_at(&file, &mut byte, at).unwrap();
        files::write_all_at(&file, &[!byte[0]], at).unwrap();
        drop(file);
        use_damaged(&copy);
    }
}

#[test]
fn a_missing_or_empty_database_is_reported_as_damage() {
    let (_parent, folder) = filled();
    File::create(folder.join(DATABASE)).unwrap();
    assert!(matches!(open(&folder), Err(StorageError::Corrupt(_))));
    assert_eq!(fs::metadata(folder.join(DATABASE)).unwrap().len(), 0);
    fs::remove_file(folder.join(DATABASE)).unwrap();
    assert!(matches!(open(&folder), Err(StorageError::Corrupt(_))));
    assert!(!folder.join(DATABASE).exists());
}

#[test]
fn a_database_without_our_table_is_damage() {
    let (_parent, folder) = filled();
    fs::remove_file(folder.join(DATABASE)).unwrap();
    Database::create(folder.join(DATABASE)).unwrap().close().unwrap();
    assert!(matches!(open(&folder), Err(StorageError::Corrupt(_))));
}

#[test]
fn a_crash_discards_unsynced_changes() {
    let (_parent, folder) = filled();
    let engine = open(&folder).unwrap();
    let before = all(&engine);
    engine.apply(&puts([(1, b"new".to_vec()), (500, b"new".to_vec())])).unwrap();
    assert_eq!(engine.get_many(&[address(500)]).unwrap(), [Some(b"new".to_vec())]);
    let (_copy, copy) = copy_of(&folder); // the file as a crash would leave it
    assert_eq!(all(&open(&copy).unwrap()), before);

    engine.sync().unwrap();

    let after = all(&engine);
    assert_ne!(before, after);
    let (_copy, copy) = copy_of(&folder);
    assert_eq!(all(&open(&copy).unwrap()), after);
}

#[test]
fn a_sync_with_nothing_to_do_writes_nothing() {
    let (_parent, folder) = filled();
    let engine = open(&folder).unwrap();
    engine.sync().unwrap();
    let before = fs::read(folder.join(DATABASE)).unwrap();
    engine.sync().unwrap();
    assert_eq!(fs::read(folder.join(DATABASE)).unwrap(), before);
}

#[test]
fn a_refused_batch_poisons_nothing() {
    let (_parent, folder) = filled();
    let engine = open(&folder).unwrap();
    let refused = Batch { expect: Some((address(1), None)), ..puts([(1, vec![2])]) };
    assert!(matches!(engine.apply(&refused), Err(StorageError::Conflict)));
    engine.apply(&puts([(1, vec![2])])).unwrap();
    engine.sync().unwrap();
}

#[test]
fn a_panic_inside_a_write_becomes_damage() {
    let (_parent, folder) = filled();
    let engine = open(&folder).unwrap();
    let before = all(&engine);
    let panicking = engine.handle.call::<()>(|db| {
        let change = db.begin_write()?;
        change.open_table(RECORDS)?.insert(&[7; 32], b"half".as_slice())?;
        panic!("as on a damaged page")
    });
    assert!(matches!(panicking, Err(StorageError::Corrupt(_))));
    drop(engine);
    assert_eq!(all(&open(&folder).unwrap()), before);
}

#[test]
fn dropping_releases_the_lock_at_once() {
    let (_parent, folder) = filled();
    for _ in 0..50 {
        let engine = open(&folder).unwrap();
        assert!(matches!(open(&folder), Err(StorageError::InUse(None))));
        drop(engine);
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_the_database_is_refused() {
    let (_parent, folder) = filled();
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    fs::copy(folder.join(DATABASE), elsewhere.path()).unwrap();
    let before = fs::read(elsewhere.path()).unwrap();
    fs::remove_file(folder.join(DATABASE)).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), folder.join(DATABASE)).unwrap();
    assert!(open(&folder).is_err());
    assert_eq!(fs::read(elsewhere.path()).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn the_database_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let (_parent, folder) = filled();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&folder), mode(&folder.join(DATABASE))), (0o700, 0o600));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.join(DATABASE), fs::Permissions::from_mode(0o644)).unwrap();
    let _engine = open(&folder).unwrap();
    assert_eq!((mode(&folder), mode(&folder.join(DATABASE))), (0o700, 0o600));
}

#[test]
fn a_full_disk_and_damage_are_distinguished_from_other_errors() {
    let of = |kind: io::ErrorKind| storage_error(redb::Error::Io(kind.into()));
    assert!(matches!(of(io::ErrorKind::StorageFull), StorageError::Full));
    assert!(matches!(of(io::ErrorKind::UnexpectedEof), StorageError::Corrupt(_)));
    assert!(matches!(of(io::ErrorKind::PermissionDenied), StorageError::Io(_)));
}

#[test]
fn damage_after_an_unclean_end_is_noticed_unchanged_or_harmless() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("generation");
    let mut sequence = Sequence(3);
    let engine = RedbEngine::create(&folder).unwrap();
    let records: Vec<_> = (0..150).map(|number| (number, sequence.value(700))).collect();
    for batch in records.chunks(5) {
        engine.apply(&puts(batch.to_vec())).unwrap();
        engine.sync().unwrap();
    }
    // redb goes back by one commit if the last one is damaged. The journal's slot then names a newer mark.
    let expected = all(&engine);
    let last: Vec<_> = (145..150).map(address).collect();
    let mut before = expected.clone();
    before.retain(|(address, _)| !last.contains(address));
    // The engine is open, so the copy is that of a killed process.
    let (_parent, copy) = copy_of(&folder);
    let database = copy.join(DATABASE);
    let whole = fs::read(&database).unwrap();
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap();
    let (mut noticed, mut harmless) = (0, 0);
    for (round, at) in (0..used).step_by(701).enumerate() {
        let mut damaged = whole.clone();
        if round % 4 == 3 {
            damaged[at & !4_095..][..4_096].fill(0);
        } else {
            damaged[at] ^= 1 << (round % 8);
        }
        fs::write(&database, &damaged).unwrap();
        match open(&copy) {
            Ok(engine) => {
                let found = all(&engine);
                assert!(found == expected || found == before, "{at}: a record is missing or wrong");
                harmless += 1;
            }
            Err(StorageError::Corrupt(_)) => {
                assert!(fs::read(&database).unwrap() == damaged, "{at}: the file has changed");
                noticed += 1;
            }
            Err(error) => panic!("{at}: {error}"),
        }
    }
    assert!(noticed > 20 && harmless > 20, "{noticed} noticed, {harmless} harmless");
}

/// Regression: after a clean end, redb trusted the free pages that a damaged block named, and wrote over records.
#[test]
fn a_swapped_block_of_a_closed_database_is_noticed_and_nothing_is_written() {
    let (_parent, folder) = filled();
    let blocks = fs::metadata(folder.join(DATABASE)).unwrap().len() / 4_096;
    let mut refused = 0;
    for other in (2..blocks).step_by(7) {
        let (_copy, copy) = copy_of(&folder);
        let path = copy.join(DATABASE);
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let (mut first, mut second) = ([0; 4_096], [0; 4_096]);
        files::read_exact_at(&file, &mut first, 4_096).unwrap();
        files::read_exact_at(&file, &mut second, other * 4_096).unwrap();
        files::write_all_at(&file, &second, 4_096).unwrap();
        files::write_all_at(&file, &first, other * 4_096).unwrap();
        drop(file);
        let before = fs::read(&path).unwrap();
        match open(&copy) {
            Err(_) => {
                refused += 1;
                assert!(fs::read(&path).unwrap() == before, "block {other}: the file has changed");
            }
            // The block is not in use.
            Ok(engine) => assert_eq!(all(&engine).len(), 150, "block {other}"),
        }
    }
    assert!(refused > 5, "{refused} of {}", blocks / 7);
}
