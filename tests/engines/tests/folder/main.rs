//! Tests of a store folder: lock, names, modes, and no partial stores. Those of links and modes are for Unix.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test should stop"
)]

mod bare;
mod cost;
mod creation;
mod damaged;
#[cfg(unix)]
mod odd;

use std::fs::{self, File};
use std::io;
#[cfg(unix)]
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use inmost_engine_tests::{LOCAL, kinds};
use inmost_engines::local::LocalStorage;
use inmost_storage::{
    Address, Batch, Engine, EngineKind, HeaderCopy, Rewriting, Storage, StorageError,
};

fn parent_and_path() -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("my.store");
    (parent, path)
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn published(path: &Path) -> LocalStorage {
    let storage = LocalStorage::create(path, LOCAL).unwrap();
    storage.create_generation(1, EngineKind::Sled).unwrap().close().unwrap();
    storage.write_header(HeaderCopy::A, b"header a").unwrap();
    storage.publish().unwrap()
}

fn error_kind<T>(result: Result<T, StorageError>) -> io::ErrorKind {
    match result {
        Err(StorageError::Io(error)) => error.kind(),
        Err(error) => panic!("unexpected error: {error}"),
        Ok(_) => panic!("expected an error"),
    }
}

/// Whether a store is in use by this process. Windows keeps other handles from reading the locked file, so that the holder is
/// not known there.
fn is_in_use<T>(result: &Result<T, StorageError>, holder: u32) -> bool {
    match result {
        Err(StorageError::InUse(Some(process))) => *process == holder,
        Err(StorageError::InUse(None)) => cfg!(windows),
        _ => false,
    }
}

#[test]
fn opening_a_folder_without_a_store_leaves_no_trace() {
    let (parent, path) = parent_and_path();
    assert!(matches!(LocalStorage::open(&path, LOCAL), Err(StorageError::Missing)));
    assert!(names_in(parent.path()).is_empty());
    fs::create_dir(&path).unwrap();
    fs::write(path.join("letter.txt"), b"dear").unwrap();
    fs::create_dir(path.join("gen-1")).unwrap();
    assert!(matches!(LocalStorage::open(&path, LOCAL), Err(StorageError::Missing)));
    assert_eq!(names_in(&path), ["gen-1", "letter.txt"]);
}

#[test]
fn the_lock_names_its_holder_and_ends_with_it() {
    let (_parent, path) = parent_and_path();
    let storage = published(&path);
    let own = std::process::id();
    assert!(is_in_use(&LocalStorage::open(&path, LOCAL), own));
    drop(storage);
    fs::write(path.join("lock"), b"4711\nleft behind by a crash").unwrap();
    LocalStorage::open(&path, LOCAL).unwrap();
    assert_eq!(fs::read_to_string(path.join("lock")).unwrap(), format!("{own}\n"));
}

/// Runs in the child process of the next test. Without its environment variable it does nothing.
#[test]
fn child_finds_the_store_in_use() {
    let Ok(path) = std::env::var("INMOST_TEST_STORE") else { return };
    let holder: u32 = std::env::var("INMOST_TEST_HOLDER").unwrap().parse().unwrap();
    assert!(is_in_use(&LocalStorage::open(Path::new(&path), LOCAL), holder));
}

