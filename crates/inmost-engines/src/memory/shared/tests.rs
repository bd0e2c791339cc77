//! Tests of what a shared generation does besides; the suite has the rest.

use super::*;
use inmost_storage::{
    Access, Address, Batch, Delta, HeaderChange, Known, Limit, Pull, SharedBatch,
};

const ROOT: Address = Address([0xEE; 32]);
const LIMIT: Limit = Limit { records: 10, bytes: 1_000 };

fn root(from: Option<&[u8]>, to: &[u8], revision: u64) -> SharedBatch {
    let records = Batch {
        expect: Some((ROOT, from.map(<[u8]>::to_vec))),
        puts: vec![(ROOT, to.to_vec()), (Address([1; 32]), to.to_vec())],
        ..Batch::default()
    };
    SharedBatch { records, revision, ..SharedBatch::default() }
}

fn store() -> (SharedMemory, Box<dyn Engine>) {
    let server = SharedMemory::default();
    let host = server.host();
    let engine = host.create_generation(1, EngineKind::Memory).unwrap();
    engine.shared().unwrap().commit(&root(None, b"one", 1)).unwrap();
    host.write_header(HeaderCopy::A, b"header").unwrap();
    (server, engine)
}

fn other(server: &SharedMemory) -> Box<dyn Engine> {
    server.host().open_generation(1, EngineKind::Memory).unwrap()
}

fn known(value: &[u8], revision: u64) -> Known<'_> {
    Known { root: ROOT, root_value: Some(value), revision }
}

fn changed(pull: Pull) -> Delta {
    match pull {
        Pull::Changed(delta) => delta,
        Pull::Unchanged => panic!("nothing changed"),
    }
}

#[test]
fn a_pull_returns_what_other_hosts_wrote() {
    let (server, engine) = store();
    assert!(matches!(
        engine.shared().unwrap().pull(&known(b"one", 1), LIMIT).unwrap(),
        Pull::Unchanged
    ));
    other(&server).shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).unwrap();
    let delta = changed(engine.shared().unwrap().pull(&known(b"one", 1), LIMIT).unwrap());
    assert_eq!((delta.generation, delta.root.as_deref()), (1, Some(b"two".as_slice())));
    assert_eq!(delta.rows, [(Address([1; 32]), b"two".to_vec())]);
    assert!(delta.is_complete);
    let bounded = Limit { records: 0, bytes: 0 };
    assert!(
        !changed(engine.shared().unwrap().pull(&Known::nothing(ROOT), bounded).unwrap())
            .is_complete
    );
    assert!(matches!(
        engine.shared().unwrap().commit(&root(Some(b"one"), b"TWO", 2)),
        Err(StorageError::Conflict)
    ));
}

#[test]
fn a_server_that_went_back_shows() {
    let (server, engine) = store();
    let past = server.duplicate();
    engine.shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).unwrap();
    server.with(|vault| *vault = past);
    let delta = changed(engine.shared().unwrap().pull(&known(b"two", 2), LIMIT).unwrap());
    assert_eq!(delta.root.as_deref(), Some(b"one".as_slice()));
    assert!(delta.rows.is_empty());
}

#[test]
fn a_lock_keeps_other_hosts_waiting_until_its_commit() {
    let (server, engine) = store();
    let locked = other(&server).shared().unwrap().begin(Access::Locked, &ROOT).unwrap();
    let waiting = std::thread::spawn(move || {
        engine.shared().unwrap().commit(&root(Some(b"one"), b"late", 2))
    });
    locked.shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).unwrap();
    assert!(matches!(waiting.join().unwrap(), Err(StorageError::Conflict)));
    assert!(locked.get_many(&[ROOT]).is_err(), "the transaction is over");
}

#[test]
fn a_snapshot_stays_as_it_was() {
    let (server, engine) = store();
    let snapshot = engine.shared().unwrap().begin(Access::Snapshot, &ROOT).unwrap();
    other(&server).shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).unwrap();
    assert_eq!(snapshot.get_many(&[ROOT]).unwrap(), [Some(b"one".to_vec())]);
    assert!(matches!(
        snapshot.shared().unwrap().pull(&known(b"one", 1), LIMIT).unwrap(),
        Pull::Unchanged
    ));
    assert!(snapshot.shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).is_err());
}

