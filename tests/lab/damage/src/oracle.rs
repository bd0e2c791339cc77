//! Says what a damage hit: which records of the newest state are gone from the bare files.
//!
//! It searches each file as one sequence of bytes and knows nothing of an engine, so it also finds what a recovery
//! overlooks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use inmost::{KdfLimits, RawKey};
use inmost_format::header::{Credential, Header, unlock_first};
use inmost_format::record::node::{Entry, Root, What};
use inmost_format::record::{Node, ObjectId, RecordId, Sealer, Tag};

use crate::folder::{Bytes, is_of_generation};

type Records = HashMap<(u8, [u8; 16]), (RecordId, Vec<u8>)>;

/// What the records of the undamaged store were needed for.
pub struct Oracle {
    sealer: Sealer,
    /// For each path: the records of its text, and those that lead to it.
    needed: BTreeMap<String, (Vec<Tag>, Vec<Tag>)>,
}

/// What the damage left of a file.
#[derive(Clone, Copy)]
pub struct Left {
    pub text: bool,
    /// The records that lead to it, from the root on.
    pub path: bool,
}

impl Oracle {
    pub fn of(store: &Bytes, key: &RawKey, files: usize) -> Self {
        let header = store.iter().find(|(name, _)| name.ends_with("header.a")).unwrap().1;
        let header = Header::parse(header, &KdfLimits::default()).unwrap();
        let (_, keys) = unlock_first(&[&header], &Credential::from(key)).unwrap();
        let sealer = Sealer::new(keys.record_keys(), header.store(), header.generation());
        let mut oracle = Self { sealer, needed: BTreeMap::new() };
        let records = oracle.records(store);
        let mut roots: Vec<(Arc<Root>, Tag)> = records
            .values()
            .filter_map(|(id, value)| {
                let tag = inmost_format::record::layout::tag_of(value)?;
                match oracle.sealer.open(*id, value, &tag).ok()? {
                    Node::Root(root) => Some((root, tag)),
                    _ => None,
                }
            })
            .collect();
        roots.sort_by_key(|(root, _)| std::cmp::Reverse(root.commit));
        for (root, tag) in roots {
            let mut walk = Walk {
                oracle: &oracle,
                records: &records,
                needed: BTreeMap::new(),
                is_whole: true,
            };
            let tree = RecordId::folder(root.tree.id);
            walk.folder(tree, root.tree.tag, "/memories", &[tag]);
            if walk.is_whole && walk.needed.len() == files {
                oracle.needed = walk.needed;
                return oracle;
            }
        }
        panic!("the store has no whole root");
    }

    /// The records in the bare files of a store.
    fn records(&self, store: &Bytes) -> Records {
        let mut records = Records::new();
        for (_, bytes) in store.iter().filter(|(name, _)| is_of_generation(name)) {
            self.sealer.find_all(bytes, bytes.len(), &mut |at, found| {
                let value = bytes[at..at + found.length].to_vec();
                records.insert((found.id.kind.code(), found.tag.0), (found.id, value));
            });
        }
        records
    }

    /// What is left of each path in a damaged store.
    pub fn left(&self, damaged: &Bytes) -> BTreeMap<&str, Left> {
        let mut tags = HashSet::new();
        for (_, bytes) in damaged.iter().filter(|(name, _)| is_of_generation(name)) {
            self.sealer.find_all(bytes, bytes.len(), &mut |_, found| {
                tags.insert(found.tag.0);
            });
        }
        let all = |needed: &[Tag]| needed.iter().all(|tag| tags.contains(&tag.0));
        let left = self
            .needed
            .iter()
            .map(|(path, (text, way))| (path.as_str(), Left { text: all(text), path: all(way) }));
        left.collect()
    }
}

struct Walk<'a> {
    oracle: &'a Oracle,
    records: &'a Records,
    needed: BTreeMap<String, (Vec<Tag>, Vec<Tag>)>,
    is_whole: bool,
}

impl Walk<'_> {
    fn load(&mut self, id: RecordId, tag: Tag) -> Option<Node> {
        let found = self.records.get(&(id.kind.code(), tag.0));
        let node = found.and_then(|(_, value)| self.oracle.sealer.open(id, value, &tag).ok());
        self.is_whole &= node.is_some();
        node
    }

    fn folder(&mut self, id: RecordId, tag: Tag, path: &str, way: &[Tag]) {
        let Some(mut node) = self.load(id, tag) else { return };
        let way = [way, &[tag]].concat();
        if let Some(entries) = entries_of(&node) {
            for entry in entries {
                let path = format!("{path}/{}", entry.name.as_str());
                match entry.what {
                    What::Folder => self.folder(RecordId::folder(entry.id), entry.tag, &path, &way),
                    What::File(_) => {
                        let mut text = Vec::new();
                        self.file(entry.head(), entry.tag, &mut text);
                        self.needed.insert(path, (text, way.clone()));
                    }
                }
            }
            return;
        }
        for (child, tag) in children(&mut node, id.object) {
            self.folder(child, tag, path, &way);
        }
    }

    fn file(&mut self, id: RecordId, tag: Tag, text: &mut Vec<Tag>) {
        let Some(mut node) = self.load(id, tag) else { return };
        text.push(tag);
        for (child, tag) in children(&mut node, id.object) {
            self.file(child, tag, text);
        }
    }
}

fn entries_of(node: &Node) -> Option<Vec<Entry>> {
    match node {
        Node::FolderLeaf(entries) => Some(entries.0.clone()),
        Node::Folder(folder) => match &folder.body {
            inmost_format::record::tree::Body::Inline(entries) => Some(entries.0.clone()),
            inmost_format::record::tree::Body::Tree(_) => None,
        },
        _ => None,
    }
}

fn children(node: &mut Node, object: ObjectId) -> Vec<(RecordId, Tag)> {
    let mut children = Vec::new();
    let visited: Result<(), ()> = node.children_mut(object, |id, tag| {
        children.push((id, *tag));
        Ok(())
    });
    visited.unwrap();
    children
}
