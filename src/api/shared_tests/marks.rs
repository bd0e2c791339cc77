//! Marks that travel with a user, and anchors that hosts share.

use std::error::Error;
use std::sync::{Arc, Mutex};

use super::{SharedStore, raw_key};
use crate::session::{FreshnessAnchor, FreshnessMark, StoreError, VaultOptions};

#[test]
fn a_store_that_is_older_than_a_mark_is_refused() {
    let (store, one) = SharedStore::create();
    one.files().write("/memories/a.md", "old").unwrap();
    let (past, old) = (store.server.duplicate(), one.mark().unwrap());
    one.files().write("/memories/a.md", "new").unwrap();
    let new = FreshnessMark::from_bytes(one.mark().unwrap().as_bytes());
    let unlock = |mark: &FreshnessMark| {
        let options = store.options.clone().at_least(mark.clone());
        SharedStore { server: store.server.clone(), options }.try_unlock(store.server.host())
    };
    assert!(unlock(&old).is_ok() && unlock(&new).is_ok());
    store.server.with(|vault| *vault = past);
    assert!(unlock(&old).is_ok());
    assert!(matches!(unlock(&new), Err(StoreError::RolledBack { .. })));
    // The same number on another history.
    store.unlock().files().write("/memories/a.md", "fork").unwrap();
    assert!(matches!(unlock(&new), Err(StoreError::RolledBack { .. })));
    let (_, other) = SharedStore::create();
    assert!(matches!(unlock(&other.mark().unwrap()), Err(StoreError::ForeignAnchor)));
    assert!(matches!(unlock(&FreshnessMark::from_bytes(&[])), Err(StoreError::ForeignAnchor)));
}

/// An anchor that hosts share.
#[derive(Default)]
struct Shared(Mutex<Option<(u64, Vec<u8>)>>);

impl FreshnessAnchor for Shared {
    fn load(&self) -> Result<Option<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        Ok(self.0.lock().unwrap().as_ref().map(|(_, value)| value.clone()))
    }

    fn save(&self, _value: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        panic!("the session must say which commit it is");
    }

    fn advance(&self, commit: u64, value: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut held = self.0.lock().unwrap();
        if held.as_ref().is_none_or(|(newest, _)| *newest <= commit) {
            *held = Some((commit, value.to_vec()));
        }
        Ok(())
    }
}

#[test]
fn an_anchor_that_hosts_share_only_advances() {
    let anchor = Arc::new(Shared::default());
    let (store, one) =
        SharedStore::create_with(VaultOptions::new().freshness_anchor(anchor.clone()));
    let two = store.unlock();
    for round in 0..5 {
        one.files().write("/memories/a.md", &format!("one {round}")).unwrap();
        two.files().write("/memories/b.md", &format!("two {round}")).unwrap();
    }
    let past = store.server.duplicate();
    one.files().write("/memories/a.md", "last").unwrap();
    let newest = anchor.0.lock().unwrap().as_ref().map(|(commit, _)| *commit);
    assert_eq!(newest, Some(one.status().unwrap().commit));
    store.server.with(|vault| *vault = past);
    let refused = store.try_unlock(store.server.host());
    assert!(matches!(refused, Err(StoreError::RolledBack { .. })));
    let mut vault = store.vault(store.server.host()).unwrap();
    let accepted = vault.unlock_accepting_rollback(&raw_key()).unwrap();
    accepted.files().write("/memories/a.md", "after").unwrap();
    assert_eq!(store.unlock().files().read("/memories/a.md").unwrap().as_str(), "after");
}

/// An anchor that kept the first value for a commit kept the mark of the old keys.
#[test]
fn a_rotation_ends_the_old_keys_in_an_anchor_that_hosts_share() {
    let anchor = Arc::new(Shared::default());
    let (store, one) =
        SharedStore::create_with(VaultOptions::new().freshness_anchor(anchor.clone()));
    one.files().write("/memories/a.md", "old").unwrap();
    let past = store.server.duplicate();
    one.rotate(&raw_key()).unwrap();
    one.lock();
    let current = store.server.duplicate();
    store.server.with(|vault| *vault = past);
    let refused = store.try_unlock(store.server.host());
    assert!(matches!(refused, Err(StoreError::ForeignAnchor)), "{:?}", refused.map(drop));
    store.server.with(|vault| *vault = current);
    assert_eq!(store.unlock().files().read("/memories/a.md").unwrap().as_str(), "old");
}
