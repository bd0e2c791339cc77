//! Tests of parsing: the order of checks, and changed, forged and costly headers.

use super::*;
use crate::crypto::cost::KdfCost;
use crate::header::credential::Credential;
use crate::header::credential::Enrolment;
use crate::header::fields::MAGIC;
use crate::header::fixtures::{Secrets, TINY, created_with, enrol, with_checksum};
use crate::header::label::SlotLabel;
use crate::header::slots::SLOT_BYTES;
use crate::header::unlocked::Unlocked;

const SLOT: usize = at::SLOTS;

fn parse(bytes: &[u8]) -> Result<Header, HeaderError> {
    Header::parse(bytes, &KdfLimits::of_tests())
}

/// The error of a header whose bytes at `at` are replaced, its checksum corrected.
fn error_with(at: usize, bytes: &[u8]) -> Option<HeaderError> {
    let mut header = *created_with(Secrets::new(1).raw()).header().bytes();
    header[at..at + bytes.len()].copy_from_slice(bytes);
    parse(&with_checksum(header)).err()
}

fn unlock_error(bytes: &[u8; HEADER_BYTES], credential: &Credential) -> Option<HeaderError> {
    parse(&with_checksum(*bytes)).unwrap().unlock(credential).err()
}

#[test]
fn every_kind_of_credential_unlocks_what_it_created() {
    for credential in Secrets::new(1).all() {
        let created = created_with(credential);
        let header = parse(created.header().bytes()).unwrap();
        assert_eq!(header.fields.encode()[..at::MAC], header.bytes()[..at::MAC]);
        assert_eq!((header.revision(), header.generation()), (1, 7));
        assert_eq!(header.engine(), EngineKind::Sled);
        let unlocked = header.unlock(&credential).unwrap();
        let address = |unlocked: &Unlocked| unlocked.record_keys().address(1, &[2; 16], 3);
        assert_eq!(address(&unlocked), address(&created));
        assert!(header.authenticate(created.master()).is_ok());
    }
}

#[test]
fn another_secret_or_another_kind_is_a_wrong_credential() {
    let (right, wrong) = (Secrets::new(1), Secrets::new(2));
    for (index, credential) in right.all().into_iter().enumerate() {
        let created = created_with(credential);
        for (other, same_secret) in right.all().into_iter().enumerate() {
            let expected = (other != index).then_some(HeaderError::WrongCredential);
            assert_eq!(created.header().unlock(&same_secret).err(), expected);
        }
        for wrong in wrong.all() {
            let refused = created.header().unlock(&wrong).err();
            assert_eq!(refused, Some(HeaderError::WrongCredential));
        }
    }
}

#[test]
fn a_wrong_keyfile_is_a_wrong_credential() {
    let secrets = Secrets::new(1);
    let created = created_with(secrets.keyfile());
    let Credential::Passphrase(passphrase) = secrets.passphrase() else { unreachable!() };
    let other = Secrets::new(2);
    let Credential::PassphraseAndKeyfile(_, keyfile) = other.keyfile() else { unreachable!() };
    let mixed = Credential::PassphraseAndKeyfile(passphrase, keyfile);
    assert_eq!(created.header().unlock(&mixed).err(), Some(HeaderError::WrongCredential));
}

#[test]
fn two_headers_of_one_secret_have_unrelated_bytes() {
    for credential in Secrets::new(1).all() {
        let [one, other] = [(); 2].map(|()| created_with(credential));
        let differing = |range: std::ops::Range<usize>| {
            let [one, other] = [&one, &other].map(|keys| &keys.header().bytes()[range.clone()]);
            one.iter().zip(other).filter(|(one, other)| one != other).count()
        };
        assert!(differing(at::DATA_KEY..at::ZERO_BEFORE_SLOTS) > 60);
        for field in [16..32, 32..64, 64..136, 136..248] {
            let least = field.len() * 4 / 5;
            assert!(differing(SLOT + field.start..SLOT + field.end) > least, "{field:?}");
        }
        assert!(differing(SLOT + 256..at::BEFORE) > 1_700, "free slots are noise");
    }
}

