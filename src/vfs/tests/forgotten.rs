//! Tests that what was forgotten or dropped does not come back, neither to a reader of the bare files with the keys
//! nor by a repair.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::model::parse;
use super::pass_days;
use crate::maintenance::BareRecords;
use crate::session::tests::store::{options, passphrase};
use crate::session::{HistorySettings, Session, VaultOptions};
use crate::vfs::{VersionQuery, edit};
use inmost_format::header::Credential;
use inmost_format::record::node::{Entry, File, What};
use inmost_format::record::tree::Body;
use inmost_format::record::{Kind, Node, Tag};

const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// In every text and name that must not be found.
pub(crate) const NEEDLE: &str = "needle";

pub(crate) struct Store {
    folder: TempDir,
    pub(crate) session: Session,
}

impl Store {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = options().history(HistorySettings::keep(MONTH));
        let session = options.create(folder.path().join("store"), &passphrase()).unwrap();
        Self { folder, session }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.session.files().write(path, text).unwrap();
    }

    pub(crate) fn insert(&self, path: &str, text: &str) {
        edit::insert(&self.session, &parse(path), 0, text).unwrap();
    }

    /// The number of records in the bare files, and of those that hold the needle.
    pub(crate) fn scan(&self) -> (usize, usize) {
        let records = self.records();
        let needle = NEEDLE.as_bytes();
        let holds = |node: &Node| {
            let mut body = vec![0; node.encoded_len().unwrap()];
            node.encode(&mut body).unwrap();
            body.windows(needle.len()).any(|window| window == needle)
        };
        records.all().fold((0, 0), |(all, found), version| {
            (all + 1, found + usize::from(holds(&version.node)))
        })
    }

    fn records(&self) -> BareRecords {
        self.session.lock();
        let vault = options().open(self.path()).unwrap();
        let passphrase = passphrase();
        let credential = Credential::from(&passphrase);
        BareRecords::of(&vault, &credential, &mut |_| {}).unwrap().0
    }

    /// The entry of a file in the newest list that names it.
    fn entry(&self, name: &str) -> (Entry, Tag) {
        let records = self.records();
        let root = records.root().unwrap();
        let folder =
            inmost_format::record::load_folder(&records, root.tree.id, &root.tree.tag).unwrap();
        let Body::Inline(_) = &folder.body else { panic!("a tree") };
        let entry = folder.body.entry(&records, root.tree.id, name).unwrap().unwrap();
        (entry, root.tree.tag)
    }

    /// Damages every copy of some records, repairs the store and opens it again.
    fn repair_without(&self, tags: &[Tag]) -> Session {
        self.session.lock();
        let damaged: usize = tags.iter().map(|tag| flip(&self.path(), &tag.0)).sum();
        assert!(damaged > 0);
        let vault = options().open(self.path()).unwrap();
        vault.repair(&passphrase(), |_| {}).unwrap();
        drop(vault);
        VaultOptions::open(&options(), self.path()).unwrap().unlock(&passphrase()).unwrap()
    }
}

/// Flips a bit wherever these bytes are in the files of a folder. Returns the number of places.
pub(crate) fn flip(folder: &Path, wanted: &[u8; 16]) -> usize {
    let mut places = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            places += flip(&path, wanted);
            continue;
        }
        let mut bytes = fs::read(&path).unwrap();
        let found: Vec<usize> = memchr::memmem::find_iter(&bytes, wanted).collect();
        for at in &found {
            bytes[*at] ^= 1;
        }
        if !found.is_empty() {
            fs::write(&path, bytes).unwrap();
            places += found.len();
        }
    }
    places
}

/// A store in which the needle was in several files, and is in none.
fn with_past() -> Store {
    let store = Store::new();
    let files = store.session.files();
    store.write("/memories/kept.md", "kept\n");
    store.write("/memories/edited.md", "start\n");
    for number in 0..50 {
        store.insert("/memories/edited.md", &format!("{NEEDLE} {number}\n"));
    }
    store.write("/memories/edited.md", "end\n");
    store.write(&format!("/memories/{NEEDLE}1.md"), "moved\n");
    for number in 1..4 {
        let old = format!("/memories/{NEEDLE}{number}.md");
        files.rename(&old, &format!("/memories/{NEEDLE}{}.md", number + 1)).unwrap();
    }
    files.rename(&format!("/memories/{NEEDLE}4.md"), "/memories/moved.md").unwrap();
    store.write("/memories/folder/inside.md", NEEDLE);
    store.write("/memories/folder/long.md", &format!("{NEEDLE} long\n").repeat(2_000));
    store.insert("/memories/folder/long.md", &format!("{NEEDLE} again\n"));
    files.remove("/memories/folder").unwrap();
    store.write("/memories/again.md", NEEDLE);
    files.remove("/memories/again.md").unwrap();
    store.write("/memories/again.md", "another\n");
    store
}

