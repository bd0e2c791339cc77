//! Generations that are refused as damaged: no byte of the store may change. And those that must not be refused.

use std::collections::{BTreeMap, HashMap};

use super::*;

/// A store that was killed or closed: its files, and the records that it must have.
struct Stored {
    parent: TempDir,
    engine: EngineKind,
    records: HashMap<Address, Vec<u8>>,
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

impl Stored {
    fn new(engine: EngineKind) -> Self {
        let memory = Path::new("/dev/shm");
        let parent =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let stored = Self { parent: parent.unwrap(), engine, records: HashMap::new() };
        let storage = LocalStorage::create(&stored.path(), LOCAL).unwrap();
        storage.create_generation(1, engine).unwrap().close().unwrap();
        storage.write_header(HeaderCopy::A, b"header a").unwrap();
        drop(storage.publish().unwrap());
        stored
    }

    fn path(&self) -> PathBuf {
        self.parent.path().join("store")
    }

    /// Commits, then calls `end` with the engine, and returns the files as they are then.
    fn commit(&mut self, numbers: std::ops::Range<u16>, end: fn(Box<dyn Engine>)) -> Files {
        let storage = LocalStorage::open(&self.path(), LOCAL).unwrap();
        let engine = storage.open_generation(1, self.engine).unwrap();
        for number in numbers {
            let records = (0..5_u16).map(|each| {
                let name = number.wrapping_mul(7).wrapping_add(each) % 90;
                let mut address = [7; 32];
                address[..2].copy_from_slice(&name.to_le_bytes());
                let value = number.to_le_bytes().repeat(40 + usize::from(name) * 6);
                (Address(address), value)
            });
            let batch = Batch { puts: records.collect(), ..Batch::default() };
            engine.apply(&batch).unwrap();
            engine.sync().unwrap();
            self.records.extend(batch.puts);
        }
        end(engine);
        drop(storage);
        self.files()
    }

