//! Forged headers and modified headers.

use std::sync::OnceLock;

use crate::input::Input;
use crate::store::COST;
use inmost_format::crypto::cost::KdfLimits;
use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::{Keyfile, RawKey, RecoveryKey};
use inmost_format::crypto::passphrase::Passphrase;
use inmost_format::crypto::prf;
use inmost_format::header::{
    Credential, Enrolment, HEADER_BYTES, Header, HeaderError, NewHeader, NewSlot, SlotLabel,
    Unlocked,
};
use inmost_format::secret::SecretBytes;
use inmost_storage::EngineKind;

pub(crate) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    if input.one_in(4) {
        let mut bytes = if input.one_in(2) { MAGIC.to_vec() } else { Vec::new() };
        bytes.extend_from_slice(input.rest());
        check(&bytes, false);
        return;
    }
    let base = base();
    let mut bytes = base.header().bytes().to_vec();
    for _ in 0..input.below(6) {
        let field = input.pick(&FIELDS);
        let at = if input.one_in(3) { input.below(HEADER_BYTES) } else { field };
        let slot = if field >= 128 { 256 * input.below(8) } else { 0 };
        let new = input.bytes(12);
        bytes.iter_mut().skip(at + slot).zip(new).for_each(|(to, from)| *to = *from);
    }
    let signed = input.one_in(2);
    if signed {
        sign(&mut bytes, base);
    }
    if signed || input.one_in(2) {
        let checksum = prf::checksum(&bytes[..HEADER_BYTES - 32]);
        bytes[HEADER_BYTES - 32..].copy_from_slice(&checksum);
    }
    if input.one_in(12) {
        bytes.resize(input.pick(&[0, 4, 8, 9, 10, 4_095, 4_097, 5_000]), 0);
    }
    check(&bytes, signed);
}

/// Writes the MAC into the bytes. Only a holder of the master key can make it.
fn sign(bytes: &mut [u8], base: &Unlocked) {
    let mut store = StoreId([0; 16]);
    store.0.copy_from_slice(&bytes[16..32]);
    let mac = base.master().header_mac_key(&store).mac(&store, bytes.first_chunk().unwrap());
    bytes[4_032..4_064].copy_from_slice(&mac);
}

fn check(bytes: &[u8], signed: bool) {
    let limits = KdfLimits::of_fuzzing();
    let parsed = Header::parse(bytes, &limits);
    let found = parsed.as_ref().map_or_else(name, |_| "header");
    assert_eq!(found, expected(bytes));
    let Ok(header) = parsed else { return };

    assert_eq!(header.bytes().as_slice(), bytes);
    assert!(
        header.encoded_fields()[..4_032] == bytes[..4_032],
        "the header does not encode to the same bytes"
    );
    let is_base = bytes == base().header().bytes();
    for credential in secrets().all() {
        match header.unlock(&credential) {
            Ok(keys) => {
                assert!(is_base || signed, "a modified header is accepted");
                use_keys(keys, &credential);
            }
            Err(error) => {
                assert!(!is_base, "{error}");
                let is_known = matches!(
                    error,
                    HeaderError::WrongCredential
                        | HeaderError::Tampered(_)
                        | HeaderError::KdfOutOfBounds(_)
                );
                assert!(is_known, "{error}");
            }
        }
    }
}

/// Changes an unlocked header. It must unlock again afterwards.
fn use_keys(mut keys: Unlocked, credential: &Credential<'_>) {
    let _ = keys.slots();
    let _ = keys.record_keys();
    let label = SlotLabel::parse("next").unwrap();
    let slot = NewSlot::new(*credential).kdf_cost(COST).label(label);
    let Ok((number, next)) = keys.add_slot(&slot, 2) else { return };
    assert!(Header::parse(next.bytes(), &KdfLimits::of_fuzzing()).is_ok());
    let (before, id) = (keys.header().id(), next.id());
    keys.adopt(next);
    assert_eq!(keys.header().id(), id);
    assert!(keys.header().follows(&before));
    assert!(keys.header().unlock(credential).is_ok());
    // The header with the last revision cannot be changed again.
    assert_eq!(keys.remove_slot(number).is_err(), keys.header().id().revision == u64::MAX);
}

