//! Tests of authentic records with unexpected content, as a faulty version or an attacker with the keys may write them.
//! Each leads to an error or some text, but never to a panic, an endless loop or more memory than is stored.

use serde::Serialize;

use super::model::{parse, put};
use crate::session::tests::store::TestStore;
use crate::session::{Session, StoreError, Txn};
use crate::vfs::error::FileError;
use crate::vfs::folder::ResolvedPath;
use crate::vfs::{edit, file, folder};
use inmost_format::record::node::{
    Entries, Entry, File, FileInfo, Folder, Name, Node, Text, Totals, What,
};
use inmost_format::record::tree::Body;
use inmost_format::record::{Kind, NodeSink, ObjectId, RecordId, Tag, codec};

pub(super) const ODD: ObjectId = ObjectId([0xdd; 16]);

/// A stored reference: index, tag, bytes, newlines.
pub(super) type TextRef = (u64, [u8; 16], u64, u64);

/// The stored top of a rope; 1 is the number of the tree variant of a body.
pub(super) fn rope(level: u8, refs: Vec<TextRef>) -> File {
    let bytes = encode(&(u64::MAX.to_le_bytes(), 1_u32, level, refs));
    codec::decode(&bytes).unwrap()
}

/// A stored inner node of a rope.
pub(super) fn inner(level: u8, refs: Vec<TextRef>) -> Node {
    Node::decode(Kind::FileInner, &encode(&(level, refs))).unwrap()
}

/// The stored top of a folder's tree; a reference is index, tag, entries, first name.
pub(super) fn tree(totals: Totals, level: u8, refs: Vec<(u64, [u8; 16], u64, &str)>) -> Folder {
    let bytes = encode(&(7_u64.to_le_bytes(), totals, 1_u32, level, refs));
    codec::decode(&bytes).unwrap()
}

pub(super) fn encode(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![0; codec::encoded_len(value).unwrap()];
    codec::encode(value, &mut bytes).unwrap();
    bytes
}

fn at(kind: Kind, index: u64) -> RecordId {
    RecordId { kind, object: ODD, index }
}

pub(super) fn chunk(text: &str) -> Node {
    Node::Chunk(Text::new(text).into())
}

pub(super) fn info(bytes: u64, lines: u64) -> FileInfo {
    FileInfo { bytes, lines, ..FileInfo::of_times(u64::MAX, u64::MAX) }
}

/// A call on a store.
type Attempt<'a> = dyn Fn(&Session) -> Result<(), FileError> + 'a;

