//! Stores in memory for tests of this layer and those above. They are unlocked like any other, at the lowest KDF cost,
//! and tests can inspect and change them.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::Arc;

use super::watched::{Watch, WatchedStorage};
use crate::session::{Session, SessionOptions, StoreError, VaultOptions};
use inmost_engines::faulty::{Fault, FaultyStorage};
use inmost_engines::memory::MemoryStorage;
use inmost_format::crypto::cost::KdfLimits;
use inmost_format::header::SlotLabel;
use inmost_format::header::fixtures::TINY;
use inmost_format::header::{Credential, NewSlot};
use inmost_format::header::{HEADER_BYTES, Header};
use inmost_format::header::{NextHeader, Unlocked};
use inmost_format::record::node::Root;
use inmost_format::record::{Kind, Node, RecordId, Sealer, Tag, tag_of};
use inmost_storage::{Address, EngineKind, HeaderCopy, Storage};
pub(crate) use inmost_testing::passphrase;

/// A store in memory that can be unlocked any number of times.
pub(crate) struct TestStore {
    /// The storage.
    pub(crate) memory: MemoryStorage,
}

impl TestStore {
    /// A new, empty store.
    pub(crate) fn create() -> Self {
        let memory = MemoryStorage::default();
        options().fill(&memory, EngineKind::Memory, &passphrase()).unwrap();
        Self { memory }
    }

    /// A copy of the store that is independent from here on.
    pub(crate) fn duplicate(&self) -> Self {
        Self { memory: self.memory.duplicate() }
    }

    /// Unlocks the store without a cache, so that every read reaches the engine.
    pub(crate) fn unlock(&self) -> Result<Session, StoreError> {
        unlock_on(self.memory.clone())
    }

    /// Unlocks the store on a storage that stops, as at a crash, at the operation of this number from then on.
    pub(crate) fn unlock_to_stop_at(&self, operation: u64) -> Session {
        let storage = FaultyStorage::new(self.memory.clone());
        let faults = storage.faults();
        let session = unlock_on(storage).unwrap();
        faults.set(faults.operations() + operation, Fault::Stopped);
        session
    }

    /// Unlocks the store although it is older than its anchor.
    pub(crate) fn unlock_accepting_rollback(&self) -> Session {
        let mut vault = options().open_storage(Arc::new(self.memory.clone())).unwrap();
        vault.unlock_accepting_rollback(&passphrase()).unwrap()
    }

    /// Unlocks the store on a watched storage.
    pub(crate) fn unlock_watched(&self) -> (Session, Watch) {
        let watch = Watch::default();
        let session = self.unlock_watched_by(&watch).unwrap();
        watch.reset();
        (session, watch)
    }

    /// As [`unlock_watched`](Self::unlock_watched), with what the watch is to do during the unlock.
    pub(crate) fn unlock_watched_by(&self, watch: &Watch) -> Result<Session, StoreError> {
        unlock_on(WatchedStorage { inner: self.memory.clone(), watch: watch.clone() })
    }

    /// Reads one copy of the header, which must exist.
    pub(crate) fn header(&self, copy: HeaderCopy) -> [u8; HEADER_BYTES] {
        self.memory.read_header(copy).unwrap().unwrap().try_into().unwrap()
    }

    /// The keys, unlocked from the first copy of the header.
    pub(crate) fn keys(&self) -> Unlocked {
        let header = Header::parse(&self.header(HeaderCopy::A), &KdfLimits::of_tests()).unwrap();
        header.unlock(&Credential::Passphrase(&passphrase())).unwrap()
    }

    /// The number of the generation in use.
    pub(crate) fn generation(&self) -> u64 {
        self.keys().header().generation()
    }

    /// The sealer of its records.
    pub(crate) fn sealer(&self) -> Sealer {
        let keys = self.keys();
        Sealer::new(keys.record_keys(), keys.header().store(), keys.header().generation())
    }

    /// The address of a record.
    pub(crate) fn address(&self, id: RecordId) -> Address {
        self.sealer().address(id)
    }

    /// All records of the engine, sealed, reachable or not.
    pub(crate) fn values(&self) -> BTreeMap<Address, Vec<u8>> {
        self.tamper(|records| records.clone())
    }

