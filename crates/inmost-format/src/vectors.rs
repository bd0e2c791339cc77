//! The test vectors of tests/vectors, which are computed from docs/FORMAT.md without this code, and Project Wycheproof's.

mod credentials;

use inmost_storage::EngineKind;
use serde::{Deserialize, Deserializer, de};

use crate::crypto::aead::{AeadKey, Nonce, Tag};
use crate::crypto::cost::{KdfCost, KdfLimits};
use crate::crypto::fixed_width::{Empty, FixedWidth};
use crate::crypto::ids::{Salt, StoreId};
use crate::crypto::keys::{CircleKey, Keyfile, RawKey, RecoveryKey};
use crate::crypto::passphrase::Passphrase;
use crate::crypto::prf::{self, PrfKey};
use crate::crypto::registry::{
    Aad, AddressMessage, AnchorAad, CircleNonceMessage, CircleObjectAad, CircleObjectMessage,
    DataKeyAad, GenerationMessage, JournalSlotMessage, LabelAad, MasterKeyAad, RecordAad, Role,
    SlotMessage, SyncStateAad, role,
};
use crate::crypto::{kdf, unhex};
use crate::header::{Credential, Header, HeaderError, Unlocked};
use crate::record::{self, Flaw, Kind, ObjectId, RecordError, RecordId, Sealer};
use crate::secret::SecretBytes;

macro_rules! vectors {
    ($name:literal) => {
        serde_json::from_str(include_str!(concat!("../../../tests/vectors/", $name, ".json")))
            .unwrap()
    };
}

/// Bytes in hexadecimal digits.
#[derive(Clone)]
struct Hex(Vec<u8>);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(unhex(&text)))
    }
}

impl Hex {
    fn array<const N: usize>(&self) -> [u8; N] {
        self.0.as_slice().try_into().unwrap()
    }
}

fn secret(bytes: &Hex) -> SecretBytes<32> {
    SecretBytes::init_with(|secret| *secret = bytes.array())
}

#[derive(Deserialize)]
struct Keys {
    argon2id: Vec<Derivation>,
    prf: Vec<OfRole>,
    checksum: Vec<Checksum>,
    sealed: Vec<Sealed>,
}

#[derive(Deserialize)]
struct Derivation {
    passphrase: Hex,
    salt: Hex,
    store: Hex,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    key: Hex,
}

#[derive(Deserialize)]
struct OfRole {
    role: String,
    key: Hex,
    store: Hex,
    message: Hex,
    output: Hex,
}

#[derive(Deserialize)]
struct Checksum {
    message: Hex,
    output: Hex,
}

#[derive(Deserialize)]
struct Sealed {
    kind: String,
    fields: Hex,
    key: Hex,
    nonce: Hex,
    plaintext: Hex,
    ciphertext: Hex,
    tag: Hex,
}

/// Takes fields of fixed width from the front of bytes.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn next<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.0.split_first_chunk().unwrap();
        self.0 = rest;
        *first
    }

    fn byte(&mut self) -> u8 {
        u8::from_le_bytes(self.next())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.next())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.next())
    }

    fn store(&mut self) -> StoreId {
        StoreId(self.next())
    }

    fn salt(&mut self) -> Salt {
        Salt(self.next())
    }
}

#[test]
fn keys_are_derived_from_passphrases_as_in_the_vectors() {
    let keys: Keys = vectors!("keys");
    assert_eq!(keys.argon2id.len(), 3);
    for case in keys.argon2id {
        let cost = KdfCost::new(case.memory_kib, case.passes, case.lanes);
        let cost = KdfLimits::default().admit(cost).unwrap();
        let passphrase = Passphrase::from_bytes(case.passphrase.0).unwrap();
        let (salt, store) = (Salt(case.salt.array()), StoreId(case.store.array()));
        let key = kdf::derive(&passphrase, cost, &salt, &store).unwrap();
        assert_eq!(key.expose_for_tests(), case.key.0);
    }
}

struct Given<'a>(&'a [u8]);

impl<R: Role> PrfKey<R> for Given<'_> {
    fn expose_key(&self) -> &[u8] {
        self.0
    }
}

fn output<R: Role>(case: &OfRole, message: &R::Message) -> [u8; 32] {
    assert_eq!(R::PERSONAL[..9 + case.role.len()], *["inmost/1 ", &case.role].concat().as_bytes());
    assert_eq!(message.encode().as_ref(), case.message.0, "{}", case.role);
    prf::mac::<R>(&Given(&case.key.0), &StoreId(case.store.array()), message)
}