#[test]
fn bytes_that_are_not_a_header_are_not_a_store() {
    for bytes in [&b"SQLite format 3\0"[..], &[0; HEADER_BYTES], b"\x89INMOST\r\n", b"\x89INMOS?"] {
        assert_eq!(parse(bytes).err(), Some(HeaderError::NotAStore));
    }
}

#[test]
fn another_format_version_is_reported_before_anything_else() {
    let unknown = Some(HeaderError::UnknownFormat(0x0102));
    assert_eq!(parse(b"\x89INMOST\n\x02\x01").err(), unknown);
    assert_eq!(parse(b"\x89INMOST\n\x02\x01 and a longer header".as_slice()).err(), unknown);
    assert_eq!(error_with(at::VERSION, &[2, 1]), unknown);
    assert_eq!(error_with(at::VERSION, &[0, 0]), Some(HeaderError::UnknownFormat(0)));
}

#[test]
fn a_header_of_another_length_is_damaged() {
    let header = *created_with(Secrets::new(1).raw()).header().bytes();
    let longer = [header.as_slice(), &[0]].concat();
    for bytes in [&[], &header[..5], &header[..9], &header[..HEADER_BYTES - 1], &longer] {
        assert!(matches!(parse(bytes), Err(HeaderError::Damaged(_))));
    }
}

#[test]
fn any_flipped_bit_is_seen_without_a_key() {
    let header = *created_with(Secrets::new(1).raw()).header().bytes();
    for at in 0..HEADER_BYTES {
        let mut damaged = header;
        damaged[at] ^= 1 << (at % 8);
        let error = parse(&damaged).err().unwrap();
        match at {
            0..8 => assert_eq!(error, HeaderError::NotAStore),
            8..10 => assert!(matches!(error, HeaderError::UnknownFormat(_))),
            _ => assert_eq!(error, HeaderError::Damaged("its checksum does not match")),
        }
    }
}

/// Every byte is authenticated, also against an attacker who corrects the checksum.
#[test]
fn any_flipped_bit_is_refused_even_with_a_correct_checksum() {
    let secrets = Secrets::new(1);
    let header = *created_with(secrets.raw()).header().bytes();
    // The checksum itself is corrected back.
    for at in 0..at::CHECKSUM {
        let mut forged = header;
        forged[at] ^= 1 << (at % 8);
        let refused =
            parse(&with_checksum(forged)).and_then(|header| header.unlock(&secrets.raw()));
        assert!(refused.is_err(), "byte {at}");
    }
}

#[test]
fn unknown_flags_and_engines_are_refused() {
    assert_eq!(error_with(at::FLAGS, &[0, 0, 0, 0x80]), Some(HeaderError::UnknownFlags(1 << 31)));
    for code in [0, 4, 254] {
        assert_eq!(error_with(at::ENGINE, &[code]), Some(HeaderError::UnknownEngine(code)));
    }
}

#[test]
fn padding_must_be_zero() {
    let padding = Some(HeaderError::Damaged("its padding is not zero"));
    for at in [at::ZERO, at::ZERO_BEFORE_SLOTS, at::SLOTS - 1, at::ZERO_BEFORE_MAC, at::MAC - 1] {
        assert_eq!(error_with(at, &[1]), padding);
    }
    let padding = Some(HeaderError::Damaged("a keyslot's padding is not zero"));
    for at in [1, 3, 248, 255] {
        assert_eq!(error_with(SLOT + at, &[1]), padding);
    }
}

#[test]
fn a_keyslot_must_be_of_a_known_kind_and_one_must_be_in_use() {
    let unknown = Some(HeaderError::Damaged("a keyslot is of no known kind"));
    assert_eq!(error_with(SLOT, &[5]), unknown);
    assert_eq!(error_with(SLOT, &[0]), Some(HeaderError::Damaged("no keyslot is in use")));
    assert_eq!(
        error_with(SLOT + 12, &[1]),
        Some(HeaderError::Damaged("a keyslot without passphrase has a cost"))
    );
}

