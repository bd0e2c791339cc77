//! Tampers with every kind of record in every way, at rest and in an unlocked session: everything below the record is
//! refused with one exact error, and everything else stays as it is.

use super::model::{dump, parse, put, tampered, text};
use crate::session::tests::store::TestStore;
use crate::session::{Session, StoreError};
use crate::vfs::edit;
use crate::vfs::error::FileError;
use inmost_format::record::{Kind, RecordId};
use inmost_storage::{Address, Storage};

/// A way of tampering with a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Attack {
    FlipVersion,
    FlipNonce,
    FlipCiphertext,
    FlipPadding,
    FlipTag,
    CutOneByte,
    CutToClass,
    CutAll,
    ExtendOneByte,
    ExtendToClass,
    Delete,
    SwapWithAnother,
    CopyOfAnother,
    PutBackOlder,
    FromAnotherStore,
}

impl Attack {
    const ALL: [Self; 15] = [
        Self::FlipVersion,
        Self::FlipNonce,
        Self::FlipCiphertext,
        Self::FlipPadding,
        Self::FlipTag,
        Self::CutOneByte,
        Self::CutToClass,
        Self::CutAll,
        Self::ExtendOneByte,
        Self::ExtendToClass,
        Self::Delete,
        Self::SwapWithAnother,
        Self::CopyOfAnother,
        Self::PutBackOlder,
        Self::FromAnotherStore,
    ];

    /// The problem with the record that the error reports.
    fn how(self) -> &'static str {
        match self {
            Self::FlipVersion | Self::CutOneByte | Self::CutAll | Self::ExtendOneByte => {
                "has an impossible length or version"
            }
            Self::Delete => "is missing",
            Self::PutBackOlder => "is not the version its parent refers to",
            _ => "does not authenticate",
        }
    }

    /// Whether it applies to a record of this length; only some lengths have a neighbouring class.
    fn fits(self, length: usize) -> bool {
        match self {
            Self::CutToClass => length > 297,
            Self::ExtendToClass => length < 4_137,
            _ => true,
        }
    }
}

/// A store, its state before its last changes, and another store.
struct Scene {
    now: TestStore,
    before: TestStore,
    foreign: TestStore,
}

const KEPT: &str = "/memories/kept";
const SMALL: &str = "/memories/small/file";
const LONG: &str = "/memories/long";
const DEEP: &str = "/memories/big/000";

impl Scene {
    fn new() -> Self {
        let now = filled();
        let before = now.duplicate();
        let session = now.unlock().unwrap();
        edit::replace(&session, &parse(SMALL), "small", "tiny", 100).unwrap();
        edit::insert(&session, &parse(LONG), 0, "a line\n").unwrap();
        edit::insert(&session, &parse(DEEP), 0, "a line\n").unwrap();
        edit::insert(&session, &parse(KEPT), 0, "a line\n").unwrap();
        drop(session);
        Self { now, before, foreign: filled() }
    }

    /// Tampers with the record `victim` of `store`, as an attacker might.
    fn attack(&self, store: &TestStore, attack: Attack, victim: RecordId) {
        let at = store.address(victim);
        let root = store.address(RecordId::ROOT);
        let older = self.before.values().get(&at).cloned();
        let foreign = self.foreign.values().into_values();
        store.tamper(|records| {
            let value = records.get_mut(&at).unwrap();
            let length = value.len();
            let other = |records: &std::collections::BTreeMap<Address, Vec<u8>>| {
                let same = |value: &Vec<u8>| value.len() == length;
                // Not the root: a bad one is refused at unlock already.
                let others = records.iter().filter(|(other, _)| **other != at && **other != root);
                let found = others.into_iter().find(|(_, value)| same(value));
                found.map(|(address, value)| (*address, value.clone())).unwrap()
            };
            match attack {
                Attack::FlipVersion => value[0] ^= 1,
                Attack::FlipNonce => value[24] ^= 0x80,
                Attack::FlipCiphertext => value[25] ^= 1,
                Attack::FlipPadding => value[length - 17] ^= 1,
                Attack::FlipTag => value[length - 16] ^= 0x10,
                Attack::CutOneByte => value.truncate(length - 1),
                Attack::CutToClass => value.truncate((length - 41) / 2 + 41),
                Attack::CutAll => value.clear(),
                Attack::ExtendOneByte => value.push(0),
                Attack::ExtendToClass => value.resize((length - 41) * 2 + 41, 0),
                Attack::Delete => drop(records.remove(&at)),
                Attack::SwapWithAnother => {
                    let (address, theirs) = other(records);
                    let ours = records.insert(at, theirs).unwrap();
                    records.insert(address, ours);
                }
                Attack::CopyOfAnother => drop(records.insert(at, other(records).1)),
                Attack::PutBackOlder => {
                    let older = older.unwrap();
                    assert_ne!(*value, older, "{victim:?} did not change");
                    *value = older;
                }
                Attack::FromAnotherStore => {
                    *value = { foreign }.find(|value| value.len() == length).unwrap();
                }
            }
        });
    }

