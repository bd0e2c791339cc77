//! The examples of docs/FORMAT.md, computed and opened again from the numbers on that page.

use crate::crypto::cost::{KdfCost, KdfLimits};
use crate::crypto::fixed_width::Empty;
use crate::crypto::ids::Salt;
use crate::crypto::ids::StoreId;
use crate::crypto::kdf;
use crate::crypto::keys::{DataKey, Keyfile, MasterKey, PasswordKey, RecoveryKey};
use crate::crypto::passphrase::Passphrase;
use crate::crypto::prf::{self, PrfKey};
use crate::crypto::record_keys::RecordKeys;
use crate::crypto::registry::{GenerationMessage, Role, SlotMessage, role};
use crate::crypto::unhex;
use crate::header::Credential;
use crate::header::Header;
use crate::record::HeaderId;
use crate::record::format_page::Page;
use inmost_storage::EngineKind;

/// Typed with a combining diaeresis and accent, as some systems do.
fn passphrase() -> Passphrase {
    Passphrase::new("Zoe\u{308}\u{2019}s cafe\u{301}").unwrap()
}

fn password_key(page: &Page) -> PasswordKey {
    let cost = KdfLimits::default().admit(KdfCost::new(19_456, 2, 1)).unwrap();
    kdf::derive(&passphrase(), cost, &Salt(page.array("salt")), &page.store()).unwrap()
}

fn output<R: Role>(key: &impl PrfKey<R>, store: &StoreId, message: &R::Message) -> Vec<u8> {
    prf::derive::<R>(key, store, message).expose().to_vec()
}

#[test]
fn the_keys_are_those_of_the_page() {
    let page = Page::read();
    assert_eq!(passphrase().expose(), page.bytes("passphrase"));
    let expect =
        |name: &str, key: &dyn Fn() -> Vec<u8>| assert_eq!(key(), page.bytes(name), "{name}");
    let store = page.store();

    let pdk = password_key(&page);
    expect("pdk", &|| pdk.expose_for_tests());
    let slot = |number, kind| SlotMessage { number, kind, salt: Salt(page.array("salt")) };
    expect("kek", &|| output::<role::Kek>(&pdk, &store, &slot(0, 1)));
    expect("commitment", &|| output::<role::Commitment>(&pdk, &store, &slot(0, 1)));
    let both = pdk.with_keyfile(&Keyfile::new(page.secret("keyfile")));
    expect("kek 2", &|| output::<role::Kek>(&both, &store, &slot(1, 2)));
    expect("commitment 2", &|| output::<role::Commitment>(&both, &store, &slot(1, 2)));

    let master = MasterKey::new(page.secret("master key"));
    expect("wrap key", &|| output::<role::WrapKey>(&master, &store, &Empty));
    expect("header mac key", &|| master.header_mac_key(&store).expose_for_tests());
    expect("label key", &|| output::<role::LabelKey>(&master, &store, &Empty));
    expect("anchor key", &|| output::<role::AnchorKey>(&master, &store, &Empty));

    let data = DataKey::new(page.secret("data key"));
    let generation = GenerationMessage { generation: 1 };
    expect("record key", &|| output::<role::RecordKey>(&data, &store, &generation));
    expect("journal key", &|| output::<role::JournalKey>(&data, &store, &generation));
    expect("address key", &|| output::<role::AddressKey>(&data, &store, &generation));
    let records = RecordKeys::derive(&data, &store, 1);
    expect("address", &|| records.address(1, &page.array("object id"), 2).to_vec());
}

#[test]
fn keyfile_and_recovery_key_have_the_forms_of_the_page() {
    let page = Page::read();
    let keyfile = Keyfile::new(page.secret("keyfile"));
    assert_eq!(keyfile.to_bytes().expose(), page.bytes("keyfile file"));
    let read = Keyfile::parse(&page.bytes("keyfile file")).unwrap();
    assert_eq!(read.expose(), &page.array("keyfile"));
    let key = RecoveryKey::new(page.secret("recovery key"));
    let mut lines = include_str!("../../../../docs/FORMAT.md").lines();
    let text = lines.find_map(|line| line.strip_prefix("recovery key text    : ")).unwrap();
    assert_eq!(key.to_text().expose(), text);
    assert_eq!(RecoveryKey::parse(text).unwrap().expose(), key.expose());
}

/// The header of the page, put together by the offsets of the page.
fn header(page: &Page) -> Vec<u8> {
    let mut header = vec![0; 4_096];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &unhex("89494e4d4f53540a"));
    put(8, &[1, 0]);
    put(10, &[1]);
    put(16, &page.bytes("store id"));
    put(32, &[1]);
    put(40, &[1]);
    put(48, &page.bytes("data nonce"));
    put(72, &page.bytes("sealed data key"));
    put(128, &[1]);
    put(128 + 4, &19_456_u32.to_le_bytes());
    put(128 + 8, &[2]);
    put(128 + 12, &[1]);
    put(128 + 16, &page.bytes("salt"));
    put(128 + 32, &page.bytes("commitment"));
    put(128 + 64, &page.bytes("master nonce"));
    put(128 + 88, &page.bytes("sealed master key"));
    put(128 + 136, &page.bytes("label nonce"));
    put(128 + 160, &page.bytes("sealed label"));
    put(4_032, &page.bytes("header mac"));
    put(4_064, &page.bytes("checksum"));
    header
}

#[test]
fn the_header_of_the_page_unlocks() {
    let page = Page::read();
    let header = Header::parse(&header(&page), &KdfLimits::default()).unwrap();
    assert_eq!((header.revision(), header.generation()), (1, 1));
    assert_eq!(header.id().mac.0, page.bytes("header mac")[..16]);
    assert!(header.follows(&HeaderId::NONE));
    assert_eq!((header.engine(), header.store()), (EngineKind::Sled, page.store()));
    let unlocked = header.unlock(&Credential::Passphrase(&passphrase())).unwrap();
    assert_eq!(unlocked.master().expose_for_tests(), page.bytes("master key"));
    let address = unlocked.record_keys().address(1, &page.array("object id"), 2);
    assert_eq!(address.as_slice(), page.bytes("address"));
    let [slot] = unlocked.slots().unwrap().try_into().ok().unwrap();
    assert_eq!((slot.label.as_str(), slot.created_ms), ("laptop", 1_700_000_000_123));
}