#[test]
fn every_role_has_the_outputs_of_the_vectors() {
    let keys: Keys = vectors!("keys");
    assert_eq!(keys.prf.len(), 20);
    for case in &keys.prf {
        let mut fields = Fields(&case.message.0);
        let slot = |fields: &mut Fields<'_>| SlotMessage {
            number: fields.byte(),
            kind: fields.byte(),
            salt: fields.salt(),
        };
        let object = |fields: &mut Fields<'_>| CircleObjectMessage {
            log: fields.next(),
            number: fields.u64(),
        };
        let generation = |fields: &mut Fields<'_>| GenerationMessage { generation: fields.u64() };
        let found = match case.role.as_str() {
            "kek" => output::<role::Kek>(case, &slot(&mut fields)),
            "commit" => output::<role::Commitment>(case, &slot(&mut fields)),
            "wrap" => output::<role::WrapKey>(case, &Empty),
            "hdr-key" => output::<role::HeaderMacKey>(case, &Empty),
            "label" => output::<role::LabelKey>(case, &Empty),
            "anc-key" => output::<role::AnchorKey>(case, &Empty),
            "syn-key" => output::<role::SyncStateKey>(case, &Empty),
            "record" => output::<role::RecordKey>(case, &generation(&mut fields)),
            "adr-key" => output::<role::AddressKey>(case, &generation(&mut fields)),
            "jnl-key" => output::<role::JournalKey>(case, &generation(&mut fields)),
            "address" => output::<role::Address>(
                case,
                &AddressMessage { kind: fields.byte(), object: fields.next(), index: fields.u64() },
            ),
            "hdr-mac" => output::<role::HeaderMac>(case, &fields.next()),
            "journal" => output::<role::JournalSlot>(
                case,
                &JournalSlotMessage { place: fields.byte(), fields: fields.next() },
            ),
            "chain" => output::<role::Chain>(case, &fields.next()),
            "cir-obj" => output::<role::CircleObject>(case, &object(&mut fields)),
            "cir-nky" => output::<role::CircleNonceKey>(case, &object(&mut fields)),
            "cir-non" => output::<role::CircleNonce>(
                case,
                &CircleNonceMessage { random: fields.next(), digest: fields.next() },
            ),
            "cir-fil" => output::<role::CircleFile>(case, &fields.next()),
            other => panic!("no role is called {other}"),
        };
        assert_eq!(found.as_slice(), case.output.0, "{}", case.role);
    }
    assert_eq!(keys.checksum.len(), 4);
    for case in keys.checksum {
        assert_eq!(prf::checksum(&case.message.0).as_slice(), case.output.0);
    }
}

fn sealed<A: Aad>(case: &Sealed, aad: &A) {
    let key = AeadKey::<A>::new(secret(&case.key));
    let nonce = Nonce(case.nonce.array());
    let mut buffer = case.plaintext.0.clone();
    let tag = key.dangerous_seal_with_nonce(&nonce, aad, &mut buffer);
    assert_eq!((&buffer, tag.0.as_slice()), (&case.ciphertext.0, &*case.tag.0), "{}", case.kind);
    key.open(&nonce, aad, &mut buffer, &tag).unwrap();
    assert_eq!(buffer, case.plaintext.0, "{}", case.kind);
    let mut forged = tag;
    forged.0[15] ^= 1;
    key.open(&nonce, aad, &mut case.ciphertext.0.clone(), &forged).unwrap_err();
}