const PAST: [&str; 5] = [
    "/memories/edited.md",
    "/memories/moved.md",
    "/memories/folder/inside.md",
    "/memories/folder/long.md",
    "/memories/again.md",
];

#[test]
fn nothing_that_was_forgotten_is_found_in_the_files_after_a_compaction() {
    let store = with_past();
    for path in PAST {
        store.session.history().forget(path, None, |_| {}).unwrap();
    }
    // The first file that had the path was deleted, and only its number leads to it.
    assert!(store.session.check().unwrap().is_clean());
    store.session.compact().unwrap();
    let (records, found) = store.scan();
    assert!(records > 5);
    assert_eq!(found, 0, "of {records} records");
}

/// Names, texts, sizes and actors of what was renamed, moved, deleted and made again, by files and by folders.
fn with_names() -> (Store, u64) {
    let store = Store::new();
    let session = store.session.acting_as(NEEDLE);
    let files = session.files();
    let write = |path: &str, text: &str| files.write(path, text).unwrap();
    store.write("/memories/kept.md", "kept\n");
    // A folder under three names, with a file that moved into it.
    write(&format!("/memories/{NEEDLE}/a.md"), NEEDLE);
    files.rename(&format!("/memories/{NEEDLE}"), &format!("/memories/other/{NEEDLE} 2")).unwrap();
    write(&format!("/memories/{NEEDLE}.md"), NEEDLE);
    files
        .rename(&format!("/memories/{NEEDLE}.md"), &format!("/memories/other/{NEEDLE} 2/b.md"))
        .unwrap();
    files.rename(&format!("/memories/other/{NEEDLE} 2"), "/memories/shown").unwrap();
    // A folder that was deleted, came back elsewhere, and moved.
    write(&format!("/memories/{NEEDLE} 3/c.md"), &NEEDLE.repeat(3_000));
    files.remove(&format!("/memories/{NEEDLE} 3")).unwrap();
    let deletion = session.history().page(&VersionQuery::all(), None, 1).unwrap().items[0].number;
    session.history().restore(deletion, Some(&format!("/memories/{NEEDLE} 4"))).unwrap();
    files.rename(&format!("/memories/{NEEDLE} 4"), "/memories/shown/back").unwrap();
    // A path that had three files, one of them in a folder that is still deleted.
    for number in 0..3 {
        write("/memories/again/d.md", &format!("{NEEDLE} {number}"));
        match number {
            0 => files.remove("/memories/again/d.md").unwrap(),
            1 => files.remove("/memories/again").unwrap(),
            _ => {}
        }
    }
    for path in [
        "/memories/shown/a.md",
        "/memories/shown/b.md",
        "/memories/shown/back/c.md",
        "/memories/again/d.md",
    ] {
        store.write(path, "now\n");
    }
    let last = session.history().page(&VersionQuery::all().actor(NEEDLE), None, 1).unwrap();
    (store, last.items[0].number)
}

#[test]
fn no_name_text_or_actor_of_what_was_forgotten_is_found_in_the_files_after_a_compaction() {
    for is_until in [false, true] {
        let (store, last) = with_names();
        let until = is_until.then_some(last);
        for path in ["/memories/shown", "/memories/again/d.md"] {
            store.session.history().forget(path, until, |_| {}).unwrap();
        }
        assert!(store.session.check().unwrap().is_clean());
        let left = store.session.history().page(&VersionQuery::all(), None, 100).unwrap().items;
        let of_files = left.iter().filter(|version| version.file.is_some()).count();
        assert_eq!(of_files, if is_until { 5 } else { 1 }, "{left:?}");
        store.session.compact().unwrap();
        let (records, found) = store.scan();
        assert!(records > 5);
        assert_eq!(found, 0, "of {records} records, until {until:?}");
    }
}

