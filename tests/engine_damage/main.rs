//! Tests of damage to the engine's own files, at seeded places: flipped bits, zeros, truncation, missing and
//! extra files.
//!
//! Half of the stores were closed, and half were copied while they were in use, with commits in the journal.
//!
//! Every outcome must be one of these: the right text everywhere; [`StoreError::Damaged`], with every file as it was; an
//! error of single files; or, for an older state, [`StoreError::RolledBack`] with both numbers. A panic, a wrong text or a
//! store with missing content is a failure. Whatever an unlock returns, a salvage before it saves every text that the
//! damage did not hit, and so does one after it.
//!
//! The short form damages 30 places. The long form prints a table: `cargo test --release --features redb
//! --test engine_damage -- --ignored --nocapture`.
//!
//! This is a separate test program, because after a panic in one of its I/O threads sled refuses work for
//! every store of the process.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test should stop at the first unexpected result and report it"
)]

mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use self::places::{damage, generation};
use inmost::{EntryKind, Session, StorageEngine, StoreError, Vault, VaultOptions};
use inmost_testing::{CHEAP, Random, passphrase};
use tempfile::TempDir;

type Texts = BTreeMap<String, String>;

fn unlock(store: &Path) -> Result<Session, StoreError> {
    Vault::open(store)?.unlock(&passphrase())
}

/// A store that several sessions have used, so that its log is partly covered by a snapshot: as it was in use, and
/// closed.
struct Base {
    folder: TempDir,
    texts: Texts,
    /// With those of deleted files.
    ever: BTreeSet<String>,
    commit: u64,
}

impl Base {
    fn new(engine: StorageEngine) -> Self {
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let folder = folder.unwrap();
        let path = folder.path().join("base");
        let mut texts = Texts::new();
        let (mut ever, mut commit) = (BTreeSet::new(), 0);
        let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine);
        options.create(&path, &passphrase()).unwrap().lock();
        for round in 0..4 {
            let session = unlock(&path).unwrap();
            for number in 0..25 {
                let path = format!("/memories/{round}/{number}.txt");
                let line =
                    format!("round {round}, file {number}, a line that is unlike any other\n");
                let text = line.repeat(if number % 8 == 7 { 900 } else { number * 3 });
                session.files().write(&path, &text).unwrap();
                ever.insert(text.clone());
                texts.insert(path, text);
            }
            if round > 0 {
                let gone = format!("/memories/{}/3.txt", round - 1);
                session.files().remove(&gone).unwrap();
                texts.remove(&gone);
            }
            commit = session.status().unwrap().commit;
            if round == 3 {
                copy_folder(&path, &folder.path().join(IN_USE));
            }
            session.lock();
        }
        Self { folder, texts, ever, commit }
    }

    fn copy(&self, which: &str) -> PathBuf {
        let copy = self.folder.path().join("copy");
        let _ = fs::remove_dir_all(&copy);
        copy_folder(&self.folder.path().join(which), &copy);
        copy
    }
}

