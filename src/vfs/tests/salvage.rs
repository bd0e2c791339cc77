//! Damages every record of a store in turn, and tests the report of check, the result of repair and the files of
//! salvage.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::maintenance::RecoveryReport;
use crate::session::tests::store::{self, TestStore, options, passphrase};
use crate::session::tests::watched::{Watch, WatchedStorage};
use crate::session::{Session, StoreError};
use crate::vfs::FileError;
use inmost_engines::memory::MemoryStorage;
use inmost_format::record::{Kind, Node, RecordId};
use inmost_storage::{Address, Batch, EngineKind, Storage};

type Files = BTreeMap<String, String>;
type Records = Vec<(Address, Vec<u8>)>;

fn open(storage: &MemoryStorage) -> Result<Session, StoreError> {
    options().open_storage(Arc::new(storage.clone()))?.unlock(&passphrase())
}

/// A store with small and long files, a folder with a tree of entries, nested folders and an object in the system
/// folder.
fn filled() -> (MemoryStorage, Files) {
    let storage = MemoryStorage::default();
    drop(options().fill(&storage, EngineKind::Memory, &passphrase()).unwrap());
    let session = open(&storage).unwrap();
    let mut files = Files::new();
    let mut write = |path: String, text: String| {
        session.files().write(&path, &text).unwrap();
        files.insert(path, text);
    };
    for number in 0..30 {
        write(format!("/memories/many/a name of some length, number {number}"), number.to_string());
    }
    write("/memories/small".to_owned(), "small\n".to_owned());
    write("/memories/deep/er/file".to_owned(), "deep\n".to_owned());
    write("/memories/long".to_owned(), "a long line of text\n".repeat(2_000));
    session.files().write("/memories/gone", &"deleted\n".repeat(120_000)).unwrap();
    session.files().remove("/memories/gone").unwrap();
    session.lock();
    (storage, files)
}

fn records(storage: &MemoryStorage) -> Records {
    let engine = storage.open_generation(1, EngineKind::Memory).unwrap();
    let records = engine.scan(None, usize::MAX).unwrap();
    engine.close().unwrap();
    records
}

fn damage(storage: &MemoryStorage, address: Address, value: Option<Vec<u8>>) {
    let engine = storage.open_generation(1, EngineKind::Memory).unwrap();
    let mut batch = Batch::default();
    match value {
        Some(value) => batch.puts.push((address, value)),
        None => batch.deletes.push(address),
    }
    engine.apply(&batch).unwrap();
    engine.sync().unwrap();
    engine.close().unwrap();
}

fn readable(session: &Session, folder: &str, into: &mut Files) -> Result<(), FileError> {
    for entry in session.files().list(folder)? {
        let path = format!("{folder}/{}", entry.name);
        if entry.metadata.is_folder() {
            readable(session, &path, into)?;
        } else {
            into.insert(path.clone(), session.files().read(&path)?.as_str().to_owned());
        }
    }
    Ok(())
}

fn salvage(storage: &MemoryStorage) -> (Files, usize) {
    let mut saved = Files::new();
    let vault = options().open_storage(Arc::new(storage.clone())).unwrap();
    let report = vault
        .salvage(&passphrase(), |path, text| {
            saved.insert(path.to_owned(), text.to_owned());
            Ok::<(), StoreError>(())
        })
        .unwrap();
    (saved, report.lost.len())
}

#[test]
fn a_healthy_store_is_salvaged_whole_and_nothing_deleted_comes_back() {
    let (storage, files) = filled();
    assert_eq!(salvage(&storage), (files, 0));
}

#[test]
fn whatever_record_is_damaged_the_rest_is_found_kept_and_saved() {
    let (storage, files) = filled();
    let healthy = records(&storage);
    let (mut unopenable, mut repairs) = (0, 0);
    for (number, (address, value)) in healthy.iter().enumerate() {
        // Flipped or removed, in turn.
        let bad = (number % 2 == 0).then(|| {
            let mut bad = value.clone();
            let middle = bad.len() / 2;
            bad[middle] ^= 1;
            bad
        });
        let storage = storage.duplicate();
        damage(&storage, *address, bad);

        let (saved, lost) = salvage(&storage);
        let texts: Vec<&String> = saved.values().collect();
        let missing = files.values().filter(|text| !texts.contains(text)).count();
        assert!(missing <= 1, "record {number}: {missing} files not saved");
        assert!(missing == 0 || lost > 0, "record {number}: an unreported loss");

        let is_clean = match open(&storage) {
            Err(StoreError::Tampered { .. }) => {
                unopenable += 1;
                false
            }
            Err(error) => panic!("record {number}: {error}"),
            Ok(session) => session.check().unwrap().is_clean(),
        };
        if !is_clean {
            let vault = options().open_storage(Arc::new(storage.clone())).unwrap();
            let plan = vault.plan_repair(&passphrase(), |_| {}).unwrap();
            let report = vault.repair(&passphrase(), |_| {}).unwrap();
            let counts = |report: &RecoveryReport| {
                (report.files, report.older.len(), report.found.len(), report.lost.len())
            };
            assert_eq!(counts(&plan), counts(&report), "record {number}");
            repairs += 1;
        }
        let session = open(&storage).unwrap();
        assert!(session.check().unwrap().is_clean(), "record {number}");
        let mut kept = Files::new();
        readable(&session, "/memories", &mut kept).unwrap();
        if is_clean {
            // Deleted objects are reaped at unlock, damaged or not.
            assert_eq!(kept, files, "record {number}: not noticed");
        }
        assert_eq!(kept, saved, "record {number}: a repair keeps what a salvage saves");
        let is_found = |path: &str| path.starts_with("/memories/lost-and-found/");
        assert!(kept.iter().all(|(path, text)| is_found(path) || files.get(path) == Some(text)));
        session.lock();
    }
    assert!(unopenable <= 1, "{unopenable} records without which nothing goes");
    assert!(repairs > 40, "{repairs}");
}

