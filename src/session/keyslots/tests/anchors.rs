//! Tests of anchors across a rotation.

use super::*;

/// An application's anchor. While it fails, it keeps its value.
#[derive(Default)]
struct Kept {
    value: Mutex<Option<Vec<u8>>>,
    failing: Mutex<bool>,
}

impl FreshnessAnchor for Kept {
    fn load(&self) -> Result<Option<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        if *self.failing.lock().unwrap() {
            return Err("no connection".into());
        }
        Ok(self.value.lock().unwrap().clone())
    }

    fn save(&self, value: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        if *self.failing.lock().unwrap() {
            return Err("no connection".into());
        }
        *self.value.lock().unwrap() = Some(value.to_vec());
        Ok(())
    }
}

#[test]
fn a_store_from_before_its_rotation_is_refused_by_the_anchor_of_the_application() {
    let kept = Arc::new(Kept::default());
    restore_the_state_before_a_rotation(VaultOptions::new().freshness_anchor(kept.clone()), true);
    assert_eq!(kept.value.lock().unwrap().as_ref().unwrap().len(), 88);
}

/// Without this check, the store opened without a warning and its new generation was deleted.
#[test]
fn headers_and_records_from_before_a_rotation_are_refused_by_the_anchor_beside_them() {
    restore_the_state_before_a_rotation(VaultOptions::new(), false);
}

fn restore_the_state_before_a_rotation(options: VaultOptions, even_the_anchor: bool) {
    let secrets = Secrets::new(1);
    let store = Store::create_by(options, secrets.passphrase());
    let anchor = store.memory.read_anchor().unwrap();
    let headers = store.headers();
    let old = store.records();
    let session = store.unlock(secrets.passphrase()).unwrap();
    session.rotate(secrets.passphrase()).unwrap();
    session.lock();
    assert!(store.opens(secrets.passphrase()));

    if even_the_anchor {
        for (slot, bytes) in [AnchorSlot::Even, AnchorSlot::Odd].into_iter().zip(&anchor) {
            store.memory.write_anchor(slot, bytes).unwrap();
        }
    }
    // Everything is restored from a copy. With the old keys an attacker can also make the old store look newer.
    store.put_back(&headers);
    for generation in store.memory.generations().unwrap() {
        store.memory.remove_generation(generation).unwrap();
    }
    let engine = store.memory.create_generation(1, EngineKind::Memory).unwrap();
    let puts = old.into_iter().collect();
    engine.apply(&inmost_storage::Batch { puts, ..Default::default() }).unwrap();
    engine.close().unwrap();
    let refused = store.unlock(secrets.passphrase()).err().unwrap();
    assert!(matches!(refused, StoreError::ForeignAnchor), "{refused}");
    let mut vault = store.options.open_storage(Arc::new(store.memory.clone())).unwrap();
    vault.unlock_accepting_rollback(secrets.passphrase()).unwrap().lock();
    assert!(store.opens(secrets.passphrase()), "accepted once");
}

#[test]
fn an_interrupted_rotation_does_not_count_as_a_rollback() {
    let secrets = Secrets::new(1);
    for fault in [Fault::Refused, Fault::Unreported, Fault::Stopped] {
        for operation in 1.. {
            let kept = Arc::new(Kept::default());
            let options = VaultOptions::new().freshness_anchor(kept.clone());
            let store = Store::create_by(options, secrets.raw());
            let storage = FaultyStorage::new(store.memory.clone());
            let faults = storage.faults();
            let session = store.unlock_on(storage, secrets.raw()).unwrap();
            let begin = faults.operations();
            faults.set(begin + operation, fault);
            let _ = session.rotate(secrets.raw());
            let met = faults.operations() >= begin + operation;
            drop(session);
            store.memory.crash();
            assert!(store.opens(secrets.raw()), "{fault:?} at {operation}");
            assert_eq!(kept.value.lock().unwrap().as_ref().unwrap().len(), 88);
            if !met {
                break;
            }
        }
    }
}

#[test]
fn a_rotation_that_the_anchor_of_the_application_would_miss_is_refused() {
    let secrets = Secrets::new(1);
    let kept = Arc::new(Kept::default());
    let options = VaultOptions::new().freshness_anchor(kept.clone());
    let store = Store::create_by(options, secrets.raw());
    let session = store.unlock(secrets.raw()).unwrap();
    let before = store.headers();
    *kept.failing.lock().unwrap() = true;
    let refused = session.rotate(secrets.raw()).err().unwrap();
    assert!(matches!(refused, StoreError::AnchorUnavailable), "{refused}");
    session.files().write("/memories/after", "the session goes on").unwrap();
    session.lock();
    // An anchor that could not be read at unlock may work again later, but it is not written in this session.
    let session = store.unlock(secrets.raw()).unwrap();
    *kept.failing.lock().unwrap() = false;
    let refused = session.rotate(secrets.raw()).err().unwrap();
    assert!(matches!(refused, StoreError::AnchorUnavailable), "{refused}");
    session.lock();
    assert_eq!(store.headers(), before);
    let session = store.unlock(secrets.raw()).unwrap();
    assert_eq!(session.status().unwrap().anchor, AnchorStatus::Active);
    session.rotate(secrets.raw()).unwrap();
    session.lock();
    assert!(store.opens(secrets.raw()));
}

#[test]
fn a_new_store_does_not_take_the_anchor_of_another() {
    let place = tempfile::tempdir().unwrap();
    let kept = Arc::new(Kept::default());
    let options = VaultOptions::new().kdf_cost(TINY).kdf_limits(KdfLimits::of_tests());
    let options = options.freshness_anchor(kept.clone());
    let raw = RawKey::generate().unwrap();
    options.create_with(place.path().join("first"), &raw).unwrap().lock();
    let value = kept.value.lock().unwrap().clone();
    let refused = options.create_with(place.path().join("second"), &raw).err().unwrap();
    assert!(matches!(refused, StoreError::ForeignAnchor), "{refused}");
    assert!(!place.path().join("second").exists());
    assert_eq!(*kept.value.lock().unwrap(), value);
}

#[test]
fn the_status_reports_a_failing_anchor() {
    let (secrets, kept) = (Secrets::new(1), Arc::new(Kept::default()));
    let options = VaultOptions::new().freshness_anchor(kept.clone());
    let store = Store::create_by(options, secrets.passphrase());
    store.unlock(secrets.passphrase()).unwrap().lock();
    let write = |session: &Session, text: &str| session.files().write("/memories/a", text).unwrap();
    let status = |session: &Session| session.status().unwrap().anchor;

    let session = store.unlock(secrets.passphrase()).unwrap();
    assert_eq!(status(&session), AnchorStatus::Active);
    *kept.failing.lock().unwrap() = true;
    write(&session, "unseen");
    assert_eq!(status(&session), AnchorStatus::Failing);
    *kept.failing.lock().unwrap() = false;
    write(&session, "seen");
    assert_eq!(status(&session), AnchorStatus::Active, "it has caught up");
    session.lock();

    *kept.failing.lock().unwrap() = true;
    let session = store.unlock(secrets.passphrase()).unwrap();
    *kept.failing.lock().unwrap() = false;
    write(&session, "on");
    // Its comparison with this store at unlock was lost.
    assert_eq!(status(&session), AnchorStatus::Failing);
    session.lock();
    assert_eq!(status(&store.unlock(secrets.passphrase()).unwrap()), AnchorStatus::Active);
}
