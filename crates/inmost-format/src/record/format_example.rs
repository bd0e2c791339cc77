//! The example records of docs/FORMAT.md, sealed and opened again from the numbers on that page.

use std::collections::HashSet;

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest};

use super::format_page::Page;
use super::node::{Root, Text, What};
use super::{Kind, Node, NodeSource, ObjectId, RecordError, RecordId, Sealed, Sealer, Tag};
use super::{codec, load_file, load_folder};
use crate::crypto::aead::Nonce;
use crate::crypto::fixed_width::FixedWidth;
use crate::crypto::keys::DataKey;
use crate::crypto::record_keys::RecordKeys;

/// The records in the order of the page, which is that of their nonces.
const RECORDS: [(&str, Kind, u8, u64); 10] = [
    ("chunk", Kind::Chunk, 0x33, 1),
    ("file inner", Kind::FileInner, 0x33, 2),
    ("long file", Kind::File, 0x33, 0),
    ("short file", Kind::File, 0x44, 0),
    ("people", Kind::Folder, 0x55, 0),
    ("folder leaf", Kind::FolderLeaf, 0x11, 1),
    ("folder inner", Kind::FolderInner, 0x11, 2),
    ("tree", Kind::Folder, 0x11, 0),
    ("system folder", Kind::Folder, 0x22, 0),
    ("root", Kind::Root, 0, 0),
];

struct Example {
    page: Page,
    sealer: Sealer,
    records: Vec<(RecordId, Sealed)>,
}

impl Example {
    fn new() -> Self {
        let page = Page::read();
        let keys = RecordKeys::derive(&DataKey::new(page.secret("data key")), &page.store(), 1);
        let sealer = Sealer::new(keys, page.store(), 1);
        let mut example = Self { page, sealer, records: Vec::new() };
        for (nonce, (name, kind, object, index)) in (1..).zip(RECORDS) {
            let id = RecordId { kind, object: ObjectId([object; 16]), index };
            let node = Node::decode(kind, &example.body(name)).unwrap();
            let nonce = Nonce([nonce; 24]);
            let record = example.sealer.dangerous_seal_with_nonce(id, &node, nonce).unwrap();
            example.records.push((id, record));
        }
        example
    }

    fn body(&self, name: &str) -> Vec<u8> {
        self.page.find(&format!("{name} body")).unwrap_or_else(|| {
            assert_eq!(name, "chunk");
            bytes_of(&Text::new(&long_text()))
        })
    }

    fn sealed(&self, id: RecordId) -> Option<&Sealed> {
        self.records.iter().find(|(sealed, _)| *sealed == id).map(|(_, sealed)| sealed)
    }

    fn root(&self) -> Root {
        let sealed = self.sealed(RecordId::ROOT).unwrap();
        match self.sealer.open(RecordId::ROOT, &sealed.value, &sealed.tag).unwrap() {
            Node::Root(root) => Root::clone(&root),
            _ => panic!("no root"),
        }
    }
}

impl NodeSource for Example {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        self.sealer.open(id, &self.sealed(id).unwrap().value, tag)
    }
}

fn long_text() -> String {
    let mut text = "0123456789abcde\n".repeat(255);
    text.truncate(4_066);
    text
}

fn bytes_of<T: serde::Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = vec![0; codec::encoded_len(value).unwrap()];
    codec::encode(value, &mut bytes).unwrap();
    bytes
}

fn hash(bytes: &[u8]) -> Vec<u8> {
    Blake2b::<U32>::digest(bytes).to_vec()
}

#[test]
fn the_records_are_those_of_the_page() {
    let example = Example::new();
    let page = &example.page;
    for ((name, ..), (_, sealed)) in RECORDS.iter().zip(&example.records) {
        let of = |what: &str| page.find(&format!("{name} {what}"));
        let expect = |what: &str, bytes: &[u8]| {
            assert_eq!(bytes, of(what).unwrap(), "{name} {what}");
        };
        let value = sealed.value.as_slice();
        expect("address", &sealed.address.0);
        expect("aad", &example.sealer.associated_data(&sealed.address).encode());
        if let Some(whole) = of("value") {
            assert_eq!(value, whole);
            continue;
        }
        expect("value starts", &value[..41]);
        expect("value ends", &value[value.len() - 32..]);
        expect("value hash", &hash(value));
    }
    let chunk = example.body("chunk");
    assert_eq!(chunk[..16], page.bytes("chunk body starts"));
    assert_eq!(chunk[chunk.len() - 16..], page.bytes("chunk body ends"));
    assert_eq!(hash(&chunk), page.bytes("chunk body hash"));
}

#[test]
fn every_record_of_the_page_is_referred_to_by_its_tag() {
    let example = Example::new();
    let mut reached = HashSet::new();
    let mut open: Vec<(RecordId, Node)> = vec![(RecordId::ROOT, example.root().into())];
    while let Some((id, mut node)) = open.pop() {
        reached.insert(id);
        node.children_mut(id.object, |child, tag| {
            open.push((child, example.load(child, tag)?));
            Ok::<_, RecordError>(())
        })
        .unwrap();
    }
    assert_eq!(reached.len(), RECORDS.len());
}

#[test]
fn the_store_of_the_page_holds_what_the_page_says() {
    let example = Example::new();
    let root = example.root();
    assert_eq!((root.commit, root.header.revision, root.files, root.bytes), (7, 1, 2, 4_082));
    assert_eq!(root.header.mac.0, example.page.bytes("header mac")[..16]);
    let tree = load_folder(&example, root.tree.id, &root.tree.tag).unwrap();
    assert_eq!((tree.totals.visible_children, tree.totals.visible_grandchildren), (2, 1));
    assert_eq!((tree.totals.files, tree.totals.bytes), (2, 4_082));
    let find = |name| tree.body.entry(&example, root.tree.id, name).unwrap().unwrap();

    let long = find("long.txt");
    let What::File(info) = long.what else { panic!("no file") };
    assert_eq!((info.bytes, info.lines), (4_066, 255));
    assert_eq!((info.created, info.modified), (1_700_000_000_123, 1_700_000_600_000));
    let head = load_file(&example, long.head(), &long.tag).unwrap();
    head.body
        .visit::<RecordError>(&example, long.id, 0, &mut |_, chunk: &Text| {
            assert_eq!(chunk.as_str(), long_text());
            Ok(true)
        })
        .unwrap();

    let people = find("people");
    let folder = load_folder(&example, people.id, &people.tag).unwrap();
    let short = folder.body.entry(&example, people.id, "zo\u{eb}.md").unwrap().unwrap();
    let head = load_file(&example, short.head(), &short.tag).unwrap();
    let (_, text) = head.body.find(&example, short.id, |_, _| 0).unwrap();
    assert_eq!(text.as_str(), "Zo\u{eb} likes tea.\n");

    let system = load_folder(&example, root.system.id, &root.system.tag).unwrap();
    assert!(system.body.first_entry(&example, root.system.id).unwrap().is_none());
}
