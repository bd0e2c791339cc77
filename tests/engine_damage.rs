//! Tests of damage to the engine's own files, at seeded places: flipped bits, zeros, truncation, missing and
//! extra files.
//!
//! Half of the stores were closed, and half were copied while they were in use, with commits in the journal.
//!
//! The engine's checksums are not reliable, and some damage makes it recover to an older state and report
//! success. So every outcome must be one of these: the right text everywhere; an error; or, for an older
//! state, [`StoreError::RolledBack`] with both numbers. A panic, a wrong text or a store with missing content
//! is a failure.
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

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use inmost::{
    EntryKind, KdfCost, Passphrase, Session, StorageEngine, StoreError, Vault, VaultOptions,
};
use tempfile::TempDir;

const CHEAP: KdfCost = KdfCost::new(19 << 10, 2, 1);
type Texts = BTreeMap<String, String>;

fn passphrase() -> Passphrase {
    Passphrase::new("a passphrase for tests").unwrap()
}

fn unlock(store: &Path) -> Result<Session, StoreError> {
    Vault::open(store)?.unlock(&passphrase())
}

/// A store that several sessions have used, so that its log is partly covered by a snapshot: as it was in use, and
/// closed.
struct Base {
    folder: TempDir,
    texts: Texts,
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
        let mut commit = 0;
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
        Self { folder, texts, commit }
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

/// The `SplitMix64` generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

/// The engine's files, sorted by name.
fn engine_files(store: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![generation(store)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

fn generation(store: &Path) -> PathBuf {
    let entries = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let mut generations = entries.filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("gen-"))
    });
    let found = generations.next().unwrap();
    assert!(generations.next().is_none());
    found
}

/// Damages the store and returns the kind of damage.
fn damage(store: &Path, random: &mut Random) -> String {
    let files = engine_files(store);
    // Half of the damage is in the log, a quarter in the journal, and a quarter anywhere else.
    let log = files.iter().find(|path| path.ends_with("db") || path.ends_with("redb")).unwrap();
    let journal = files.iter().find(|path| path.ends_with("journal")).unwrap();
    let others: Vec<_> = files.iter().filter(|path| *path != log).collect();
    let file = match random.below(4) {
        1 => journal,
        0 if !others.is_empty() => {
            others[usize::try_from(random.below(others.len().try_into().unwrap())).unwrap()]
        }
        _ => log,
    };
    let length = fs::metadata(file).unwrap().len();
    let at = random.below(length);
    let name = match file.file_name().unwrap().to_string_lossy() {
        name if name.starts_with("snap") => "snapshot".to_owned(),
        name => name.into_owned(),
    };
    match random.below(12) {
        0..4 => {
            let bit = random.below(8);
            overwrite(file, at, 1, |byte| byte ^ (1 << bit));
            format!("{name}: a bit")
        }
        4 | 5 => {
            overwrite(file, at, 16, |byte| byte.wrapping_mul(3).wrapping_add(41));
            format!("{name}: 16 bytes")
        }
        6 | 7 => {
            overwrite(file, at & !511, 4096, |_| 0);
            format!("{name}: 4 KiB of zeros")
        }
        8 => {
            overwrite(file, at, length - at, |_| 0);
            format!("{name}: zeros to the end")
        }
        9 => {
            OpenOptions::new().write(true).open(file).unwrap().set_len(at).unwrap();
            format!("{name}: cut")
        }
        10 => {
            fs::remove_file(file).unwrap();
            format!("{name}: missing")
        }
        _ => extra(store, random),
    }
}

/// Adds a file or folder that does not belong to the store.
fn extra(store: &Path, random: &mut Random) -> String {
    let generation = generation(store);
    let garbage: Vec<u8> = (0..3_000).flat_map(|_| random.next().to_le_bytes()).collect();
    match random.below(6) {
        0 => {
            let number = random.next();
            fs::write(generation.join(format!("snap.{number:016X}")), garbage).unwrap();
            "extra snapshot".into()
        }
        1 => {
            let number = random.next();
            fs::write(generation.join(format!("snap.{number:016X}.generating")), garbage).unwrap();
            "extra half snapshot".into()
        }
        2 => {
            fs::create_dir_all(generation.join("blobs")).unwrap();
            fs::write(generation.join("blobs").join(random.below(1 << 30).to_string()), garbage)
                .unwrap();
            "extra blob".into()
        }
        3 => {
            let other = store.join(format!("gen-{:016x}", random.below(1 << 20) + 1_000));
            copy_folder(&generation, &other);
            "extra generation".into()
        }
        4 => {
            fs::create_dir(store.join("gen-0000000000000fff")).unwrap();
            "extra empty generation".into()
        }
        _ => {
            fs::remove_dir_all(&generation).unwrap();
            "generation: missing".into()
        }
    }
}

fn overwrite(path: &Path, at: u64, length: u64, change: impl Fn(u8) -> u8) {
    let mut file = File::options().read(true).write(true).open(path).unwrap();
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at)).unwrap();
    Read::by_ref(&mut file).take(length).read_to_end(&mut bytes).unwrap();
    for byte in &mut bytes {
        *byte = change(*byte);
    }
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&bytes).unwrap();
}

/// Opens the store and reads everything. Panics on an outcome that must never occur.
fn outcome(store: &Path, base: &Base) -> String {
    let session = match unlock(store) {
        Ok(session) => session,
        Err(StoreError::RolledBack { expected, found }) => {
            assert_eq!(expected, base.commit);
            assert!(found <= expected, "an older state was reported with the newer number {found}");
            return "RolledBack".into();
        }
        Err(error @ (StoreError::Storage(_) | StoreError::Tampered { .. })) => {
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
        let outcome = catch_unwind(AssertUnwindSafe(|| outcome(&store, &base)));
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
    assert!(table.keys().any(|(_, outcome)| outcome == "unlock: Storage"), "{table:?}");
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
