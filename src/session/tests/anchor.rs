//! Tests of a damaged or outdated anchor: a store older than its anchor is refused, and damage to the anchor never
//! blocks an unlock.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::store::{TestStore, options, passphrase};
use crate::session::{AnchorStatus, Session, StoreError};
use inmost_storage::Storage;

/// From a slot of the anchor to the next.
const STRIDE: usize = 128;
/// The pair of slots that a store without a rotation uses.
const PAIR: usize = 2 * STRIDE;

/// A store after each of some commits, all in one session.
fn history() -> Vec<TestStore> {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let commit = |number: u8| {
        session.files().write("/memories/a", &number.to_string()).unwrap();
        store.duplicate()
    };
    (1..=6).map(commit).collect()
}

/// A store, and its state two commits earlier.
fn two_states() -> [TestStore; 2] {
    let mut history = history();
    let now = history.pop().unwrap();
    let before = history.swap_remove(history.len() - 2);
    [before, now]
}

fn anchor(store: &TestStore) -> Vec<u8> {
    store.memory.read_anchor().unwrap().unwrap()
}

fn slots(store: &TestStore) -> [Vec<u8>; 2] {
    let bytes = anchor(store);
    [bytes[..STRIDE].to_vec(), bytes[STRIDE..PAIR].to_vec()]
}

/// Replaces the slots of a store.
fn put(store: &TestStore, slots: &[Vec<u8>; 2]) {
    let rest = anchor(store)[PAIR..].to_vec();
    store.memory.write_anchor(&[slots.concat(), rest].concat()).unwrap();
}

fn accept(store: &TestStore) -> Session {
    let mut vault = options().open_storage(Arc::new(store.memory.clone())).unwrap();
    vault.unlock_accepting_rollback(&passphrase()).unwrap()
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

    let session = accept(&before);
    assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "4");
    let status = session.status().unwrap();
    assert!(status.commit > commits[1], "above all that was seen");
    assert_eq!(status.anchor, AnchorStatus::Known);
    drop(session);
    drop(check_opens(&before, AnchorStatus::Known, "accepted once"));
    // Neither history is accepted as the continuation of the other.
    put(&now, &slots(&before));
    assert!(matches!(now.unlock().err(), Some(StoreError::RolledBack { .. })));
}

#[test]
fn another_root_of_the_same_commit_is_a_rollback() {
    let [before, now] = two_states();
    before.memory.write_anchor(b"").unwrap();
    let session = check_opens(&before, AnchorStatus::Unknown, "no anchor");
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
    drop(check_opens(&now, AnchorStatus::Known, "behind"));
    assert_ne!(slots(&now), slots(&before), "brought up to date");
    drop(check_opens(&now, AnchorStatus::Known, "up to date"));
}

/// An unlock that changes nothing must not cost a write and a sync.
#[test]
fn an_anchor_that_is_up_to_date_is_not_written() {
    let [_, now] = two_states();
    let before = anchor(&now);
    drop(check_opens(&now, AnchorStatus::Known, "up to date"));
    assert_eq!(anchor(&now), before);
    put(&now, &[vec![0; STRIDE], slots(&now)[1].clone()]);
    drop(check_opens(&now, AnchorStatus::Unknown, "written once"));
    let before = anchor(&now);
    drop(check_opens(&now, AnchorStatus::Unknown, "and no more"));
    assert_eq!(anchor(&now), before);
}

