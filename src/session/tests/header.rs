//! Tests of a header that an attacker with access to the medium has changed.

use std::sync::Arc;

use super::store::{TestStore, options, passphrase};
use crate::session::{AnchorStatus, Session, StoreError};
use inmost_engines::memory::MemoryStorage;
use inmost_format::crypto::passphrase::Passphrase;
use inmost_format::header::HEADER_BYTES;
use inmost_format::header::fixtures::with_checksum;
use inmost_storage::{EngineKind, HeaderCopy, Storage};

const COPIES: [HeaderCopy; 2] = [HeaderCopy::A, HeaderCopy::B];

/// A field, one of its bytes and the bits to flip, with the error of an unlock when both copies are changed in that way
/// and their checksums are correct.
const FIELDS: [(&str, usize, u8, &str); 30] = [
    ("magic", 0, 1, "HeaderDamaged"),
    ("version", 8, 2, "UnknownFormat { version: 3, flags: 0 }"),
    ("engine", 10, 1, "EngineNotBuilt"),
    ("zero", 11, 1, "HeaderDamaged"),
    ("flags", 13, 1, "UnknownFormat { version: 1, flags: 256 }"),
    ("store id", 16, 1, "WrongPassphrase"),
    ("revision", 32, 2, "Tampered { what: \"the header\", how: \"does not authenticate\" }"),
    ("revision", 39, 0x80, "Tampered { what: \"the header\", how: \"does not authenticate\" }"),
    ("generation", 40, 1, "Tampered { what: \"the header\", how: \"does not authenticate\" }"),
    ("data key nonce", 48, 1, "Tampered { what: \"the header\", how: \"does not authenticate\" }"),
    ("data key", 80, 1, "Tampered { what: \"the header\", how: \"does not authenticate\" }"),
    ("data key tag", 119, 1, "Tampered { what: \"the header\", how: \"does not authenticate\" }"),
    ("zero", 120, 1, "HeaderDamaged"),
    ("kind", 128, 1, "HeaderDamaged"),
    ("kind", 128, 2, "HeaderDamaged"),
    ("zero in the slot", 129, 1, "HeaderDamaged"),
    ("memory", 132, 1, "WrongPassphrase"),
    ("memory", 135, 0x80, "KdfOutOfBounds"),
    ("passes", 136, 1, "KdfOutOfBounds"),
    ("lanes", 140, 1, "KdfOutOfBounds"),
    ("salt", 144, 1, "WrongPassphrase"),
    ("commitment", 160, 1, "WrongPassphrase"),
    ("master key", 220, 1, "Tampered { what: \"a keyslot\", how: \"does not authenticate\" }"),
    ("label", 300, 1, "Tampered { what: \"the header\", how: \"does not authenticate\" }"),
    ("zero in the slot", 376, 1, "HeaderDamaged"),
    ("a free slot", 500, 1, "Tampered { what: \"the header\", how: \"does not authenticate\" }"),
    ("before", 2_176, 1, "Tampered { what: \"the header\", how: \"does not authenticate\" }"),
    ("before", 2_191, 1, "Tampered { what: \"the header\", how: \"does not authenticate\" }"),
    ("zero", 2_192, 1, "HeaderDamaged"),
    ("mac", 4_032, 1, "Tampered { what: \"the header\", how: \"does not authenticate\" }"),
];

fn filled() -> TestStore {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session.files().write("/memories/a", "text").unwrap();
    drop(session);
    store
}

/// Unlocks the store and finds the content that [`filled`] wrote.
fn check_opens(store: &TestStore, context: &str) {
    let session = store.unlock().unwrap_or_else(|error| panic!("{error}: {context}"));
    assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "text", "{context}");
    session.files().write("/memories/b", "more").unwrap();
    drop(session);
    assert_eq!(store.header(HeaderCopy::A), store.header(HeaderCopy::B), "{context}");
}

fn accept(store: &TestStore) -> Result<Session, StoreError> {
    let mut vault = options().open_storage(Arc::new(store.memory.clone())).unwrap();
    vault.unlock_accepting_rollback(&passphrase())
}

fn refusal(store: &TestStore) -> String {
    format!("{:?}", store.unlock().map(drop).err())
}

fn put(store: &TestStore, bytes: [&[u8; HEADER_BYTES]; 2]) {
    for (copy, bytes) in COPIES.into_iter().zip(bytes) {
        store.memory.tamper_header(copy, Some(bytes));
    }
}

