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
    assert_eq!(kept.value.lock().unwrap().as_ref().unwrap().len(), 120);
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
        store.memory.write_anchor(&anchor.unwrap()).unwrap();
    }
    // Everything is restored from a copy. With the old keys an attacker can also make the old store look newer.
    store.put_back(&headers);
    put_back_records(&store, old);
    let refused = store.unlock(secrets.passphrase()).err().unwrap();
    assert!(matches!(refused, StoreError::ForeignAnchor), "{refused}");
    let mut vault = store.options.open_storage(Arc::new(store.memory.clone())).unwrap();
    vault.unlock_accepting_rollback(secrets.passphrase()).unwrap().lock();
    assert!(store.opens(secrets.passphrase()), "accepted once");
}

/// Makes the first generation anew, with these records.
fn put_back_records(store: &Store, records: BTreeMap<Address, Vec<u8>>) {
    for generation in store.memory.generations().unwrap() {
        store.memory.remove_generation(generation).unwrap();
    }
    let engine = store.memory.create_generation(1, EngineKind::Memory).unwrap();
    let puts = records.into_iter().collect();
    engine.apply(&inmost_storage::Batch { puts, ..Default::default() }).unwrap();
    engine.close().unwrap();
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
            let session = store.unlock(secrets.raw()).unwrap();
            let freshness = session.status().unwrap().anchor;
            assert_eq!(freshness, AnchorStatus::Known, "{fault:?} at {operation}");
            session.lock();
            assert!(store.opens(secrets.raw()), "{fault:?} at {operation}");
            assert_eq!(kept.value.lock().unwrap().as_ref().unwrap().len(), 120);
            if !met {
                break;
            }
        }
    }
}

/// The slots under the old keys say that nothing has changed. A rotation that was cut off before it retired them must not
/// leave them to anyone who puts the old header and the old records back.
#[test]
fn an_interrupted_rotation_leaves_nothing_that_makes_its_old_state_known() {
    let secrets = Secrets::new(1);
    let mut after = 0;
    for operation in 1.. {
        let store = Store::create(secrets.raw());
        let (headers, records) = (store.headers(), store.records());
        let met = rotate_until(&store, &secrets, operation);
        // The next session finds the new header, or the old one.
        assert!(store.opens(secrets.raw()));
        if store.headers() != headers {
            after += 1;
            store.put_back(&headers);
            put_back_records(&store, records);
            let opened =
                store.unlock(secrets.raw()).map(|session| session.status().unwrap().anchor);
            let is_known = matches!(opened, Ok(AnchorStatus::Known));
            assert!(!is_known, "at {operation}");
        }
        if !met {
            break;
        }
    }
    // Copy A, copy B, the anchor, the old generation, and no fault.
    assert!(after >= 4, "{after}");
}

/// Rotates the keys, and stops the session before this operation. Returns whether the rotation has so many.
fn rotate_until(store: &Store, secrets: &Secrets, operation: u64) -> bool {
    let storage = FaultyStorage::new(store.memory.clone());
    let faults = storage.faults();
    let session = store.unlock_on(storage, secrets.raw()).unwrap();
    let begin = faults.operations();
    faults.set(begin + operation, Fault::Stopped);
    let _ = session.rotate(secrets.raw());
    let met = faults.operations() >= begin + operation;
    drop(session);
    store.memory.crash();
    met
}

/// The header is synced at once, so the marks under its keys must be on the disk before it.
#[test]
fn a_power_cut_during_a_rotation_leaves_freshness_known() {
    let secrets = Secrets::new(1);
    for operation in 1.. {
        let store = Store::create(secrets.raw());
        let met = rotate_until(&store, &secrets, operation);
        store.memory.lose_unsynced_anchor();
        let session = store.unlock(secrets.raw()).unwrap();
        assert_eq!(session.status().unwrap().anchor, AnchorStatus::Known, "at {operation}");
        if !met {
            break;
        }
    }
}

#[test]
fn a_second_rotation_uses_the_first_pair_of_slots_again() {
    let secrets = Secrets::new(1);
    let store = Store::create(secrets.raw());
    for _ in 0..3 {
        let session = store.unlock(secrets.raw()).unwrap();
        session.files().write("/memories/a", "before").unwrap();
        session.rotate(secrets.raw()).unwrap();
        session.files().write("/memories/a", "after").unwrap();
        session.lock();
        let session = store.unlock(secrets.raw()).unwrap();
        assert_eq!(session.status().unwrap().anchor, AnchorStatus::Known);
        session.lock();
    }
}