/// A version that is kept may have been the move of what is forgotten. It keeps where to, and not where from.
#[test]
fn a_move_after_the_last_forgotten_version_keeps_no_name_from_before_it() {
    let store = Store::new();
    let files = store.session.files();
    store.write(&format!("/memories/{NEEDLE}/a.md"), NEEDLE);
    store.write(&format!("/memories/{NEEDLE}.md"), NEEDLE);
    let last = store.session.history().page(&VersionQuery::all(), None, 1).unwrap().items[0].number;
    files.rename(&format!("/memories/{NEEDLE}"), "/memories/b").unwrap();
    files.rename(&format!("/memories/{NEEDLE}.md"), "/memories/c.md").unwrap();
    let moved = store.session.history().page(&VersionQuery::all(), None, 2).unwrap().items;
    for path in ["/memories/b", "/memories/c.md"] {
        assert_eq!(store.session.history().forget(path, Some(last), |_| {}).unwrap(), 1);
    }
    let left = store.session.history().page(&VersionQuery::all(), None, 9).unwrap().items;
    assert_eq!(left.len(), 2);
    for (version, before) in left.iter().zip(&moved) {
        assert_eq!((version.number, &version.old_path), (before.number, &None));
    }
    // There is nothing to go back to.
    let plan = store.session.history().plan_undo(&VersionQuery::all()).unwrap();
    assert_eq!((plan.steps.len(), plan.left.len(), plan.gone.len()), (0, 1, 1), "{plan:?}");
    store.write("/memories/b/a.md", "now\n");
    store.write("/memories/c.md", "now\n");
    let until = Some(moved[0].number);
    for path in ["/memories/b", "/memories/c.md"] {
        store.session.history().forget(path, until, |_| {}).unwrap();
    }
    store.session.compact().unwrap();
    assert_eq!(store.scan().1, 0);
}

#[test]
fn the_past_is_found_before_it_is_forgotten_and_after_a_compaction_alone() {
    let store = with_past();
    store.session.compact().unwrap();
    assert!(store.scan().1 > 50);
}

#[test]
fn nothing_of_the_past_is_found_in_the_files_after_a_purge() {
    let store = with_past();
    store.session.purge().unwrap();
    let (records, found) = store.scan();
    assert!(records > 5);
    assert_eq!(found, 0, "of {records} records");
}

/// What was at this path before, and how it was made to go.
fn gone(how: &str) -> Store {
    let store = Store::new();
    store.write("/memories/a.md", &format!("{NEEDLE}\n"));
    store.insert("/memories/a.md", "second\n");
    edit::replace(&store.session, &parse("/memories/a.md"), NEEDLE, "", 100).unwrap();
    let history = store.session.history();
    match how {
        "forgotten" => drop(history.forget("/memories/a.md", None, |_| {}).unwrap()),
        "forgotten until" => {
            let versions = history.page(&VersionQuery::all(), None, 10).unwrap().items;
            let last = versions[1].number;
            assert_eq!(history.forget("/memories/a.md", Some(last), |_| {}).unwrap(), 2);
        }
        "expired" => {
            pass_days(&store.session, 36);
        }
        _ => {}
    }
    store
}

fn texts(session: &Session) -> String {
    let files = session.files().walk("/memories");
    let paths: Vec<String> = files
        .map(|entry| entry.unwrap())
        .filter(|entry| !entry.metadata.is_folder())
        .map(|entry| entry.path.as_str().to_owned())
        .collect();
    paths.iter().map(|path| session.files().read(path).unwrap().into_string()).collect()
}

#[test]
fn a_repair_shows_the_text_before_the_current_one_only_while_it_is_kept() {
    for (how, comes_back) in
        [("kept", true), ("forgotten", false), ("forgotten until", false), ("expired", false)]
    {
        let store = gone(how);
        let (entry, _) = store.entry("a.md");
        let session = store.repair_without(&[entry.tag]);
        assert_eq!(texts(&session).contains(NEEDLE), comes_back, "{how}");
    }
}

#[test]
fn a_repair_goes_back_to_the_oldest_text_that_is_kept_and_not_beyond() {
    for (how, comes_back) in
        [("kept", true), ("forgotten", false), ("forgotten until", false), ("expired", false)]
    {
        let store = gone(how);
        for line in ["third\n", "fourth\n"] {
            store.insert("/memories/a.md", line);
        }
        let (entry, _) = store.entry("a.md");
        let is_without = |head: &File| match &head.body {
            Body::Inline(text) => !text.as_str().contains(NEEDLE),
            Body::Tree(_) => false,
        };
        let records = store.records();
        let heads = records.all().filter(|it| {
            it.id.object == entry.id && matches!(&it.node, Node::File(head) if is_without(head))
        });
        let session = store.repair_without(&heads.map(|it| it.tag).collect::<Vec<_>>());
        assert_eq!(texts(&session).contains(NEEDLE), comes_back, "{how}");
    }
}

#[test]
fn a_repair_of_a_lost_list_shows_no_earlier_text() {
    for how in ["kept", "forgotten", "forgotten until", "expired"] {
        let store = gone(how);
        let (_, list) = store.entry("a.md");
        let session = store.repair_without(&[list]);
        let texts = texts(&session);
        assert!(texts.contains("second") && !texts.contains(NEEDLE), "{how}: {texts}");
    }
}