#[test]
fn a_field_flipped_in_one_copy_is_made_good_from_the_other() {
    let store = filled();
    for (name, at, bits, _) in FIELDS.into_iter().chain([("checksum", 4_095, 1, "")]) {
        for copy in COPIES {
            for fits in [false, true] {
                let store = store.duplicate();
                let mut bytes = store.header(copy);
                bytes[at] ^= bits;
                let bytes = if fits { with_checksum(bytes) } else { bytes };
                store.memory.tamper_header(copy, Some(&bytes));
                check_opens(&store, &format!("{name} of {copy:?}, {fits}"));
            }
        }
    }
}

#[test]
fn a_field_flipped_in_both_copies_is_refused_with_one_exact_error() {
    let store = filled();
    for (name, at, bits, expected) in FIELDS {
        let mut bytes = store.header(HeaderCopy::A);
        bytes[at] ^= bits;
        let store = store.duplicate();
        put(&store, [&bytes; 2]);
        let first_seen = if name == "version" { expected } else { "HeaderDamaged" };
        assert_eq!(refusal(&store), format!("Some({first_seen})"), "{name} at {at}");
        let bytes = with_checksum(bytes);
        put(&store, [&bytes; 2]);
        let found = refusal(&store);
        assert!(found.starts_with(&format!("Some({expected}")), "{name} at {at}: {found}");
    }
}

#[test]
fn a_copy_of_another_length_or_none_is_made_good_from_the_other() {
    let store = filled();
    let good = store.header(HeaderCopy::A);
    let long = [good.as_slice(), &[0]].concat();
    let huge = vec![0xff; 1 << 20];
    let cases: [Option<&[u8]>; 6] =
        [None, Some(&[]), Some(&good[..8]), Some(&good[..4_095]), Some(&long), Some(&huge)];
    for case in cases {
        for copy in COPIES {
            let store = store.duplicate();
            store.memory.tamper_header(copy, case);
            check_opens(&store, &format!("{:?} {copy:?}", case.map(<[u8]>::len)));
        }
        let store = store.duplicate();
        for copy in COPIES {
            store.memory.tamper_header(copy, case);
        }
        assert_eq!(refusal(&store), "Some(HeaderDamaged)");
        assert_eq!(store.memory.generations().unwrap(), [1], "no generation was created");
    }
}

#[test]
fn an_older_revision_in_one_copy_is_renewed_and_in_both_is_a_rollback() {
    let store = filled();
    let first = store.header(HeaderCopy::A);
    let session = store.unlock().unwrap();
    store.change_header(&session).unwrap();
    let second = store.header(HeaderCopy::A);
    store.change_header(&session).unwrap();
    let third = store.header(HeaderCopy::A);
    drop(session);
    for [a, b] in [[&first, &third], [&third, &first], [&second, &third], [&third, &second]] {
        let store = store.duplicate();
        put(&store, [a, b]);
        check_opens(&store, "one is older");
        assert_eq!(store.header(HeaderCopy::A), third);
    }
    for ([a, b], found) in [
        ([&first, &first], 1),
        ([&second, &second], 2),
        ([&first, &second], 2),
        ([&second, &first], 2),
    ] {
        let store = store.duplicate();
        put(&store, [a, b]);
        let expected = format!("Some(HeaderRolledBack {{ expected: 3, found: {found} }})");
        assert_eq!(refusal(&store), expected);
        let kept = [store.header(HeaderCopy::A), store.header(HeaderCopy::B)];
        assert_eq!(kept, [*a, *b], "nothing was repaired");
    }
}

#[test]
fn a_header_one_ahead_is_settled_and_two_ahead_can_be_accepted() {
    let store = filled();
    let first = store.header(HeaderCopy::A);
    let second = *store.next_header().bytes();
    for [a, b] in [[&second, &first], [&first, &second], [&second, &second]] {
        let store = store.duplicate();
        put(&store, [a, b]);
        check_opens(&store, "one ahead");
        assert_eq!(store.header(HeaderCopy::A), second);
        assert_eq!(store.root().header, store.keys().header().id(), "it was adopted");
        assert_eq!(store.root().header.revision, 2);
        put(&store, [&first; 2]);
        assert_eq!(refusal(&store), "Some(HeaderRolledBack { expected: 2, found: 1 })");
    }
    put(&store, [&second; 2]);
    let third = *store.next_header().bytes();
    for b in [&first, &second, &third] {
        let store = store.duplicate();
        put(&store, [&third, b]);
        assert_eq!(refusal(&store), "Some(RecordsBehindHeader { expected: 3, found: 1 })");
        assert_eq!(store.header(HeaderCopy::B), *b, "nothing was repaired");
        drop(accept(&store).unwrap());
        check_opens(&store, "accepted once");
        assert_eq!([store.header(HeaderCopy::A), store.header(HeaderCopy::B)], [third; 2]);
        assert_eq!(store.root().header, store.keys().header().id(), "it was adopted");
        put(&store, [&second; 2]);
        assert_eq!(refusal(&store), "Some(HeaderRolledBack { expected: 3, found: 2 })");
    }
}