#[test]
fn a_cost_out_of_bounds_is_refused_before_derivation() {
    let mut header = *created_with(Secrets::new(1).passphrase()).header().bytes();
    for (at, value) in [(4, u32::MAX), (8, u32::MAX), (12, u32::MAX), (4, 0), (8, 0), (12, 0)] {
        let mut forged = header;
        forged[SLOT + at..SLOT + at + 4].copy_from_slice(&u32::to_le_bytes(value));
        let refused = parse(&with_checksum(forged)).err();
        assert!(matches!(refused, Some(HeaderError::KdfOutOfBounds(_))));
    }
    // The same in a slot that would not be tried.
    header.copy_within(SLOT..SLOT + 16, SLOT + 7 * SLOT_BYTES);
    header[SLOT + 7 * SLOT_BYTES + 7] = 0xff;
    header[SLOT + 7 * SLOT_BYTES + 248..at::BEFORE].fill(0);
    let refused = parse(&with_checksum(header)).err();
    assert!(matches!(refused, Some(HeaderError::KdfOutOfBounds(_))));
}

#[test]
fn a_store_of_unit_tests_is_too_cheap_for_a_real_one() {
    let header = created_with(Secrets::new(1).passphrase());
    let refused = Header::parse(header.header().bytes(), &KdfLimits::default()).err();
    assert!(matches!(refused, Some(HeaderError::KdfOutOfBounds(_))));
    assert!(KdfLimits::default().admit(TINY).is_err());
}

#[test]
fn slots_that_together_cost_too_much_are_refused_before_any_is_paid() {
    let secrets = Secrets::new(1);
    let mut header = *created_with(secrets.passphrase()).header().bytes();
    // 2 GiB-passes each, as much as a slot may cost; an unlock may cost twice that.
    let dear = [(1_u32 << 20).to_le_bytes(), 2_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    for slot in [1, 2, 5] {
        let start = SLOT + slot * SLOT_BYTES;
        header[start..start + 4].copy_from_slice(&[1, 0, 0, 0]);
        header[start + 4..start + 16].copy_from_slice(&dear);
        header[start + 248..start + 256].fill(0);
    }
    let refused = unlock_error(&header, &secrets.passphrase());
    assert!(matches!(refused, Some(HeaderError::KdfOutOfBounds(_))));
    // Slots of another kind are not tried, so their cost does not count.
    assert_eq!(unlock_error(&header, &secrets.raw()), Some(HeaderError::WrongCredential));
}

#[test]
fn a_store_that_could_not_be_unlocked_is_not_made() {
    let secrets = Secrets::new(1);
    let created = created_with(secrets.raw());
    let mut next = created;
    let dear = KdfCost::new(1 << 20, 4, 1);
    let label = SlotLabel::parse("").unwrap();
    let enrolment =
        Enrolment { credential: secrets.passphrase(), cost: dear, label: &label, now_ms: 0 };
    assert!(matches!(next.add_enrolment(&enrolment), Err(HeaderError::KdfOutOfBounds(_))));
    let (_, change) =
        enrol(secrets.passphrase(), |enrolment| next.add_enrolment(enrolment)).unwrap();
    next.adopt(change);
    assert!(parse(next.header().bytes()).unwrap().unlock(&secrets.passphrase()).is_ok());
}

/// The commitment decides whether a credential is the right one; the AEAD only confirms it.
#[test]
fn a_forged_commitment_looks_like_a_wrong_credential_and_a_forged_key_does_not() {
    let secrets = Secrets::new(1);
    let header = *created_with(secrets.raw()).header().bytes();
    for (at, expected) in [
        (SLOT + 32, HeaderError::WrongCredential),
        (SLOT + 63, HeaderError::WrongCredential),
        (SLOT + 16, HeaderError::WrongCredential),
        (SLOT + 64, HeaderError::Tampered("a keyslot")),
        (SLOT + 100, HeaderError::Tampered("a keyslot")),
        (SLOT + 135, HeaderError::Tampered("a keyslot")),
        (SLOT + 140, HeaderError::Tampered("the header")),
        (SLOT + 2 * SLOT_BYTES - 1, HeaderError::Tampered("the header")),
        (at::REVISION, HeaderError::Tampered("the header")),
        (at::DATA_KEY, HeaderError::Tampered("the header")),
        (at::MAC, HeaderError::Tampered("the header")),
    ] {
        let mut forged = header;
        forged[at] ^= 1;
        assert_eq!(unlock_error(&forged, &secrets.raw()), Some(expected), "byte {at}");
    }
}

#[test]
fn a_slot_opens_only_where_it_was_made() {
    let secrets = Secrets::new(1);
    let header = *created_with(secrets.raw()).header().bytes();
    let mut moved = header;
    moved.copy_within(SLOT..SLOT + SLOT_BYTES, SLOT + SLOT_BYTES);
    moved[SLOT] = 0;
    assert_eq!(unlock_error(&moved, &secrets.raw()), Some(HeaderError::WrongCredential));
    let mut other_store = header;
    other_store[at::STORE] ^= 1;
    assert_eq!(unlock_error(&other_store, &secrets.raw()), Some(HeaderError::WrongCredential));
}

#[test]
fn parts_of_an_older_header_do_not_fit_the_newer_one() {
    let (old, new) = (Secrets::new(1), Secrets::new(2));
    let mut store = created_with(old.raw());
    let before = *store.header().bytes();
    let change = enrol(new.raw(), |enrolment| store.replace_enrolment(0, enrolment)).unwrap();
    store.adopt(change);
    let mut revived = *store.header().bytes();
    revived[SLOT..SLOT + SLOT_BYTES].copy_from_slice(&before[SLOT..SLOT + SLOT_BYTES]);
    let refused = unlock_error(&revived, &old.raw());
    assert_eq!(refused, Some(HeaderError::Tampered("the header")));
}

/// A small generator: the values must only be arbitrary and repeatable, which needs no crate.
fn xorshift(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 33).unwrap()
}

