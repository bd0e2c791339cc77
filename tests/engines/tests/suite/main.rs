//! The behaviour that every storage must have, run against each of them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test should stop"
)]

mod places;

use tempfile::TempDir;

use self::places::*;
use inmost_engine_tests::{LOCAL, kinds};
use inmost_engines::faulty::{Fault, FaultyStorage};
use inmost_engines::local::LocalStorage;
use inmost_engines::memory::MemoryStorage;
use inmost_engines::memory::shared::SharedMemory;
use inmost_engines::samples::{address, puts};
use inmost_storage::limits;
use inmost_storage::{
    Address, Batch, Engine, EngineKind, HeaderCopy, Rewriting, Storage, StorageError,
};

/// A new vault on the server whose address is in the environment.
#[cfg(feature = "postgres")]
fn vault() -> inmost_postgres::PostgresStorage {
    use std::hash::{BuildHasher, Hasher, RandomState};
    use std::sync::LazyLock;

    use inmost_postgres::{PostgresConfig, PostgresStorage, PostgresUrl, Server, VaultId};

    // The tests run at the same time, and few connections are left for others.
    static SERVER: LazyLock<Server> = LazyLock::new(|| {
        let url = std::env::var("INMOST_TEST_POSTGRES").expect("tests/postgres/run.sh sets it");
        let config = PostgresConfig::new(&PostgresUrl::parse(&url).unwrap());
        Server::new(config.password_from_environment().unwrap().max_connections(12)).unwrap()
    });
    let random = || RandomState::new().build_hasher().finish();
    let id = (u128::from(random()) << 64) | u128::from(random());
    PostgresStorage::create(&SERVER, VaultId(id.to_be_bytes())).unwrap()
}

/// A storage under test.
struct Place {
    storage: Box<dyn Storage>,
    kind: EngineKind,
    /// Whether new generations are closed and opened again, so that commits go through the journal.
    reopens: bool,
    _folder: Option<TempDir>,
}

impl Place {
    fn sled() -> Self {
        Self::on_disk(EngineKind::Sled)
    }

    fn sled_with_journal() -> Self {
        Self { reopens: true, ..Self::sled() }
    }

    #[cfg(feature = "redb")]
    fn redb() -> Self {
        Self::on_disk(EngineKind::Redb)
    }

    #[cfg(feature = "redb")]
    fn redb_with_journal() -> Self {
        Self { reopens: true, ..Self::redb() }
    }

    fn on_disk(kind: EngineKind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let storage = LocalStorage::create(&folder.path().join("store"), LOCAL).unwrap();
        let storage = Box::new(storage.publish().unwrap());
        Self { storage, kind, reopens: false, _folder: Some(folder) }
    }

    fn memory() -> Self {
        let storage = Box::new(MemoryStorage::default());
        Self { storage, kind: EngineKind::Memory, reopens: false, _folder: None }
    }

    fn shared_memory() -> Self {
        let storage = Box::new(SharedMemory::default().host());
        Self { storage, kind: EngineKind::Memory, reopens: false, _folder: None }
    }

    /// A new vault on the server of `tests/postgres/run.sh`.
    #[cfg(feature = "postgres")]
    fn postgres() -> Self {
        let storage = Box::new(vault());
        Self { storage, kind: EngineKind::Postgres, reopens: false, _folder: None }
    }

    fn faulty() -> Self {
        let storage = Box::new(FaultyStorage::new(MemoryStorage::default()));
        Self { storage, kind: EngineKind::Memory, reopens: false, _folder: None }
    }

