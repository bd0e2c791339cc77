//! Forged and changed stored values, and forged bodies in authentic records.

use std::cell::Cell;
use std::collections::HashMap;

use crate::input::Input;
use crate::nodes::OBJECT;
use inmost::internals::{append, line_start, read_lines, rope_lines, splice};
use inmost_format::crypto::keys::DataKey;
use inmost_format::crypto::record_keys::RecordKeys;
use inmost_format::crypto::store_id::StoreId;
use inmost_format::limits::{RECORD_CLASSES, RECORD_FRAME};
use inmost_format::record::node::{Entries, File, Folder, Node, Text};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{Flaw, Kind, NodeSink, NodeSource, RecordError, RecordId, Sealer, Tag};
use inmost_format::secret::SecretBytes;

pub(crate) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.below(3) {
        0 => forged(&mut input),
        1 => changed(&mut input),
        _ => authentic(&mut input),
    }
}

/// Bytes made without the key do not open.
fn forged(input: &mut Input<'_>) {
    let id = id(input);
    let mut value = vec![input.pick(&[1, 0, 2])];
    if input.one_in(2) {
        let class = input.pick(&RECORD_CLASSES);
        value.extend_from_slice(input.rest());
        value.resize(class + RECORD_FRAME, 0);
    } else {
        value.extend_from_slice(input.rest());
    }
    refuses(id, &value);
}

/// A sealed record with some bytes changed does not open.
fn changed(input: &mut Input<'_>) {
    let id = RecordId { kind: Kind::Chunk, object: OBJECT, index: 3 };
    let node = Node::Chunk(Text::new(&input.text().chars().take(900).collect::<String>()).into());
    let sealed = sealer().seal(id, &node).unwrap();
    assert!(sealer().open(id, &sealed.value, &sealed.tag).is_ok());
    assert!(sealer().open(id, &sealed.value, &Tag([0; 16])).is_err());
    let mut value = sealed.value.clone();
    for _ in 0..=input.below(3) {
        let at = input.below(value.len());
        value[at] ^= input.byte();
    }
    value.truncate(value.len() - if input.one_in(4) { input.below(value.len()) } else { 0 });
    if value != sealed.value {
        refuses(id, &value);
    }
    let elsewhere = RecordId { index: id.index + 1, ..id };
    refuses(elsewhere, &sealed.value);
}

fn refuses(id: RecordId, value: &[u8]) {
    let sealer = sealer();
    let tag = value.last_chunk::<16>().map_or_else(Tag::default, |bytes| Tag(*bytes));
    assert!(matches!(
        sealer.open(id, value, &tag),
        Err(RecordError::Damaged { flaw: Flaw::Frame | Flaw::NotAuthentic, .. })
    ));
    assert!(sealer.open_any(&sealer.address(id), value).is_err());
}

/// Bodies from the input are sealed, so they are authentic. A body that decodes can be encoded again, and its node can be
/// read and changed without a panic and without an endless loop.
fn authentic(input: &mut Input<'_>) {
    let mut nodes = Few::default();
    let mut heads = Vec::new();
    for _ in 0..=input.below(6) {
        let id = id(input);
        let body = if input.one_in(2) { input.bytes(4_000) } else { input.bytes(200) };
        let Ok(node) = Node::decode(id.kind, body) else { continue };
        check_codec(id, &node);
        heads.push(node.clone());
        nodes.nodes.insert(id, node);
    }
    let (from, to) = (u64::from(input.byte()), u64::from(input.byte()));
    for head in heads {
        nodes.loads.set(LOADS);
        match head {
            Node::File(file) => use_file(&mut nodes, &file, from, to),
            Node::Folder(folder) => use_folder(&mut nodes, &folder, from),
            _ => {}
        }
    }
}

