//! A host that stands still in the middle of a rewrite, for longer than its lease lasts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::{SharedStore, raw_key};
use crate::session::{Session, StoreError};
use inmost_engines::memory::shared::{Network, Operation, Verdict};
use inmost_storage::limits::LEASE;

/// Before one of the operations of a host, something else happens.
#[derive(Default)]
struct Sleeper {
    /// Operations so far, from a rewrite on.
    operations: AtomicU64,
    /// The number of the operation before which the host stands still.
    at: AtomicU64,
    meanwhile: Mutex<Option<Box<dyn FnMut() + Send>>>,
}

impl Network for Sleeper {
    fn before(&self, _host: u64, _operation: Operation) -> Verdict {
        let number = self.operations.fetch_add(1, Ordering::SeqCst);
        if number == self.at.load(Ordering::SeqCst)
            && let Some(meanwhile) = &mut *self.meanwhile.lock().unwrap()
        {
            meanwhile();
        }
        Verdict::Perform
    }
}

/// Longer than what a rewrite collects in memory in tests, so that it uses a scratch generation.
const LONG: usize = 40_000;

#[test]
fn a_rotation_whose_host_stood_still_says_so_and_changes_nothing() {
    with_a_pause(&|session| session.rotate(&raw_key()).map(drop));
}

#[test]
fn a_purge_whose_host_stood_still_says_so_and_changes_nothing() {
    with_a_pause(&Session::purge);
}

#[test]
fn a_compaction_whose_host_stood_still_says_so_and_changes_nothing() {
    with_a_pause(&Session::compact);
}

/// Runs a rewrite again and again, and lets the host stand still before another operation each time.
fn with_a_pause(rewrite: &dyn Fn(&Session) -> Result<(), StoreError>) {
    let (mut ended, mut done) = (0, 0);
    for at in 0.. {
        let (store, other) = SharedStore::create();
        let text = "0123456\n".repeat(LONG);
        other.files().write("/memories/long", &text).unwrap();
        let network = Arc::new(Sleeper::default());
        network.at.store(u64::MAX, Ordering::SeqCst);
        let one = store.try_unlock(store.server.host_over(network.clone())).unwrap();
        let sleeping = store.clone();
        *network.meanwhile.lock().unwrap() = Some(Box::new(move || {
            sleeping.server.pass(LEASE * 2);
            // It removes what it takes for the remains of a dead host.
            drop(sleeping.unlock());
        }));
        network.operations.store(0, Ordering::SeqCst);
        network.at.store(at, Ordering::SeqCst);
        match rewrite(&one) {
            Ok(()) => done += 1,
            Err(StoreError::Unavailable(why)) => {
                assert!(why.contains("another host removed them"), "{at}: {why}");
                ended += 1;
                // Nothing has changed, and the next attempt succeeds.
                assert_eq!(other.files().read("/memories/long").unwrap().as_str(), text);
                rewrite(&one).unwrap();
            }
            Err(error) => panic!("{at}: {error:?}"),
        }
        let again = store.unlock();
        assert_eq!(again.files().read("/memories/long").unwrap().as_str(), text, "{at}");
        assert!(again.check().unwrap().is_clean(), "{at}");
        assert_eq!(store.server.with(|vault| vault.generations.len()), 1, "{at}");
        if network.operations.load(Ordering::SeqCst) <= at {
            break;
        }
    }
    assert!(ended > 10 && done > 3, "{ended} ended, {done} done");
}
