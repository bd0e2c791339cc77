//! Sample stores for other readers, second part: what the engines hold, a store in use, one with a history, and backups.
//!
//! Scripts under tests/ run this after the tests of `src/vfs/samples.rs`, with the same output folder. The records are those of
//! the bare engine, with the mark of the journal, because that is what another reader finds.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inmost::{BackupOptions, Passphrase, Session, Vault, VaultOptions};
use inmost_testing::CHEAP;

use crate::{golden, history_sample};

#[test]
#[ignore = "run by tests/reader/run.sh and tests/golden/make.sh"]
fn write_the_records_of_the_samples_and_more_stores() {
    let sample = std::env::var_os("INMOST_SAMPLE").expect("INMOST_SAMPLE names a folder");
    let sample = Path::new(&sample);
    let [in_use, history] = ["in-use", "history"].map(|name| {
        let folder = sample.join(name);
        fs::create_dir(&folder).unwrap();
        fs::copy(sample.join("passphrase"), folder.join("passphrase")).unwrap();
        folder
    });
    assert!(
        std::env::var_os("INMOST_TEST_NO_BACKGROUND").is_some(),
        "a checkpoint could be faster than the copy"
    );
    write_a_store_in_use(&in_use);
    history_sample::write(&history);
    write_backups(&sample.join("backups"), &in_use.join("passphrase"));
    for folder in [sample, &sample.join("purged"), &in_use, &history] {
        if folder.join("store").is_dir() {
            write_records(folder);
        }
    }
}

/// Writes `records.bin`: everything in the engine of the store in this folder.
fn write_records(folder: &Path) {
    let mut records = Vec::new();
    for (address, value) in engine_of(&folder.join("store")) {
        records.extend(address);
        records.extend(u16::try_from(value.len()).unwrap().to_le_bytes());
        records.extend(value);
    }
    fs::write(folder.join("records.bin"), records).unwrap();
}

/// What sled holds, the mark included. It is opened on a copy, because it changes its files.
fn engine_of(store: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let copied = tempfile::tempdir().unwrap();
    let folder = copied.path().join("copy");
    golden::copy(&generation_of(store), &folder);
    let config = sled::Config::new().segment_size(2 << 20).path(folder).flush_every_ms(None);
    let db = config.open().unwrap();
    db.iter().map(|it| it.unwrap()).map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

fn generation_of(store: &Path) -> PathBuf {
    let mut entries = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.is_dir()).unwrap()
}

/// Writes a store as a killed process leaves it, with entries in both halves of its journal.
fn write_a_store_in_use(folder: &Path) {
    let taken = folder.join("store");
    let used = tempfile::tempdir().unwrap();
    let store = used.path().join("store");
    let passphrase = fs::read_to_string(folder.join("passphrase")).unwrap();
    let passphrase = Passphrase::new(&passphrase).unwrap();
    let options = VaultOptions::new().kdf_cost(CHEAP);
    let session = options.create(&store, &passphrase).unwrap();
    for path in ["stays.md", "goes.md", "folder/changes.md"] {
        session.files().write(&format!("/memories/{path}"), path).unwrap();
    }
    // Leaves a small log.
    session.purge().unwrap();
    // The first checkpoint, when the store is locked.
    session.files().write("/memories/before.md", "the first entry").unwrap();
    session.lock();
    // The engine has nothing of what follows until a checkpoint.
    let used_generation = generation_of(&store);
    let generation = taken.join(used_generation.file_name().unwrap());
    golden::copy(&used_generation, &generation);

    let session = Vault::open(&store).unwrap().unlock(&passphrase).unwrap();
    let in_both = (0..COMMITS).find_map(|number| {
        commit(&session, number);
        let bytes = fs::read(used_generation.join("journal")).unwrap();
        let is_enough = halves(&bytes).into_iter().all(|half| entries_in(half) >= ENTRIES);
        is_enough.then_some(bytes)
    });
    let bytes = in_both.expect("entries in both halves");
    for name in ["header.a", "header.b", "anchor"] {
        fs::copy(store.join(name), taken.join(name)).unwrap();
    }
    fs::write(generation.join("journal"), &bytes).unwrap();
    let files = serde_json::to_string_pretty(&golden::files(&session)).unwrap();
    fs::write(folder.join("files.json"), files + "\n").unwrap();
    session.lock();
    let engine = engine_of(&taken);
    let mark = &engine.iter().find(|(address, _)| *address == [0; 32]).unwrap().1;
    assert_eq!(epoch(&mark[16..]), epoch(&bytes[32..]).max(epoch(&bytes[4_096 + 32..])));
}

/// Makes three backups and keeps two, with packs that were written anew, and writes the files of each.
fn write_backups(folder: &Path, passphrase: &Path) {
    let home = tempfile::tempdir().unwrap();
    let passphrase = Passphrase::new(&fs::read_to_string(passphrase).unwrap()).unwrap();
    let options = VaultOptions::new().kdf_cost(CHEAP);
    let session = options.create(home.path().join("store"), &passphrase).unwrap();
    fs::create_dir(folder).unwrap();
    let mut options = BackupOptions::default();
    (options.keep, options.keep_within) = (2, Duration::ZERO);
    for number in 1..=3 {
        // A third of the files changes each time.
        for file in (0..60).filter(|file| number == 1 || file % 3 == number - 1) {
            let text = format!("{file} in {number}\n").repeat(40 * (file % 7));
            session.files().write(&format!("/memories/{}/{file}", file % 4), &text).unwrap();
        }
        session.backup_into(folder.join("kept"), &options, &mut |_| {}).unwrap();
        let files = serde_json::to_string_pretty(&golden::files(&session)).unwrap();
        fs::write(folder.join(format!("{number}.json")), files).unwrap();
    }
    session.lock();
}

/// A change of each kind: an entry is written, replaced and removed.
fn commit(session: &Session, number: usize) {
    let files = session.files();
    let text = format!("text {number}\n").repeat(60 * (number % 3));
    files.write(&format!("/memories/folder {}/{number}.md", number % 9), &text).unwrap();
    match number {
        5 => files.remove("/memories/goes.md").unwrap(),
        6 => files.rename("/memories/folder 3/3.md", "/memories/moved.md").unwrap(),
        7 => files.write("/memories/folder/changes.md", &"changed\n".repeat(900)).unwrap(),
        _ => {}
    }
}

fn halves(journal: &[u8]) -> [&[u8]; 2] {
    let halves = &journal[8_192..];
    halves.split_at(halves.len() / 2).into()
}

fn entries_in(half: &[u8]) -> usize {
    half.chunks(4_096).filter(|block| block.starts_with(b"IJE1")).count()
}

fn epoch(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

/// More than fill one half of a journal.
const COMMITS: usize = 120;
/// The least entries in each half.
const ENTRIES: usize = 3;
