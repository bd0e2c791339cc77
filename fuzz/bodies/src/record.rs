//! Forged and modified stored values, and forged bodies in authentic records.

use std::cell::Cell;
use std::collections::HashMap;

use crate::input::Input;
use crate::nodes::OBJECT;
use inmost::internals::read_lines;
use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::DataKey;
use inmost_format::crypto::record_keys::RecordKeys;
use inmost_format::limits::{RECORD_CLASSES, RECORD_FRAME};
use inmost_format::record::history::{Before, History, Version, Versions};
use inmost_format::record::node::{Entries, File, Folder, Node, Text};
use inmost_format::record::readings::{self, Change, Reading, Readings};
use inmost_format::record::rope::{append, line_start, lines, splice};
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

/// Bytes made without the key must not open.
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

/// A sealed record with some modified bytes must not open.
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

/// Seals bodies from the input, so that they are authentic. A body that decodes must encode again, and its
/// node must be readable and editable without a panic or an endless loop.
fn authentic(input: &mut Input<'_>) {
    let mut nodes = Few::default();
    let mut heads = Vec::new();
    for (id, node) in decoded(input) {
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
            Node::History(history) => use_history(&mut nodes, &history, from),
            _ => {}
        }
    }
}

/// The bodies in an input that decode.
fn decoded(input: &mut Input<'_>) -> Vec<(RecordId, Node)> {
    let mut nodes = Vec::new();
    for _ in 0..=input.below(6) {
        let id = id(input);
        let body = if input.one_in(2) { input.bytes(4_000) } else { input.bytes(200) };
        nodes.extend(Node::decode(id.kind, body).ok().map(|node| (id, node)));
    }
    nodes
}

/// The kinds of the bodies in an input that decode.
pub(crate) fn kinds(data: &[u8]) -> Vec<Kind> {
    let mut input = Input::new(data);
    if input.below(3) < 2 {
        return Vec::new();
    }
    decoded(&mut input).into_iter().map(|(id, _)| id.kind).collect()
}

/// Several encodings may decode to the same node, because an integer may be longer than necessary. The
/// encoder's output is unique.
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
    let _ = lines(nodes, OBJECT, body);
    let _ = line_start(nodes, OBJECT, body, from);
    let _ = read_lines(nodes, OBJECT, head, (from.min(to), to), 100);
    let _ = body.tail(nodes, OBJECT, 3);
    let mut changed = head.clone();
    let mut owner = Owner { sink: nodes, object: OBJECT, next_index: &mut changed.next_index };
    let _ = splice(&mut owner, &mut changed.body, from.min(to)..to, "new\n");
    let mut owner = Owner { sink: nodes, object: OBJECT, next_index: &mut changed.next_index };
    let _ = append(&mut owner, &mut changed.body, "more");
    use_readings(nodes, head, from);
}

/// Any text may stand where the readings of a store are.
fn use_readings(nodes: &mut Few, head: &File, from: u64) {
    let _ = Readings::load(nodes, OBJECT, &head.body);
    let _ = readings::day_of(nodes, OBJECT, &head.body, from);
    let list = [from, from + 7, from + 300].map(|file| Reading { file, day: 20_000 });
    let mut changed = head.clone();
    for how in [Change::Note, Change::Remove] {
        let File { next_index, body, .. } = &mut changed;
        let mut owner = Owner { sink: nodes, object: OBJECT, next_index };
        let _ = readings::change(&mut owner, body, &list, 2, how);
    }
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

fn use_history(nodes: &mut Few, head: &History, from: u64) {
    let mut last: Option<Version> = None;
    let visited: Result<(), RecordError> =
        head.body.visit(nodes, OBJECT, 0, &mut |_, leaf: &Versions| {
            last = leaf.0.last().cloned().or(last.take());
            Ok(true)
        });
    drop(visited);
    let Some(last) = last else { return };
    let _ = head.position_of(nodes, OBJECT, last.number);
    let _ = head.position_of(nodes, OBJECT, from);
    let drop_text = |version: &mut Version| {
        version.before = Before::Nothing;
        version.retired.clear();
        version.held = 0;
        true
    };
    let mut changed = head.clone();
    let _ = changed.edit(nodes, OBJECT, last.number, drop_text);
    let _ = changed.edit(nodes, OBJECT, from, |_| false);
    let mut next = last.clone();
    next.number = last.number.saturating_add(1);
    let _ = changed.append(nodes, OBJECT, next);
    let _ = changed.remove_first(nodes, OBJECT, usize::try_from(from).unwrap());
}

/// The nodes of a forged tree.
///
/// A forged tree can be of any width, so nodes are missing after a number of loads. This target does not test
/// how much work a holder of the keys can cause.
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
    RecordId { kind: input.pick(&KINDS), object: OBJECT, index: u64::from(input.byte()) % 8 }
}

fn sealer() -> Sealer {
    let store = StoreId([3; 16]);
    let key = DataKey::new(SecretBytes::init_with(|bytes| bytes.fill(9)));
    Sealer::new(RecordKeys::derive(&key, &store, 1), store, 1)
}

const LOADS: usize = 300;
pub(crate) const KINDS: [Kind; 10] = [
    Kind::File,
    Kind::FileInner,
    Kind::Chunk,
    Kind::Folder,
    Kind::FolderInner,
    Kind::FolderLeaf,
    Kind::Root,
    Kind::History,
    Kind::HistoryInner,
    Kind::HistoryLeaf,
];