/// Returns the expected result of the checks in docs/FORMAT.md, in their order.
fn expected(bytes: &[u8]) -> &'static str {
    let number = |at: usize| {
        let mut field = [0; 4];
        field.copy_from_slice(&bytes[at..at + 4]);
        u32::from_le_bytes(field)
    };
    let is_zero = |range: std::ops::Range<usize>| bytes[range].iter().all(|byte| *byte == 0);
    if bytes.iter().zip(MAGIC).any(|(byte, magic)| byte != magic) {
        return "not a store";
    }
    if bytes.len() < 10 {
        return "damaged";
    }
    if bytes[8..10] != [1, 0] {
        return "unknown format";
    }
    if bytes.len() != HEADER_BYTES || prf::checksum(&bytes[..4_064]).as_slice() != &bytes[4_064..] {
        return "damaged";
    }
    if number(12) != 0 {
        return "unknown flags";
    }
    if bytes[10] != 1 && bytes[10] != 255 {
        return "no such engine";
    }
    if !is_zero(11..12) || !is_zero(120..128) || !is_zero(2_192..4_032) {
        return "damaged";
    }
    let mut used = false;
    for slot in (128..2_176).step_by(256) {
        if bytes[slot] == 0 {
            continue;
        }
        used = true;
        if bytes[slot] > 4 || !is_zero(slot + 1..slot + 4) || !is_zero(slot + 248..slot + 256) {
            return "damaged";
        }
        let [memory, passes, lanes] = [4, 8, 12].map(|at| u64::from(number(slot + at)));
        let has_passphrase = bytes[slot] <= 2;
        let fits = (8..=64).contains(&memory)
            && (1..=3).contains(&passes)
            && (1..=4).contains(&lanes)
            && lanes <= memory / 8
            && memory * passes <= 128;
        if has_passphrase && !fits {
            return "cost out of bounds";
        }
        if !has_passphrase && (memory, passes, lanes) != (0, 0, 0) {
            return "damaged";
        }
    }
    if used { "header" } else { "damaged" }
}

fn name(error: &HeaderError) -> &'static str {
    match error {
        HeaderError::NotAStore => "not a store",
        HeaderError::UnknownFormat(_) => "unknown format",
        HeaderError::UnknownFlags(_) => "unknown flags",
        HeaderError::UnknownEngine(_) => "no such engine",
        HeaderError::Damaged(_) => "damaged",
        HeaderError::KdfOutOfBounds(_) => "cost out of bounds",
        other => panic!("unexpected parsing error: {other}"),
    }
}

/// Returns a header with one slot of each kind.
fn base() -> &'static Unlocked {
    static BASE: OnceLock<Unlocked> = OnceLock::new();
    BASE.get_or_init(|| {
        let label = SlotLabel::parse("laptop").unwrap();
        let [first, rest @ ..] = secrets().all();
        let enrolment = Enrolment { credential: first, cost: COST, label: &label, now_ms: 1 };
        let (store, engine) = (StoreId([5; 16]), EngineKind::Memory);
        let new = NewHeader { store, engine, generation: 1, enrolment };
        let mut keys = new.create(&KdfLimits::of_fuzzing()).unwrap();
        for credential in rest {
            let (_, next) = keys.add_slot(&NewSlot::new(credential).kdf_cost(COST), 1).unwrap();
            keys.adopt(next);
        }
        keys
    })
}

struct Secrets {
    passphrase: Passphrase,
    keyfile: Keyfile,
    recovery: RecoveryKey,
    raw: RawKey,
}

impl Secrets {
    fn all(&self) -> [Credential<'_>; 4] {
        [
            Credential::Passphrase(&self.passphrase),
            Credential::PassphraseAndKeyfile(&self.passphrase, &self.keyfile),
            Credential::RecoveryKey(&self.recovery),
            Credential::RawKey(&self.raw),
        ]
    }
}

fn secrets() -> &'static Secrets {
    static SECRETS: OnceLock<Secrets> = OnceLock::new();
    SECRETS.get_or_init(|| {
        let bytes = || SecretBytes::init_with(|bytes| bytes.fill(6));
        Secrets {
            passphrase: Passphrase::new("a passphrase").unwrap(),
            keyfile: Keyfile::new(bytes()),
            recovery: RecoveryKey::new(bytes()),
            raw: RawKey::new(bytes()),
        }
    })
}

const MAGIC: &[u8; 8] = b"\x89INMOST\n";
/// The offsets where a change matters most: fields of the header and of its first slot.
const FIELDS: [usize; 16] = [0, 8, 10, 11, 12, 16, 32, 40, 48, 128, 132, 136, 140, 144, 160, 4_032];
