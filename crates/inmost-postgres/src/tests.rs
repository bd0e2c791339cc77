//! Tests on a real server, which `tests/postgres/run.sh` starts. The suite has what every engine must do.

mod between_hosts;
mod connections;
mod hosts;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;

use inmost_storage::limits::{LEASE, TRAIL_BYTES, TRAILS_KEPT};
use inmost_storage::{
    Access, Address, Batch, Delta, Engine, EngineKind, HeaderChange, HeaderCopy, Known, Limit,
    Pull, SharedBatch, SharedStorage, Storage, StorageError,
};

use super::*;

const ROOT: Address = Address([0xEE; 32]);
const LIMIT: Limit = Limit { records: 10, bytes: 1_000 };

/// A vault of one test.
pub(crate) struct Vault {
    pub(crate) server: Server,
    pub(crate) id: VaultId,
}

/// A new id on the server of the tests.
pub(crate) fn vault() -> Vault {
    // The tests run at the same time, and few connections are left for others.
    static SERVER: LazyLock<Server> = LazyLock::new(|| server("INMOST_TEST_POSTGRES"));
    let random = || RandomState::new().build_hasher().finish();
    let id = (u128::from(random()) << 64) | u128::from(random());
    Vault { server: SERVER.clone(), id: VaultId(id.to_be_bytes()) }
}

fn server(variable: &str) -> Server {
    server_with(variable, 12)
}

/// With this many connections at most.
pub(super) fn server_with(variable: &str, connections: usize) -> Server {
    let url = std::env::var(variable).expect("tests/postgres/run.sh sets the address of a server");
    let config = PostgresConfig::new(&PostgresUrl::parse(&url).unwrap());
    let config = config.password_from_environment().unwrap().max_connections(connections);
    Server::new(config).unwrap()
}

impl Vault {
    /// The storage of one host, whether the vault exists yet or not.
    pub(crate) fn host(&self) -> PostgresStorage {
        match PostgresStorage::open(&self.server, self.id) {
            Err(StorageError::Missing) => PostgresStorage::create(&self.server, self.id).unwrap(),
            opened => opened.unwrap(),
        }
    }

    fn engine(&self) -> Box<dyn Engine> {
        self.host().open_generation(1, EngineKind::Postgres).unwrap()
    }
}

fn root(from: Option<&[u8]>, to: &[u8], revision: u64) -> SharedBatch {
    let records = Batch {
        expect: Some((ROOT, from.map(<[u8]>::to_vec))),
        puts: vec![(ROOT, to.to_vec()), (Address([1; 32]), to.to_vec())],
        ..Batch::default()
    };
    SharedBatch { records, revision, ..SharedBatch::default() }
}

/// A batch that takes the root away.
fn ending(from: &[u8]) -> Batch {
    Batch { expect: Some((ROOT, Some(from.to_vec()))), deletes: vec![ROOT], ..Batch::default() }
}