    /// A store on disk with a fault set at this operation.
    fn faulty_on_disk(kind: EngineKind, operation: u64, fault: Fault) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let storage = LocalStorage::create(&folder.path().join("store"), LOCAL).unwrap();
        let storage = FaultyStorage::new(storage.publish().unwrap());
        storage.faults().set(operation, fault);
        Self { storage: Box::new(storage), kind, reopens: false, _folder: Some(folder) }
    }

    /// The highest number of a generation.
    fn highest(&self) -> u64 {
        if self.kind == EngineKind::Postgres { u64::MAX / 2 } else { u64::MAX }
    }

    fn create(&self, number: u64) -> Box<dyn Engine> {
        let engine = self.storage.create_generation(number, self.kind).unwrap();
        if !self.reopens {
            return engine;
        }
        engine.close().unwrap();
        self.open(number)
    }

    fn open(&self, number: u64) -> Box<dyn Engine> {
        self.storage.open_generation(number, self.kind).unwrap()
    }
}

macro_rules! run_everywhere {
    ($($behaviour:ident)*) => {
        run_everywhere!(@ shared_memory $($behaviour)*);
        #[cfg(feature = "postgres")]
        run_on_postgres!($($behaviour)*);
        run_locally!($($behaviour)*);
    };
    (@ $place:ident $($behaviour:ident)*) => {
        mod $place {
            use crate as suite;
            $(#[test] fn $behaviour() { suite::$behaviour(&suite::Place::$place()); })*
        }
    };
}

#[cfg(feature = "postgres")]
macro_rules! run_on_postgres {
    ($($behaviour:ident)*) => {
        mod postgres {
            use crate as suite;
            $(
                #[test]
                #[ignore = "needs a server: tests/postgres/run.sh"]
                fn $behaviour() { suite::$behaviour(&suite::Place::postgres()); }
            )*
        }
    };
}

macro_rules! run_locally {
    ($($behaviour:ident)*) => {
        run_everywhere!(@ sled $($behaviour)*);
        run_everywhere!(@ sled_with_journal $($behaviour)*);
        #[cfg(feature = "redb")]
        run_everywhere!(@ redb $($behaviour)*);
        #[cfg(feature = "redb")]
        run_everywhere!(@ redb_with_journal $($behaviour)*);
        run_everywhere!(@ memory $($behaviour)*);
        run_everywhere!(@ faulty $($behaviour)*);
    };
}

run_everywhere! {
    a_batch_is_applied_as_a_whole
    a_batch_for_another_root_is_refused_and_changes_nothing
    an_oversized_batch_is_refused_and_changes_nothing
    a_batch_at_its_limit_is_accepted
    a_new_generation_is_filled_in_order
    scan_pages_in_address_order
    values_come_in_the_requested_order
    deleting_an_absent_record_is_not_an_error
    synced_records_are_there_after_closing
    synced_records_are_there_without_closing
    generations_are_created_listed_and_removed
    generations_share_nothing
    an_engine_that_is_not_built_is_refused
    size_grows_with_the_records
}

/// What a place does that one process has to itself.
mod alone {
    run_locally! {
        a_huge_header_is_truncated
        a_generation_has_one_engine_at_a_time
        header_copies_are_separate_and_replaceable
        a_generation_is_set_aside_and_discarded
        a_rewrite_is_noted_replaced_and_finished
    }
}

fn commit(engine: &dyn Engine, batch: &Batch) {
    engine.apply(batch).unwrap();
    engine.sync().unwrap();
}

fn all(engine: &dyn Engine) -> Vec<(Address, Vec<u8>)> {
    engine.scan(None, usize::MAX).unwrap()
}

fn a_batch_is_applied_as_a_whole(place: &Place) {
    let engine = place.create(1);
    commit(&*engine, &puts([(1, b"one".to_vec()), (2, b"two".to_vec())]));
    let batch = Batch {
        expect: Some((address(1), Some(b"one".to_vec()))),
        puts: vec![(address(1), b"ONE".to_vec()), (address(3), b"three".to_vec())],
        deletes: vec![address(2)],
    };
    engine.apply(&batch).unwrap();
    let expected = [(address(1), b"ONE".to_vec()), (address(3), b"three".to_vec())];
    assert_eq!(all(&*engine), expected);
    engine.sync().unwrap();
    engine.apply(&Batch::default()).unwrap();
    assert_eq!(all(&*engine), expected);
}

fn a_batch_for_another_root_is_refused_and_changes_nothing(place: &Place) {
    let engine = place.create(1);
    let root = address(7);
    let first = Batch { expect: Some((root, None)), ..puts([(7, b"root 1".to_vec())]) };
    commit(&*engine, &first);
    let pasts = [None, Some(b"root 0".to_vec()), Some(b"root 1 ".to_vec()), Some(Vec::new())];
    for past in pasts {
        let batch = Batch {
            expect: Some((root, past)),
            puts: vec![(root, b"root 2".to_vec()), (address(8), b"new".to_vec())],
            deletes: vec![root],
        };
        assert!(matches!(engine.apply(&batch), Err(StorageError::Conflict)));
    }
    assert_eq!(all(&*engine), [(root, b"root 1".to_vec())]);
    let next =
        Batch { expect: Some((root, Some(b"root 1".to_vec()))), ..puts([(7, b"root 2".to_vec())]) };
    commit(&*engine, &next);
    assert_eq!(all(&*engine), [(root, b"root 2".to_vec())]);
}

/// A batch of this many records of the greatest length.
fn batch_of(records: usize) -> Batch {
    puts((0_u32..).zip(std::iter::repeat_n(vec![7; limits::RECORD_VALUE_BYTES], records)))
}

fn an_oversized_batch_is_refused_and_changes_nothing(place: &Place) {
    let engine = place.create(1);
    let crowded = batch_of(limits::BATCH_RECORDS_MAX + 1);
    let long = puts([(1, vec![0; limits::RECORD_VALUE_BYTES + 1])]);
    let deletes = (0..).map(address).take(limits::BATCH_RECORDS_MAX + 1).collect();
    let deleting = Batch { deletes, ..Batch::default() };
    for batch in [crowded, long, deleting] {
        assert!(matches!(engine.apply(&batch), Err(StorageError::TooLarge)));
    }
    assert!(all(&*engine).is_empty());
    commit(&*engine, &puts([(1, b"fits".to_vec())]));
}

fn a_batch_at_its_limit_is_accepted(place: &Place) {
    let engine = place.create(1);
    let batch = batch_of(limits::BATCH_RECORDS_MAX);
    commit(&*engine, &batch);
    assert_eq!(all(&*engine), batch.puts);
}

fn a_new_generation_is_filled_in_order(place: &Place) {
    let engine = place.create(1);
    let records = puts((0..100).map(|number| (number, vec![7; 1_000]))).puts;
    for part in records.chunks(70) {
        engine.apply(&Batch { puts: part.to_vec(), ..Batch::default() }).unwrap();
    }
    engine.apply(&Batch::default()).unwrap();
    engine.sync().unwrap();
    assert_eq!(all(&*engine), records);
    engine.close().unwrap();
    assert_eq!(all(&*place.open(1)), records);
}

fn scan_pages_in_address_order(place: &Place) {
    let engine = place.create(1);
    let numbers = [9_u32, 300, 2, 70_000, 5, 65_536, 1, 4, 255, 256];
    commit(&*engine, &puts(numbers.map(|number| (number, number.to_be_bytes().to_vec()))));
    let mut sorted = numbers;
    sorted.sort_unstable();
    let expected: Vec<_> =
        sorted.iter().map(|&number| (address(number), number.to_be_bytes().to_vec())).collect();
    assert_eq!(all(&*engine), expected);

    let mut pages = Vec::new();
    loop {
        let after = pages.last().map(|(address, _): &(Address, Vec<u8>)| *address);
        let page = engine.scan(after.as_ref(), 3).unwrap();
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 3);
        pages.extend(page);
    }
    assert_eq!(pages, expected);

    assert_eq!(engine.scan(Some(&address(6)), 1).unwrap(), expected[4..5]);
    assert!(engine.scan(None, 0).unwrap().is_empty());
    assert!(engine.scan(Some(&Address([0xFF; 32])), 5).unwrap().is_empty());
}

