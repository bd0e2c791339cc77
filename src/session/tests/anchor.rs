//! Tests of a damaged or outdated anchor: a store older than its anchor is refused, but damage to the anchor never
//! blocks an unlock.

use std::sync::Arc;

use super::store::{TestStore, options, passphrase};
use crate::session::{AnchorStatus, Session, StoreError};
use inmost_storage::{AnchorSlot, Storage};

const SLOTS: [AnchorSlot; 2] = [AnchorSlot::Even, AnchorSlot::Odd];

/// A store, and its state some commits earlier.
fn two_states() -> [TestStore; 2] {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session.files().write("/memories/a", "old").unwrap();
    let before = store.duplicate();
    for text in ["newer", "newest"] {
        session.files().write("/memories/a", text).unwrap();
    }
    drop(session);
    [before, store]
}

fn slots(store: &TestStore) -> Vec<Vec<u8>> {
    store.memory.read_anchor().unwrap()
}

fn put(store: &TestStore, slots: &[Vec<u8>]) {
    for (slot, bytes) in SLOTS.into_iter().zip(slots) {
        store.memory.write_anchor(slot, bytes).unwrap();
    }
}

fn check_opens(store: &TestStore, expected: AnchorStatus, context: &str) -> Session {
    let session = store.unlock().unwrap_or_else(|error| panic!("{error}: {context}"));
    assert_eq!(session.status().unwrap().anchor, expected, "{context}");
    session
}

#[test]
fn records_put_back_behind_the_anchor_are_a_rollback_and_can_be_accepted() {
    let [before, now] = two_states();
    let commits = [&before, &now].map(|store| store.root().commit);
    put(&before, &slots(&now));
    let refused = format!("{:?}", before.unlock().err());
    let expected = format!("RolledBack {{ expected: {}, found: {} }}", commits[1], commits[0]);
    assert_eq!(refused, format!("Some({expected})"));

    let mut vault = options().open_storage(Arc::new(before.memory.clone())).unwrap();
    let session = vault.unlock_accepting_rollback(&passphrase()).unwrap();
    assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "old");
    assert!(session.status().unwrap().commit > commits[1], "above all that was seen");
    drop(session);
    drop(check_opens(&before, AnchorStatus::Active, "accepted once"));
    // Neither history is accepted as the continuation of the other.
    put(&now, &slots(&before));
    assert!(matches!(now.unlock().err(), Some(StoreError::RolledBack { .. })));
}

#[test]
fn another_root_of_the_same_commit_is_a_rollback() {
    let [before, now] = two_states();
    let session = {
        put(&before, &[Vec::new(), Vec::new()]);
        check_opens(&before, AnchorStatus::WasMissing, "no anchor")
    };
    while session.status().unwrap().commit < now.root().commit {
        session.files().write("/memories/a", "another history").unwrap();
    }
    drop(session);
    assert_eq!(before.root().commit, now.root().commit);
    put(&before, &slots(&now));
    let commit = now.root().commit;
    let refused = before.unlock().err();
    let is_refused = matches!(refused, Some(StoreError::RolledBack { expected, found })
        if expected == commit && found == commit);
    assert!(is_refused);
}

#[test]
fn a_store_ahead_of_its_anchor_opens() {
    let [before, now] = two_states();
    put(&now, &slots(&before));
    drop(check_opens(&now, AnchorStatus::Active, "behind"));
    assert_ne!(slots(&now), slots(&before), "brought up to date");
}

#[test]
fn a_damaged_slot_leaves_the_other_and_two_are_a_warning() {
    let [_, now] = two_states();
    let foreign = two_states().map(|store| slots(&store));
    let good = slots(&now);
    let commit = now.root().commit;
    let newest = usize::from(!commit.is_multiple_of(2));
    let mut cases: Vec<Vec<u8>> = vec![Vec::new(), vec![0; 88], vec![0xff; 4_096]];
    for at in [0, 8, 16, 40, 56, 87] {
        let mut flipped = good[newest].clone();
        flipped[at] ^= 1;
        cases.push(flipped);
    }
    cases.push(good[newest][..87].to_vec());
    cases.push(foreign[1][newest].clone());
    for (number, case) in cases.iter().enumerate() {
        for slot in [0, 1] {
            let store = now.duplicate();
            let mut slots = good.clone();
            slots[slot].clone_from(case);
            put(&store, &slots);
            drop(check_opens(&store, AnchorStatus::Active, &format!("case {number}, {slot}")));
        }
        let store = now.duplicate();
        put(&store, &[case.clone(), case.clone()]);
        let session = check_opens(&store, AnchorStatus::WasMissing, &format!("case {number}"));
        session.files().write("/memories/a", "on").unwrap();
        drop(session);
        drop(check_opens(&store, AnchorStatus::Active, "written anew"));
    }
    // A mark may be in either slot; the newest one counts.
    let store = now.duplicate();
    put(&store, &[good[1].clone(), good[0].clone()]);
    drop(check_opens(&store, AnchorStatus::Active, "swapped"));
}
