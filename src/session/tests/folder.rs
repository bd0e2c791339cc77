//! Tests of stores in folders: created, moved to another engine and destroyed.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::store::{options, passphrase};
use crate::session::engines::LOCAL;
use crate::session::{Session, StorageEngine, StoreError, Vault, shift_clock};
use inmost_engines::local::LocalStorage;
use inmost_format::crypto::passphrase::Passphrase;
use inmost_format::header::NewSlot;
use inmost_storage::{EngineKind, Storage};

fn parent_and_path() -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("store");
    (parent, path)
}

fn unlock(path: &Path) -> Session {
    options().open(path).unwrap().unlock(&passphrase()).unwrap()
}

fn generations(path: &Path) -> Vec<u64> {
    LocalStorage::open(path, LOCAL).unwrap().generations().unwrap()
}

fn read(session: &Session) -> String {
    session.files().read("/memories/a").unwrap().as_str().to_owned()
}

#[test]
fn a_store_with_default_options_is_created_once_and_opens_again() {
    let (_parent, path) = parent_and_path();
    let session = Vault::create(&path, &passphrase()).unwrap();
    session.files().write("/memories/a", "text").unwrap();
    session.lock();
    assert!(matches!(Vault::create(&path, &passphrase()), Err(StoreError::AlreadyExists)));
    // The store opens in tests with other costs too: the paid cost is the default one.
    let session = Vault::open(&path).unwrap().unlock(&passphrase()).unwrap();
    assert_eq!(read(&session), "text");
    assert_eq!(
        session.status().unwrap().kdf_cost,
        Some(inmost_format::crypto::cost::KdfCost::default())
    );
}

#[test]
fn a_store_in_use_is_not_destroyed_and_one_at_rest_is_gone_with_its_folder() {
    let (parent, path) = parent_and_path();
    let session = options().create(&path, &passphrase()).unwrap();
    session.files().write("/memories/a", "text").unwrap();
    assert!(matches!(Vault::destroy(&path), Err(StoreError::InUse(_))));
    session.files().write("/memories/a", "more").unwrap();
    session.lock();
    assert_eq!(read(&unlock(&path)), "more");

    Vault::destroy(&path).unwrap();
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    assert!(matches!(Vault::destroy(&path), Err(StoreError::NotAStore)));
}

#[test]
fn a_destroyed_store_leaves_the_files_of_others() {
    let (_parent, path) = parent_and_path();
    options().create(&path, &passphrase()).unwrap().lock();
    fs::write(path.join("letter"), "dear").unwrap();
    Vault::destroy(&path).unwrap();
    let left: Vec<_> = fs::read_dir(&path).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["letter"]);
    assert_eq!(fs::read_to_string(path.join("letter")).unwrap(), "dear");
    assert!(matches!(Vault::open(&path), Err(StoreError::NotAStore)));
}

#[test]
fn a_folder_in_place_of_a_header_copy_does_not_block_reading() {
    let (_parent, path) = parent_and_path();
    let session = options().create(&path, &passphrase()).unwrap();
    session.files().write("/memories/a", "text").unwrap();
    session.lock();
    fs::remove_file(path.join("header.b")).unwrap();
    fs::create_dir(path.join("header.b")).unwrap();
    let session = unlock(&path);
    assert_eq!(read(&session), "text");
    session.files().write("/memories/a", "more").unwrap();
    assert_eq!(read(&session), "more");
    // A keyslot change reports why it cannot write the header.
    let error = session.purge().unwrap_err();
    assert_eq!(error.to_string(), "A file of the store is not safe to use: header.b is a folder.");
}

#[test]
fn a_move_to_the_engine_that_the_store_has_is_a_purge() {
    let (_parent, path) = parent_and_path();
    let session = options().create(&path, &passphrase()).unwrap();
    session.files().write("/memories/a", "text").unwrap();
    let mut written = 0;
    session.migrate_reporting(StorageEngine::Sled, &mut |records| written = records).unwrap();
    assert_eq!(written, 4, "root, two folders and a file");
    assert_eq!(session.status().unwrap().engine, Some(StorageEngine::Sled));
    assert_eq!(read(&session), "text");
    session.lock();
    assert_eq!(generations(&path), [2]);
    assert_eq!(read(&unlock(&path)), "text");
}

