//! A record opens only as itself.

use super::*;
use crate::crypto::keys::DataKey;
use crate::limits::RECORD_CLASSES;
use crate::record::node::Text;
use crate::record::tree::Leaf;
use crate::record::{Kind, ObjectId};
use crate::secret::SecretBytes;

const STORE: StoreId = StoreId([5; 16]);

fn keys(byte: u8, store: StoreId, generation: u64) -> RecordKeys {
    let key = DataKey::new(SecretBytes::init_with(|bytes| bytes.fill(byte)));
    RecordKeys::derive(&key, &store, generation)
}

fn sealer() -> Sealer {
    Sealer::new(keys(1, STORE, 1), STORE, 1)
}

fn chunk(index: u64) -> RecordId {
    RecordId { kind: Kind::Chunk, object: ObjectId([7; 16]), index }
}

fn node(text: &str) -> Node {
    Text::new(text).into_node()
}

fn flaw(result: Result<Node, RecordError>) -> Flaw {
    match result.err() {
        Some(RecordError::Damaged { kind: Kind::Chunk, flaw }) => flaw,
        other => panic!("{other:?}"),
    }
}

fn text(node: Node) -> String {
    Text::of_node(node).unwrap().as_str().to_owned()
}

#[test]
fn a_sealed_record_opens_to_its_content() {
    let sealer = sealer();
    for (bytes, class) in [(0, 256), (228, 256), (229, 512), (900, 1_024), (4_066, 4_096)] {
        let body = "x".repeat(bytes);
        let record = sealer.seal(chunk(3), &node(&body)).unwrap();
        assert_eq!(record.value.len(), class + RECORD_FRAME);
        assert_eq!(record.address, sealer.address(chunk(3)));
        assert_eq!(tag_of(&record.value), Some(record.tag));
        assert_eq!(text(sealer.open(chunk(3), &record.value, &record.tag).unwrap()), body);
    }
}

#[test]
fn a_body_that_fits_no_class_is_not_sealed() {
    let record = sealer().seal(chunk(3), &node(&"x".repeat(4_067)));
    assert!(matches!(record.err(), Some(RecordError::TooLarge)));
}

#[test]
fn a_record_at_the_address_of_another_does_not_authenticate() {
    let sealer = sealer();
    let [one, other] = [3, 4].map(|index| sealer.seal(chunk(index), &node("text")).unwrap());
    let moved = sealer.open(chunk(4), &one.value, &one.tag);
    assert_eq!(flaw(moved), Flaw::NotAuthentic);
    let swapped = sealer.open(chunk(4), &one.value, &other.tag);
    assert_eq!(flaw(swapped), Flaw::NotAuthentic);
}

#[test]
fn another_state_of_a_record_is_stale() {
    let sealer = sealer();
    let [old, new] = ["old", "new"].map(|text| sealer.seal(chunk(3), &node(text)).unwrap());
    assert_eq!(flaw(sealer.open(chunk(3), &old.value, &new.tag)), Flaw::Stale);
    assert_eq!(flaw(sealer.open(chunk(3), &new.value, &old.tag)), Flaw::Stale);
    let same = sealer.seal(chunk(3), &node("new")).unwrap();
    assert_eq!(flaw(sealer.open(chunk(3), &same.value, &new.tag)), Flaw::Stale);
}

