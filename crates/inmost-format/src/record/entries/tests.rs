//! Folders of entries against a plain map.

use std::collections::BTreeMap;

use super::*;
use crate::record::node::{FileInfo, Folder, Name, Totals, What};
use crate::record::plain::{OBJECT, Plain, Random};
use crate::record::{Kind, Node, Tag};

#[derive(Default)]
struct Tested {
    nodes: Plain,
    next_index: u64,
    body: Option<Body<Entries>>,
    model: BTreeMap<String, Entry>,
}

impl Tested {
    fn change(&mut self, change: impl FnOnce(&mut Body<Entries>, &mut Owner<'_, Plain>)) {
        let mut body = self.body.take().unwrap_or_else(Body::empty);
        let mut owner =
            Owner { sink: &mut self.nodes, object: OBJECT, next_index: &mut self.next_index };
        change(&mut body, &mut owner);
        self.body = Some(body);
    }

    fn put(&mut self, entry: Entry) {
        self.model.insert(entry.name.as_str().to_owned(), entry.clone());
        self.change(|body, owner| body.put_entry(owner, entry).unwrap());
    }

    fn remove(&mut self, name: &str) {
        self.model.remove(name);
        self.change(|body, owner| body.remove_entry(owner, name).unwrap());
    }

    fn body(&self) -> &Body<Entries> {
        self.body.as_ref().unwrap()
    }

    fn is_inline(&self) -> bool {
        matches!(self.body(), Body::Inline(_))
    }

    fn check(&self) {
        let mut entries = Vec::new();
        self.body()
            .visit::<RecordError>(&self.nodes, OBJECT, 0, &mut |_, leaf: &Entries| {
                entries.extend(leaf.0.iter().cloned());
                Ok(true)
            })
            .unwrap();
        let alike = |one: &Entry, other: &Entry| {
            one.name == other.name && one.id == other.id && one.what == other.what
        };
        assert_eq!(entries.len(), self.model.len());
        assert!(entries.iter().zip(self.model.values()).all(|(one, other)| alike(one, other)));
        assert_eq!(self.body().count(), u64::try_from(entries.len()).unwrap());
        let first = self.body().first_entry(&self.nodes, OBJECT).unwrap();
        assert_eq!(first.map(|entry| entry.id), self.model.values().next().map(|it| it.id));
        let last = self.body().last_entry(&self.nodes, OBJECT).unwrap();
        assert_eq!(last.map(|entry| entry.id), self.model.values().last().map(|it| it.id));
        self.check_nodes();
    }

    fn check_nodes(&self) {
        let head: Node =
            Folder { next_index: 0, totals: Totals::default(), body: self.body().clone() }.into();
        let mut reachable = 0;
        let mut open = vec![head];
        while let Some(mut node) = open.pop() {
            assert!(node.encoded_len().unwrap() <= NODE_BYTES);
            node.children_mut::<()>(OBJECT, |child, _| {
                if child.kind != Kind::FolderLeaf && child.kind != Kind::FolderInner {
                    return Ok(());
                }
                reachable += 1;
                let node = self.nodes.load(child, &Tag::default()).unwrap();
                assert!(child.index <= self.next_index);
                open.push(node);
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(reachable, self.nodes.len(), "nodes that nothing refers to");
        if self.nodes.iter().filter(|(id, _)| id.kind == Kind::FolderLeaf).count() > 1 {
            for (id, node) in self.nodes.iter().filter(|(id, _)| id.kind == Kind::FolderLeaf) {
                // A leaf that has just been split may miss the quarter by part of one entry.
                assert!(node.encoded_len().unwrap() > LEAF / 4 - 20, "{id:?} is too small");
            }
        }
    }
}

fn name(random: &mut Random) -> String {
    let alphabet = ['a', 'b', 'Z', '.', '-', '0', 'ß', '中', '😀', '\u{10FFFD}', '\u{FFFD}'];
    let characters = match random.below(10) {
        0 => 60 + random.below(4),
        1..4 => 1 + random.below(25),
        _ => 1 + random.below(4),
    };
    (0..characters).map(|_| alphabet[random.below(alphabet.len())]).collect()
}

fn entry(random: &mut Random, name: &str) -> Entry {
    let mut id = ObjectId([0; 16]);
    id.0.iter_mut().for_each(|byte| *byte = u8::try_from(random.below(256)).unwrap());
    let number = |random: &mut Random| u64::try_from(random.below(1 << 30)).unwrap();
    let what = if random.below(3) == 0 {
        What::Folder
    } else {
        let (bytes, lines) = (number(random) >> random.below(30), number(random) >> 20);
        What::File(FileInfo { bytes, lines, ..FileInfo::of_times(number(random) << 11, u64::MAX) })
    };
    Entry::new(Name::new(name), id, Tag([9; 16]), what)
}

#[test]
fn a_folder_that_grows_and_shrinks_reads_like_a_plain_map() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let mut folder = Tested::default();
        let mut inline_again = 0;
        for step in 0..1_500 {
            let was_inline = folder.body.is_none() || folder.is_inline();
            // Twice: first mostly additions, then mostly removals.
            let adds = if step % 750 < 400 { 8 } else { 2 };
            if random.below(10) < adds || folder.model.is_empty() {
                let name = name(&mut random);
                let entry = entry(&mut random, &name);
                folder.put(entry);
            } else {
                let nth = random.below(folder.model.len());
                let name = folder.model.keys().nth(nth).unwrap().clone();
                folder.remove(&name);
            }
            inline_again += usize::from(!was_inline && folder.is_inline());
            let name = name(&mut random);
            let found = folder.body().entry(&folder.nodes, OBJECT, &name).unwrap();
            assert_eq!(found.map(|entry| entry.id), folder.model.get(&name).map(|entry| entry.id));
            if step % 10 == 0 {
                folder.check();
            }
        }
        assert!(inline_again > 0);
        for name in folder.model.keys().cloned().collect::<Vec<_>>() {
            let found = folder.body().entry(&folder.nodes, OBJECT, &name).unwrap();
            assert!(found.is_some());
            folder.remove(&name);
            folder.check();
        }
        assert!(folder.is_inline() && folder.nodes.len() == 0);
    }
}

#[test]
fn thousands_of_the_longest_names_make_a_deep_tree_and_are_removed_completely() {
    let mut random = Random(1);
    let mut folder = Tested::default();
    let names: Vec<String> = (0..2_000).map(|item| format!("{item:0>255}")).collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at + 1));
    }
    for nth in &order {
        let entry = entry(&mut random, &names[*nth]);
        folder.put(entry);
    }
    folder.check();
    assert!(folder.nodes.iter().any(|(id, _)| id.kind == Kind::FolderInner));
    for nth in &order {
        folder.remove(&names[*nth]);
        if nth % 50 == 0 {
            folder.check();
        }
    }
    assert!(folder.is_inline() && folder.nodes.len() == 0);
}