/// What is left of its text is partial from the first commit on that removes a part of it.
#[test]
fn a_long_text_that_is_being_removed_does_not_come_back() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session.files().write("/memories/kept", "kept").unwrap();
    session.files().write("/memories/gone", &"deleted\n".repeat(120_000)).unwrap();
    session.files().remove("/memories/gone").unwrap();
    drop(session);
    let is_partial = |node: &Node| matches!(node, Node::File(head) if head.is_partial);
    assert!(store.reachable().values().any(is_partial));
    let root = store.root();
    let (tree, system) = (RecordId::folder(root.tree.id), RecordId::folder(root.system.id));
    for damaged in [
        vec![],
        vec![RecordId::ROOT],
        vec![tree],
        vec![system],
        vec![RecordId::ROOT, tree],
        vec![tree, system],
    ] {
        let store = store.duplicate();
        for record in &damaged {
            let address = store.address(*record);
            store.tamper(|records| *records.get_mut(&address).unwrap().last_mut().unwrap() ^= 1);
        }
        assert_eq!(texts(&store), ["kept"], "{damaged:?}");
    }
}

/// The texts that a salvage saves, whatever their paths.
fn texts(store: &TestStore) -> Vec<String> {
    let mut saved = Vec::new();
    let vault = store::options().open_storage(Arc::new(store.memory.clone())).unwrap();
    let save = |_: &str, text: &str| {
        saved.push(text.to_owned());
        Ok::<(), StoreError>(())
    };
    vault.salvage(&store::passphrase(), save).unwrap();
    saved
}

#[test]
fn a_deleted_folder_that_waits_to_be_reaped_does_not_come_back() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session.files().write("/memories/kept", "kept").unwrap();
    for number in 0..60 {
        for folder in ["gone", "gone/below"] {
            session.files().write(&format!("/memories/{folder}/{number}"), "deleted").unwrap();
        }
    }
    session.files().remove("/memories/gone").unwrap();
    drop(session);
    let system = RecordId::folder(store.root().system.id);
    let Some(Node::Folder(system)) = store.reachable().remove(&system) else { unreachable!() };
    assert!(system.body.count() > 0 && store.records_of(Kind::File).len() > 50, "much is left");
    assert_eq!(texts(&store), ["kept"]);
}

/// A bad block of the disk is damage. A salvage does not need the engine.
#[test]
fn records_that_the_engine_cannot_read_are_named_and_salvaged() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    for (name, text) in [("a", "first"), ("b", "second"), ("c", "third")] {
        session.files().write(&format!("/memories/{name}"), text).unwrap();
    }
    drop(session);
    let damaged = store.records_of(Kind::File)[0];
    let damaged = store.address(damaged);
    let watch = Watch::default();
    watch.make_unreadable(move |address| *address == damaged);
    let open = || {
        let storage = WatchedStorage { inner: store.memory.clone(), watch: watch.clone() };
        store::options().open_storage(Arc::new(storage)).unwrap()
    };

    let mut saved = 0;
    let save = |_: &str, _: &str| {
        saved += 1;
        Ok::<(), StoreError>(())
    };
    let report = open().salvage(&store::passphrase(), save).unwrap();
    assert_eq!((saved, report.files, report.is_complete()), (3, 3, true));

    let session = open().unlock(&store::passphrase()).unwrap();
    let report = session.check().unwrap();
    let [problem, scan] = report.problems.as_slice() else { panic!("{report:?}") };
    assert_eq!((problem.what, problem.how), ("a file", "cannot be read"));
    assert_eq!((scan.what, scan.how), ("a part of the engine's files", "cannot be read"));
    let [name] = problem.names.as_slice() else { panic!("{report:?}") };
    let read = session.files().read(&format!("/memories/{name}"));
    assert!(matches!(read, Err(FileError::Store(StoreError::Io(_)))));
}