#[test]
fn a_record_of_another_store_generation_or_key_does_not_authenticate() {
    let record = sealer().seal(chunk(3), &node("text")).unwrap();
    let other_store = StoreId([6; 16]);
    for other in [
        Sealer::new(keys(1, other_store, 1), other_store, 1),
        Sealer::new(keys(1, STORE, 2), STORE, 2),
        Sealer::new(keys(2, STORE, 1), STORE, 1),
        // The keys are the same: the associated data alone must make the difference.
        Sealer::new(keys(1, STORE, 1), other_store, 1),
        Sealer::new(keys(1, STORE, 1), STORE, 2),
    ] {
        let opened = other.open(chunk(3), &record.value, &record.tag);
        assert_eq!(flaw(opened), Flaw::NotAuthentic);
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused() {
    let sealer = sealer();
    let record = sealer.seal(chunk(3), &node("text")).unwrap();
    for at in 0..record.value.len() {
        let mut value = record.value.clone();
        value[at] ^= 1 << (at % 8);
        let expected = if at == 0 { Flaw::Frame } else { Flaw::NotAuthentic };
        assert_eq!(flaw(sealer.open(chunk(3), &value, &record.tag)), expected, "byte {at}");
    }
    for length in 0..record.value.len() {
        let cut = &record.value[..length];
        assert_eq!(flaw(sealer.open(chunk(3), cut, &record.tag)), Flaw::Frame, "{length} bytes");
    }
    for class in RECORD_CLASSES.into_iter().skip(1) {
        let mut longer = record.value.clone();
        longer.resize(class + RECORD_FRAME, 0);
        assert_eq!(flaw(sealer.open(chunk(3), &longer, &record.tag)), Flaw::NotAuthentic);
    }
}

/// Seals any plaintext at any address, as only a holder of the keys could.
fn forge(sealer: &Sealer, address: &Address, plaintext: &[u8]) -> (Vec<u8>, Tag) {
    let mut text = plaintext.to_vec();
    let (nonce, tag) =
        sealer.keys.aead().seal(&sealer.associated_data(address), &mut text).unwrap();
    ([&[VERSION], nonce.0.as_slice(), &text, &tag.0].concat(), Tag(tag.0))
}

fn plaintext(kind: u8, index: u64, length: u16, body: &[u8]) -> Vec<u8> {
    let parts: [&[u8]; 5] = [&[kind], &[7; 16], &index.to_le_bytes(), &length.to_le_bytes(), body];
    let mut plaintext = parts.concat();
    plaintext.resize(256, 0);
    plaintext
}

#[test]
fn an_authentic_record_that_names_another_is_malformed() {
    let sealer = sealer();
    let address = sealer.address(chunk(3));
    for (what, bytes) in [
        ("index", plaintext(7, 4, 2, b"\x01x")),
        ("kind", plaintext(5, 3, 2, b"\x01x")),
        ("unknown kind", plaintext(8, 3, 2, b"\x01x")),
        ("no kind", plaintext(0, 3, 2, b"\x01x")),
        ("body beyond the record", plaintext(7, 3, 230, b"\x01x")),
        ("body that ends early", plaintext(7, 3, 2, b"\x02xx")),
        ("body with trailing bytes", plaintext(7, 3, 3, b"\x01xx")),
        ("body that is not text", plaintext(7, 3, 2, b"\x01\xff")),
        ("no body", plaintext(7, 3, 0, b"")),
    ] {
        let (value, tag) = forge(&sealer, &address, &bytes);
        assert_eq!(flaw(sealer.open(chunk(3), &value, &tag)), Flaw::Malformed, "{what}");
    }
    let (value, tag) = forge(&sealer, &address, &plaintext(7, 3, 2, b"\x01x"));
    assert_eq!(text(sealer.open(chunk(3), &value, &tag).unwrap()), "x");
}

#[test]
fn a_record_found_without_its_id_names_it() {
    let sealer = sealer();
    let record = sealer.seal(chunk(3), &node("text")).unwrap();
    let (id, body) = sealer.open_any(&record.address, &record.value).unwrap();
    assert_eq!(id, chunk(3));
    assert_eq!(body.as_slice(), b"\x04text");
}

#[test]
fn two_seals_of_one_record_share_no_nonce() {
    let [one, other] = [0; 2].map(|_| sealer().seal(chunk(3), &node("text")).unwrap().value);
    assert_ne!(one[1..25], other[1..25]);
    assert_ne!(one[25..], other[25..]);
}

#[test]
fn a_body_takes_the_smallest_class_that_holds_it() {
    assert_eq!(class_of(0), Some(256));
    assert_eq!(class_of(229), Some(256));
    assert_eq!(class_of(230), Some(512));
    assert_eq!(class_of(BODY_BYTES), Some(4_096));
    assert_eq!(class_of(BODY_BYTES + 1), None);
}

#[test]
fn only_five_lengths_exist() {
    let lengths: Vec<usize> = (0..10_000).filter(|length| is_value_len(*length)).collect();
    assert_eq!(lengths, [297, 553, 1_065, 2_089, 4_137]);
}