    /// Changes the records, as an attacker with access to the medium can.
    pub(crate) fn tamper<T>(&self, change: impl FnOnce(&mut BTreeMap<Address, Vec<u8>>) -> T) -> T {
        self.memory.tamper(self.generation(), change)
    }

    /// The records that are reachable from the root. Each must be the one that its reference names.
    pub(crate) fn reachable(&self) -> HashMap<RecordId, Node> {
        let (sealer, values) = (self.sealer(), self.values());
        let root = &values[&sealer.address(RecordId::ROOT)];
        let (mut found, mut keeps) = (HashMap::new(), false);
        let mut next: Vec<(RecordId, Tag)> = vec![(RecordId::ROOT, tag_of(root).unwrap())];
        while let Some((id, tag)) = next.pop() {
            let value = values.get(&sealer.address(id)).unwrap_or_else(|| panic!("no {id:?}"));
            let mut node = sealer.open(id, value, &tag).unwrap_or_else(|_| panic!("bad {id:?}"));
            if let Node::Root(root) = &node {
                keeps = root.keep > 0;
            }
            let is_of_file = matches!(id.kind, Kind::File | Kind::FileInner | Kind::Chunk);
            if is_of_file && keeps && found.contains_key(&id) {
                // Several versions have it.
                continue;
            }
            node.children_mut::<Infallible>(id.object, |child, tag| {
                next.push((child, *tag));
                Ok(())
            })
            .unwrap();
            assert!(found.insert(id, node).is_none(), "{id:?} is referred to twice");
        }
        found
    }

    /// Asserts that there is one generation, that every record of it is reachable, and that nothing waits to be reaped.
    pub(crate) fn assert_tidy(&self, context: &str) {
        assert_eq!(self.memory.generations().unwrap(), [self.generation()], "{context}");
        let reachable = self.reachable();
        assert_eq!(self.values().len(), reachable.len(), "records without a parent: {context}");
        let Some(Node::Root(root)) = reachable.get(&RecordId::ROOT) else { unreachable!() };
        let Some(Node::Folder(system)) = reachable.get(&RecordId::folder(root.system.id)) else {
            panic!("no system folder: {context}")
        };
        assert_eq!(system.body.count(), 0, "something waits to be reaped: {context}");
    }

    /// The root.
    pub(crate) fn root(&self) -> Root {
        match self.reachable().remove(&RecordId::ROOT) {
            Some(Node::Root(root)) => Root::clone(&root),
            _ => unreachable!(),
        }
    }

    /// The reachable records of a kind.
    pub(crate) fn records_of(&self, kind: Kind) -> Vec<RecordId> {
        let mut ids: Vec<_> = self.reachable().into_keys().filter(|id| id.kind == kind).collect();
        ids.sort_by_key(|id| (id.object.0, id.index));
        ids
    }

    /// The header of the next revision, as after a changed passphrase; not written.
    pub(crate) fn next_header(&self) -> NextHeader {
        let (passphrase, label) = (passphrase(), SlotLabel::parse("changed").unwrap());
        let slot = NewSlot::new(&passphrase).label(label).kdf_cost(TINY);
        self.keys().replace_slot(0, &slot, 1).unwrap()
    }

    /// Changes the header of an unlocked store: copy A, copy B, then the root that binds it.
    pub(crate) fn change_header(&self, session: &Session) -> Result<(), StoreError> {
        let next = self.next_header();
        for copy in [HeaderCopy::A, HeaderCopy::B] {
            session.read::<_, StoreError>(|open| {
                Ok(open.storage().write_header(copy, next.bytes())?)
            })?;
        }
        session.exclusive(|exclusive| {
            exclusive.commit(|txn| Ok::<_, StoreError>(txn.bind_header(next.id())?))
        })
    }
}

/// Unlocks the test store in this storage.
pub(crate) fn unlock_on(storage: impl Storage + 'static) -> Result<Session, StoreError> {
    options().open_storage(Arc::new(storage))?.unlock(&passphrase())
}

/// The options of all test stores.
pub(crate) fn options() -> VaultOptions {
    VaultOptions::new()
        .kdf_limits(KdfLimits::of_tests())
        .kdf_cost(TINY)
        .session(SessionOptions::new().max_cache_bytes(0))
}