/// Different bytes may decode to the same node (an integer may be longer than necessary). Encoding is unique.
fn check_codec(id: RecordId, node: &Node) {
    let length = node.encoded_len().unwrap();
    let mut bytes = vec![0; length];
    node.encode(&mut bytes).unwrap();
    let again = Node::decode(id.kind, &bytes).unwrap();
    let mut bytes_again = vec![0; length];
    again.encode(&mut bytes_again).unwrap();
    assert_eq!(bytes, bytes_again);
    let Ok(sealed) = sealer().seal(id, node) else { return };
    let opened = sealer().open(id, &sealed.value, &sealed.tag).unwrap();
    opened.encode(&mut bytes_again).unwrap();
    assert_eq!(bytes, bytes_again);
}

fn use_file(nodes: &mut Few, head: &File, from: u64, to: u64) {
    let body = &head.body;
    let _ = inmost_format::record::read_text(nodes, OBJECT, body);
    let _ = rope_lines(nodes, OBJECT, body);
    let _ = line_start(nodes, OBJECT, body, from);
    let _ = read_lines(nodes, OBJECT, head, (from.min(to), to), 100);
    let _ = body.tail(nodes, OBJECT, 3);
    let mut changed = head.clone();
    let mut owner = Owner { sink: nodes, object: OBJECT, next_index: &mut changed.next_index };
    let _ = splice(&mut owner, &mut changed.body, from.min(to)..to, "new\n");
    let mut owner = Owner { sink: nodes, object: OBJECT, next_index: &mut changed.next_index };
    let _ = append(&mut owner, &mut changed.body, "more");
}

fn use_folder(nodes: &mut Few, head: &Folder, from: u64) {
    let mut body: Body<Entries> = head.body.clone();
    let mut next_index = head.next_index;
    let mut last = None;
    let visited: Result<(), RecordError> = body.visit(nodes, OBJECT, from, &mut |_, leaf| {
        last = leaf.0.last().cloned().or(last.take());
        Ok(true)
    });
    drop(visited);
    let _ = body.first_entry(nodes, OBJECT);
    let _ = body.last_entry(nodes, OBJECT);
    let _ = body.entry(nodes, OBJECT, "a");
    let Some(entry) = last else { return };
    let mut owner = Owner { sink: nodes, object: OBJECT, next_index: &mut next_index };
    let _ = body.put_entry(&mut owner, entry.clone());
    let mut owner = Owner { sink: nodes, object: OBJECT, next_index: &mut next_index };
    let _ = body.remove_entry(&mut owner, entry.name.as_str());
}

/// The nodes of a forged tree. The tree can be as wide as its forger likes, so after some loads the rest is absent: this
/// target does not test how much work a holder of the keys can cause.
#[derive(Default)]
struct Few {
    nodes: HashMap<RecordId, Node>,
    loads: Cell<usize>,
}

impl NodeSource for Few {
    fn load(&self, id: RecordId, _: &Tag) -> Result<Node, RecordError> {
        let absent = RecordError::Damaged { kind: id.kind, flaw: Flaw::Absent };
        let Some(left) = self.loads.get().checked_sub(1) else { return Err(absent) };
        self.loads.set(left);
        self.nodes.get(&id).cloned().ok_or(absent)
    }
}

impl NodeSink for Few {
    fn put(&mut self, id: RecordId, node: Node) {
        self.nodes.insert(id, node);
    }

    fn remove(&mut self, id: RecordId) {
        self.nodes.remove(&id);
    }
}

fn id(input: &mut Input<'_>) -> RecordId {
    let kinds = [
        Kind::File,
        Kind::FileInner,
        Kind::Chunk,
        Kind::Folder,
        Kind::FolderInner,
        Kind::FolderLeaf,
        Kind::Root,
    ];
    RecordId { kind: input.pick(&kinds), object: OBJECT, index: u64::from(input.byte()) % 8 }
}

fn sealer() -> Sealer {
    let store = StoreId([3; 16]);
    let key = DataKey::new(SecretBytes::init_with(|bytes| bytes.fill(9)));
    Sealer::new(RecordKeys::derive(&key, &store, 1), store, 1)
}

const LOADS: usize = 300;