    /// Every file but the lock, which holds the number of a process.
    fn files(&self) -> Files {
        let mut found = Files::new();
        let mut folders = vec![self.path()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.ends_with("lock") {
                    found.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
        found
    }

    fn restore(&self, files: &Files) {
        for path in self.files().keys().filter(|path| !files.contains_key(*path)) {
            fs::remove_file(path).unwrap();
        }
        for (path, bytes) in files {
            if fs::read(path).ok().as_ref() != Some(bytes) {
                fs::write(path, bytes).unwrap();
            }
        }
    }

    /// Opens the generation. Returns what is damaged, or checks the records.
    fn open(&self) -> Option<String> {
        let before = self.files();
        let storage = LocalStorage::open(&self.path(), LOCAL).unwrap();
        match storage.open_generation(1, self.engine) {
            Ok(engine) => {
                let found: HashMap<_, _> =
                    engine.scan(None, usize::MAX).unwrap().into_iter().collect();
                let wrong =
                    self.records.iter().filter(|(key, value)| found.get(*key) != Some(value));
                let (wrong, more) = (wrong.count(), found.len().abs_diff(self.records.len()));
                assert!(
                    wrong + more == 0,
                    "{:?}: {wrong} records are wrong, {more} too many or few",
                    self.engine
                );
                engine.discard();
                None
            }
            Err(StorageError::Damaged(what)) => {
                assert!(self.files() == before, "a refused store has changed: {what}");
                Some(what)
            }
            Err(error) => panic!("unexpected error: {error}"),
        }
    }

    fn journal(&self) -> PathBuf {
        self.path().join("gen-0000000000000001/journal")
    }
}

const CLOSE: fn(Box<dyn Engine>) = |engine| engine.close().unwrap();
/// As if the process had been killed: what is in the journal stays there.
const KILL: fn(Box<dyn Engine>) = drop;

#[test]
fn a_journal_and_an_engine_of_different_days_are_refused_unchanged() {
    for engine in kinds() {
        let mut stored = Stored::new(engine);
        let old = stored.commit(0..40, CLOSE);
        let old_records = stored.records.clone();
        // At least two epochs: a journal that is one behind its engine is what a crash leaves.
        stored.commit(40..80, CLOSE);
        let new = stored.commit(80..120, CLOSE);
        assert_eq!(stored.open(), None);
        let journal = stored.journal();
        let mixed = |files: &Files, of: &Files| {
            let mut files = files.clone();
            files.insert(journal.clone(), of[&journal].clone());
            files
        };
        stored.restore(&mixed(&new, &old));
        let refused = stored.open().unwrap();
        assert!(refused.contains("different copies"), "{engine:?}: {refused}");
        stored.restore(&mixed(&old, &new));
        let refused = stored.open().unwrap();
        assert!(refused.contains("different copies"), "{engine:?}: {refused}");
        stored.restore(&old);
        stored.records = old_records;
        assert_eq!(stored.open(), None);
    }
}

#[test]
fn a_killed_store_is_opened_whole() {
    for engine in kinds() {
        let mut stored = Stored::new(engine);
        for round in 0..12 {
            stored.commit(round * 37..(round + 1) * 37, if round % 3 == 0 { CLOSE } else { KILL });
            assert_eq!(stored.open(), None);
        }
    }
}

/// Flips bits and zeroes blocks of sled's log. Returns how often that was noticed.
fn damage_log(stored: &Stored, files: &Files, stride: usize) -> u32 {
    let path = stored.path().join("gen-0000000000000001/db");
    let whole = &files[&path];
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap();
    let mut noticed = 0;
    for (round, at) in (0..used).step_by(stride).enumerate() {
        let mut damaged = whole.clone();
        if round % 4 == 3 {
            let block = at & !4_095;
            let end = damaged.len().min(block + 4_096);
            damaged[block..end].fill(0);
        } else {
            damaged[at] ^= 1 << (round % 8);
        }
        stored.restore(files);
        fs::write(&path, damaged).unwrap();
        noticed += u32::from(stored.open().is_some());
    }
    noticed
}

#[test]
fn damage_to_a_log_is_noticed_or_harmless() {
    for end in [KILL, CLOSE] {
        let mut stored = Stored::new(EngineKind::Sled);
        stored.commit(0..30, CLOSE);
        let files = stored.commit(30..90, end);
        let noticed = damage_log(&stored, &files, 3_001);
        assert!(noticed > 10, "{noticed}");
    }
}

/// Regression: the frontier of a slot alone did not count, so sled cut its damaged log off and the newest records with it.
#[test]
fn damage_to_a_log_is_noticed_with_one_slot_too() {
    for end in [KILL, CLOSE] {
        let mut stored = Stored::new(EngineKind::Sled);
        stored.commit(0..30, CLOSE);
        let files = stored.commit(30..90, end);
        for slot in 0..2 {
            let mut files = files.clone();
            files.get_mut(&stored.journal()).unwrap()[slot * 4_096 + 60] ^= 1;
            stored.restore(&files);
            assert_eq!(stored.open(), None, "slot {slot}");
            let noticed = damage_log(&stored, &files, 1_009);
            assert!(noticed > 10, "slot {slot}: {noticed}");
        }
    }
}

/// Regression: slots were written where they were. The lab cut the power then; the other slot named a frontier of long ago, and
/// the store was refused.
#[test]
fn a_torn_slot_is_no_damage_to_the_engine() {
    for engine in kinds() {
        let mut stored = Stored::new(engine);
        let storage = LocalStorage::open(&stored.path(), LOCAL).unwrap();
        let open = storage.open_generation(1, engine).unwrap();
        let root = Address([1; 32]);
        let mut last = None;
        for round in 0..90_u8 {
            // Two epochs of small commits, then batches that are too large for the journal, after each of which a slot is written.
            let is_small = round < 30 && round % 10 != 9;
            let (records, length) = if is_small { (3, 300) } else { (30, 4_137) };
            let record = |number: u8| (Address([number + 2; 32]), vec![round; length]);
            let mut batch = Batch::default();
            batch.puts.push((root, vec![round; 300]));
            batch.puts.extend((0..records).map(record));
            batch.expect = Some((root, last));
            open.apply(&batch).unwrap();
            open.sync().unwrap();
            last = Some(vec![round; 300]);
            stored.records.extend(batch.puts);
        }
        KILL(open);
        drop(storage);
        let files = stored.files();
        for slot in 0..2 {
            stored.restore(&files);
            let mut journal = fs::read(stored.journal()).unwrap();
            journal[slot * 4_096 + 4_095] ^= 1;
            fs::write(stored.journal(), journal).unwrap();
            assert_eq!(stored.open(), None, "{engine:?}, slot {slot}");
        }
    }
}
