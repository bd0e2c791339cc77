//! Tests of the bytes of slots, entries and marks.

use super::*;
use crate::local::journal::in_memory::Known;

const ID: JournalId = JournalId([3; 16]);
const PLACE: Position = Position { epoch: 5, sequence: 77, bypassed: 2 };

fn changes() -> Layer {
    [
        (Address([1; 32]), Some(vec![9; 297])),
        (Address([2; 32]), None),
        (Address([3; 32]), Some(Vec::new())),
        (Address([4; 32]), Some(vec![8; RECORD_VALUE_BYTES])),
    ]
    .into()
}

fn entry() -> Vec<u8> {
    let mut bytes = vec![0xEE; 9];
    encode_entry(&mut bytes, &ID, &PLACE, Some(&Address([4; 32])), &changes());
    bytes
}

#[test]
fn an_entry_reads_back() {
    let bytes = entry();
    assert_eq!(bytes.len(), 2 * BLOCK);
    assert_eq!(bytes.len(), entry_bytes(&changes()));
    let header = decode_header(&bytes, &ID).unwrap();
    assert_eq!((header.epoch, header.sequence, header.bypassed), (5, 77, 2));
    assert_eq!(header.root, Some(Address([4; 32])));
    assert_eq!(header.padded(), bytes.len());
    assert_eq!(decode_changes(&header, &bytes), Some(changes()));
}

#[test]
fn every_changed_byte_of_an_entry_is_noticed() {
    let bytes = entry();
    let end = HEADER
        + changes()
            .values()
            .map(|value| CHANGE + value.as_ref().map_or(0, Vec::len))
            .sum::<usize>();
    for at in 0..end {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let read = decode_header(&damaged, &ID).and_then(|it| decode_changes(&it, &damaged));
        assert_eq!(read, None, "byte {at}");
    }
    for length in 0..end {
        let header = decode_header(&bytes[..length], &ID);
        assert!(header.and_then(|it| decode_changes(&it, &bytes[..length])).is_none());
    }
}

#[test]
fn an_entry_of_another_journal_is_none() {
    assert_eq!(decode_header(&entry(), &JournalId([4; 16])), None);
}

#[test]
fn a_slot_reads_back_and_every_changed_byte_is_noticed() {
    let frontier = Frontier { position: 0x0102_0304_0506, proof: [0xF0; 24] };
    let slot = Slot { id: ID, revision: 9, half_blocks: 64, stored: PLACE, frontier };
    let bytes = slot.encode(Place::Second, &Known);
    assert_eq!(bytes.len(), BLOCK);
    assert!(Slot::is_authentic(&bytes, Place::Second, &Known));
    assert!(!Slot::is_authentic(&bytes, Place::First, &Known));
    assert_eq!(Slot::decode(&bytes), Some(slot));
    for at in 0..BLOCK {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x80;
        assert_eq!(Slot::decode(&damaged), None, "byte {at}");
    }
    for half_blocks in [0, 3, 4_097, u32::MAX] {
        let slot = Slot { half_blocks, ..slot }.encode(Place::First, &Known);
        assert_eq!(Slot::decode(&slot), None);
    }
}

#[test]
fn a_mark_reads_back_for_its_journal_only() {
    let mark = encode_mark(&ID, &PLACE);
    assert_eq!(decode_mark(&mark, &ID), Some(PLACE));
    assert_eq!(decode_mark(&mark, &JournalId([4; 16])), None);
    assert_eq!(decode_mark(&mark[1..], &ID), None);
    assert_eq!(decode_mark(&[mark.as_slice(), &[0]].concat(), &ID), None);
}

#[test]
fn an_entry_that_no_commit_writes_is_none() {
    let read = |changes: &[(u8, Change)]| {
        // The layout's own writer sorts, so the addresses are changed behind it.
        let layer = (1..).zip(changes).map(|(at, it)| (Address([at; 32]), it.1.clone())).collect();
        let mut bytes = Vec::new();
        encode_entry(&mut bytes, &ID, &PLACE, None, &layer);
        let mut at = HEADER;
        for (address, value) in changes {
            bytes[at..at + 32].fill(*address);
            at += CHANGE + value.as_ref().map_or(0, Vec::len);
        }
        let checksum = crc32fast::hash(&bytes[HEADER..at]).to_le_bytes();
        bytes[52..56].copy_from_slice(&checksum);
        let checksum = crc32fast::hash(&bytes[..HEADER - CHECKSUM]).to_le_bytes();
        bytes[HEADER - CHECKSUM..HEADER].copy_from_slice(&checksum);
        decode_changes(&decode_header(&bytes, &ID).unwrap(), &bytes)
    };
    let value = || Some(vec![5; 3]);
    assert!(read(&[(4, value()), (5, None)]).is_some());
    assert_eq!(read(&[(0, value()), (5, None)]), None, "the mark");
    assert_eq!(read(&[(0, None)]), None, "the mark removed");
    assert_eq!(read(&[(5, value()), (5, None)]), None, "an address twice");
    assert_eq!(read(&[(5, value()), (4, None)]), None, "another order");
    assert_eq!(read(&[]), None, "no change");
}