#[test]
fn a_repair_of_a_lost_list_brings_back_no_deleted_file() {
    for how in ["deleted", "forgotten"] {
        let store = Store::new();
        store.write("/memories/a.md", NEEDLE);
        store.write("/memories/b.md", "b\n");
        store.session.files().remove("/memories/a.md").unwrap();
        if how == "forgotten" {
            store.session.history().forget("/memories/a.md", None, |_| {}).unwrap();
        }
        // Another list that is intact, so that it is not all lists that are lost.
        store.write("/memories/c/d.md", "d\n");
        let (_, list) = store.entry("b.md");
        let session = store.repair_without(&[list]);
        let texts = texts(&session);
        assert!(texts.contains('b') && !texts.contains(NEEDLE), "{how}: {texts}");
    }
}

#[test]
fn damage_to_the_history_costs_the_history_only() {
    let store = with_past();
    let before = texts(&store.session);
    let records = store.records();
    let root = records.root().unwrap();
    let leaves: Vec<Tag> = records
        .all()
        .filter(|version| version.id.kind == Kind::HistoryLeaf)
        .map(|version| version.tag)
        .collect();
    assert!(leaves.len() > 3);
    for tag in [root.history.tag, leaves[0], leaves[leaves.len() / 2], leaves[leaves.len() - 1]] {
        flip(&store.path(), &tag.0);
    }
    // The engine may refuse its files; then a repair reads them without it.
    let mut vault = options().open(store.path()).unwrap();
    let opened = vault.unlock(&passphrase());
    if opened.is_err() {
        vault.repair(&passphrase(), |_| {}).unwrap();
    }
    drop(vault);
    let session = opened
        .unwrap_or_else(|_| options().open(store.path()).unwrap().unlock(&passphrase()).unwrap());
    assert_eq!(texts(&session), before);
    session.files().write("/memories/new.md", "new\n").unwrap();
    let page = session.history().page(&VersionQuery::all(), None, 10).unwrap();
    assert_eq!(page.items[0].path.as_ref().unwrap().as_str(), "/memories/new.md");
    let text = session.history().text(page.items[0].number).unwrap();
    assert_eq!(text.as_str(), "new\n");
}

/// The names of entries are in lists, which a damaged store may need.
#[test]
fn an_entry_that_is_looked_up_is_a_file() {
    let store = gone("kept");
    assert!(matches!(store.entry("a.md").0.what, What::File(info) if info.lowest < info.head));
}

/// The history held the text that the repair shows.
#[test]
fn an_earlier_text_that_a_repair_shows_stays_when_its_version_goes() {
    let store = gone("kept");
    let (entry, _) = store.entry("a.md");
    let session = store.repair_without(&[entry.tag]);
    let shown = texts(&session);
    assert!(shown.contains(NEEDLE));
    let versions = session.history().page(&VersionQuery::all(), None, 10).unwrap().items;
    // The last change lost its text. It does not have the one that is shown.
    assert!(session.history().text(versions[0].number).is_err());
    assert_eq!(session.history().text(versions[1].number).unwrap().as_str(), shown);
    session.history().set(HistorySettings::off()).unwrap();
    assert_eq!(texts(&session), shown);
    let report = session.check().unwrap();
    assert!(report.is_clean() && report.orphans == 0, "{report:?}");
}

/// The number of a file is in its list.
#[test]
fn files_whose_list_was_lost_have_versions_of_their_own_again() {
    let store = Store::new();
    store.write("/memories/d/a.md", "a\n");
    store.write("/memories/d/b.md", "b\n");
    let records = store.records();
    let root = records.root().unwrap();
    let lists: Vec<Tag> = records
        .all()
        .filter(|version| version.id.kind == Kind::Folder && version.id.object != root.tree.id)
        .map(|version| version.tag)
        .collect();
    let session = store.repair_without(&lists);
    let found: Vec<String> = session
        .files()
        .walk("/memories/lost-and-found")
        .map(|entry| entry.unwrap())
        .filter(|entry| !entry.metadata.is_folder())
        .map(|entry| entry.path.as_str().to_owned())
        .collect();
    assert_eq!(found.len(), 2);
    let mut numbers = Vec::new();
    for path in &found {
        let before = session.files().read(path).unwrap();
        session.files().append(path, "more\n").unwrap();
        let version =
            session.history().page(&VersionQuery::all(), None, 1).unwrap().items.remove(0);
        let earlier = version.previous.unwrap();
        assert_eq!(session.history().text(earlier).unwrap().as_str(), before.as_str());
        numbers.push(version.file.unwrap());
    }
    assert_ne!(numbers[0], numbers[1]);
}
