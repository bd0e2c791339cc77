//! Keyslots, rewrites and rotations while other hosts work.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::{SharedStore, raw_key};
use crate::session::{Session, StoreError};
use inmost_engines::memory::shared::{Network, Operation, SharedMemory, Verdict};
use inmost_format::crypto::keys::RawKey;
use inmost_format::header::NewSlot;
use inmost_storage::limits::LEASE;
use inmost_storage::{EngineKind, Storage};

fn other_key() -> RawKey {
    RawKey::from_bytes(&[9; 32])
}

fn generations(server: &SharedMemory) -> Vec<u64> {
    server.with(|vault| vault.generations.keys().copied().collect())
}

#[test]
fn hosts_change_keyslots_in_turns() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    let (key, other) = (raw_key(), other_key());
    assert_eq!(one.add_slot(&NewSlot::new(&other)).unwrap(), 1);
    // This host knows nothing of the first change.
    assert_eq!(two.add_slot(&NewSlot::new(&key)).unwrap(), 2);
    two.files().write("/memories/a.md", "two").unwrap();
    assert_eq!(one.slots().unwrap().len(), 3);
    one.remove_slot(2).unwrap();
    assert!(matches!(two.remove_slot(2), Err(StoreError::NoSuchSlot(2))));
    let mut vault = store.vault(store.server.host()).unwrap();
    let three = vault.unlock_with(&other).unwrap();
    assert_eq!(three.files().read("/memories/a.md").unwrap().as_str(), "two");
}

#[test]
fn other_hosts_follow_a_purge() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    two.files().write("/memories/a.md", &"line\n".repeat(3_000)).unwrap();
    one.purge().unwrap();
    assert_eq!(generations(&store.server), [2]);
    assert_eq!(two.files().read("/memories/a.md").unwrap().as_str().len(), 15_000);
    one.purge().unwrap();
    // This host writes to a generation that is gone.
    two.files().append("/memories/a.md", "last\n").unwrap();
    assert!(one.files().read("/memories/a.md").unwrap().as_str().ends_with("last\n"));
    assert_eq!(generations(&store.server), [3]);
    assert!(two.check().unwrap().is_clean());
}

#[test]
fn a_rotation_locks_other_hosts() {
    let (store, one) = SharedStore::create();
    let (two, three) = (store.unlock(), store.unlock());
    one.files().write("/memories/a.md", "one").unwrap();
    one.rotate(&raw_key()).unwrap();
    assert!(matches!(two.files().write("/memories/a.md", "two"), Err(error) if is_locked(&error)));
    assert!(matches!(three.files().read("/memories/a.md"), Err(error) if is_locked(&error)));
    assert!(two.is_locked());
    assert_eq!(store.unlock().files().read("/memories/a.md").unwrap().as_str(), "one");
    one.files().write("/memories/a.md", "still").unwrap();
}

fn is_locked(error: &crate::vfs::FileError) -> bool {
    matches!(error, crate::vfs::FileError::Store(StoreError::Locked))
}

#[test]
fn nothing_is_lost_when_two_hosts_purge_while_others_write() {
    let (store, one) = SharedStore::create();
    let hosts: Vec<Session> = (0..3).map(|_| store.unlock()).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = hosts
            .iter()
            .enumerate()
            .map(|(number, session)| {
                scope.spawn(move || {
                    for round in 0..60 {
                        let line = format!("{number}.{round}\n");
                        session.files().append("/memories/log.md", &line).unwrap();
                    }
                })
            })
            .collect();
        let purger = scope.spawn(|| {
            let other = store.unlock();
            let mut purges = 0;
            loop {
                one.purge().unwrap();
                other.compact().unwrap();
                purges += 2;
                if done.load(Ordering::SeqCst) {
                    return purges;
                }
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::SeqCst);
        assert!(purger.join().unwrap() > 0);
    });
    let log = one.files().read("/memories/log.md").unwrap();
    let mut lines: Vec<&str> = log.as_str().lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!((lines.len(), log.as_str().lines().count()), (180, 180));
    assert_eq!(generations(&store.server).len(), 1);
    assert!(hosts[0].check().unwrap().is_clean());
}

#[test]
fn an_unlock_leaves_a_rewrite_of_another_host_alone() {
    let (store, one) = SharedStore::create();
    let writer = store.server.host();
    drop(writer.create_generation(2, EngineKind::Memory).unwrap());
    store.unlock();
    assert_eq!(generations(&store.server), [1, 2]);
    // The host of the rewrite is gone.
    store.server.pass(LEASE * 2);
    store.unlock();
    assert_eq!(generations(&store.server), [1]);
    one.files().write("/memories/a.md", "one").unwrap();
}

/// A host with one connection. When it writes a new generation, something else happens first.
#[derive(Default)]
struct OneConnection {
    others: Mutex<Option<Box<dyn FnMut() + Send>>>,
    operations: AtomicU64,
}

impl Network for OneConnection {
    fn before(&self, _host: u64, operation: Operation) -> Verdict {
        self.operations.fetch_add(1, Ordering::SeqCst);
        if operation == Operation::Create
            && let Some(others) = &mut *self.others.lock().unwrap()
        {
            others();
        }
        Verdict::Perform
    }

    fn most_connections(&self) -> usize {
        1
    }
}

#[test]
fn a_rewrite_needs_one_connection() {
    let (store, other) = SharedStore::create();
    let network = Arc::new(OneConnection::default());
    let one = store.try_unlock(store.server.host_over(network.clone())).unwrap();
    one.files().write("/memories/a.md", &"line\n".repeat(3_000)).unwrap();
    one.purge().unwrap();
    one.rotate(&raw_key()).unwrap();
    assert!(other.files().read("/memories/a.md").is_err_and(|error| is_locked(&error)));
    // Another host overtakes it once.
    let (other, mut left) = (store.unlock(), 1);
    *network.others.lock().unwrap() = Some(Box::new(move || {
        if left > 0 {
            left -= 1;
            other.files().append("/memories/b.md", "b\n").unwrap();
        }
    }));
    one.compact().unwrap();
    // And every time.
    let other = store.unlock();
    *network.others.lock().unwrap() =
        Some(Box::new(move || other.files().append("/memories/b.md", "b\n").unwrap()));
    let before = network.operations.load(Ordering::SeqCst);
    let refused = one.purge();
    let Err(StoreError::Unavailable(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("second connection"), "{why}");
    assert!(network.operations.load(Ordering::SeqCst) - before < 500);
    *network.others.lock().unwrap() = None;
    one.purge().unwrap();
    assert!(one.check().unwrap().is_clean());
    assert_eq!(generations(&store.server).len(), 1);
}