#[cfg(feature = "redb")]
#[test]
fn a_store_moves_to_another_engine_and_back() {
    let (_parent, path) = parent_and_path();
    let mut session = options().create(&path, &passphrase()).unwrap();
    session.files().write("/memories/a", &"a long line of text\n".repeat(2_000)).unwrap();
    session.files().write("/memories/b", "b").unwrap();
    let text = read(&session);
    for (number, engine) in [(2, StorageEngine::Redb), (3, StorageEngine::Sled)] {
        session.migrate(engine).unwrap();
        assert_eq!(session.status().unwrap().engine, Some(engine));
        assert_eq!(read(&session), text);
        // The session continues on the new engine.
        session.files().write("/memories/b", &number.to_string()).unwrap();
        session.lock();
        assert_eq!(generations(&path), [number], "nothing is left of the engine before");
        let again = unlock(&path);
        assert_eq!(again.status().unwrap().engine, Some(engine));
        assert!(again.check().unwrap().is_clean());
        assert_eq!(again.files().read("/memories/b").unwrap().as_str(), number.to_string());
        drop(session);
        session = again;
    }
}

#[cfg(not(feature = "redb"))]
#[test]
fn nothing_moves_to_an_engine_that_was_not_built() {
    let (_parent, path) = parent_and_path();
    let session = options().create(&path, &passphrase()).unwrap();
    session.files().write("/memories/a", "text").unwrap();
    let moved =
        session.migrate_reporting(StorageEngine::Redb, &mut |_| panic!("something was written"));
    assert!(matches!(moved, Err(StoreError::EngineNotBuilt)));
    assert_eq!(read(&session), "text");
    session.lock();
    assert_eq!(generations(&path), [1]);
}

#[test]
fn a_store_in_memory_stays_there() {
    let session = Session::in_memory().unwrap();
    session.files().write("/memories/a", "text").unwrap();
    let mut progress = |_| panic!("something was written");
    session.migrate_reporting(StorageEngine::Sled, &mut progress).unwrap();
    assert_eq!(session.status().unwrap().engine, None);
    assert_eq!(read(&session), "text");
}

/// Engines that a header can name but a folder cannot hold.
#[test]
fn a_generation_of_an_engine_for_memory_is_not_looked_for_in_a_folder() {
    let (_parent, path) = parent_and_path();
    let storage = LocalStorage::create(&path, LOCAL).unwrap();
    let keys = options().fill(&storage, EngineKind::Memory, &passphrase());
    assert!(matches!(keys.err(), Some(StoreError::EngineNotBuilt)));
}

/// The engine panics at such a clock. The panic was reported as damage, with the advice to repair the store.
#[test]
fn a_clock_before_1970_is_named_before_anything_is_opened() {
    const AWAY: i64 = -100 * 365 * 24 * 60 * 60 * 1_000;
    let (_parent, path) = parent_and_path();
    let session = options().create(&path, &passphrase()).unwrap();
    session.files().write("/memories/a", "text").unwrap();
    shift_clock(AWAY);
    let is_named = |error| matches!(error, StoreError::ClockBefore1970);
    assert!(is_named(session.compact().unwrap_err()));
    assert_eq!(read(&session), "text");
    session.lock();
    assert!(is_named(Vault::open(&path).err().unwrap()));
    let other = path.with_extension("other");
    assert!(is_named(options().create(&other, &passphrase()).err().unwrap()));
    assert!(!other.exists());
    shift_clock(-AWAY);
    assert_eq!(read(&unlock(&path)), "text");
}

#[test]
fn a_new_passphrase_that_nobody_can_type_is_refused() {
    let (_parent, path) = parent_and_path();
    let lines = Passphrase::new("first\nsecond").unwrap();
    let is_refused = |error| matches!(error, StoreError::PassphraseNotOneLine);
    assert!(is_refused(options().create(&path, &lines).err().unwrap()));
    assert!(!path.exists());
    let session = options().create(&path, &passphrase()).unwrap();
    assert!(is_refused(session.add_slot(&NewSlot::new(&lines)).unwrap_err()));
    assert!(is_refused(session.replace_slot(0, &NewSlot::new(&lines)).unwrap_err()));
}
