//! Tests of unlocked headers and of the changes that need their keys.

use super::*;
use crate::assert_leaks_nowhere;
use crate::crypto::cost::KdfLimits;
use crate::header::SlotKind;
use crate::header::credential::Credential;
use crate::header::fixtures::{STORE, Secrets, TINY, created_with, enrol};
use crate::header::label::SlotLabel;
use crate::record::Sealer;

fn unlocks(header: &[u8; HEADER_BYTES], credential: Credential) -> bool {
    let header = Header::parse(header, &KdfLimits::of_tests()).unwrap();
    match header.unlock(&credential) {
        Ok(_) => true,
        Err(HeaderError::WrongCredential) => false,
        Err(error) => panic!("{error}"),
    }
}

fn address(unlocked: &Unlocked) -> [u8; 32] {
    unlocked.record_keys().address(1, &[2; 16], 3)
}

#[test]
fn unlocked_keys_have_no_trait_that_leaks() {
    assert_leaks_nowhere!(Unlocked, NextHeader, Sealer);
    #[cfg(not(feature = "serde"))]
    assert_leaks_nowhere!(SlotLabel, SlotInfo);
}

#[test]
fn every_slot_added_opens_the_same_store() {
    let (one, two) = (Secrets::new(1), Secrets::new(2));
    let mut store = created_with(one.passphrase());
    let rest = one.all().into_iter().skip(1).chain(two.all());
    for (number, credential) in (1..).zip(rest) {
        let (slot, change) = enrol(credential, |enrolment| store.add_enrolment(enrolment)).unwrap();
        assert_eq!((slot, change.id().revision), (number, u64::from(number) + 1));
        store.adopt(change);
    }
    for credential in one.all().into_iter().chain(two.all()) {
        assert!(unlocks(store.header().bytes(), credential));
    }
    let full = enrol(one.raw(), |enrolment| store.add_enrolment(enrolment).err());
    assert_eq!(full, Some(HeaderError::SlotsFull));
}

#[test]
fn a_change_alters_nothing_before_it_is_adopted() {
    let secrets = Secrets::new(1);
    let mut store = created_with(secrets.raw());
    let before = *store.header().bytes();
    let (_, change) =
        enrol(secrets.recovery(), |enrolment| store.add_enrolment(enrolment)).unwrap();
    assert_eq!(store.header().bytes(), &before);
    let after = *change.bytes();
    store.adopt(change);
    assert_eq!(store.header().bytes(), &after);
    assert_eq!(store.header().revision(), 2);
}

#[test]
fn a_replaced_credential_no_longer_unlocks_but_the_others_do() {
    let (old, new) = (Secrets::new(1), Secrets::new(2));
    let mut store = created_with(old.passphrase());
    let keys = address(&store);
    let (_, change) = enrol(old.raw(), |enrolment| store.add_enrolment(enrolment)).unwrap();
    store.adopt(change);
    let change =
        enrol(new.passphrase(), |enrolment| store.replace_enrolment(0, enrolment)).unwrap();
    assert!(!unlocks(change.bytes(), old.passphrase()));
    assert!(unlocks(change.bytes(), new.passphrase()));
    assert!(unlocks(change.bytes(), old.raw()));
    store.adopt(change);
    assert_eq!(address(&store), keys, "no record is touched");
    let missing = enrol(new.raw(), |enrolment| store.replace_enrolment(5, enrolment).err());
    assert_eq!(missing, Some(HeaderError::NoSuchSlot(5)));
}

#[test]
fn a_removed_slot_leaves_noise_and_the_last_one_stays() {
    let secrets = Secrets::new(1);
    let mut store = created_with(secrets.raw());
    let (_, change) =
        enrol(secrets.recovery(), |enrolment| store.add_enrolment(enrolment)).unwrap();
    store.adopt(change);
    let before = store.header().bytes()[128..384].to_vec();
    let change = store.remove_slot(0).unwrap();
    let after = &change.bytes()[128..384];
    assert!(before.iter().zip(after).filter(|(one, other)| one != other).count() > 200);
    assert!(!unlocks(change.bytes(), secrets.raw()) && unlocks(change.bytes(), secrets.recovery()));
    store.adopt(change);
    assert_eq!(store.remove_slot(0).err(), Some(HeaderError::NoSuchSlot(0)));
    assert_eq!(store.remove_slot(1).err(), Some(HeaderError::LastSlot));
    assert_eq!(store.remove_slot(8).err(), Some(HeaderError::NoSuchSlot(8)));
}