/// Every possible call on `/memories/odd`, then its removal and the reaping of its remains.
fn try_everything(name: &str, make: impl Fn(&mut Txn<'_>) -> Result<What, FileError>) {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session
        .write(|txn| {
            put(txn, "/memories/kept", "kept")?;
            let what = make(txn)?;
            let path = parse("/memories/odd");
            let resolved = ResolvedPath::new(txn, &txn.root()?, &path)?;
            folder::put(txn, &path, &resolved, (ODD, Tag::default()), what)?;
            Ok::<_, FileError>(())
        })
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let path = parse("/memories/odd");
    let attempts: [&Attempt<'_>; 10] = [
        &|session| session.files().read("/memories/odd").map(drop),
        &|session| session.files().list("/memories/odd").map(drop),
        &|session| session.files().read("/memories/odd/a").map(drop),
        &|session| {
            session.read(|open| {
                let view = file::FileView::open(open, open.root(), &path)?;
                view.search("needle")?;
                view.offset_after(3)?;
                view.is_unclosed()?;
                Ok(())
            })
        },
        &|session| edit::insert(session, &path, 0, "line\n"),
        &|session| edit::insert(session, &path, 2, &"line\n".repeat(10_000)),
        &|session| edit::replace(session, &path, "e", "f", 100).map(drop),
        &|session| session.files().write("/memories/odd/b", "x"),
        &|session| session.files().rename("/memories/odd", "/memories/far/away/it/is"),
        &|session| session.files().remove("/memories/odd"),
    ];
    for attempt in attempts {
        let store = store.duplicate();
        let session = store.unlock().unwrap();
        let result = attempt(&session);
        let refused = matches!(result, Err(FileError::Store(StoreError::Halted)));
        assert!(!refused, "{name}: {result:?}");
        for moved in ["/memories/odd", "/memories/far"] {
            drop(session.files().remove(moved));
        }
        for number in 0..6 {
            let text = number.to_string();
            session.files().write("/memories/kept", &text).unwrap_or_else(|error| {
                panic!("{name}: {error}");
            });
        }
        drop(session);
        let session = store.unlock().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(session.files().read("/memories/kept").unwrap().as_str(), "5", "{name}");
    }
}

#[test]
fn odd_ropes_are_survived() {
    let none = [0; 16];
    let most = u64::MAX;
    try_everything("counts that lie", |txn| {
        txn.put(at(Kind::Chunk, 1), chunk("needle e\n"));
        txn.put(at(Kind::Chunk, 2), chunk("more\n"));
        let refs = vec![(1, none, most, most), (2, none, most, 0)];
        txn.put(at(Kind::File, 0), rope(1, refs).into());
        Ok(What::File(info(most, most)))
    });
    try_everything("counts of nothing", |txn| {
        txn.put(at(Kind::Chunk, 1), chunk(""));
        txn.put(at(Kind::Chunk, 2), chunk("some\n"));
        txn.put(at(Kind::File, 0), rope(1, vec![(1, none, 0, 0), (2, none, 0, 0)]).into());
        Ok(What::File(info(9_000, 3)))
    });
    try_everything("leaves of nothing at the end", |txn| {
        txn.put(at(Kind::Chunk, 1), chunk("some\n"));
        txn.put(at(Kind::Chunk, 2), chunk(""));
        txn.put(at(Kind::File, 0), rope(1, vec![(1, none, 5, 1), (2, none, 0, 0)]).into());
        Ok(What::File(info(9_000, 3)))
    });
    try_everything("no leaves", |txn| {
        txn.put(at(Kind::File, 0), rope(200, Vec::new()).into());
        Ok(What::File(info(9_000, 3)))
    });
    try_everything("level nothing", |txn| {
        txn.put(at(Kind::Chunk, 1), chunk("some\n"));
        txn.put(at(Kind::File, 0), rope(0, vec![(1, none, 5, 1)]).into());
        Ok(What::File(info(9_000, 3)))
    });
    try_everything("100 levels", |txn| {
        txn.put(at(Kind::Chunk, 1), chunk("needle e\n"));
        for level in 1..100_u8 {
            let child = if level == 1 { 1 } else { u64::from(level) - 1 };
            txn.put(at(Kind::FileInner, u64::from(level)), inner(level, vec![(child, none, 9, 1)]));
        }
        txn.put(at(Kind::File, 0), rope(100, vec![(99, none, 9, 1)]).into());
        Ok(What::File(info(9_000, 3)))
    });
    try_everything("a chunk twice", |txn| {
        txn.put(at(Kind::Chunk, 1), chunk("needle e\n"));
        txn.put(at(Kind::File, 0), rope(1, vec![(1, none, 9, 1), (1, none, 9, 1)]).into());
        Ok(What::File(info(9_000, 3)))
    });
    try_everything("a level that does not count down", |txn| {
        txn.put(at(Kind::Chunk, 1), chunk("needle e\n"));
        txn.put(at(Kind::FileInner, 5), inner(1, vec![(1, none, 9, 1)]));
        txn.put(at(Kind::File, 0), rope(9, vec![(5, none, 9, 1)]).into());
        Ok(What::File(info(9_000, 3)))
    });
    try_everything("a short file as a rope", |txn| {
        txn.put(at(Kind::Chunk, 1), chunk("needle e\n"));
        txn.put(at(Kind::File, 0), rope(1, vec![(1, none, 9, 1)]).into());
        Ok(What::File(info(9, 1)))
    });
}

#[test]
fn odd_folders_are_survived() {
    let none = [0; 16];
    let lies = Totals {
        visible_children: u64::MAX,
        visible_grandchildren: u64::MAX,
        visible_bytes: u64::MAX,
        files: u64::MAX,
        bytes: u64::MAX,
    };
    let entry = |name: &str, what| Entry::new(Name::new(name), ODD, Tag(none), what);
    let leaf = |entries: Vec<Entry>| Node::FolderLeaf(Entries(entries).into());
    try_everything("totals that lie", |txn| {
        let body = Body::Inline(Entries(Vec::new()));
        txn.put(at(Kind::Folder, 0), Folder { next_index: 0, totals: lies, body }.into());
        Ok(What::Folder)
    });
    try_everything("names out of order, twice and impossible", |txn| {
        let file = What::File(info(5, 1));
        let names = ["b", "a", "a", "", "..", "a/b", "\0"];
        let entries = Entries(names.map(|name| entry(name, file)).into());
        let body = Body::Inline(entries);
        txn.put(at(Kind::File, 0), rope(1, Vec::new()).into());
        txn.put(at(Kind::Folder, 0), Folder { next_index: 0, totals: lies, body }.into());
        Ok(What::Folder)
    });
    try_everything("a leaf of nothing at the end", |txn| {
        txn.put(at(Kind::File, 0), rope(1, Vec::new()).into());
        txn.put(at(Kind::FolderLeaf, 1), leaf(vec![entry("a", What::File(info(5, 1)))]));
        txn.put(at(Kind::FolderLeaf, 2), leaf(Vec::new()));
        let refs = vec![(1, none, 1, "a"), (2, none, 0, "b")];
        txn.put(at(Kind::Folder, 0), tree(lies, 1, refs).into());
        Ok(What::Folder)
    });
    try_everything("counts that lie", |txn| {
        txn.put(at(Kind::File, 0), rope(1, Vec::new()).into());
        txn.put(at(Kind::FolderLeaf, 1), leaf(vec![entry("a", What::File(info(5, 1)))]));
        let refs = vec![(1, none, u64::MAX, "zzz")];
        txn.put(at(Kind::Folder, 0), tree(lies, 1, refs).into());
        Ok(What::Folder)
    });
    try_everything("no leaves", |txn| {
        txn.put(at(Kind::Folder, 0), tree(lies, 255, Vec::new()).into());
        Ok(What::Folder)
    });
}