/// A session whose freshness is unknown stays so through everything that writes the anchor anew.
#[test]
fn neither_a_rewrite_nor_a_rotation_makes_freshness_known() {
    let secrets = Secrets::new(1);
    let store = Store::create(secrets.raw());
    store.memory.write_anchor(b"").unwrap();
    let status = |session: &Session| session.status().unwrap().anchor;
    for step in 0..3 {
        let session = store.unlock(secrets.raw()).unwrap();
        assert_eq!(status(&session), AnchorStatus::Unknown, "{step}");
        match step {
            0 => session.purge().unwrap(),
            1 => drop(session.rotate(secrets.raw()).unwrap()),
            _ => {}
        }
        session.files().write("/memories/a", "after").unwrap();
        assert_eq!(status(&session), AnchorStatus::Unknown, "{step}");
        session.lock();
    }
    let mut vault = store.options.open_storage(Arc::new(store.memory.clone())).unwrap();
    assert_eq!(
        status(&vault.unlock_accepting_rollback(secrets.raw()).unwrap()),
        AnchorStatus::Known
    );
}

#[test]
fn the_value_of_the_application_vouches_for_a_store_whose_slots_are_damaged() {
    let (secrets, kept) = (Secrets::new(1), Arc::new(Kept::default()));
    let mut store = Store::create(secrets.raw());
    let without = store.options.clone();
    let with = without.clone().freshness_anchor(kept.clone());
    store.options = with.clone();
    let status = |store: &Store| store.unlock(secrets.raw()).unwrap().status().unwrap().anchor;
    // The value is made with the first session that has the anchor.
    assert_eq!(status(&store), AnchorStatus::WasMissing);
    assert_eq!(status(&store), AnchorStatus::Known);

    store.memory.write_anchor(b"").unwrap();
    assert_eq!(status(&store), AnchorStatus::Known, "the value is that of the newest commit");
    store.options = without;
    assert_eq!(status(&store), AnchorStatus::Known, "the slots are whole again");

    // A session without the application's anchor puts the store ahead of its value, which then shows nothing.
    let session = store.unlock(secrets.raw()).unwrap();
    session.files().write("/memories/ahead", "of it").unwrap();
    session.lock();
    store.memory.write_anchor(b"").unwrap();
    store.options = with;
    assert_eq!(status(&store), AnchorStatus::Unknown);
    assert_eq!(status(&store), AnchorStatus::Unknown, "the value says so too");
    store.memory.write_anchor(b"").unwrap();
    assert_eq!(status(&store), AnchorStatus::Unknown, "so it does not vouch");
}

#[test]
fn the_keyslots_of_a_refused_store_can_be_listed() {
    let secrets = Secrets::new(1);
    let store = Store::create(secrets.raw());
    let records = store.records();
    let session = store.unlock(secrets.raw()).unwrap();
    session.add_slot(&tiny(secrets.passphrase())).unwrap();
    session.lock();
    put_back_records(&store, records);
    store.memory.tamper_header(HeaderCopy::B, None);
    assert!(store.unlock(secrets.raw()).is_err());
    let vault = store.options.open_storage(Arc::new(store.memory.clone())).unwrap();
    let slots = vault.slots(secrets.raw()).unwrap();
    assert_eq!(numbers(&slots), [0, 1]);
    assert!(matches!(vault.slots(secrets.recovery()), Err(StoreError::WrongKey(_))));
    assert!(store.memory.read_header(HeaderCopy::B).unwrap().is_none(), "nothing was repaired");
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
    assert_eq!(session.status().unwrap().anchor, AnchorStatus::Known);
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
    assert_eq!(status(&session), AnchorStatus::Known);
    *kept.failing.lock().unwrap() = true;
    write(&session, "unseen");
    assert_eq!(status(&session), AnchorStatus::Failing);
    *kept.failing.lock().unwrap() = false;
    write(&session, "seen");
    assert_eq!(status(&session), AnchorStatus::Known, "it has caught up");
    session.lock();

    *kept.failing.lock().unwrap() = true;
    let session = store.unlock(secrets.passphrase()).unwrap();
    *kept.failing.lock().unwrap() = false;
    write(&session, "on");
    // Its comparison with this store at unlock was lost.
    assert_eq!(status(&session), AnchorStatus::Failing);
    session.lock();
    assert_eq!(status(&store.unlock(secrets.passphrase()).unwrap()), AnchorStatus::Known);
}