/// A vault with a header and a root.
fn store() -> (Vault, Box<dyn Engine>) {
    let vault = vault();
    let host = vault.host();
    let engine = host.create_generation(1, EngineKind::Postgres).unwrap();
    engine.shared().unwrap().commit(&root(None, b"one", 1)).unwrap();
    host.write_header(HeaderCopy::A, b"header").unwrap();
    (vault, engine)
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

fn server_of_admin() -> Server {
    server("INMOST_TEST_POSTGRES_ADMIN")
}

/// Tests that need a server.
mod on_a_server {
    use super::*;

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn a_pull_returns_what_other_hosts_wrote() {
        let (vault, engine) = store();
        assert!(matches!(
            engine.shared().unwrap().pull(&known(b"one", 1), LIMIT).unwrap(),
            Pull::Unchanged
        ));
        vault.engine().shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).unwrap();
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
        // Other bytes of the same or a higher revision, as after a rollback of the server.
        let delta = changed(engine.shared().unwrap().pull(&known(b"three", 3), LIMIT).unwrap());
        assert_eq!(delta.root.as_deref(), Some(b"two".as_slice()));
        assert!(delta.rows.is_empty());
    }

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn opening_brings_everything_in_one_round_trip() {
        let (vault, _engine) = store();
        vault.engine().shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).unwrap();
        let server = server("INMOST_TEST_POSTGRES");
        let host = PostgresStorage::open(&server, vault.id).unwrap();
        assert_eq!(host.read_header(HeaderCopy::A).unwrap().unwrap(), b"header");
        assert!(host.read_header(HeaderCopy::B).unwrap().is_none());
        let engine = host.open_generation(1, EngineKind::Postgres).unwrap();
        assert!(host.take_prefetched(2).is_none());
        let delta = host.take_prefetched(1).unwrap();
        assert_eq!(delta.root.as_deref(), Some(b"two".as_slice()));
        assert_eq!(delta.rows, [(Address([1; 32]), b"two".to_vec())]);
        host.remove_leftovers().unwrap();
        assert_eq!(server.round_trips(), 1, "opening");
        engine.shared().unwrap().pull(&known(b"two", 2), LIMIT).unwrap();
        engine.get_many(&[ROOT, Address([1; 32])]).unwrap();
        engine.shared().unwrap().commit(&root(Some(b"two"), b"three", 3)).unwrap();
        engine.sync().unwrap();
        assert_eq!(server.round_trips(), 4, "one each");
        let locked = engine.shared().unwrap().begin(Access::Locked, &ROOT).unwrap();
        locked.shared().unwrap().pull(&known(b"three", 3), LIMIT).unwrap();
        locked.shared().unwrap().commit(&root(Some(b"three"), b"four", 4)).unwrap();
        assert_eq!(server.round_trips(), 7, "lock, pull, and the batch with its commit");
    }

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn a_lock_keeps_other_hosts_waiting_until_its_commit() {
        let (vault, engine) = store();
        let locked = vault.engine().shared().unwrap().begin(Access::Locked, &ROOT).unwrap();
        let waiting = std::thread::spawn(move || {
            engine.shared().unwrap().commit(&root(Some(b"one"), b"late", 2))
        });
        locked.shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).unwrap();
        assert!(matches!(waiting.join().unwrap(), Err(StorageError::Conflict)));
        assert!(locked.get_many(&[ROOT]).is_err(), "the transaction has ended");
    }

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn a_transaction_that_is_dropped_changes_nothing_and_frees_its_lock() {
        let (vault, engine) = store();
        drop(vault.engine().shared().unwrap().begin(Access::Locked, &ROOT).unwrap());
        let refused = vault.engine().shared().unwrap().begin(Access::Locked, &ROOT).unwrap();
        assert!(matches!(
            refused.shared().unwrap().commit(&root(Some(b"zero"), b"x", 2)),
            Err(StorageError::Conflict)
        ));
        engine.shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).unwrap();
    }

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn a_snapshot_stays_as_it_was() {
        let (vault, engine) = store();
        let snapshot = engine.shared().unwrap().begin(Access::Snapshot, &ROOT).unwrap();
        assert!(matches!(
            snapshot.shared().unwrap().pull(&known(b"one", 1), LIMIT).unwrap(),
            Pull::Unchanged
        ));
        vault.engine().shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).unwrap();
        assert_eq!(snapshot.get_many(&[ROOT]).unwrap(), [Some(b"one".to_vec())]);
        assert!(matches!(
            snapshot.shared().unwrap().pull(&known(b"one", 1), LIMIT).unwrap(),
            Pull::Unchanged
        ));
        assert!(snapshot.shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).is_err());
    }

    fn change(expect: &[u8], next: &[u8], generation: u64) -> HeaderChange {
        let (expect, next) = (expect.to_vec(), next.to_vec());
        HeaderChange { expect, next, generation, revision: 2 }
    }

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn header_and_records_change_together_or_not_at_all() {
        let (vault, engine) = store();
        let host = vault.host();
        let two = || root(Some(b"one"), b"two", 2);
        let stale = SharedBatch { header: Some(change(b"other", b"next", 1)), ..two() };
        assert!(matches!(engine.shared().unwrap().commit(&stale), Err(StorageError::Conflict)));
        assert_eq!(engine.get_many(&[ROOT]).unwrap(), [Some(b"one".to_vec())]);
        let lost = SharedBatch {
            header: Some(change(b"header", b"next", 1)),
            ..root(Some(b"zero"), b"two", 2)
        };
        assert!(matches!(engine.shared().unwrap().commit(&lost), Err(StorageError::Conflict)));
        assert_eq!(host.read_header(HeaderCopy::A).unwrap().unwrap(), b"header");
        engine
            .shared()
            .unwrap()
            .commit(&SharedBatch { header: Some(change(b"header", b"next", 1)), ..two() })
            .unwrap();
        assert_eq!(host.read_header(HeaderCopy::A).unwrap().unwrap(), b"next");
        assert!(host.write_header(HeaderCopy::A, b"mine").is_err());
        host.write_header(HeaderCopy::A, b"next").unwrap();
    }

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn a_rewrite_switches_in_one_step_and_stops_everyone_on_the_old_generation() {
        let (vault, engine) = store();
        let (writer, other) = (vault.host(), vault.host());
        let next = writer.create_generation(2, EngineKind::Postgres).unwrap();
        next.apply(&Batch { puts: vec![(Address([7; 32]), b"copy".to_vec())], ..Batch::default() })
            .unwrap();
        next.shared().unwrap().commit(&root(None, b"two", 2)).unwrap();
        let switch = |from: &[u8]| SharedBatch {
            header: Some(change(b"header", b"next", 2)),
            ..ending(from).into()
        };
        let old = writer.open_generation(1, EngineKind::Postgres).unwrap();
        assert!(matches!(
            old.shared().unwrap().commit(&switch(b"zero")),
            Err(StorageError::Conflict)
        ));
        let elsewhere = other.open_generation(1, EngineKind::Postgres).unwrap();
        assert!(
            matches!(
                elsewhere.shared().unwrap().commit(&switch(b"one")),
                Err(StorageError::Conflict)
            ),
            "not its lease"
        );
        old.shared().unwrap().commit(&switch(b"one")).unwrap();
        assert!(matches!(
            engine.shared().unwrap().commit(&root(Some(b"one"), b"x", 3)),
            Err(StorageError::Conflict)
        ));
        let delta = changed(engine.shared().unwrap().pull(&known(b"one", 1), LIMIT).unwrap());
        assert_eq!((delta.generation, delta.root), (2, None));
        next.shared().unwrap().commit(&root(Some(b"two"), b"three", 3)).unwrap();
        vault.host().remove_leftovers().unwrap();
        assert_eq!(other.generations().unwrap(), [2]);
        assert_eq!(vault.host().take_prefetched(2).unwrap().root.unwrap(), b"three");
    }

    /// Lets the lease on a generation end, as an operator could.
    fn expire(vault: &Vault, generation: i64) {
        let id = vault.id;
        let text = format!(
            "UPDATE inmost.generation SET lease_until = now() - interval '1 second' \
             WHERE vault = decode('{id}', 'hex') AND generation = {generation}"
        );
        let admin = server_of_admin();
        admin.read(|connection| connection.run(&text)).unwrap();
    }

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn a_leased_generation_stays_until_its_lease_is_over() {
        let (vault, _engine) = store();
        let (writer, other) = (vault.host(), vault.host());
        let next = writer.create_generation(2, EngineKind::Postgres).unwrap();
        let put =
            |byte| Batch { puts: vec![(Address([byte; 32]), vec![byte])], ..Batch::default() };
        next.apply(&put(7)).unwrap();
        vault.host().remove_leftovers().unwrap();
        assert_eq!(other.generations().unwrap(), [1, 2]);
        assert!(other.create_generation(2, EngineKind::Postgres).is_err());
        assert!(matches!(other.remove_generation(2), Err(StorageError::InUse(None))));
        expire(&vault, 2);
        writer.place().leases().values_mut().for_each(|held| held.renewed = None);
        assert_eq!(next.scan(None, 9).unwrap().len(), 1);
        vault.host().remove_leftovers().unwrap();
        assert_eq!(other.generations().unwrap(), [1, 2], "what is in use keeps its lease");
        expire(&vault, 2);
        writer.renew_lease(2).unwrap();
        vault.host().remove_leftovers().unwrap();
        assert_eq!(other.generations().unwrap(), [1, 2]);
        expire(&vault, 2);
        let taken = other.create_generation(2, EngineKind::Postgres).unwrap();
        assert!(taken.scan(None, 9).unwrap().is_empty(), "what the dead host wrote is gone");
        assert!(matches!(next.apply(&put(8)), Err(StorageError::Missing)));
        assert!(matches!(writer.renew_lease(2), Err(StorageError::Missing)));
        taken.apply(&put(9)).unwrap();
        expire(&vault, 2);
        vault.host().remove_leftovers().unwrap();
        assert_eq!(writer.generations().unwrap(), [1]);
        assert!(LEASE.as_secs() >= 10, "far longer than a pause between two batches");
    }

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn a_late_batch_of_an_earlier_writer_reaches_no_current_generation() {
        let (vault, _engine) = store();
        let (writer, other) = (vault.host(), vault.host());
        let late = writer.create_generation(2, EngineKind::Postgres).unwrap();
        expire(&vault, 2);
        other
            .create_generation(2, EngineKind::Postgres)
            .unwrap()
            .shared()
            .unwrap()
            .commit(&root(None, b"two", 2))
            .unwrap();
        let switch =
            SharedBatch { header: Some(change(b"header", b"next", 2)), ..ending(b"one").into() };
        other
            .open_generation(1, EngineKind::Postgres)
            .unwrap()
            .shared()
            .unwrap()
            .commit(&switch)
            .unwrap();
        let put = Batch { puts: vec![(Address([8; 32]), b"late".to_vec())], ..Batch::default() };
        assert!(matches!(late.apply(&put), Err(StorageError::Missing)));
        let foreign = Batch { expect: Some((Address([9; 32]), None)), ..put };
        assert!(matches!(late.apply(&foreign), Err(StorageError::Missing)));
        assert_eq!(late.scan(None, 9).unwrap().len(), 2);
        late.shared().unwrap().commit(&root(Some(b"two"), b"three", 3)).unwrap();
    }

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn a_vault_is_created_once_and_destroyed_as_a_whole() {
        let (vault, engine) = store();
        assert!(PostgresStorage::create(&vault.server, vault.id).is_err());
        PostgresStorage::destroy(&vault.server, vault.id).unwrap();
        assert!(matches!(
            PostgresStorage::open(&vault.server, vault.id),
            Err(StorageError::Missing)
        ));
        assert!(matches!(
            PostgresStorage::destroy(&vault.server, vault.id),
            Err(StorageError::Missing)
        ));
        assert_eq!(engine.get_many(&[ROOT]).unwrap(), [None]);
        assert_eq!(
            changed(engine.shared().unwrap().pull(&known(b"one", 1), LIMIT).unwrap()).generation,
            0
        );
    }

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn vaults_share_nothing() {
        let ((_, one), (_, two)) = (store(), store());
        one.shared().unwrap().commit(&root(Some(b"one"), b"two", 2)).unwrap();
        assert_eq!(two.get_many(&[ROOT]).unwrap(), [Some(b"one".to_vec())]);
    }

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn bare_records_are_all_there() {
        let (vault, engine) = store();
        for round in 0..6_u8 {
            let puts = (0..100).map(|each| {
                let mut address = [round; 32];
                address[0] = each;
                (Address(address), vec![round; 100])
            });
            engine.apply(&Batch { puts: puts.collect(), ..Batch::default() }).unwrap();
        }
        let bare = vault.host().bare_files(1).unwrap();
        assert_eq!(bare.extents().len(), 2, "602 records in parts of 512");
        let mut bytes = 0;
        for extent in bare.extents() {
            let mut buffer = vec![9; usize::try_from(extent.length).unwrap() + 3];
            bare.read(extent.file, 0, &mut buffer).unwrap();
            assert!(buffer.ends_with(&[0; 3]), "zeros after the end");
            bytes += buffer.iter().filter(|byte| (1..6).contains(*byte)).count();
        }
        assert_eq!(bytes, 5 * 100 * 100);
    }

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn two_hosts_never_both_build_on_one_root() {
        let (vault, engine) = store();
        engine.shared().unwrap().commit(&root(Some(b"one"), &0_u32.to_be_bytes(), 2)).unwrap();
        let hosts: Vec<_> = (0..4).map(|_| vault.engine()).collect();
        let wins = std::thread::scope(|scope| {
            let running: Vec<_> =
                hosts.iter().map(|engine| scope.spawn(|| climb(&**engine))).collect();
            running.into_iter().map(|it| it.join().unwrap()).sum::<u32>()
        });
        assert_eq!(wins, 200);
        let found = engine.get_many(&[ROOT]).unwrap().remove(0).unwrap();
        assert_eq!(found, 200_u32.to_be_bytes());
    }

    /// Counts the root up to 200, together with others. Returns how often this host did.
    fn climb(engine: &dyn Engine) -> u32 {
        let mut wins = 0;
        loop {
            let seen = engine.get_many(&[ROOT]).unwrap().remove(0).unwrap();
            let number = u32::from_be_bytes(seen.as_slice().try_into().unwrap());
            if number == 200 {
                return wins;
            }
            match engine.shared().unwrap().commit(&root(
                Some(&seen),
                &(number + 1).to_be_bytes(),
                u64::from(number) + 3,
            )) {
                Ok(()) => wins += 1,
                Err(StorageError::Conflict) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}