#[test]
fn a_second_process_finds_the_store_in_use() {
    let (_parent, path) = parent_and_path();
    let _storage = published(&path);
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_finds_the_store_in_use"])
        .env("INMOST_TEST_STORE", &path)
        .env("INMOST_TEST_HOLDER", std::process::id().to_string())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_file_is_not_followed() {
    let (parent, path) = parent_and_path();
    let storage = published(&path);
    let victim = parent.path().join("victim");
    fs::write(&victim, b"precious").unwrap();
    for name in ["header.b", "header.b.new", "anchor"] {
        symlink(&victim, path.join(name)).unwrap();
    }
    storage.write_header(HeaderCopy::B, b"header c").unwrap();
    assert!(matches!(storage.read_anchor(), Err(StorageError::UntrustedFile(_))));
    let written = storage.write_anchor(b"anchor");
    assert!(matches!(written, Err(StorageError::UntrustedFile(_))));

    drop(storage);
    fs::remove_file(path.join("lock")).unwrap();
    symlink(&victim, path.join("lock")).unwrap();
    assert!(matches!(LocalStorage::open(&path, LOCAL), Err(StorageError::UntrustedFile(_))));
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[cfg(unix)]
#[test]
fn a_replaced_header_is_overwritten() {
    let (_parent, path) = parent_and_path();
    let storage = published(&path);
    let replaced = File::open(path.join("header.a")).unwrap();
    storage.write_header(HeaderCopy::A, b"another").unwrap();
    assert_eq!(io::read_to_string(replaced).unwrap(), "\0".repeat(8));
    assert_eq!(storage.read_header(HeaderCopy::A).unwrap().unwrap(), b"another");
    assert_eq!(names_in(&path), ["ballast", "gen-0000000000000001", "header.a", "lock"]);
}

/// A second name shows the old bytes, because an open file could not be replaced on every file system there.
#[cfg(windows)]
#[test]
fn a_replaced_header_is_overwritten() {
    let (_parent, path) = parent_and_path();
    let storage = published(&path);
    let spy = path.join("spy");
    fs::hard_link(path.join("header.a"), &spy).unwrap();
    storage.write_header(HeaderCopy::A, b"another").unwrap();
    assert_eq!(fs::read(spy).unwrap(), [0; 8]);
    assert_eq!(storage.read_header(HeaderCopy::A).unwrap().unwrap(), b"another");
    let names = ["ballast", "gen-0000000000000001", "header.a", "lock", "spy"];
    assert_eq!(names_in(&path), names);
}

/// It was a name of the present header, or of the one before.
#[cfg(windows)]
#[test]
fn a_second_name_that_a_crash_left_is_removed_and_the_header_stays() {
    let (_parent, path) = parent_and_path();
    drop(published(&path));
    fs::hard_link(path.join("header.a"), path.join("header.a.old")).unwrap();
    let storage = LocalStorage::open(&path, LOCAL).unwrap();
    drop(storage.open_generation(1, EngineKind::Sled).unwrap());
    assert_eq!(storage.read_header(HeaderCopy::A).unwrap().unwrap(), b"header a");
    assert!(!path.join("header.a.old").exists());
}

#[test]
fn an_unfinished_header_is_cleared_when_the_generation_opens() {
    let (_parent, path) = parent_and_path();
    drop(published(&path));
    fs::write(path.join("header.a.new"), b"half").unwrap();
    let storage = LocalStorage::open(&path, LOCAL).unwrap();
    assert!(path.join("header.a.new").exists(), "it changed before the generation was verified");
    drop(storage.open_generation(1, EngineKind::Sled).unwrap());
    assert_eq!(names_in(&path), ["ballast", "gen-0000000000000001", "header.a", "lock"]);
    assert_eq!(storage.read_header(HeaderCopy::A).unwrap().unwrap(), b"header a");
}

#[test]
fn generations_without_a_header_are_visible() {
    let (_parent, path) = parent_and_path();
    drop(published(&path));
    fs::remove_file(path.join("header.a")).unwrap();
    fs::create_dir(path.join("gen-1")).unwrap();
    fs::create_dir(path.join("gen-000000000000000A")).unwrap();
    fs::create_dir(path.join("gen-+00000000000000b")).unwrap();
    fs::write(path.join("gen-000000000000000c"), b"a file").unwrap();
    let storage = LocalStorage::open(&path, LOCAL).unwrap();
    assert!(storage.read_header(HeaderCopy::A).unwrap().is_none());
    assert_eq!(storage.generations().unwrap(), [1]);
    let missing = storage.open_generation(12, EngineKind::Sled);
    assert!(matches!(missing, Err(StorageError::Missing)));
}

#[cfg(unix)]
#[test]
fn everything_is_private() {
    let (_parent, path) = parent_and_path();
    let storage = published(&path);
    storage.write_header(HeaderCopy::B, b"header b").unwrap();
    let _engine = storage.open_generation(1, EngineKind::Sled).unwrap();
    let mut folders = vec![path];
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o7777, 0o700);
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_store_works_without_a_ballast_that_cannot_be_made() {
    let (parent, path) = parent_and_path();
    drop(published(&path));
    let victim = parent.path().join("victim");
    fs::write(&victim, b"precious").unwrap();
    fs::remove_file(path.join("ballast")).unwrap();
    symlink(&victim, path.join("ballast")).unwrap();
    let storage = LocalStorage::open(&path, LOCAL).unwrap();
    let engine = storage.open_generation(1, EngineKind::Sled).unwrap();
    assert!(!storage.is_short_of_room());
    engine.apply(&Batch { puts: vec![(Address([1; 32]), vec![1])], ..Batch::default() }).unwrap();
    engine.close().unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[cfg(unix)]
#[test]
fn a_lost_or_sparse_ballast_is_made_again() {
    use std::os::unix::fs::MetadataExt;

    let (_parent, path) = parent_and_path();
    drop(published(&path));
    let ballast = path.join("ballast");
    let whole = fs::metadata(&ballast).unwrap().blocks();
    fs::remove_file(&ballast).unwrap();
    for sparse in [false, true] {
        if sparse {
            File::create(&ballast).unwrap().set_len(2 << 20).unwrap();
        }
        let storage = LocalStorage::open(&path, LOCAL).unwrap();
        storage.open_generation(1, EngineKind::Sled).unwrap().close().unwrap();
        assert_eq!(fs::metadata(&ballast).unwrap().blocks(), whole);
        fs::remove_file(&ballast).unwrap();
    }
}

#[test]
fn destroying_a_store_leaves_nothing() {
    let (parent, path) = parent_and_path();
    let storage = published(&path);
    storage.write_anchor(b"anchor").unwrap();
    storage.destroy().unwrap();
    assert!(names_in(parent.path()).is_empty());
}

/// Reads through files that stay open, so for Unix: elsewhere the folder of an open file cannot be removed.
#[cfg(unix)]
#[test]
fn destroying_a_store_removes_notes_and_set_aside_generations_with_their_headers() {
    let (_parent, path) = parent_and_path();
    let storage = published(&path);
    storage.set_aside(1, Some(b"keyslots")).unwrap();
    let kept_header = Some(b"keyslots".to_vec());
    let rewriting = Rewriting { old: 1, new: 2, scratch: 3, switched: false, kept_header };
    storage.begin_rewrite(&rewriting).unwrap();
    fs::write(path.join("rewriting.new"), "keyslots").unwrap();
    let open = |name: &str| fs::File::open(path.join(name)).unwrap();
    let notes = ["set-aside-0000000000000001/header", "rewriting", "rewriting.new"];
    let kept = notes.map(open);
    storage.destroy().unwrap();
    assert!(!path.exists());
    for mut file in kept {
        let mut left = Vec::new();
        io::Read::read_to_end(&mut file, &mut left).unwrap();
        assert!(left.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn an_unfinished_note_is_cleared_when_the_generation_opens() {
    let (_parent, path) = parent_and_path();
    drop(published(&path));
    fs::write(path.join("rewriting.new"), "a header").unwrap();
    let storage = LocalStorage::open(&path, LOCAL).unwrap();
    assert!(path.join("rewriting.new").exists(), "it changed before the generation was verified");
    drop(storage.open_generation(1, EngineKind::Sled).unwrap());
    assert!(!path.join("rewriting.new").exists());
    assert!(storage.rewriting().unwrap().is_none());
}