/// The records lost their newest commits, two changes of the header among them.
#[test]
fn records_behind_their_header_are_accepted_on_purpose_and_an_older_header_never() {
    let store = filled();
    let session = store.unlock().unwrap();
    let (before, first) = (store.values(), store.header(HeaderCopy::A));
    let mut headers = vec![first];
    for _ in 0..3 {
        store.change_header(&session).unwrap();
        headers.push(store.header(HeaderCopy::A));
    }
    let commit = session.status().unwrap().commit;
    drop(session);
    store.tamper(|records| *records = before);

    // The anchor has seen the newest header. One that is older, but newer than the records, could hold a slot that was
    // removed since.
    let older = store.duplicate();
    put(&older, [&headers[2]; 2]);
    assert_eq!(refusal(&older), "Some(HeaderRolledBack { expected: 4, found: 3 })");
    let refused = accept(&older).err().unwrap();
    assert!(matches!(refused, StoreError::HeaderRolledBack { expected: 4, found: 3 }), "{refused}");

    assert_eq!(refusal(&store), "Some(RecordsBehindHeader { expected: 4, found: 1 })");
    let session = accept(&store).unwrap();
    let status = session.status().unwrap();
    assert!(status.commit > commit, "above all that was seen");
    assert_eq!(status.anchor, AnchorStatus::Known);
    drop(session);
    check_opens(&store, "accepted once");
    assert_eq!(store.root().header.revision, 4);
}

/// Two headers were made from the same one. Neither is the successor of the other, with any revision.
#[test]
fn a_header_of_another_history_is_not_accepted() {
    let store = filled();
    let other = store.duplicate();
    let session = other.unlock().unwrap();
    other.change_header(&session).unwrap();
    other.change_header(&session).unwrap();
    drop(session);
    let session = store.unlock().unwrap();
    store.change_header(&session).unwrap();
    drop(session);
    put(&store, [&other.header(HeaderCopy::A); 2]);
    let refused = accept(&store).err().unwrap();
    assert!(matches!(refused, StoreError::HeaderRolledBack { .. }), "{refused}");
}

#[test]
fn the_header_of_another_store_leads_nowhere() {
    let store = filled();
    let other = filled().header(HeaderCopy::A);
    let missing = "Some(Tampered { what: \"the root record\", how: \"is missing\" })";
    // It opens with the same passphrase. Of two copies of one revision the first is used. It repairs nothing, because
    // the records do not match it.
    let first = store.duplicate();
    first.memory.tamper_header(HeaderCopy::A, Some(&other));
    assert_eq!(refusal(&first), missing);
    assert_eq!(first.header(HeaderCopy::B), store.header(HeaderCopy::B));
    let second = store.duplicate();
    second.memory.tamper_header(HeaderCopy::B, Some(&other));
    check_opens(&second, "the second copy is that of another store");

    let same = store.duplicate();
    put(&same, [&other; 2]);
    assert_eq!(refusal(&same), missing);

    let memory = MemoryStorage::default();
    let passphrase = Passphrase::new("another one").unwrap();
    options().fill(&memory, EngineKind::Memory, &passphrase).unwrap();
    let other = TestStore { memory }.header(HeaderCopy::A);
    put(&same, [&other; 2]);
    assert_eq!(refusal(&same), "Some(WrongPassphrase)");
    put(&same, [&other, &store.header(HeaderCopy::B)]);
    check_opens(&same, "a copy of another passphrase");
}

#[test]
fn a_wrong_passphrase_changes_nothing() {
    let store = filled();
    let wrong = Passphrase::new("wrong").unwrap();
    let before = store.values();
    store.memory.tamper_header(HeaderCopy::B, None);
    let mut vault = options().open_storage(Arc::new(store.memory.clone())).unwrap();
    let refused: Result<Session, StoreError> = vault.unlock(&wrong);
    assert!(matches!(refused, Err(StoreError::WrongPassphrase)));
    assert!(store.values() == before);
    assert!(store.memory.read_header(HeaderCopy::B).unwrap().is_none());
    let mut vault = options().open_storage(Arc::new(store.memory.clone())).unwrap();
    vault.unlock(&passphrase()).unwrap();
}
