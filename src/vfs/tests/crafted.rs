//! Tests of stores crafted with the store's keys: every walk ends after as many steps as there are records, fits the
//! stack of a thread, and has an exact result.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::odd::{ODD, chunk, encode, info, inner, rope, tree};
use crate::maintenance::CheckReport;
use crate::session::tests::store::{TestStore, options, passphrase};
use crate::session::{Session, StoreError};
use crate::vfs::error::FileError;
use inmost_format::record::node::{Entries, Entry, Folder, Name, Node, Root, Totals, What};
use inmost_format::record::tree::Body;
use inmost_format::record::{Kind, ObjectId, RecordId, Sealer, Tag};

pub(super) const REPEATED: &str = "is referred to more than once";
/// References of each crafted node.
const WIDE: usize = 60;

pub(super) type Files = BTreeMap<String, String>;

/// A store with one genuine file, into which records are inserted behind its back.
pub(super) struct Crafted {
    pub(super) store: TestStore,
    sealer: Sealer,
}

impl Crafted {
    pub(super) fn new() -> Self {
        let store = TestStore::create();
        store.unlock().unwrap().files().write("/memories/kept", "kept").unwrap();
        let sealer = store.sealer();
        Self { store, sealer }
    }

    pub(super) fn put(&self, id: RecordId, node: &Node) -> [u8; 16] {
        let sealed = self.sealer.seal(id, node).unwrap();
        self.store.tamper(|records| records.insert(sealed.address, sealed.value));
        sealed.tag.0
    }

    /// Creates an object `/memories/odd`.
    pub(super) fn link(&self, id: ObjectId, tag: [u8; 16], what: What, below: Totals) {
        let root = self.store.root();
        let at = RecordId::folder(root.tree.id);
        let Some(Node::Folder(top)) = self.store.reachable().remove(&at) else { unreachable!() };
        let mut top = Folder::clone(&top);
        let Body::Inline(entries) = &mut top.body else { unreachable!() };
        let name = Name::new("odd");
        top.totals = top.totals.plus(&match what {
            What::File(info) => Totals::of_file(&name, info.bytes),
            What::Folder => Totals::of_folder(&name, &below),
        });
        entries.0.push(Entry::new(name, id, Tag(tag), what));
        let (files, bytes) = (top.totals.files, top.totals.bytes);
        let mut root = Root { commit: root.commit + 1, files, bytes, ..root };
        root.tree.tag = Tag(self.put(at, &top.into()));
        self.put(RecordId::ROOT, &root.into());
    }

    pub(super) fn session(&self) -> Session {
        self.store.unlock().unwrap()
    }

    /// The result of a check, which must take at most `most` steps.
    pub(super) fn check(&self, most: u64) -> CheckReport {
        let mut steps = 0;
        let report = self.session().check_reporting(&mut |records| steps = records).unwrap();
        assert!(steps <= most, "{steps} steps");
        report
    }

    /// A purge, which copies like a backup or a rotation, refuses the store for exactly one reason and changes nothing.
    fn assert_not_copied(&self, what: &str, how: &str) {
        let expected = format!("Err(Tampered {{ what: {what:?}, how: {how:?} }})");
        let session = self.session();
        assert_eq!(format!("{:?}", session.purge()), expected);
        assert_eq!(session.files().read("/memories/kept").unwrap().as_str(), "kept");
    }

    /// Repairs the store. Returns the number of lost objects and how many of them are not listed.
    pub(super) fn repair(&self) -> (usize, u64) {
        let vault = options().open_storage(Arc::new(self.store.memory.clone())).unwrap();
        let report = vault.repair(&passphrase(), |_| {}).unwrap();
        assert!(report.older.is_empty(), "{report:?}");
        drop(vault);
        let session = self.session();
        let left = session.check().unwrap();
        assert!(left.is_clean(), "{:?}", left.problems);
        assert_eq!(session.files().read("/memories/kept").unwrap().as_str(), "kept");
        (report.lost.len(), report.unlisted)
    }

