//! Tests that secrets are wiped before the engine is closed.

use std::error::Error;
use std::sync::Arc;
use std::thread;

use super::store::{TestStore, options, passphrase};
use super::watched::{Watch, WatchedStorage};
use crate::session::{FreshnessAnchor, SessionOptions, StoreError};
use inmost_format::record::{Node, NodeSource, RecordId};

/// An anchor that stores nothing. While it is still referenced, the anchor's key is still in memory.
struct Witness;

impl FreshnessAnchor for Witness {
    fn load(&self) -> Result<Option<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        Ok(None)
    }

    fn save(&self, _: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}

/// A sync that hung in `lock` kept keys and cache in memory until it returned.
#[test]
fn a_close_that_hangs_keeps_neither_keys_nor_cache() {
    let store = TestStore::create();
    let (watch, witness) = (Watch::default(), Arc::new(Witness));
    let anchored = Arc::downgrade(&witness);
    let storage = WatchedStorage { inner: store.memory.clone(), watch: watch.clone() };
    let options = options().session(SessionOptions::new()).freshness_anchor(witness);
    let session = options.open_storage(Arc::new(storage)).unwrap().unlock(&passphrase()).unwrap();
    drop(options);
    let cached = session
        .read(|open| {
            let tree = open.root().tree;
            match open.load(RecordId::folder(tree.id), &tree.tag)? {
                Node::Folder(folder) => Ok::<_, StoreError>(Arc::downgrade(&folder)),
                _ => unreachable!(),
            }
        })
        .unwrap();
    let are_held = || (anchored.upgrade().is_some(), cached.upgrade().is_some());
    assert_eq!(are_held(), (true, true), "while it is unlocked");

    watch.reset();
    watch.hold();
    let held = thread::scope(|scope| {
        scope.spawn(|| session.lock());
        watch.wait_for_sync();
        let held = are_held();
        watch.release();
        held
    });
    assert_eq!(held, (false, false), "while the engine is being closed");
}
