//! Tests of changes to keyslots.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use inmost_format::crypto::cost::KdfCost;
use inmost_format::header::{Credential, SlotKind, SlotLabel};

use super::*;
use crate::session::{AnchorStatus, FreshnessAnchor, VaultOptions};
use inmost_engines::faulty::{Fault, FaultyStorage};
use inmost_engines::memory::MemoryStorage;
use inmost_format::assert_not_impl;
use inmost_format::crypto::cost::KdfLimits;
use inmost_format::crypto::keys::{Keyfile, RawKey, RecoveryKey};
use inmost_format::crypto::passphrase::Passphrase;
use inmost_format::header::HEADER_BYTES;
use inmost_format::header::fixtures::{Secrets, TINY, with_checksum};
use inmost_storage::{Address, EngineKind, HeaderCopy, Storage};

mod anchors;
mod cost;
mod faults;
mod full_disk;
mod replay;
mod rotation;

/// A store in memory that is unlocked like any other, but at the lowest KDF cost.
struct Store {
    memory: MemoryStorage,
    options: VaultOptions,
}

impl Store {
    /// The store holds a file of one record and a file of several.
    fn create(credential: Credential<'_>) -> Self {
        Self::create_by(VaultOptions::new(), credential)
    }

    fn create_by(options: VaultOptions, credential: Credential<'_>) -> Self {
        let options = options.kdf_cost(TINY).kdf_limits(KdfLimits::of_tests());
        let memory = MemoryStorage::default();
        options.fill(&memory, EngineKind::Memory, credential).unwrap();
        let store = Self { memory, options };
        let session = store.unlock(credential).unwrap();
        for (path, text) in files() {
            session.files().write(&path, &text).unwrap();
        }
        session.lock();
        store
    }

    fn unlock(&self, credential: Credential<'_>) -> Result<Session, StoreError> {
        self.unlock_on(self.memory.clone(), credential)
    }

    fn unlock_on(
        &self,
        storage: impl Storage + 'static,
        credential: Credential<'_>,
    ) -> Result<Session, StoreError> {
        self.options.open_storage(Arc::new(storage))?.unlock_with(credential)
    }