    /// Salvages the store. Returns the saved files, the number of lost objects and how many of them are not listed.
    pub(super) fn salvage(&self) -> (Files, usize, u64) {
        let mut saved = Files::new();
        let vault = options().open_storage(Arc::new(self.store.memory.clone())).unwrap();
        let report = vault
            .salvage(&passphrase(), |path, text| {
                saved.insert(path.to_owned(), text.to_owned());
                Ok::<(), StoreError>(())
            })
            .unwrap();
        (saved, report.lost.len(), report.unlisted)
    }
}

pub(super) fn at(kind: Kind, index: u64) -> RecordId {
    RecordId { kind, object: ODD, index }
}

pub(super) fn files(paths: &[(&str, &str)]) -> Files {
    paths.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

pub(super) fn folder_inner(level: u8, refs: Vec<(u64, [u8; 16], u64, &str)>) -> Node {
    Node::decode(Kind::FolderInner, &encode(&(level, refs))).unwrap()
}

/// A file of one letter, the only entry `a` of a folder.
pub(super) fn one_file(crafted: &Crafted) -> (Entries, Totals) {
    let id = ObjectId([0xf1; 16]);
    let text = Body::Inline(inmost_format::record::node::Text::new("x"));
    let file = inmost_format::record::node::File { next_index: 0, is_partial: false, body: text };
    let tag = Tag(crafted.put(RecordId::file(id, 0), &file.into()));
    let name = Name::new("a");
    let totals = Totals::of_file(&name, 1);
    (Entries(vec![Entry::new(name, id, tag, What::File(info(1, 1)))]), totals)
}

/// Ten levels of 60 references each refer to 60^10 chunks but contain only one.
#[test]
fn a_rope_of_one_chunk_over_and_over_is_walked_once() {
    let crafted = Crafted::new();
    let mut tag = crafted.put(at(Kind::Chunk, 1), &chunk("x"));
    for level in 1..10_u8 {
        let refs = vec![(u64::from(level), tag, 1, 0); WIDE];
        tag = crafted.put(at(Kind::FileInner, u64::from(level) + 1), &inner(level, refs));
    }
    let head = rope(10, vec![(10, tag, 1, 0); WIDE]);
    let tag = crafted.put(RecordId::file(ODD, 0), &head.into());
    crafted.link(ODD, tag, What::File(info(60, 1)), Totals::default());

    let report = crafted.check(1_000);
    assert_eq!((report.problems.len(), report.unlisted), (10 * (WIDE - 1), 0));
    for problem in report.problems {
        assert_eq!((problem.names, problem.how), (vec!["odd".to_owned()], REPEATED));
    }
    crafted.assert_not_copied("a part of a long file", REPEATED);
    assert_eq!(crafted.salvage(), (files(&[("/memories/kept", "kept")]), 1, 0));
    let read = crafted.session().files().read("/memories/odd").err().unwrap();
    assert!(matches!(read, FileError::Store(StoreError::Tampered { how: REPEATED, .. })));
    assert_eq!(crafted.repair(), (1, 0));
}

#[test]
fn a_folder_of_one_leaf_over_and_over_is_walked_once() {
    let crafted = Crafted::new();
    let (entries, totals) = one_file(&crafted);
    let mut tag = crafted.put(at(Kind::FolderLeaf, 1), &Node::FolderLeaf(entries.into()));
    for level in 1..10_u8 {
        let refs = vec![(u64::from(level), tag, 1, "a"); WIDE];
        tag = crafted.put(at(Kind::FolderInner, u64::from(level) + 1), &folder_inner(level, refs));
    }
    let head = tree(totals, 10, vec![(10, tag, 1, "a"); WIDE]);
    let tag = crafted.put(RecordId::folder(ODD), &head.into());
    crafted.link(ODD, tag, What::Folder, totals);

    let report = crafted.check(1_000);
    assert_eq!((report.problems.len(), report.unlisted), (10 * (WIDE - 1), 0));
    assert!(report.problems.iter().all(|problem| problem.how == REPEATED));
    crafted.assert_not_copied("a part of a folder", REPEATED);
    let whole = files(&[("/memories/kept", "kept"), ("/memories/odd/a", "x")]);
    assert_eq!(crafted.salvage(), (whole, 10 * (WIDE - 1), 0));
    assert_eq!(crafted.repair(), (10 * (WIDE - 1), 0));
    assert_eq!(crafted.session().files().read("/memories/odd/a").unwrap().as_str(), "x");
}

/// Folders that each contain the next one under 20 names, so that the last has 20^18 paths.
#[test]
fn a_folder_of_one_folder_over_and_over_is_walked_once() {
    let crafted = Crafted::new();
    let (mut entries, mut totals) = one_file(&crafted);
    let names: Vec<String> = (0..20).map(|number| format!("{number:02}")).collect();
    for depth in 0..=18_u8 {
        let id = ObjectId([depth; 16]);
        let body = Body::Inline(entries);
        let head = Folder { next_index: 0, totals, body };
        let tag = crafted.put(RecordId::folder(id), &head.into());
        if depth == 18 {
            crafted.link(id, tag, What::Folder, totals);
            break;
        }
        let entry = |name: &String| Entry::new(Name::new(name), id, Tag(tag), What::Folder);
        entries = Entries(names.iter().map(entry).collect());
        totals = names.iter().fold(Totals::default(), |sum, name| {
            sum.plus(&Totals::of_folder(&Name::new(name), &totals))
        });
    }
    let report = crafted.check(1_000);
    assert_eq!((report.problems.len(), report.unlisted), (18 * 19, 0));
    assert!(report.problems.iter().all(|problem| problem.how == REPEATED));
    crafted.assert_not_copied("a folder", REPEATED);
    let (saved, lost, _) = crafted.salvage();
    assert_eq!((saved.len(), lost), (2, 18 * 19));
    let moved = crafted.session().files().rename("/memories/odd", "/memories/elsewhere");
    assert!(matches!(
        moved,
        Err(FileError::Store(StoreError::Tampered { what: "a folder", how: REPEATED }))
    ));
    assert_eq!(crafted.repair(), (18 * 19, 0));
}

/// A thread's stack is enough for a few thousand calls, but a crafted store can nest folders to any depth.
#[test]
fn folders_without_end_are_followed_only_as_deep_as_a_path_leads() {
    let crafted = Crafted::new();
    let (mut entries, mut totals) = one_file(&crafted);
    for depth in 0..=3_000_u64 {
        let mut id = ObjectId([0; 16]);
        id.0[..8].copy_from_slice(&depth.to_le_bytes());
        let name = Name::new("d");
        let head = Folder { next_index: 0, totals, body: Body::Inline(entries) };
        let tag = crafted.put(RecordId::folder(id), &head.into());
        if depth == 3_000 {
            crafted.link(id, tag, What::Folder, totals);
            break;
        }
        totals = Totals::of_folder(&name, &totals);
        entries = Entries(vec![Entry::new(name, id, Tag(tag), What::Folder)]);
    }
    let report = crafted.check(10_000);
    let found: Vec<_> =
        report.problems.iter().map(|problem| (problem.names.len(), problem.how)).collect();
    assert_eq!(found, [(21, "lies deeper than any path leads")]);
    crafted.assert_not_copied("a folder", "lies deeper than any path leads");
    // What is deeper gets a path of its own.
    let (saved, lost, _) = crafted.salvage();
    assert_eq!((saved.len(), saved["/memories/kept"].as_str(), lost), (2, "kept", 0));
    assert_eq!(crafted.repair(), (0, 0));
}

/// Tree levels that do not count down by one, or that exceed the height of any tree.
#[test]
fn levels_that_do_not_count_down_are_damage() {
    for levels in [vec![1, 1], vec![1, 3], (1..=40).collect::<Vec<u8>>()] {
        let crafted = Crafted::new();
        let mut tag = crafted.put(at(Kind::Chunk, 1), &chunk("x"));
        let (top, below) = levels.split_last().unwrap();
        let mut index = 1;
        for level in below {
            let node = inner(*level, vec![(index, tag, 1, 0)]);
            index += 1;
            tag = crafted.put(at(Kind::FileInner, index), &node);
        }
        // A node of level 1 refers to a chunk, whatever record is there.
        let top = if *top == 1 { 5 } else { *top };
        let tag = crafted.put(RecordId::file(ODD, 0), &rope(top, vec![(index, tag, 1, 0)]).into());
        crafted.link(ODD, tag, What::File(info(1, 1)), Totals::default());

        let report = crafted.check(1_000);
        let found: Vec<_> = report.problems.iter().map(|problem| problem.how).collect();
        assert_eq!(found, ["authenticates but does not decode"], "{levels:?}");
        let session = crafted.session();
        let purged = format!("{:?}", session.purge());
        assert!(purged.contains("authenticates but does not decode"), "{levels:?}: {purged}");
        drop(session);
        assert_eq!(crafted.salvage(), (files(&[("/memories/kept", "kept")]), 1, 0));
        assert!(crafted.session().files().read("/memories/odd").is_err(), "{levels:?}");
        assert_eq!(crafted.repair(), (1, 0), "{levels:?}");
    }
}

/// The deepest store that can be read: folders to the greatest depth of a path, each a tree of the greatest height.
#[test]
fn the_deepest_store_fits_the_stack() {
    let crafted = Crafted::new();
    let (mut entries, mut totals) = one_file(&crafted);
    for depth in 0..20_u8 {
        let id = ObjectId([depth; 16]);
        let first = entries.0[0].name.clone();
        let at = |kind, index| RecordId { kind, object: id, index };
        let mut tag = crafted.put(at(Kind::FolderLeaf, 1), &Node::FolderLeaf(entries.into()));
        for level in 1..24_u8 {
            let node = folder_inner(level, vec![(u64::from(level), tag, 1, first.as_str())]);
            tag = crafted.put(at(Kind::FolderInner, u64::from(level) + 1), &node);
        }
        let head = tree(totals, 24, vec![(24, tag, 1, first.as_str())]);
        let tag = crafted.put(RecordId::folder(id), &head.into());
        if depth == 19 {
            crafted.link(id, tag, What::Folder, totals);
            break;
        }
        let name = Name::new("d");
        totals = Totals::of_folder(&name, &totals);
        entries = Entries(vec![Entry::new(name, id, Tag(tag), What::Folder)]);
    }
    let report = crafted.check(10_000);
    assert!(report.is_clean(), "{:?}", report.problems);
    assert_eq!((report.records, report.files), (20 * 25 + 5, 2));
    let (saved, lost, _) = crafted.salvage();
    assert_eq!((saved.len(), lost), (2, 0));
    crafted.session().purge().unwrap();
    assert_eq!(crafted.repair(), (0, 0));
}

#[test]
fn no_report_lists_more_than_its_bound_and_the_rest_is_counted() {
    let crafted = Crafted::new();
    let mut next = 0;
    let mut index = || {
        next += 1;
        next
    };
    let mut tops = Vec::new();
    for _ in 0..3 {
        let mut middles = Vec::new();
        for _ in 0..WIDE {
            let absent = (0..WIDE).map(|_| (index(), [7; 16], 1, "a")).collect();
            let at = at(Kind::FolderInner, index());
            middles.push((at.index, crafted.put(at, &folder_inner(1, absent)), 60, "a"));
        }
        let at = at(Kind::FolderInner, index());
        tops.push((at.index, crafted.put(at, &folder_inner(2, middles)), 3_600, "a"));
    }
    let tag = crafted.put(RecordId::folder(ODD), &tree(Totals::default(), 3, tops).into());
    crafted.link(ODD, tag, What::Folder, Totals::default());

    let report = crafted.check(20_000);
    assert_eq!((report.problems.len(), report.unlisted), (10_000, 800));
    let (saved, lost, unlisted) = crafted.salvage();
    assert_eq!((saved.len(), lost, unlisted), (1, 10_000, 800));
    assert_eq!(crafted.repair(), (10_000, 800));
}