#[test]
fn another_generation_has_other_keys_and_the_same_slots() {
    let secrets = Secrets::new(1);
    let mut store = created_with(secrets.raw());
    let old = address(&store);
    let data_key = DataKey::generate().unwrap();
    let new = RecordKeys::derive(&data_key, &STORE, 8).address(1, &[2; 16], 3);
    let change = store.next_generation(8, EngineKind::Memory, data_key).unwrap();
    let header = Header::parse(change.bytes(), &KdfLimits::of_tests()).unwrap();
    assert_eq!((header.generation(), header.engine()), (8, EngineKind::Memory));
    assert_eq!(address(&header.unlock(&secrets.raw()).unwrap()), new);
    assert_eq!(address(&store), old);
    store.adopt(change);
    assert_eq!(address(&store), new);
}

#[test]
fn rotation_keeps_one_credential_and_no_key() {
    let secrets = Secrets::new(1);
    let mut store = created_with(secrets.raw());
    let (_, change) =
        enrol(secrets.recovery(), |enrolment| store.add_enrolment(enrolment)).unwrap();
    store.adopt(change);
    let label = SlotLabel::parse("after").unwrap();
    let enrolment = Enrolment { credential: secrets.raw(), cost: TINY, label: &label, now_ms: 1 };
    let data_key = DataKey::generate().unwrap();
    let rotated = store.rotate_to(8, EngineKind::Sled, data_key, enrolment).unwrap();
    assert_eq!((rotated.header().revision(), rotated.header().store()), (3, STORE));
    assert!(unlocks(rotated.header().bytes(), secrets.raw()));
    assert!(!unlocks(rotated.header().bytes(), secrets.recovery()));
    assert_ne!(rotated.master().expose_for_tests(), store.master().expose_for_tests());
    let old = store.header().authenticate(rotated.master());
    assert_eq!(old, Err(HeaderError::Tampered("the header")));
    let commitment = |keys: &Unlocked| keys.header().bytes()[128 + 32..128 + 64].to_vec();
    assert_ne!(commitment(&rotated), commitment(&store), "an onlooker sees what was kept");
}

#[test]
fn every_change_follows_the_header_it_was_made_from_and_no_other() {
    let secrets = Secrets::new(1);
    let mut store = created_with(secrets.raw());
    let first = store.header().id();
    assert!(store.header().follows(&HeaderId::NONE));
    let (_, change) =
        enrol(secrets.recovery(), |enrolment| store.add_enrolment(enrolment)).unwrap();
    store.adopt(change);
    let second = store.header().id();
    let next_generation = || {
        store.next_generation(8, EngineKind::Memory, DataKey::generate().unwrap()).unwrap().header
    };
    let label = SlotLabel::parse("kept").unwrap();
    let kept = Enrolment { credential: secrets.raw(), cost: TINY, label: &label, now_ms: 1 };
    let data_key = DataKey::generate().unwrap();
    let changed = [
        enrol(secrets.passphrase(), |enrolment| store.add_enrolment(enrolment)).unwrap().1.header,
        enrol(secrets.passphrase(), |enrolment| store.replace_enrolment(1, enrolment))
            .unwrap()
            .header,
        store.remove_slot(0).unwrap().header,
        next_generation(),
        next_generation(),
        store.rotate_to(8, EngineKind::Sled, data_key, kept).unwrap().header,
    ];
    let mut ids = vec![first, second];
    for header in changed {
        let header = Header::parse(header.bytes(), &KdfLimits::of_tests()).unwrap();
        assert!(header.follows(&second));
        assert!(!header.follows(&first) && !header.follows(&HeaderId::NONE));
        assert!(!header.follows(&HeaderId { mac: first.mac, ..second }), "another of its revision");
        assert!(!ids.contains(&header.id()), "two have one name");
        ids.push(header.id());
    }
}

#[test]
fn slots_are_listed_after_unlocking() {
    let secrets = Secrets::new(1);
    let mut store = created_with(secrets.passphrase());
    let longest = "\u{e9}".repeat(31);
    let label = SlotLabel::parse(&longest).unwrap();
    let enrolment =
        Enrolment { credential: secrets.raw(), cost: TINY, label: &label, now_ms: u64::MAX };
    let (_, change) = store.add_enrolment(&enrolment).unwrap();
    assert!(!change.bytes().windows(6).any(|bytes| bytes == b"laptop"));
    store.adopt(change);
    let slots = store.slots().unwrap();
    let seen: Vec<_> = slots
        .iter()
        .map(|slot| (slot.number, slot.kind, slot.label.as_str(), slot.created_ms, slot.cost))
        .collect();
    let tiny = Some(TINY);
    assert_eq!(
        seen,
        [
            (0, SlotKind::Passphrase, "laptop", 1_700_000_000_123, tiny),
            (1, SlotKind::RawKey, longest.as_str(), u64::MAX, None),
        ]
    );
}

#[test]
fn a_label_has_at_most_63_bytes() {
    assert!(SlotLabel::parse(&"a".repeat(63)).is_ok());
    assert!(SlotLabel::parse(&"a".repeat(64)).is_err());
}