fn values_come_in_the_requested_order(place: &Place) {
    let engine = place.create(1);
    commit(&*engine, &puts([(1, b"one".to_vec()), (2, Vec::new())]));
    let found = engine.get_many(&[address(2), address(9), address(1), address(2)]).unwrap();
    assert_eq!(found, [Some(Vec::new()), None, Some(b"one".to_vec()), Some(Vec::new())]);
    assert!(engine.get_many(&[]).unwrap().is_empty());
}

fn deleting_an_absent_record_is_not_an_error(place: &Place) {
    let engine = place.create(1);
    commit(&*engine, &Batch { deletes: vec![address(1)], ..Batch::default() });
    assert!(all(&*engine).is_empty());
}

fn synced_records_are_there_after_closing(place: &Place) {
    let mut engine = place.create(1);
    for round in 0..20_u32 {
        commit(&*engine, &puts([(round, vec![1; 1_000])]));
        engine.close().unwrap();
        engine = place.open(1);
    }
    assert_eq!(all(&*engine).len(), 20);
}

fn synced_records_are_there_without_closing(place: &Place) {
    let engine = place.create(1);
    commit(&*engine, &puts([(1, b"one".to_vec())]));
    drop(engine);
    assert_eq!(all(&*place.open(1)), [(address(1), b"one".to_vec())]);
}