const CLOSED: &str = "base";
const IN_USE: &str = "in use";

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        // The ballast is half of the bytes, and the engine never reads it.
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &to);
        } else if entry.file_name() != "ballast" {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Reads every file but the ballast and the lock, which no recovery uses.
fn bytes(store: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut bytes = BTreeMap::new();
    let mut folders = vec![store.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("lock") && !path.ends_with("ballast") {
                bytes.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    bytes
}

/// Salvages the store. Returns the number of texts that are missing, at whatever path. Panics on a text that never was.
fn salvage(store: &Path, base: &Base) -> usize {
    let mut missing: BTreeSet<&str> = base.texts.values().map(String::as_str).collect();
    let save = |path: &str, text: &str| {
        assert!(base.ever.contains(text), "a text that never was, at {path}");
        missing.remove(text);
        Ok::<(), StoreError>(())
    };
    match Vault::open(store).unwrap().salvage(&passphrase(), save) {
        Ok(report) => assert!(missing.is_empty() || !report.is_complete(), "an unreported loss"),
        Err(error) => assert!(missing.len() == base.texts.len(), "{error:?}"),
    }
    missing.len()
}

/// Salvages the store before and after an unlock. Returns what the unlock did.
fn outcome(store: &Path, what: &str, base: &Base) -> String {
    let missing = salvage(store, base);
    // A record has at most one text. The shortest one takes 300 bytes.
    let hit = match what.split_once(": ").map(|(_, how)| how) {
        Some("a bit") => 1,
        Some("16 bytes") => 2,
        Some("4 KiB of zeros") => 15,
        _ => base.texts.len(),
    };
    assert!(missing <= hit, "{missing} texts are lost");
    let before = bytes(store);
    let outcome = opened(store, base);
    if outcome == "unlock: Damaged" {
        assert!(before == bytes(store), "a file has changed");
    }
    assert!(salvage(store, base) <= missing, "the unlock destroyed something ({outcome})");
    outcome
}

/// Opens the store and reads everything. Panics on an outcome that must never occur.
fn opened(store: &Path, base: &Base) -> String {
    let session = match unlock(store) {
        Ok(session) => session,
        Err(StoreError::RolledBack { expected, found }) => {
            assert_eq!(expected, base.commit);
            assert!(found <= expected, "an older state was reported with the newer number {found}");
            return "RolledBack".into();
        }
        Err(
            error @ (StoreError::Damaged(_) | StoreError::Storage(_) | StoreError::Tampered { .. }),
        ) => {
            let words = format!("{error:?}");
            return format!("unlock: {}", words.split(['(', ' ']).next().unwrap_or_default());
        }
        Err(error) => panic!("opening failed with {error:?}"),
    };
    let mut found = Texts::new();
    if let Err(error) = collect(&session, "/memories", &mut found) {
        for (path, text) in &found {
            assert!(base.texts.get(path) == Some(text), "the text of {path} differs");
        }
        return format!("read: {error}");
    }
    assert!(found == base.texts, "the store opened without an error but its content differs");
    let report = session.check().unwrap();
    if report.is_clean() { "right".into() } else { "right, check: problems".into() }
}

/// Collects all readable files. Errors of folders and files are collected too.
fn collect(session: &Session, folder: &str, found: &mut Texts) -> Result<(), String> {
    let first_word = |error: &dyn std::fmt::Debug| {
        let words = format!("{error:?}");
        words.split(['{', '"']).next().unwrap_or_default().trim().to_owned()
    };
    let mut failed = None;
    for entry in session.files().list(folder).map_err(|error| first_word(&error))? {
        let path = format!("{folder}/{}", entry.name);
        if matches!(entry.metadata.kind, EntryKind::Folder) {
            if let Err(error) = collect(session, &path, found) {
                failed = Some(error);
            }
            continue;
        }
        match session.files().read(&path) {
            Ok(text) => drop(found.insert(path, text.as_str().to_owned())),
            Err(error) => failed = Some(first_word(&error)),
        }
    }
    failed.map_or(Ok(()), Err)
}

fn run(engine: StorageEngine, seeds: std::ops::Range<u64>) -> BTreeMap<(String, String), u64> {
    // The engine panics on some damage, and the library turns that into an error. These panics are not
    // printed.
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.location().is_some_and(|location| {
            ["sled", "redb"].iter().any(|engine| location.file().contains(engine))
        }) {
            usual(info);
        }
    }));
    let base = Base::new(engine);
    let mut table = BTreeMap::new();
    for seed in seeds {
        let store = base.copy(if seed % 2 == 0 { CLOSED } else { IN_USE });
        let what = damage(&store, &mut Random(seed));
        let outcome = catch_unwind(AssertUnwindSafe(|| outcome(&store, &what, &base)));
        let outcome = outcome.unwrap_or_else(|_| panic!("seed {seed}, {what}: see above"));
        *table.entry((what, outcome)).or_default() += 1;
    }
    table
}

#[test]
fn damage_to_the_engines_files_is_an_error_or_leaves_the_right_text() {
    let table = run(StorageEngine::Sled, 0..30);
    assert_eq!(table.values().sum::<u64>(), 30);
    assert!(table.keys().any(|(_, outcome)| outcome == "right"));
    assert!(table.keys().any(|(_, outcome)| outcome == "unlock: Damaged"), "{table:?}");
}

/// An older copy of the log is a consistent state. Only the anchor tells that it is not the newest.
#[test]
fn a_salvage_from_an_older_log_reports_that_the_newest_commits_are_gone() {
    let base = Base::new(StorageEngine::Sled);
    let store = base.copy(CLOSED);
    let log = generation(&store).join("db");
    let older = fs::read(&log).unwrap();
    let session = unlock(&store).unwrap();
    session.files().write("/memories/new", "written after the copy\n").unwrap();
    session.lock();
    fs::write(log, older).unwrap();
    let save = |_: &str, _: &str| Ok::<(), StoreError>(());
    let report = Vault::open(&store).unwrap().salvage(&passphrase(), save).unwrap();
    assert_eq!(report.files, u64::try_from(base.texts.len()).unwrap());
    assert_eq!(report.lost.len(), 1, "{report:?}");
}

#[test]
#[ignore = "1,000 places take minutes; the short form is above"]
fn damage_at_a_thousand_places_is_an_error_or_leaves_the_right_text() {
    print(&run(StorageEngine::Sled, 1_000..2_000));
}

fn print(table: &BTreeMap<(String, String), u64>) {
    for ((what, outcome), count) in table {
        println!("{count:5}  {what:24}  {outcome}");
    }
}

#[cfg(feature = "redb")]
#[test]
fn damage_to_the_files_of_redb_is_an_error_or_leaves_the_right_text() {
    let table = run(StorageEngine::Redb, 0..30);
    assert_eq!(table.values().sum::<u64>(), 30);
    assert!(table.keys().any(|(_, outcome)| outcome == "right"));
}

#[cfg(feature = "redb")]
#[test]
#[ignore = "1,000 places take minutes; the short form is above"]
fn damage_at_a_thousand_places_of_redb_is_an_error_or_leaves_the_right_text() {
    print(&run(StorageEngine::Redb, 1_000..2_000));
}