#[test]
fn header_and_records_change_together_or_not_at_all() {
    let (server, engine) = store();
    let change = |expect: &[u8]| HeaderChange {
        expect: expect.to_vec(),
        next: b"next".to_vec(),
        generation: 1,
        revision: 2,
    };
    let stale = SharedBatch { header: Some(change(b"other")), ..root(Some(b"one"), b"two", 2) };
    assert!(matches!(engine.shared().unwrap().commit(&stale), Err(StorageError::Conflict)));
    assert_eq!(engine.get_many(&[ROOT]).unwrap(), [Some(b"one".to_vec())]);
    let lost = SharedBatch { header: Some(change(b"header")), ..root(Some(b"zero"), b"two", 2) };
    assert!(matches!(engine.shared().unwrap().commit(&lost), Err(StorageError::Conflict)));
    let host = server.host();
    assert_eq!(host.read_header(HeaderCopy::A).unwrap().unwrap(), b"header");
    engine
        .shared()
        .unwrap()
        .commit(&SharedBatch { header: Some(change(b"header")), ..root(Some(b"one"), b"two", 2) })
        .unwrap();
    assert_eq!(host.read_header(HeaderCopy::A).unwrap().unwrap(), b"next");
    assert!(host.write_header(HeaderCopy::A, b"mine").is_err());
}

#[test]
fn a_leased_generation_stays_until_its_lease_is_over() {
    let (server, _engine) = store();
    let (writer, other) = (server.host(), server.host());
    drop(writer.create_generation(2, EngineKind::Memory).unwrap());
    other.remove_leftovers().unwrap();
    assert!(matches!(other.remove_generation(2), Err(StorageError::InUse(None))));
    assert_eq!(other.generations().unwrap(), [1, 2]);
    assert!(other.create_generation(2, EngineKind::Memory).is_err());
    // Not even by its number, as of a host that failed to create it.
    assert!(matches!(other.remove_generation(2), Err(StorageError::InUse(_))));
    assert!(matches!(other.remove_generation(1), Err(StorageError::InUse(_))), "it is in use");
    server.pass(LEASE / 2);
    writer.renew_lease(2).unwrap();
    server.pass(LEASE / 2);
    other.remove_leftovers().unwrap();
    assert_eq!(other.generations().unwrap(), [1, 2]);
    server.pass(LEASE);
    other.remove_leftovers().unwrap();
    assert_eq!(other.generations().unwrap(), [1]);
    assert!(matches!(writer.renew_lease(2), Err(StorageError::Missing)));
}

#[test]
fn a_late_batch_of_an_earlier_writer_reaches_no_generation_of_that_number() {
    let (server, _engine) = store();
    let (writer, other) = (server.host_over(Arc::new(Always(Verdict::Delay))), server.host());
    let late = writer.create_generation(2, EngineKind::Memory).unwrap();
    assert!(matches!(
        late.shared().unwrap().commit(&root(None, b"late", 1)),
        Err(StorageError::Unknown(_))
    ));
    server.pass(LEASE * 2);
    let engine = other.create_generation(2, EngineKind::Memory).unwrap();
    assert_eq!(server.deliver(), 0);
    assert_eq!(engine.get_many(&[ROOT]).unwrap(), [None]);
    engine.shared().unwrap().commit(&root(None, b"in time", 1)).unwrap();
    assert!(matches!(
        late.shared().unwrap().commit(&root(None, b"late", 1)),
        Err(StorageError::Unknown(_))
    ));
    let switch = HeaderChange {
        expect: b"header".to_vec(),
        next: b"next".to_vec(),
        generation: 2,
        revision: 2,
    };
    let old = other.open_generation(1, EngineKind::Memory).unwrap();
    old.shared()
        .unwrap()
        .commit(&SharedBatch { header: Some(switch), ..root(Some(b"one"), b"two", 2) })
        .unwrap();
    assert_eq!(server.deliver(), 0);
    engine.shared().unwrap().commit(&root(Some(b"in time"), b"later", 2)).unwrap();
}

struct Always(Verdict);

impl Network for Always {
    fn before(&self, _host: u64, operation: Operation) -> Verdict {
        if operation == Operation::Apply { self.0 } else { Verdict::Perform }
    }
}

#[test]
fn a_batch_whose_outcome_is_unknown_may_be_there_or_come_later() {
    for (verdict, now, later) in [
        (Verdict::LoseRequest, b"one", b"one"),
        (Verdict::LoseReply, b"two", b"two"),
        (Verdict::Delay, b"one", b"two"),
    ] {
        let (server, engine) = store();
        let host = server.host_over(Arc::new(Always(verdict)));
        let far = host.open_generation(1, EngineKind::Memory).unwrap();
        let unknown = far.shared().unwrap().commit(&root(Some(b"one"), b"two", 2));
        assert!(matches!(unknown, Err(StorageError::Unknown(_))));
        assert_eq!(engine.get_many(&[ROOT]).unwrap(), [Some(now.to_vec())]);
        let _ = server.deliver();
        assert_eq!(engine.get_many(&[ROOT]).unwrap(), [Some(later.to_vec())]);
    }
}
