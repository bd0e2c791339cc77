//! Tests of the limits on the cost of key derivation.

use super::*;

/// A header of eight slots of kind 1 or 2 that ask for this cost, with a correct checksum. Anyone can forge it.
fn forged(revision: u8, store: &Store, cost: [u32; 3]) -> Vec<u8> {
    let mut header: [u8; HEADER_BYTES] = store.headers()[0].clone().try_into().unwrap();
    header[32] = revision;
    for slot in 0..8 {
        let at = 128 + 256 * slot;
        header[at..at + 16].fill(0);
        header[at] = 1;
        for (field, value) in cost.into_iter().enumerate() {
            header[at + 4 + 4 * field..][..4].copy_from_slice(&value.to_le_bytes());
        }
        header[at + 16] = revision;
        header[at + 248..at + 256].fill(0);
    }
    with_checksum(header).to_vec()
}

#[test]
fn headers_that_ask_for_too_much_are_refused_before_anything_is_paid() {
    let secrets = Secrets::new(1);
    let store = Store::create(secrets.passphrase());
    let dearest = [1 << 20, 2, 1];
    let within = [64 << 10, 8, 1];
    let (nothing, both) = (store.headers()[0].clone(), forged(9, &store, dearest));
    for (headers, refused) in [
        // Each slot is just within its bound, but eight of them exceed the bound of an unlock.
        ([both.clone(), both.clone()], true),
        ([both.clone(), nothing.clone()], true),
        ([nothing.clone(), both], true),
        // Each copy is just within the bound, but both together are not.
        ([forged(9, &store, within), forged(8, &store, within)], true),
        ([nothing.clone(), nothing], false),
    ] {
        store.put_back(&headers);
        // A busy machine may hold up one attempt, or some. If a derivation is paid, none is fast.
        let mut attempts = std::iter::repeat_with(|| {
            let begin = std::time::Instant::now();
            let unlocked = store.unlock(secrets.passphrase()).map(drop);
            (begin.elapsed() < Duration::from_millis(500), unlocked)
        });
        let fast = attempts.by_ref().take(20).find(|(is_fast, _)| *is_fast);
        let (_, unlocked) = fast.expect("one of these derivations takes longer");
        match unlocked {
            Err(StoreError::KdfOutOfBounds(_)) => assert!(refused),
            Err(error) => panic!("{error}"),
            Ok(()) => assert!(!refused),
        }
    }
    // Unlocks with other kinds of credential pay nothing. One slot beyond its own bound makes the header unusable for
    // all.
    store.put_back(&[forged(9, &store, dearest), forged(9, &store, dearest)]);
    assert!(matches!(store.unlock(secrets.raw()), Err(StoreError::WrongKey(_))));
    store.put_back(&[forged(9, &store, [u32::MAX; 3]), forged(9, &store, [u32::MAX; 3])]);
    assert!(matches!(store.unlock(secrets.raw()), Err(StoreError::KdfOutOfBounds(_))));
}

#[test]
fn a_slot_that_could_not_be_unlocked_is_not_made() {
    let secrets = Secrets::new(1);
    let store = Store::create(secrets.raw());
    let session = store.unlock(secrets.raw()).unwrap();
    let dear = NewSlot::new(secrets.passphrase()).kdf_cost(KdfCost::new(8 << 20, 3, 1));
    let before = store.headers();
    assert!(matches!(session.add_slot(&dear), Err(StoreError::KdfOutOfBounds(_))));
    assert_eq!(store.headers(), before);
    assert_whole(&session);
}

#[test]
fn a_slot_that_both_copies_have_is_paid_for_once() {
    let secrets = Secrets::new(1);
    let store = Store::create(secrets.passphrase());
    let [header, _] = store.headers();
    // A copy with a forged revision and the right slots does not block the authentic copy.
    let mut newer: [u8; HEADER_BYTES] = header.clone().try_into().unwrap();
    newer[32] = 99;
    store.put_back(&[with_checksum(newer).to_vec(), header]);
    assert!(store.opens(secrets.passphrase()));
    let [a, b] = store.headers();
    assert_eq!(a, b);
}