    /// Returns whether a credential opens the store. If it does, the store must be intact, on the next unlock too.
    fn opens(&self, credential: Credential<'_>) -> bool {
        match self.unlock(credential) {
            Ok(session) => {
                assert_whole(&session);
                session.lock();
                true
            }
            Err(StoreError::WrongPassphrase | StoreError::WrongKey(_)) => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn headers(&self) -> [Vec<u8>; 2] {
        [HeaderCopy::A, HeaderCopy::B].map(|copy| self.memory.read_header(copy).unwrap().unwrap())
    }

    fn put_back(&self, headers: &[Vec<u8>; 2]) {
        for (copy, bytes) in [HeaderCopy::A, HeaderCopy::B].into_iter().zip(headers) {
            self.memory.write_header(copy, bytes).unwrap();
        }
    }

    fn records(&self) -> BTreeMap<Address, Vec<u8>> {
        let [generation] = self.memory.generations().unwrap().try_into().unwrap();
        let engine = self.memory.open_generation(generation, EngineKind::Memory).unwrap();
        engine.scan(None, usize::MAX).unwrap().into_iter().collect()
    }
}

fn files() -> [(String, String); 2] {
    [
        ("/memories/short.md".to_owned(), "one record\n".to_owned()),
        ("/memories/folder/long.txt".to_owned(), "several records\n".repeat(2_000)),
    ]
}

fn assert_whole(session: &Session) {
    for (path, text) in files() {
        assert_eq!(session.files().read(&path).unwrap().as_str(), text);
    }
}

fn tiny(credential: Credential<'_>) -> NewSlot<'_> {
    NewSlot::new(credential).kdf_cost(TINY)
}

fn numbers(slots: &[SlotInfo]) -> Vec<u8> {
    slots.iter().map(SlotInfo::number).collect()
}

#[test]
fn slot_types_have_no_trait_that_leaks() {
    assert_not_impl!(SlotInfo: std::fmt::Debug, std::fmt::Display, Clone, PartialEq);
}

#[test]
fn every_kind_opens_its_own_store_only() {
    let (right, wrong) = (Secrets::new(1), Secrets::new(2));
    for first in right.all() {
        let store = Store::create(first);
        for credential in right.all() {
            assert_eq!(store.opens(credential), credential.kind() == first.kind());
        }
        let session = store.unlock(first).unwrap();
        for credential in right.all().into_iter().filter(|other| other.kind() != first.kind()) {
            session.add_slot(&tiny(credential)).unwrap();
        }
        session.lock();
        assert!(right.all().into_iter().all(|credential| store.opens(credential)));
        assert!(!wrong.all().into_iter().any(|credential| store.opens(credential)));
    }
}

#[test]
fn a_wrong_credential_is_called_by_its_kind() {
    let (right, wrong) = (Secrets::new(1), Secrets::new(2));
    let store = Store::create(right.raw());
    for credential in wrong.all() {
        let refused = store.unlock(credential).err().unwrap();
        match credential.kind() {
            SlotKind::Passphrase => assert!(matches!(refused, StoreError::WrongPassphrase)),
            kind => assert!(matches!(refused, StoreError::WrongKey(named) if named == kind)),
        }
    }
}

#[test]
fn slots_are_listed_with_their_public_facts() {
    let secrets = Secrets::new(1);
    let store = Store::create(secrets.passphrase());
    let session = store.unlock(secrets.passphrase()).unwrap();
    let label = SlotLabel::parse("in the safe").unwrap();
    let number = session.add_slot(&NewSlot::new(secrets.recovery()).label(label)).unwrap();
    let slots = session.slots().unwrap();
    let seen: Vec<_> = slots
        .iter()
        .map(|slot| (slot.number(), slot.kind(), slot.label(), slot.kdf_cost(), slot.is_current()))
        .collect();
    assert_eq!(
        seen,
        [
            (0, SlotKind::Passphrase, "passphrase", Some(TINY), true),
            (number, SlotKind::RecoveryKey, "in the safe", None, false),
        ]
    );
    let age = SystemTime::now().duration_since(slots[1].created()).unwrap();
    assert!(age < Duration::from_secs(60));
    session.remove_slot(0).unwrap();
    session.add_slot(&tiny(secrets.raw())).unwrap();
    assert!(
        !session.slots().unwrap().iter().any(SlotInfo::is_current),
        "another credential has its slot"
    );
}

#[test]
fn a_ninth_slot_is_refused_and_nothing_has_changed() {
    let (one, two, three) = (Secrets::new(1), Secrets::new(2), Secrets::new(3));
    let store = Store::create(one.passphrase());
    let session = store.unlock(one.passphrase()).unwrap();
    for credential in one.all().into_iter().skip(1).chain(two.all()) {
        session.add_slot(&tiny(credential)).unwrap();
    }
    let before = store.headers();
    assert!(matches!(session.add_slot(&tiny(three.raw())), Err(StoreError::SlotsFull)));
    assert_eq!(store.headers(), before);
    assert_whole(&session);
    session.remove_slot(5).unwrap();
    assert_eq!(session.add_slot(&tiny(three.raw())).unwrap(), 5);
    session.lock();
    assert!(one.all().into_iter().all(|credential| store.opens(credential)));
    assert!(store.opens(three.raw()) && !store.opens(two.keyfile()));
}

#[test]
fn a_removed_credential_is_refused_and_the_last_slot_stays() {
    let secrets = Secrets::new(1);
    let store = Store::create(secrets.passphrase());
    let session = store.unlock(secrets.passphrase()).unwrap();
    session.add_slot(&tiny(secrets.raw())).unwrap();
    session.remove_slot(0).unwrap();
    for missing in [0, 2, 8, 255] {
        let refused = session.remove_slot(missing);
        assert!(matches!(refused, Err(StoreError::NoSuchSlot(number)) if number == missing));
        let refused = session.replace_slot(missing, &tiny(secrets.raw()));
        assert!(matches!(refused, Err(StoreError::NoSuchSlot(number)) if number == missing));
    }
    assert!(matches!(session.remove_slot(1), Err(StoreError::LastSlot)));
    session.lock();
    assert!(!store.opens(secrets.passphrase()) && store.opens(secrets.raw()));
}

#[test]
fn a_header_put_back_with_a_removed_slot_is_refused() {
    let secrets = Secrets::new(1);
    let store = Store::create(secrets.passphrase());
    let session = store.unlock(secrets.passphrase()).unwrap();
    session.add_slot(&tiny(secrets.raw())).unwrap();
    let before = store.headers();
    session.remove_slot(0).unwrap();
    session.lock();
    let [old, _] = before.clone();
    let [new, _] = store.headers();
    store.put_back(&before);
    for credential in [secrets.passphrase(), secrets.raw()] {
        let refused = store.unlock(credential).err().unwrap();
        assert!(
            matches!(refused, StoreError::HeaderRolledBack { expected: 3, found: 2 }),
            "{refused}"
        );
        let mut vault = store.options.open_storage(Arc::new(store.memory.clone())).unwrap();
        let accepted = vault.unlock_accepting_rollback(credential).err();
        assert!(matches!(accepted, Some(StoreError::HeaderRolledBack { .. })));
    }
    // The removed credential cannot use a single copy, and the other credential is not affected.
    for headers in [[old.clone(), new.clone()], [new, old]] {
        store.put_back(&headers);
        let refused = store.unlock(secrets.passphrase()).err().unwrap();
        assert!(matches!(refused, StoreError::HeaderRolledBack { .. }), "{refused}");
        assert!(store.opens(secrets.raw()));
        assert!(!store.opens(secrets.passphrase()));
    }
}

#[test]
fn a_change_of_passphrase_writes_the_root_and_nothing_else() {
    let (old, new) = (Secrets::new(1), Secrets::new(2));
    let store = Store::create(old.passphrase());
    let before = store.records();
    let headers = store.headers();
    let session = store.unlock(old.passphrase()).unwrap();
    session.replace_slot(0, &tiny(new.passphrase())).unwrap();
    assert_whole(&session);
    session.lock();
    let after = store.records();
    assert!(before.len() > 8 && before.keys().eq(after.keys()));
    assert_eq!(before.iter().filter(|(address, value)| after[address] != **value).count(), 1);
    let [one, other] = store.headers();
    assert_eq!(one, other);
    assert_eq!(one[384..2_176], headers[0][384..2_176], "the other slots");
    assert_eq!(one[48..120], headers[0][48..120], "the data key");
    assert!(!store.opens(old.passphrase()) && store.opens(new.passphrase()));
}

#[test]
fn a_new_passphrase_inherits_label_and_a_cost_that_is_not_too_low() {
    let secrets = Secrets::new(1);
    let store = Store::create(secrets.raw());
    let session = store.unlock(secrets.raw()).unwrap();
    let slot = |number: usize| session.slots().unwrap().swap_remove(number);
    let dear = KdfCost::new(65 << 10, 3, 4);
    let label = SlotLabel::parse("laptop").unwrap();
    let new = NewSlot::new(secrets.passphrase()).label(label).kdf_cost(dear);
    session.add_slot(&new).unwrap();
    session.replace_slot(1, &NewSlot::new(secrets.keyfile())).unwrap();
    assert_eq!((slot(1).label(), slot(1).kdf_cost()), ("laptop", Some(dear)));
    session.replace_slot(1, &tiny(secrets.passphrase())).unwrap();
    session.replace_slot(1, &NewSlot::new(secrets.passphrase())).unwrap();
    assert_eq!(slot(1).kdf_cost(), Some(KdfCost::default()));
}

#[test]
fn a_store_in_memory_has_no_slots() {
    let session = Session::in_memory().unwrap();
    let secrets = Secrets::new(1);
    assert!(matches!(session.slots(), Err(StoreError::InMemory)));
    assert!(matches!(session.add_slot(&tiny(secrets.raw())), Err(StoreError::InMemory)));
    assert!(matches!(session.replace_slot(0, &tiny(secrets.raw())), Err(StoreError::InMemory)));
    assert!(matches!(session.remove_slot(0), Err(StoreError::InMemory)));
    assert!(matches!(session.rotate(secrets.raw()), Err(StoreError::InMemory)));
    session.files().write("/memories/a", "goes on").unwrap();
}

#[test]
fn a_vault_lists_the_kinds_of_its_slots() {
    let secrets = Secrets::new(1);
    let store = Store::create(secrets.keyfile());
    let session = store.unlock(secrets.keyfile()).unwrap();
    session.add_slot(&tiny(secrets.raw())).unwrap();
    session.lock();
    let vault = store.options.open_storage(Arc::new(store.memory.clone())).unwrap();
    assert_eq!(vault.slot_kinds(), [SlotKind::PassphraseAndKeyfile, SlotKind::RawKey]);
}

/// Runs on disk, with the default cost and with a minimal one. Run with `--release --ignored --nocapture`.
#[test]
#[ignore = "prints times, takes minutes"]
fn times_of_a_change_of_passphrase_and_of_a_rotation() {
    let place = tempfile::tempdir().unwrap();
    let (old, new) = (Passphrase::new("old").unwrap(), Passphrase::new("new").unwrap());
    for files in [10, 10_000] {
        for (name, cost) in [("default", KdfCost::default()), ("tiny", TINY)] {
            let path = place.path().join(format!("{files} {name}"));
            let options = VaultOptions::new().kdf_cost(cost).kdf_limits(KdfLimits::of_tests());
            let session = options.create(&path, &old).unwrap();
            std::thread::scope(|scope| {
                for thread in 0..8 {
                    let session = &session;
                    scope.spawn(move || {
                        for file in (thread..files).step_by(8) {
                            let path = format!("/memories/{}/{file}.md", file % 100);
                            session.files().write(&path, &"a line of text\n".repeat(100)).unwrap();
                        }
                    });
                }
            });
            let time = |what: &str, work: &mut dyn FnMut()| {
                let begin = std::time::Instant::now();
                work();
                println!("{files} files, {name} cost: {what} {:?}", begin.elapsed());
            };
            let slot = NewSlot::new(&new).kdf_cost(cost);
            for _ in 0..3 {
                time("replace_slot", &mut || session.replace_slot(0, &slot).unwrap());
            }
            time("rotate", &mut || drop(session.rotate(&new).unwrap()));
            session.lock();
        }
    }
}

#[test]
fn all_four_kinds_open_a_store_on_disk() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store");
    let options = VaultOptions::new().kdf_cost(TINY).kdf_limits(KdfLimits::of_tests());
    let passphrase = Passphrase::new("correct horse").unwrap();
    let (keyfile, recovery) = (Keyfile::generate().unwrap(), RecoveryKey::generate().unwrap());
    let raw = RawKey::generate().unwrap();
    let session = options.create_with(&path, &raw).unwrap();
    session.add_slot(&tiny((&passphrase, &keyfile).into())).unwrap();
    session.add_slot(&NewSlot::new(&recovery)).unwrap();
    session.add_slot(&NewSlot::new(&passphrase).kdf_cost(TINY)).unwrap();
    session.lock();

    let keyfile = Keyfile::parse(keyfile.to_bytes().expose()).unwrap();
    let recovery = RecoveryKey::parse(recovery.to_text().expose()).unwrap();
    let raw = RawKey::from_bytes(raw.expose());
    let open = || options.open(&path).unwrap();
    open().unlock(&passphrase).unwrap().lock();
    open().unlock_with((&passphrase, &keyfile)).unwrap().lock();
    open().unlock_with(&recovery).unwrap().lock();
    let session = open().unlock_with(&raw).unwrap();
    assert_eq!(numbers(&session.rotate(&recovery).unwrap()), [0, 1, 3]);
    session.lock();
    assert!(matches!(open().unlock_with(&raw), Err(StoreError::WrongKey(SlotKind::RawKey))));
    open().unlock_with(&recovery).unwrap().lock();
}
