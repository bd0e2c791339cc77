//! The example records of docs/FORMAT.md, sealed and opened again from the numbers on that page.

use std::collections::HashSet;

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest};

use super::format_page::Page;
use super::history::{Before, Channel, Operation, Retired, Seen};
use super::node::{Root, Text, Trail, What};
use super::readings::{self, Reading, Readings};
use super::{Kind, Node, NodeSource, ObjectId, RecordError, RecordId, Sealed, Sealer, Tag};
use super::{codec, load_file, load_folder, load_history, read_text};
use crate::crypto::aead::Nonce;
use crate::crypto::fixed_width::FixedWidth;
use crate::crypto::keys::DataKey;
use crate::crypto::record_keys::RecordKeys;

/// The records in the order of the page, which is that of their nonces.
const RECORDS: [(&str, Kind, u8, u64); 17] = [
    ("chunk", Kind::Chunk, 0x33, 1),
    ("file inner", Kind::FileInner, 0x33, 2),
    ("long file", Kind::File, 0x33, 4),
    ("old chunk", Kind::Chunk, 0x33, 3),
    ("old long file", Kind::File, 0x33, 0),
    ("short file", Kind::File, 0x44, 0),
    ("deleted file", Kind::File, 0x77, 0),
    ("people", Kind::Folder, 0x55, 0),
    ("folder leaf", Kind::FolderLeaf, 0x11, 1),
    ("folder inner", Kind::FolderInner, 0x11, 2),
    ("tree", Kind::Folder, 0x11, 0),
    ("system folder", Kind::Folder, 0x22, 0),
    ("history leaf", Kind::HistoryLeaf, 0x66, 1),
    ("history inner", Kind::HistoryInner, 0x66, 2),
    ("history", Kind::History, 0x66, 0),
    ("readings", Kind::File, 0x88, 0),
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
            let body = example.body(name);
            let node = Node::decode(kind, &body).unwrap();
            assert_eq!(encoded(&node), body, "{name} body");
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

    fn text(&self, id: RecordId, tag: &Tag) -> String {
        let head = load_file(self, id, tag).unwrap();
        read_text(self, id.object, &head.body).unwrap().to_string()
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

fn encoded(node: &Node) -> Vec<u8> {
    let mut bytes = vec![0; node.encoded_len().unwrap()];
    node.encode(&mut bytes).unwrap();
    bytes
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
    assert_eq!((info.head, info.lowest, info.number, info.version), (4, 0, 256, 384));
    assert_eq!(example.text(long.head(), &long.tag), long_text());

    let people = find("people");
    let folder = load_folder(&example, people.id, &people.tag).unwrap();
    let short = folder.body.entry(&example, people.id, "zo\u{eb}.md").unwrap().unwrap();
    assert_eq!(example.text(short.head(), &short.tag), "Zo\u{eb} likes tea.\n");

    let system = load_folder(&example, root.system.id, &root.system.tag).unwrap();
    assert!(system.body.first_entry(&example, root.system.id).unwrap().is_none());
}

#[test]
fn the_history_of_the_page_holds_what_the_page_says() {
    let example = Example::new();
    let root = example.root();
    assert_eq!((root.keep, root.room), (30 * 24 * 3_600_000, 256 << 20));
    let mut trail = Trail::default();
    for commit in 1..7 {
        trail = trail.after(&Tag([0xa0 + commit; 16]), &example.page.store());
    }
    assert_eq!(root.trail, trail);

    let child = root.history;
    let history = load_history(&example, child.id, &child.tag).unwrap();
    assert_eq!((history.held, history.texts_from, history.lost_before), (4_086, 0, 0));
    assert_eq!(history.commit, 6);
    let (_, entries) = history.body.find(&example, child.id, |_, _| 0).unwrap();
    let [created, modified] = entries.0.as_slice() else { panic!("not two entries") };
    let [deleted] = history.newest.0.as_slice() else { panic!("not one entry") };
    assert_eq!(history.count(), 3);
    for (entry, number, operation, channel, previous) in [
        (created, 256, Operation::Created, Channel::Program, 0),
        (modified, 384, Operation::Modified, Channel::Tool, 256),
        (deleted, 385, Operation::Deleted, Channel::Tool, 129),
    ] {
        assert_eq!((entry.number, entry.previous), (number, previous));
        assert_eq!((entry.operation, entry.channel), (operation, channel));
    }
    assert_eq!((created.file, modified.file, deleted.file), (256, 256, 129));
    assert_eq!((created.time, deleted.time), (1_700_000_000_123, 1_700_000_600_000));
    let (latest, age) = (1_700_000_600_000, 599_877);
    assert_eq!((created.age, created.late, deleted.age, deleted.late), (0, 0, age, 0));
    assert_eq!(history.seen, Seen { age, latest, ..Seen::default() });
    assert_eq!((created.actor.as_str(), deleted.actor.as_str()), ("", "night-agent"));
    assert_eq!(modified.path.as_str(), "/memories/long.txt");
    assert_eq!(deleted.path.as_str(), "/memories/gone.md");

    let Before::Head(old) = &modified.before else { panic!("no earlier head") };
    assert_eq!((old.last_index, old.bytes, old.lines, modified.held), (3, 4_080, 255, 4_080));
    assert_eq!(modified.retired, [Retired { is_inner: false, index: 3 }]);
    assert_eq!(example.text(old.id(), &old.tag), long_text() + "23456789abcde\n");
    let Before::Object(gone) = &deleted.before else { panic!("no deleted file") };
    assert_eq!(example.text(gone.head(), &gone.tag), "Gone.\n");
    assert!(matches!(created.before, Before::Nothing));
}

#[test]
fn the_readings_of_the_page_holds_what_the_page_says() {
    const DAY: u64 = 24 * 3_600_000;
    let example = Example::new();
    let root = example.root();
    let (first, last) = (1_700_000_000_123, 1_700_000_600_000);
    assert_eq!((root.reads_since, root.last_used, root.last_expiry), (first, last, first));
    assert_eq!(root.unused_for, 90 * DAY);
    let child = root.readings;
    let file = load_file(&example, RecordId::file(child.id, 0), &child.tag).unwrap();
    assert!(file.is_partial);
    let readings = Readings::load(&example, child.id, &file.body).unwrap();
    let day = first / DAY;
    assert_eq!(*readings, [Reading { file: 128, day }, Reading { file: 256, day: last / DAY }]);
    let found = readings::day_of(&example, child.id, &file.body, 256).unwrap();
    assert_eq!(found, Some(19_675));
    assert_eq!(example.text(RecordId::file(child.id, 0), &child.tag), *readings.to_text());
}