    /// The most recently changed record of this kind that reading `path` opens.
    fn victim(&self, kind: Kind, path: &str) -> RecordId {
        let (values, before) = (self.now.values(), self.before.values());
        let candidates = self.now.records_of(kind).into_iter().filter(|id| {
            let at = self.now.address(*id);
            before.get(&at).is_some_and(|older| *older != values[&at])
        });
        let mut needed = candidates.filter(|id| {
            let store = self.now.duplicate();
            let at = store.address(*id);
            store.tamper(|records| records.remove(&at));
            store.unlock().unwrap().files().read(path).is_err()
                && store.unlock().unwrap().files().read(KEPT).is_ok()
        });
        needed.next().unwrap_or_else(|| panic!("no {kind:?} on the way to {path}"))
    }
}

fn filled() -> TestStore {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let files = session.files();
    files.write(KEPT, &text("kept", 2_000)).unwrap();
    files.write(SMALL, "small\n").unwrap();
    files.write("/memories/small/other", &text("other", 1_800)).unwrap();
    files.write("/memories/small/third", &text("third", 900)).unwrap();
    files.write("/memories/small/fourth", &text("fourth", 400)).unwrap();
    files.write(LONG, &text("long", 500_000)).unwrap();
    for part in 0..2 {
        let names = (0..60).map(|name| format!("/memories/big/{part}{name:02}{}", "n".repeat(240)));
        session.write(|txn| names.clone().try_for_each(|path| put(txn, &path, "x\n"))).unwrap();
    }
    files.write(DEEP, "first\n").unwrap();
    store
}

/// The call fails with this error, the model learns nothing of it, and the session goes on.
fn check<T>(result: Result<T, FileError>, kind: Kind, attack: Attack, context: &str) {
    let error = result.err().unwrap_or_else(|| panic!("accepted: {context}"));
    let (what, how) = tampered(&error).unwrap_or_else(|| panic!("{error}: {context}"));
    // The other record of a swap may lie on the path and be read first.
    assert!(what == kind.describe() || attack == Attack::SwapWithAnother, "{what}: {context}");
    assert_eq!(how, attack.how(), "{context}");
    let FileError::Store(error) = error else { unreachable!() };
    assert_eq!(error.for_model().content(), "Error: Memory is unavailable.");
}

fn check_session(session: &Session, path: &str, kind: Kind, attack: Attack, context: &str) {
    check(session.files().read(path), kind, attack, context);
    check(edit::replace(session, &parse(path), "not there", "", 9), kind, attack, context);
    for other in [KEPT, SMALL, LONG, DEEP].into_iter().filter(|other| *other != path) {
        let is_swapped = attack == Attack::SwapWithAnother;
        if let Err(error) = session.files().read(other) {
            assert!(is_swapped && tampered(&error).is_some(), "{other}: {context}");
        }
    }
    if attack != Attack::SwapWithAnother {
        session.files().write(KEPT, "still written to\n").unwrap();
        assert_eq!(session.files().read(KEPT).unwrap().as_str(), "still written to\n");
    }
}