fn a_generation_has_one_engine_at_a_time(place: &Place) {
    let engine = place.create(1);
    let second = place.storage.open_generation(1, place.kind);
    assert!(matches!(second, Err(StorageError::InUse(None))));
    commit(&*engine, &puts([(1, b"one".to_vec())]));
    engine.close().unwrap();
    assert_eq!(all(&*place.open(1)).len(), 1);
}

fn an_engine_that_is_not_built_is_refused(place: &Place) {
    let other = match place.kind {
        EngineKind::Sled | EngineKind::Redb | EngineKind::Postgres => EngineKind::Memory,
        EngineKind::Memory => EngineKind::Sled,
    };
    let created = place.storage.create_generation(1, other);
    assert!(matches!(created, Err(StorageError::NotBuilt)));
    assert!(place.storage.generations().unwrap().is_empty());
}

fn size_grows_with_the_records(place: &Place) {
    let engine = place.create(1);
    let (engine_before, before) = (engine.size().unwrap(), place.storage.size().unwrap());
    for round in 0..40_u32 {
        commit(&*engine, &puts((0..25).map(|each| (25 * round + each, vec![1; 4_000]))));
    }
    // sled's log grows by segments, so its beginning counts too. A journal may still hold 248 records.
    let grown = 500 * 4_000 / 2;
    assert!(engine.size().unwrap() >= engine_before + grown);
    assert!(place.storage.size().unwrap() >= before + grown);
    // In this order: a checkpoint in the background makes the files longer.
    let of_engine = engine.size().unwrap();
    assert!(place.storage.size().unwrap() >= of_engine);
}

#[test]
fn an_engine_on_disk_returns_only_poisoned_after_a_fault() {
    let faults = [Fault::Refused, Fault::Unreported];
    for (kind, fault) in kinds().flat_map(|kind| faults.map(|fault| (kind, fault))) {
        let place = Place::faulty_on_disk(kind, 2, fault);
        let engine = place.create(1);
        assert!(matches!(engine.apply(&puts([(1, vec![1])])), Err(StorageError::Io(_))));
        assert!(matches!(engine.get_many(&[address(1)]), Err(StorageError::Poisoned)));
        assert!(matches!(engine.apply(&puts([(2, vec![2])])), Err(StorageError::Poisoned)));
        drop(engine);
        let stored = all(&*place.open(1)).len();
        assert_eq!(stored, usize::from(fault == Fault::Unreported));
    }
}