/// Every slot and every way to lose it. The state stays until it is accepted, through commits and unlocks.
#[test]
fn a_damaged_slot_makes_freshness_unknown_until_it_is_accepted() {
    let [_, now] = two_states();
    let [_, foreign] = two_states();
    let good = slots(&now);
    for slot in [0, 1] {
        let mut cases: Vec<Vec<u8>> = vec![
            vec![0; STRIDE],
            vec![0xff; STRIDE],
            good[1 - slot].clone(),
            slots(&foreign)[slot].clone(),
        ];
        // In the nonce, in each field, in the tag.
        for at in [0, 23, 24, 25, 26, 27, 32, 40, 48, 56, 64, 90, 104, 119] {
            let mut flipped = good[slot].clone();
            flipped[at] ^= 1;
            cases.push(flipped);
        }
        for (number, case) in cases.into_iter().enumerate() {
            let context = format!("case {number} of slot {slot}");
            let store = now.duplicate();
            let mut bad = good.clone();
            bad[slot] = case;
            put(&store, &bad);
            for commits in [0, 1, 2, 3] {
                let session = check_opens(&store, AnchorStatus::Unknown, &context);
                for _ in 0..commits {
                    session.files().write("/memories/a", &context).unwrap();
                }
                assert_eq!(session.status().unwrap().anchor, AnchorStatus::Unknown, "{context}");
            }
            let commit = store.root().commit;
            let session = accept(&store);
            assert_eq!(session.status().unwrap().anchor, AnchorStatus::Known, "{context}");
            assert_eq!(session.status().unwrap().commit, commit, "nothing was rolled back");
            drop(session);
            let session = check_opens(&store, AnchorStatus::Known, &context);
            session.files().write("/memories/a", "goes on").unwrap();
            drop(session);
            drop(check_opens(&store, AnchorStatus::Known, &context));
        }
    }
    let store = now.duplicate();
    put(&store, &[good[1].clone(), good[0].clone()]);
    drop(check_opens(&store, AnchorStatus::Unknown, "slots that changed places"));
}

#[test]
fn an_anchor_of_another_length_is_read_as_far_as_it_goes() {
    let [_, now] = two_states();
    let good = anchor(&now);
    for (length, expected) in
        [(0, AnchorStatus::Unknown), (200, AnchorStatus::Unknown), (PAIR, AnchorStatus::Known)]
    {
        let store = now.duplicate();
        store.memory.write_anchor(&good[..length]).unwrap();
        drop(check_opens(&store, expected, &format!("{length} bytes")));
        assert_eq!(anchor(&store).len(), if length == PAIR { length } else { good.len() });
    }
}

/// Each slot as it is, blank, doubled or from any older copy; the records as they are or without the last commit.
#[test]
fn no_slots_make_an_older_store_known_but_those_of_a_whole_older_copy() {
    let history = history();
    let [older @ .., now] = history.as_slice() else { unreachable!() };
    let cut = older.last().unwrap();
    let blank = vec![0; STRIDE];
    let contents: BTreeSet<Vec<u8>> =
        history.iter().flat_map(slots).chain([blank.clone()]).collect();
    // Sequences 1 to 7 and the blank slot.
    assert_eq!(contents.len(), 8);
    let (mut known, mut unknown, mut refused) = (0, 0, 0);
    for (even, odd) in contents.iter().flat_map(|even| contents.iter().map(move |odd| (even, odd)))
    {
        let put_in = [even.clone(), odd.clone()];
        let was_so = |copies: &[TestStore]| copies.iter().any(|copy| slots(copy) == put_in);
        for records in [now, cut] {
            let store = records.duplicate();
            put(&store, &put_in);
            match store.unlock() {
                Err(StoreError::RolledBack { .. }) => refused += 1,
                Err(error) => panic!("{error}"),
                Ok(session) => match session.status().unwrap().anchor {
                    AnchorStatus::Unknown => unknown += 1,
                    AnchorStatus::Known => {
                        // Slots and records are as they were at one time, or the slots are from before that.
                        assert!(was_so(if std::ptr::eq(records, now) { &history } else { older }));
                        known += 1;
                    }
                    status => panic!("{status:?}"),
                },
            }
        }
    }
    // Of six copies, the last is newer than the records without the last commit. Whatever has its newest slot is refused
    // with those.
    assert_eq!((known, unknown, refused), (6 + 5, 2 * 64 - 6 - 5 - 8, 8));
}

#[test]
fn nothing_in_the_anchor_can_be_read_without_the_key() {
    let history = history();
    let root = history.last().unwrap().root();
    let value = history.last().unwrap().values()
        [&history.last().unwrap().address(inmost_format::record::RecordId::ROOT)]
        .clone();
    let bytes = anchor(history.last().unwrap());
    let is_in = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(!is_in(&root.commit.to_le_bytes()) && !is_in(&1_u64.to_le_bytes()));
    assert!(!is_in(&value[1..25]) && !is_in(&value[value.len() - 16..]));
    assert!(!is_in(&[0; 8]), "slots without a mark are noise");
    // Each write changes one slot as a whole, so two copies do not show a counter.
    for pair in history.windows(2) {
        let [before, after] = [anchor(&pair[0]), anchor(&pair[1])];
        let equal = before.iter().zip(&after).filter(|(one, other)| one == other).count();
        assert!((512 - 120..512 - 100).contains(&equal), "{equal}");
    }
}