#[test]
fn a_tampered_record_is_refused_and_what_hangs_elsewhere_is_not() {
    let scene = Scene::new();
    let victims = [
        (Kind::Folder, SMALL),
        (Kind::FolderInner, DEEP),
        (Kind::FolderLeaf, DEEP),
        (Kind::File, SMALL),
        (Kind::File, LONG),
        (Kind::FileInner, LONG),
        (Kind::Chunk, LONG),
    ];
    let mut cases = 0;
    for (kind, path) in victims {
        let victim = scene.victim(kind, path);
        let length = scene.now.values()[&scene.now.address(victim)].len();
        for attack in Attack::ALL.into_iter().filter(|attack| attack.fits(length)) {
            let context = format!("{kind:?} of {path}, {attack:?}");
            let store = scene.now.duplicate();
            scene.attack(&store, attack, victim);
            let session = store.unlock().unwrap_or_else(|error| panic!("{error}: {context}"));
            check_session(&session, path, kind, attack, &format!("{context} at rest"));

            let store = scene.now.duplicate();
            let session = store.unlock().unwrap();
            session.files().read(path).unwrap();
            scene.attack(&store, attack, victim);
            check_session(&session, path, kind, attack, &format!("{context} while unlocked"));
            cases += 2;
        }
    }
    // Twice each: at rest and while unlocked. A record of the first or the last length has one neighbour less.
    assert!(cases >= victims.len() * (Attack::ALL.len() - 1) * 2, "{cases} cases");
}

#[test]
fn a_tampered_root_is_refused_at_unlock() {
    let scene = Scene::new();
    for attack in Attack::ALL.into_iter().filter(|attack| attack.fits(553)) {
        let store = scene.now.duplicate();
        scene.attack(&store, attack, RecordId::ROOT);
        if attack == Attack::PutBackOlder {
            // The old root is authentic but behind the anchor. Even without the anchor it is useless, because its
            // children have changed since.
            assert!(matches!(store.unlock().err(), Some(StoreError::RolledBack { .. })));
            store.memory.write_anchor(b"").unwrap();
            let session = store.unlock().unwrap();
            check(session.files().read(KEPT), Kind::Folder, attack, "no anchor");
            continue;
        }
        let refused = store.unlock().err().map(FileError::from);
        check(refused.map_or(Ok(()), Err), Kind::Root, attack, &format!("{attack:?}"));
    }
}

/// The root in use is the one in memory. A replaced root in the engine is noticed before it is overwritten.
#[test]
fn a_root_tampered_with_under_a_session_stops_the_next_commit() {
    let scene = Scene::new();
    for attack in Attack::ALL.into_iter().filter(|attack| attack.fits(553)) {
        let store = scene.now.duplicate();
        let session = store.unlock().unwrap();
        scene.attack(&store, attack, RecordId::ROOT);
        let evidence = store.values();
        if attack != Attack::SwapWithAnother {
            session.files().read(KEPT).unwrap();
        }
        let refused = session.files().write("/memories/new", "x").err().unwrap();
        if attack == Attack::SwapWithAnother {
            // The other record may lie on the path and be read first.
            assert!(tampered(&refused).is_some());
            assert!(store.values() == evidence, "nothing was written: {attack:?}");
            continue;
        }
        let stale = Some(("the root record", "is not the version its parent refers to"));
        assert_eq!(tampered(&refused), stale, "{attack:?}");
        let halted = session.files().read(KEPT);
        assert!(matches!(halted, Err(FileError::Store(StoreError::Halted))));
        assert!(store.values() == evidence, "nothing was written: {attack:?}");
    }
}

#[test]
fn a_record_that_nothing_refers_to_changes_nothing() {
    let scene = Scene::new();
    let (store, foreign) = (&scene.now, scene.foreign.values());
    let expected = dump(&store.unlock().unwrap()).unwrap();
    let own = store.values()[&store.address(RecordId::ROOT)].clone();
    store.tamper(|records| {
        records.insert(Address([0; 32]), foreign.values().next().unwrap().clone());
        records.insert(Address([0x7f; 32]), own);
        records.insert(Address([0xff; 32]), Vec::new());
    });
    let session = store.unlock().unwrap();
    assert!(dump(&session).unwrap() == expected);
    session.files().write("/memories/new", "x").unwrap();
    assert!(dump(&session).unwrap().len() == expected.len() + 1);
}