#[test]
fn no_bytes_make_parsing_panic_and_no_mutation_unlocks() {
    let secrets = Secrets::new(1);
    let mut store = created_with(secrets.raw());
    for credential in [secrets.passphrase(), secrets.recovery(), secrets.keyfile()] {
        let (_, change) = enrol(credential, |enrolment| store.add_enrolment(enrolment)).unwrap();
        store.adopt(change);
    }
    let header = *store.header().bytes();
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let (mut parsed, mut unlocked) = (0, 0);
    for round in 0..20_000 {
        let mut mutated = header;
        for _ in 0..=xorshift(&mut state) % 6 {
            // Half of the changes are in the bytes with the most fields.
            let span = if xorshift(&mut state).is_multiple_of(2) { 700 } else { HEADER_BYTES };
            let at = xorshift(&mut state) % span;
            mutated[at] = xorshift(&mut state).to_le_bytes()[0];
        }
        let corrected = with_checksum(mutated);
        let end = if round % 8 == 0 { xorshift(&mut state) % HEADER_BYTES } else { HEADER_BYTES };
        let _ = parse(&mutated[..end]);
        let Ok(header_again) = parse(&corrected[..end]) else { continue };
        parsed += 1;
        let opened = header_again.unlock(&secrets.raw()).is_ok();
        assert!(!opened || corrected == header, "round {round}");
        unlocked += u32::from(opened);
    }
    assert!(parsed > 2_000, "mutations got past parsing: {parsed}");
    assert!(unlocked < 2_000, "{unlocked} were no mutation at all");
}

#[test]
fn arbitrary_bytes_are_refused() {
    let mut state = 42;
    for round in 0..2_000 {
        let mut bytes = vec![0; xorshift(&mut state) % 5_000];
        bytes.fill_with(|| xorshift(&mut state).to_le_bytes()[0]);
        if round % 2 == 0 {
            bytes.iter_mut().zip(MAGIC).for_each(|(to, from)| *to = from);
        }
        assert!(parse(&bytes).is_err());
    }
}