/// Two common orders: names with increasing numbers, and the system folder, which is reaped from its beginning.
#[test]
fn leaves_that_fill_at_the_end_stay_dense() {
    let mut random = Random(2);
    let mut folder = Tested::default();
    for item in 0..1_000 {
        let entry = entry(&mut random, &format!("{item:016x}"));
        folder.put(entry);
    }
    folder.check();
    let bytes: usize = folder.nodes.iter().map(|(_, node)| node.encoded_len().unwrap()).sum();
    let average = bytes / folder.nodes.len();
    assert!(average > NODE_BYTES / 2, "{average} bytes a node");
    for item in 0..1_000 {
        folder.remove(&format!("{item:016x}"));
        folder.check();
    }
    assert!(folder.is_inline() && folder.nodes.len() == 0);
}

/// Between the two sizes a folder keeps its form, so that a call near the threshold costs little.
#[test]
fn a_folder_near_the_threshold_keeps_its_form() {
    let mut random = Random(3);
    let mut folder = Tested::default();
    let mut item = 0;
    while folder.body.is_none() || folder.is_inline() {
        let entry = entry(&mut random, &format!("{item:03}"));
        folder.put(entry);
        folder.check();
        item += 1;
    }
    let most = item;
    while !folder.is_inline() {
        item -= 1;
        folder.remove(&format!("{item:03}"));
        folder.check();
    }
    assert!(item < most - 10, "{most} entries inline at most, {item} when inline again");
    assert!(item > most / 4, "inline again before it is almost empty");
    assert_eq!(folder.nodes.len(), 0);
}

#[test]
fn an_entry_of_the_same_name_is_replaced_and_an_absent_one_removed_without_effect() {
    let mut random = Random(4);
    let mut folder = Tested::default();
    for item in 0..200 {
        let entry = entry(&mut random, &format!("{:03}", item % 100));
        folder.put(entry);
        folder.remove("absent");
    }
    folder.check();
    assert_eq!(folder.model.len(), 100);
}
