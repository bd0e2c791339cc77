//! Tests of headers that were authentic but never became the store's, or no longer are.

use super::*;

/// A store with the passphrase of `Secrets::new(1)` in slot 0, the raw key in slot 1 and the recovery key in slot 2.
fn shared() -> Store {
    let one = Secrets::new(1);
    let store = Store::create(one.passphrase());
    let session = store.unlock(one.passphrase()).unwrap();
    session.add_slot(&tiny(one.raw())).unwrap();
    session.add_slot(&tiny(one.recovery())).unwrap();
    session.lock();
    store
}

/// A copy of the store's folder, changed independently by `change`.
fn elsewhere(store: &Store, change: impl FnOnce(&Session)) -> Store {
    let copy = Store { memory: store.memory.duplicate(), options: store.options.clone() };
    let session = copy.unlock(Secrets::new(1).passphrase()).unwrap();
    change(&session);
    session.lock();
    copy
}

fn remove_raw_key(store: &Store) {
    let session = store.unlock(Secrets::new(1).passphrase()).unwrap();
    session.remove_slot(1).unwrap();
    session.lock();
}

/// Asserts that no credential opens the store with this header in both copies, and that a rollback to it is not
/// accepted.
fn assert_refused(store: &Store, header: &[u8], credentials: &[Credential<'_>]) {
    let headers = [header.to_vec(), header.to_vec()];
    store.put_back(&headers);
    for credential in credentials {
        let refused = store.unlock(*credential).err().unwrap();
        assert!(matches!(refused, StoreError::HeaderRolledBack { .. }), "{refused}");
        let mut vault = store.options.open_storage(Arc::new(store.memory.clone())).unwrap();
        let accepted = vault.unlock_accepting_rollback(*credential).err();
        assert!(matches!(accepted, Some(StoreError::HeaderRolledBack { .. })));
    }
    assert_eq!(store.headers(), headers, "nothing was repaired");
}

/// A change lost power after copy A, and an attacker kept that copy. Then the old passphrase, which opens only copy B,
/// discarded the change, and a keyslot was removed. Now two authentic headers of one revision exist, and one of them
/// brings the slot back.
#[test]
fn a_discarded_header_does_not_bring_a_removed_slot_back() {
    let (one, two) = (Secrets::new(1), Secrets::new(2));
    let store = shared();
    let [_, before] = store.headers();
    let changed =
        elsewhere(&store, |session| session.replace_slot(0, &tiny(two.passphrase())).unwrap());
    let [kept, _] = changed.headers();
    store.put_back(&[kept.clone(), before.clone()]);
    assert!(store.opens(one.passphrase()));
    assert_eq!(store.headers(), [before.clone(), before], "copy A was discarded");

    remove_raw_key(&store);
    let after = store.headers();
    assert_refused(&store, &kept, &[one.raw(), one.recovery(), two.passphrase()]);

    // In one copy alone it is useless, and it locks out no credential that has a slot in the right copy.
    store.put_back(&[kept, after[1].clone()]);
    let refused = store.unlock(one.raw()).err().unwrap();
    assert!(
        matches!(refused, StoreError::HeaderRolledBack { expected: 4, found: 4 }),
        "{refused:?}"
    );
    assert_eq!(
        refused.to_string(),
        "The header was rolled back: the records name a different header of revision 4."
    );
    assert!(store.opens(one.passphrase()));
    assert_eq!(store.headers(), after);
    assert!(!store.opens(one.raw()));
}

/// A copy of the folder was changed independently: its headers are authentic here too, and one of them is one revision
/// ahead.
#[test]
fn a_header_that_does_not_follow_the_roots_is_refused() {
    let (one, two) = (Secrets::new(1), Secrets::new(2));
    let store = shared();
    let copy = elsewhere(&store, |session| {
        session.replace_slot(0, &tiny(two.passphrase())).unwrap();
        session.replace_slot(0, &tiny(one.passphrase())).unwrap();
    });
    let [ahead, _] = copy.headers();
    remove_raw_key(&store);
    let after = store.headers();
    assert_refused(&store, &ahead, &[one.passphrase(), one.raw(), one.recovery()]);
    store.put_back(&after);
    assert!(store.opens(one.passphrase()));
}