#[test]
fn every_kind_of_message_is_sealed_as_in_the_vectors() {
    let keys: Keys = vectors!("keys");
    assert_eq!(keys.sealed.len(), 28);
    for case in &keys.sealed {
        let mut fields = Fields(&case.fields.0);
        match case.kind.as_str() {
            "datakey" => {
                let (store, generation, engine) = (fields.store(), fields.u64(), fields.byte());
                sealed(case, &DataKeyAad { store, generation, engine });
            }
            "slot" => {
                let (store, number, kind) = (fields.store(), fields.byte(), fields.byte());
                let (memory_kib, passes, lanes) = (fields.u32(), fields.u32(), fields.u32());
                let salt = fields.salt();
                sealed(
                    case,
                    &MasterKeyAad { store, number, kind, memory_kib, passes, lanes, salt },
                );
            }
            "label" => {
                let (store, number, kind) = (fields.store(), fields.byte(), fields.byte());
                sealed(case, &LabelAad { store, number, kind, salt: fields.salt() });
            }
            "anchor" => {
                sealed(case, &AnchorAad { store: fields.store(), index: fields.byte() });
            }
            "sync" => sealed(case, &SyncStateAad { store: fields.store() }),
            "object" => {
                let (circle, log, number) = (fields.store(), fields.next(), fields.u64());
                sealed(case, &CircleObjectAad { circle, log, number, previous: fields.next() });
            }
            "record" => {
                let (store, generation) = (fields.store(), fields.u64());
                let address = inmost_storage::Address(fields.next());
                sealed(case, &RecordAad { store, generation, address });
            }
            other => panic!("nothing sealed is called {other}"),
        }
        assert!(fields.0.is_empty(), "{}", case.kind);
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind")]
enum Secrets {
    #[serde(rename = "passphrase")]
    Passphrase { passphrase: Hex },
    #[serde(rename = "passphrase and keyfile")]
    PassphraseAndKeyfile { passphrase: Hex, keyfile: Hex },
    #[serde(rename = "recovery key")]
    RecoveryKey { key: Hex },
    #[serde(rename = "raw key")]
    RawKey { key: Hex },
}

impl Secrets {
    fn unlock(&self, header: &Header) -> Result<Unlocked, HeaderError> {
        let passphrase = |bytes: &Hex| Passphrase::from_bytes(bytes.0.clone()).unwrap();
        match self {
            Self::Passphrase { passphrase: text } => header.unlock(&(&passphrase(text)).into()),
            Self::PassphraseAndKeyfile { passphrase: text, keyfile } => {
                let keyfile = Keyfile::new(secret(keyfile));
                header.unlock(&Credential::PassphraseAndKeyfile(&passphrase(text), &keyfile))
            }
            Self::RecoveryKey { key } => header.unlock(&(&RecoveryKey::new(secret(key))).into()),
            Self::RawKey { key } => header.unlock(&(&RawKey::new(secret(key))).into()),
        }
    }
}

#[derive(Deserialize)]
struct Headers {
    store: Hex,
    generation: u64,
    revision: u64,
    root: Hex,
    header: Hex,
    opens: Vec<Opens>,
    engines: Vec<OfEngine>,
    refused: Vec<Refused>,
}

#[derive(Deserialize)]
struct OfEngine {
    engine: u8,
    length: usize,
    patches: Vec<(usize, Hex)>,
}

#[derive(Deserialize)]
struct Opens {
    name: String,
    credential: Secrets,
    slot: u8,
}

#[derive(Deserialize)]
struct Refused {
    name: String,
    length: usize,
    patches: Vec<(usize, Hex)>,
    credential: Secrets,
    error: String,
}

/// These bytes, cut or filled with zeros, and with others at some places.
fn patched(whole: &Hex, length: usize, patches: &[(usize, Hex)]) -> Vec<u8> {
    let mut bytes = whole.0.clone();
    bytes.resize(length, 0);
    for (at, patch) in patches {
        bytes[*at..at + patch.0.len()].copy_from_slice(&patch.0);
    }
    bytes
}

fn open(bytes: &[u8], credential: &Secrets) -> Result<Unlocked, HeaderError> {
    credential.unlock(&Header::parse(bytes, &KdfLimits::default())?)
}

#[test]
fn the_header_of_the_vectors_opens_and_its_changes_are_refused() {
    let headers: Headers = vectors!("headers");
    assert_eq!(headers.opens.len(), 4);
    for case in &headers.opens {
        let unlocked = open(&headers.header.0, &case.credential).unwrap();
        let header = unlocked.header();
        assert_eq!(header.store().0.as_slice(), headers.store.0, "{}", case.name);
        assert_eq!(header.generation(), headers.generation, "{}", case.name);
        assert_eq!(header.id().revision, headers.revision, "{}", case.name);
        let slots = unlocked.slots().unwrap();
        let numbers: Vec<u8> = slots.iter().map(crate::header::SlotInfo::number).collect();
        assert_eq!(numbers, [0, 2, 3, 6], "{}", case.name);
        let current: Vec<_> = slots.iter().filter(|slot| slot.is_current()).collect();
        assert_eq!(current.len(), 1);
        assert_eq!(
            (current[0].number(), current[0].label()),
            (case.slot, &*format!("slot {}", case.slot))
        );
        let root = unlocked.record_keys().address(1, &[0; 16], 0);
        assert_eq!(root.as_slice(), headers.root.0, "{}", case.name);
    }
    let engines = [(2, EngineKind::Redb), (3, EngineKind::Postgres), (255, EngineKind::Memory)];
    assert_eq!(headers.engines.len(), engines.len());
    for (case, expected) in headers.engines.iter().zip(engines) {
        let bytes = patched(&headers.header, case.length, &case.patches);
        let unlocked = open(&bytes, &headers.opens[3].credential).unwrap();
        assert_eq!((case.engine, unlocked.header().engine()), expected);
    }
    assert_eq!(headers.refused.len(), 53);
    for case in &headers.refused {
        let bytes = patched(&headers.header, case.length, &case.patches);
        let error = open(&bytes, &case.credential).err().expect(&case.name);
        let found = format!("{error:?}");
        let found = found.split(['(', ' ']).next().unwrap();
        assert_eq!(found, case.error, "{}", case.name);
    }
}

#[derive(Deserialize)]
struct Records {
    header: Hex,
    credential: Secrets,
    opens: Vec<Record>,
    refused: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    name: String,
    #[serde(deserialize_with = "kind")]
    kind: Kind,
    object: Hex,
    index: u64,
    address: Option<Hex>,
    value: Hex,
    tag: Hex,
    body: Option<Hex>,
    error: Option<String>,
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    Kind::from_code(u8::deserialize(deserializer)?).ok_or(de::Error::custom("no kind"))
}

#[test]
fn the_records_of_the_vectors_open_and_their_changes_are_refused() {
    let records: Records = vectors!("records");
    let unlocked = open(&records.header.0, &records.credential).unwrap();
    let header = unlocked.header();
    let sealer = Sealer::new(unlocked.record_keys(), header.store(), header.generation());
    assert_eq!((records.opens.len(), records.refused.len()), (27, 15));
    for case in records.opens.into_iter().chain(records.refused) {
        let object = ObjectId(case.object.array());
        let id = RecordId { kind: case.kind, object, index: case.index };
        if let Some(address) = case.address {
            assert_eq!(sealer.address(id).0.as_slice(), address.0);
        }
        let tag = record::Tag(case.tag.array());
        match (sealer.open(id, &case.value.0, &tag), case.body, case.error) {
            (Ok(node), Some(body), None) => {
                let mut buffer = vec![0; 8_192];
                let length = node.encode(&mut buffer).unwrap();
                assert_eq!(buffer[..length], body.0);
            }
            (Err(RecordError::Damaged { flaw, .. }), None, Some(error)) => {
                let flaw: Flaw = flaw;
                assert_eq!(format!("{flaw:?}"), error, "{}", case.name);
            }
            (found, ..) => panic!("{}: {:?}", case.name, found.err()),
        }
    }
}

#[derive(Deserialize)]
struct Objects {
    circle: Hex,
    key: Hex,
    opens: Vec<Opened>,
    refused: Vec<RefusedObject>,
    files: Vec<OfFile>,
}

#[derive(Deserialize)]
struct Opened {
    log: Hex,
    number: u64,
    previous: Hex,
    random: Hex,
    changes: Hex,
    class: usize,
    object: Hex,
}

#[derive(Deserialize)]
struct RefusedObject {
    name: String,
    of: usize,
    length: usize,
    patches: Vec<(usize, Hex)>,
    circle: Hex,
    key: Hex,
    log: Hex,
    number: u64,
    previous: Hex,
    tag: Hex,
}

#[derive(Deserialize)]
struct OfFile {
    path: Hex,
    text: Hex,
    id: Hex,
}

fn place_of(circle: &Hex, log: &Hex, number: u64, previous: &Hex) -> CircleObjectAad {
    let circle = StoreId(circle.array());
    CircleObjectAad { circle, log: log.array(), number, previous: previous.array() }
}

/// The nonce and the body of an object: version, nonce, sealed body, tag.
fn open_object(key: &Hex, aad: &CircleObjectAad, object: &[u8]) -> Option<(Nonce, Vec<u8>)> {
    let (version, rest) = object.split_first()?;
    let (nonce, rest) = rest.split_first_chunk::<24>()?;
    let (body, tag) = rest.split_last_chunk::<16>()?;
    let mut body = body.to_vec();
    CircleKey::new(secret(key)).open(aad, &Nonce(*nonce), &mut body, &Tag(*tag)).ok()?;
    (*version == 1).then_some((Nonce(*nonce), body))
}

#[test]
fn the_objects_of_the_vectors_open_and_their_changes_are_refused() {
    let objects: Objects = vectors!("objects");
    assert_eq!((objects.opens.len(), objects.refused.len()), (5, 19));
    for case in &objects.opens {
        let mut body = u32::try_from(case.changes.0.len()).unwrap().to_le_bytes().to_vec();
        body.extend(&case.changes.0);
        body.resize(case.class, 0);
        let aad = place_of(&objects.circle, &case.log, case.number, &case.previous);
        let (nonce, opened) = open_object(&objects.key, &aad, &case.object.0).unwrap();
        assert_eq!(opened, body);

        // Sealed with the random bytes of the vector.
        let (circle, given) = (aad.circle, Given(&objects.key.0));
        let message = CircleObjectMessage { log: aad.log, number: aad.number };
        let nonce_key = prf::mac::<role::CircleNonceKey>(&given, &circle, &message);
        let digest = prf::checksum(&body);
        let input = CircleNonceMessage { random: case.random.array(), digest };
        let output = prf::mac::<role::CircleNonce>(&Given(&nonce_key), &circle, &input);
        assert_eq!(nonce.0, output[..24]);
        let key = prf::mac::<role::CircleObject>(&given, &circle, &message);
        let key = AeadKey::<CircleObjectAad>::new(secret(&Hex(key.to_vec())));
        let tag = key.dangerous_seal_with_nonce(&nonce, &aad, &mut body);
        assert_eq!([&[1_u8][..], &nonce.0, body.as_slice(), &tag.0].concat(), case.object.0);
    }
    for case in &objects.refused {
        let bytes = patched(&objects.opens[case.of].object, case.length, &case.patches);
        let aad = place_of(&case.circle, &case.log, case.number, &case.previous);
        let opened = open_object(&case.key, &aad, &bytes);
        assert!(opened.is_none() || !bytes.ends_with(&case.tag.0), "{}", case.name);
    }
}

#[test]
fn files_of_a_circle_have_the_ids_of_the_vectors() {
    let objects: Objects = vectors!("objects");
    assert_eq!(objects.files.len(), 4);
    let key = CircleKey::new(secret(&objects.key));
    for case in &objects.files {
        let named = [case.path.0.as_slice(), b"\0", case.text.0.as_slice()].concat();
        let id = key.file_id(&StoreId(objects.circle.array()), &prf::checksum(&named));
        assert_eq!(id.as_slice(), case.id.0);
    }
}

/// Associated data of any content.
struct Any(Vec<u8>);

impl FixedWidth for Any {
    const WIDTHS: &'static [usize] = &[];
    type Bytes = Vec<u8>;

    fn encode(&self) -> Vec<u8> {
        self.0.clone()
    }
}

impl Aad for Any {
    const LABEL: &'static [u8; 16] = &[0; 16];
}

#[test]
fn the_cipher_passes_the_tests_of_wycheproof() {
    let set =
        wycheproof::aead::TestSet::load(wycheproof::aead::TestName::XChaCha20Poly1305).unwrap();
    let mut count = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            let (Ok(key), Ok(nonce), Ok(tag)) = (
                <[u8; 32]>::try_from(test.key.as_slice()),
                <[u8; 24]>::try_from(test.nonce.as_slice()),
                <[u8; 16]>::try_from(test.tag.as_slice()),
            ) else {
                // A nonce of another length is no value of our type.
                assert!(test.result.must_fail(), "{}", test.tc_id);
                continue;
            };
            let key = AeadKey::<Any>::new(secret(&Hex(key.to_vec())));
            let mut buffer = test.ct.to_vec();
            let opened = key.open(&Nonce(nonce), &Any(test.aad.to_vec()), &mut buffer, &Tag(tag));
            assert_eq!(opened.is_ok(), !test.result.must_fail(), "{}", test.tc_id);
            if opened.is_ok() {
                assert_eq!(buffer, test.pt.to_vec(), "{}", test.tc_id);
            }
            count += 1;
        }
    }
    assert_eq!(count, 306);
}
