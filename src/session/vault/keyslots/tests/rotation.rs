//! Tests of rotation: every key is replaced, and one credential stays.

use super::*;

#[test]
fn a_rotation_keeps_one_credential_and_every_file() {
    let secrets = Secrets::new(1);
    let store = Store::create(secrets.passphrase());
    let session = store.unlock(secrets.passphrase()).unwrap();
    let label = SlotLabel::parse("kept").unwrap();
    session.add_slot(&tiny(secrets.keyfile()).label(label)).unwrap();
    session.add_slot(&tiny(secrets.recovery())).unwrap();
    let created = session.slots().unwrap()[1].created();
    session.files().write("/memories/doomed", "deleted before").unwrap();
    session.files().remove("/memories/doomed").unwrap();
    session.lock();
    let (before, headers) = (store.records(), store.headers());

    let session = store.unlock(secrets.passphrase()).unwrap();
    let mut records = 0;
    let dropped =
        session.rotate_reporting(secrets.keyfile(), &mut |written| records = written).unwrap();
    assert_eq!(numbers(&dropped), [0, 2]);
    assert!(records > 8);
    assert_whole(&session);
    let slots = session.slots().unwrap();
    assert_eq!(numbers(&slots), [0]);
    assert_eq!((slots[0].label(), slots[0].kdf_cost()), ("kept", Some(TINY)));
    assert_eq!(slots[0].created(), created, "the credential is no newer");
    assert!(slots[0].is_current());
    assert_eq!(session.status().unwrap().anchor, AnchorStatus::Known);
    session.files().write("/memories/later", "goes on").unwrap();
    session.lock();

    let after = store.records();
    assert!(before.keys().all(|address| !after.contains_key(address)));
    let old: Vec<_> = before.values().collect();
    assert!(!after.values().any(|value| old.contains(&value)));
    for dropped in [secrets.passphrase(), secrets.recovery(), secrets.raw()] {
        assert!(!store.opens(dropped));
    }
    let session = store.unlock(secrets.keyfile()).unwrap();
    assert_eq!(session.status().unwrap().anchor, AnchorStatus::Known, "it was renewed");
    assert_eq!(session.files().read("/memories/later").unwrap().as_str(), "goes on");
    session.lock();

    // The old header names a generation that no longer exists.
    store.put_back(&headers);
    assert!(matches!(store.unlock(secrets.passphrase()), Err(StoreError::Tampered { .. })));
}

#[test]
fn a_rotation_for_a_credential_that_opens_nothing_is_refused() {
    let (right, wrong) = (Secrets::new(1), Secrets::new(2));
    let store = Store::create(right.passphrase());
    let session = store.unlock(right.passphrase()).unwrap();
    let refused = session.rotate(wrong.passphrase());
    assert!(matches!(refused, Err(StoreError::WrongPassphrase)));
    let refused = session.rotate(right.raw());
    assert!(matches!(refused, Err(StoreError::WrongKey(SlotKind::RawKey))));
    assert_whole(&session);
    session.lock();
    assert!(store.opens(right.passphrase()));
}
