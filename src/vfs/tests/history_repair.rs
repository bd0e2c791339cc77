//! Tests of a repair of a store with a damaged history: whatever record is damaged, every version that could be read before
//! can be read afterwards, and none has another text.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use super::model::{dump, parse, text};
use super::version_model::random_store;
use super::versions::{assert_whole, change, keeps, log, newest};
use crate::maintenance::RecoveryReport;
use crate::session::tests::store::{TestStore, options, passphrase};
use crate::session::{AnchorStatus, Session, StoreError};
use crate::vfs::error::FileError;
use crate::vfs::{VersionInfo, VersionKind, VersionQuery, VersionText, edit};
use inmost_format::record::plain::Random;
use inmost_format::record::{Kind, RecordId};

const LONG: &str = "/memories/long";

/// A store with hundreds of versions in a tree of them: of short and long files, of files that moved with folders, and in deleted
/// folders. Some were forgotten.
pub(super) fn filled() -> TestStore {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    let files = session.files();
    let write = |path: &str, content: &str| files.write(path, content).unwrap();
    let forget = |path: &str| session.history().forget(path, None, |_| {}).unwrap();
    write(LONG, &text("long", 30_000));
    write("/memories/gone", &text("gone", 12_000));
    write("/memories/moves/with its folder", "moved\n");
    write("/memories/returns/a", "returned\n");
    for number in 0..60 {
        let name = format!("{number:02}{}", "e".repeat(150));
        write(&format!("/memories/deleted/below/{name}"), &format!("deleted {number}\n"));
    }
    write("/memories/deleted/long", &text("deleted", 12_000));
    for number in 0..280 {
        // Long names, so that the history has inner nodes.
        let path = format!("/memories/{}/{}", "n".repeat(240), number % 7);
        write(&path, &format!("{number}\n"));
        match number {
            20 | 60 | 100 | 140 => {
                edit::insert(&session, &parse(LONG), 3, &format!("line {number}\n")).unwrap();
                edit::insert(&session, &parse("/memories/gone"), 3, "line\n").unwrap();
                edit::insert(&session, &parse("/memories/deleted/long"), 3, "line\n").unwrap();
            }
            50 => {
                let earlier = newest(&session).previous;
                session.history().forget(&path, earlier, |_| {}).unwrap();
            }
            80 => files.rename("/memories/moves", "/memories/moved").unwrap(),
            90 => files.remove("/memories/returns").unwrap(),
            110 => {
                let deletions = VersionQuery::all().kind(VersionKind::Deleted);
                let deletion = session.history().page(&deletions, None, 1).unwrap().items.remove(0);
                session.history().restore(deletion.number, None).unwrap();
            }
            150 => files.rename(LONG, "/memories/longer").unwrap(),
            160 => {
                write("/memories/forgotten", "forgotten\n");
                files.remove("/memories/forgotten").unwrap();
                forget("/memories/forgotten");
            }
            170 => files.remove("/memories/gone").unwrap(),
            180 => files.remove("/memories/deleted").unwrap(),
            190 => files.rename("/memories/moved", "/memories/moved/again").unwrap_or_default(),
            _ => {}
        }
    }
    edit::insert(&session, &parse("/memories/longer"), 0, "last\n").unwrap();
    drop(session);
    store
}

/// What a session shows.
struct Shown {
    listed: Vec<VersionInfo>,
    /// The texts of all versions that are listed or named by a listed one, where there is one.
    texts: BTreeMap<u64, Option<String>>,
    files: BTreeMap<String, String>,
}

impl Shown {
    fn of(session: &Session, numbers: Option<&BTreeMap<u64, Option<String>>>) -> Self {
        let listed = log(session);
        let named = listed.iter().flat_map(|it| [Some(it.number), it.previous]).flatten();
        let mut all: BTreeSet<u64> = named.collect();
        all.extend(numbers.into_iter().flat_map(BTreeMap::keys));
        let texts = all.into_iter().map(|number| (number, text_of(session, number))).collect();
        Self { listed, texts, files: dump(session).unwrap().into_iter().collect() }
    }
}

fn text_of(session: &Session, number: u64) -> Option<String> {
    match session.history().text(number) {
        Ok(text) => Some(text.into_string()),
        Err(
            FileError::VersionGone(_)
            | FileError::NoSuchVersion(_)
            | FileError::IsAFolder(_)
            | FileError::Store(StoreError::Tampered { .. }),
        ) => None,
        Err(error) => panic!("{number}: {error}"),
    }
}

pub(super) fn damage(store: &TestStore, victims: &[RecordId]) {
    for victim in victims {
        let at = store.address(*victim);
        store.tamper(|records| *records.get_mut(&at).unwrap().last_mut().unwrap() ^= 1);
    }
}

pub(super) fn repair(store: &TestStore, context: &str) -> RecoveryReport {
    let vault = options().open_storage(Arc::new(store.memory.clone())).unwrap();
    let plan = vault.plan_repair(&passphrase(), |_| {}).unwrap();
    let report = vault.repair(&passphrase(), |_| {}).unwrap();
    let counts = |report: &RecoveryReport| {
        let lists = [report.older.len(), report.found.len(), report.lost.len()];
        (report.files, lists, report.lost_versions, report.lost_texts)
    };
    assert_eq!(counts(&plan), counts(&report), "{context}");
    report
}

/// An attacker damaged the newest text of a file. A repair brought the one before it back, and the store was known to be the newest.
#[test]
fn an_older_version_that_a_repair_takes_makes_the_freshness_unknown() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    let policy = "/memories/policy.md";
    session.files().write(policy, "one\n").unwrap();
    for text in ["two\n", "three\n", "four\n"] {
        edit::insert(&session, &parse(policy), 1, text).unwrap();
    }
    let mut changes = log(&session);
    changes.sort_by_key(|version| version.number);
    drop(session);
    let mut heads: Vec<RecordId> =
        store.reachable().into_keys().filter(|id| id.kind == Kind::File).collect();
    heads.sort_by_key(|id| id.index);
    assert_eq!(heads.len(), 4);
    damage(&store, &heads[2..]);

    let report = repair(&store, "policy");
    let [older] = report.older.as_slice() else { panic!("{report:?}") };
    assert_eq!(older.problem.names, ["policy.md"]);
    assert_eq!((older.newer, older.written), (Some(2), Some(changes[1].time)));
    assert!(!report.is_newest());
    let open = || options().open_storage(Arc::new(store.memory.clone())).unwrap();
    let freshness = |session: &Session| session.status().unwrap().anchor;
    for _ in 0..2 {
        let session = store.unlock().unwrap();
        assert_eq!(freshness(&session), AnchorStatus::Unknown);
        assert_eq!(session.files().read(policy).unwrap().as_str(), "one\ntwo\n");
        session.files().write("/memories/other", "more").unwrap();
    }
    drop(open().unlock_accepting_rollback(&passphrase()).unwrap());
    let session = store.unlock().unwrap();
    assert_eq!(freshness(&session), AnchorStatus::Known);
    drop(session);
    // A repair that finds everything changes nothing of that.
    assert!(repair(&store, "whole").is_newest());
    assert_eq!(freshness(&store.unlock().unwrap()), AnchorStatus::Known);
}

/// A repair looked one change back, so a file was lost whose last two texts were damaged. Here the last 41 texts share a damaged
/// piece, and the one before them is damaged too.
#[test]
fn a_repair_takes_the_newest_text_that_is_whole_however_many_are_damaged() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    let (path, whole) = ("/memories/policy.md", text("whole", 9_000));
    session.files().write(path, &text("first", 9_000)).unwrap();
    session.files().write(path, &whole).unwrap();
    edit::insert(&session, &parse(path), 0, "wanted\n").unwrap();
    let written = newest(&session).time;
    let mut victims = Vec::new();
    for name in ["third", "fourth"] {
        let known = store.records_of(Kind::Chunk);
        session.files().write(path, &text(name, 9_000)).unwrap();
        let new = store.records_of(Kind::Chunk).into_iter().filter(|id| !known.contains(id));
        victims.extend(new.max_by_key(|id| id.index));
    }
    for number in 0..40 {
        edit::insert(&session, &parse(path), 0, &format!("{number}\n")).unwrap();
    }
    drop(session);
    damage(&store, &victims);

    let report = repair(&store, "policy");
    let [older] = report.older.as_slice() else { panic!("{report:?}") };
    assert_eq!((older.newer, older.written), (Some(42), Some(written)));
    assert!(report.lost.is_empty(), "{report:?}");
    let session = store.unlock().unwrap();
    assert_eq!(session.files().read(path).unwrap().as_str(), format!("wanted\n{whole}"));
    assert_whole(&session, "repaired");
    use_it(&session, "repaired");
    assert_whole(&session, "used");
}

/// Damages records that only the history has, repairs the store, and compares what it shows.
fn trial(healthy: &Shown, store: &TestStore, victims: &[RecordId]) -> RecoveryReport {
    let context = format!("{victims:?}");
    let store = store.duplicate();
    damage(&store, victims);
    let session = store.unlock().unwrap();
    let before = Shown::of(&session, Some(&healthy.texts));
    assert!(!session.check().unwrap().is_clean(), "{context}");
    assert!(matches!(session.compact(), Err(StoreError::Tampered { .. })), "{context}");
    drop(session);
    let report = repair(&store, &context);
    assert!(!report.is_complete() && report.older.is_empty() && report.found.is_empty());

    let session = store.unlock().unwrap();
    let after = Shown::of(&session, Some(&healthy.texts));
    assert_eq!(after.files, healthy.files, "{context}");
    let entries = |shown: &Shown| {
        let without_text =
            |it: &VersionInfo| VersionInfo { text: VersionText::Unknown, ..it.clone() };
        shown.listed.iter().map(without_text).collect::<Vec<_>>()
    };
    assert!(entries(&after) == entries(&before), "{context}");
    for (number, text) in &after.texts {
        let right = &healthy.texts[number];
        // A forgotten version has the text of one that was only renamed, if its entry is lost.
        let is_right =
            text == right || right.is_none() && healthy.texts.values().any(|it| it == text);
        assert!(text.is_none() || is_right, "{context}: {number} has another text");
        assert!(text == right || before.texts[number].is_none(), "{context}: {number} is lost");
        let error = session.history().text(*number).err();
        let is_damage = matches!(error, Some(FileError::Store(_)));
        assert!(!is_damage, "{context}: {number}: {error:?}");
    }
    assert_whole(&session, &context);
    session.compact().unwrap();
    assert!(Shown::of(&session, Some(&healthy.texts)).texts == after.texts, "{context}");
    use_it(&session, &context);
    assert_whole(&session, &context);
    report
}

/// Edits, takes back, brings back and forgets.
fn use_it(session: &Session, context: &str) {
    let history = session.history();
    let before: BTreeMap<String, String> = dump(session).unwrap().into_iter().collect();
    let path = before.keys().next().unwrap().clone();
    session.acting_as("agent").files().append(&path, "more\n").unwrap();
    let plan = history.plan_undo(&VersionQuery::all().actor("agent")).unwrap();
    assert_eq!(plan.steps.len(), 1, "{context}");
    history.undo(&plan, |_| {}).unwrap();
    assert_eq!(session.files().read(&path).unwrap().as_str(), before[&path], "{context}");
    let listed = log(session);
    for version in listed.iter().rev().step_by(1 + listed.len() / 6) {
        if text_of(session, version.number).is_some() {
            let to = format!("/memories/back {}", version.number);
            let text = history.text(version.number).unwrap();
            history.restore(version.number, Some(&to)).unwrap();
            assert_eq!(session.files().read(&to).unwrap(), text, "{context}");
        }
        if let Some(path) = &version.path {
            history.forget(path.as_str(), Some(version.number), |_| {}).unwrap();
            assert!(history.text(version.number).is_err(), "{context}");
        }
    }
    history.forget("/memories", None, |_| {}).unwrap();
    let left = log(session);
    let is_note = |version: &VersionInfo| version.kind == VersionKind::Forgotten;
    assert!(left.iter().all(is_note), "{context}: {left:?}");
}

/// The records that the history reaches and the tree does not.
pub(super) fn of_history(store: &TestStore) -> Vec<RecordId> {
    let reachable = store.reachable();
    let root = store.root();
    let mut of_tree = HashSet::new();
    let mut next = vec![RecordId::folder(root.tree.id), RecordId::folder(root.system.id)];
    while let Some(id) = next.pop() {
        if !of_tree.insert(id) {
            continue;
        }
        let mut node = reachable[&id].clone();
        node.children_mut::<Infallible>(id.object, |child, _| {
            next.push(child);
            Ok(())
        })
        .unwrap();
    }
    of_tree.insert(RecordId::ROOT);
    let mut ids: Vec<_> = reachable.into_keys().filter(|id| !of_tree.contains(id)).collect();
    ids.sort_by_key(|id| (id.kind.code(), id.object.0, id.index));
    ids
}

/// Up to `most` of the records of a kind, the first and the last among them.
fn some(ids: &[RecordId], kind: Kind, most: usize) -> Vec<RecordId> {
    let ids: Vec<RecordId> = ids.iter().copied().filter(|id| id.kind == kind).collect();
    let step = (ids.len().saturating_sub(1) / most.max(2).saturating_sub(1)).max(1);
    ids.iter().copied().step_by(step).chain(ids.last().copied()).collect()
}

#[test]
fn whatever_record_of_a_history_is_damaged_a_repair_keeps_every_version_that_can_be_read() {
    let store = filled();
    let healthy = Shown::of(&store.unlock().unwrap(), None);
    let ids = of_history(&store);
    for (kind, most) in [
        (Kind::HistoryLeaf, 5),
        (Kind::HistoryInner, 2),
        (Kind::File, 7),
        (Kind::Chunk, 5),
        (Kind::Folder, 3),
        (Kind::FolderLeaf, 2),
    ] {
        let victims = some(&ids, kind, most);
        assert!(!victims.is_empty(), "{kind:?}");
        for victim in victims {
            let report = trial(&healthy, &store, &[victim]);
            let is_entries = matches!(kind, Kind::HistoryInner | Kind::HistoryLeaf);
            assert_eq!(report.lost_versions > 0, is_entries, "{victim:?}: {report:?}");
            assert!(is_entries || report.lost_texts > 0, "{victim:?}: {report:?}");
            assert!(report.lost.is_empty(), "{victim:?}: {report:?}");
        }
    }
    // Several at once: the beginning, and neighbours.
    let leaves: Vec<_> = ids.iter().copied().filter(|id| id.kind == Kind::HistoryLeaf).collect();
    trial(&healthy, &store, &leaves[..3]);
    trial(&healthy, &store, &leaves[leaves.len() - 4..]);
    trial(&healthy, &store, &some(&ids, Kind::HistoryLeaf, 9));
    trial(&healthy, &store, &leaves);
}

#[test]
fn a_history_whose_head_is_damaged_is_left_out_and_the_files_stay() {
    let store = filled();
    let files: BTreeMap<_, _> = dump(&store.unlock().unwrap()).unwrap().into_iter().collect();
    damage(&store, &[RecordId::history(store.root().history.id)]);
    let report = repair(&store, "the head");
    let [lost] = report.lost.as_slice() else { panic!("{report:?}") };
    assert_eq!((lost.what, lost.how), ("the history", "cannot be read, and is left out"));
    let session = store.unlock().unwrap();
    assert_eq!(dump(&session).unwrap().into_iter().collect::<BTreeMap<_, _>>(), files);
    assert!(log(&session).is_empty());
    assert_whole(&session, "the head");
    session.compact().unwrap();
}

/// The newest head that is left of a deleted file takes the file over. The head before a lost one must retire what that head
/// does not reach, or the record would stay when all is forgotten.
#[test]
fn no_record_stays_of_a_file_that_a_repair_left_without_its_newest_head() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    let content = text("long", 16_000);
    let lines = i64::try_from(content.lines().count()).unwrap();
    session.files().write(LONG, &content).unwrap();
    for quarter in 0..4 {
        edit::insert(&session, &parse(LONG), quarter * lines / 4, "line\n").unwrap();
    }
    session.files().remove(LONG).unwrap();
    drop(session);
    let mut heads = of_history(&store);
    heads.retain(|id| id.kind == Kind::File);
    assert_eq!(heads.len(), 5);
    damage(&store, &[heads[2], heads[4]]);
    assert_eq!(repair(&store, "two heads").lost_texts, 2);
    let session = store.unlock().unwrap();
    assert_whole(&session, "repaired");
    session.history().forget("/memories", None, |_| {}).unwrap();
    assert_whole(&session, "forgotten");
}

#[test]
fn a_history_that_began_anew_after_damage_is_whole_again_after_a_repair() {
    let store = filled();
    damage(&store, &[RecordId::history(store.root().history.id)]);
    let session = store.unlock().unwrap();
    session.files().write("/memories/new", "first\n").unwrap();
    session.files().write("/memories/new", "second\n").unwrap();
    let first = newest(&session).previous.unwrap();
    assert!(session.history().status().unwrap().lost_before.is_some());
    assert!(!session.check().unwrap().is_clean());
    // Every record of a copy can be read, so the copy is good.
    let folder = tempfile::tempdir().unwrap();
    session.backup_with_versions(folder.path().join("copy")).unwrap();
    drop(session);
    assert_eq!(repair(&store, "anew").lost.len(), 1);
    let session = store.unlock().unwrap();
    assert_eq!(session.history().status().unwrap().lost_before, None);
    assert_eq!(session.history().text(first).unwrap().as_str(), "first\n");
    assert_whole(&session, "anew");
    drop(session);
    assert!(repair(&store, "again").is_complete());
}

#[test]
fn a_repair_of_a_healthy_store_keeps_its_history_as_it_is() {
    let store = filled();
    let healthy = Shown::of(&store.unlock().unwrap(), None);
    let status = store.unlock().unwrap().history().status().unwrap();
    assert!(repair(&store, "healthy").is_complete());
    let session = store.unlock().unwrap();
    let after = Shown::of(&session, None);
    assert!(after.listed == healthy.listed && after.texts == healthy.texts);
    let mut again = session.history().status().unwrap();
    again.kept_until = status.kept_until;
    assert_eq!(again, status);
    assert_whole(&session, "healthy");
}

/// Random changes; then random records of the history are damaged, also in a store that was repaired before.
#[test]
fn a_repair_of_a_random_history_keeps_every_version_that_can_be_read() {
    let mut lost = (0, 0);
    for seed in 0..10 {
        let mut random = Random(seed + 7_000);
        let mut store = random_store(&mut random, 90);
        for round in 0..3 {
            let healthy = Shown::of(&store.unlock().unwrap(), None);
            let ids = of_history(&store);
            for _ in 0..3 {
                let count = 1 + random.below(4);
                let mut victims: Vec<RecordId> =
                    (0..count).map(|_| ids[random.below(ids.len())]).collect();
                victims.retain(|id| id.kind != Kind::History);
                victims.sort_by_key(|id| (id.kind.code(), id.object.0, id.index));
                victims.dedup();
                if victims.is_empty() {
                    continue;
                }
                let report = trial(&healthy, &store, &victims);
                lost = (lost.0 + report.lost_versions, lost.1 + report.lost_texts);
            }
            let leaves: Vec<_> =
                ids.into_iter().filter(|id| id.kind == Kind::HistoryLeaf).collect();
            if leaves.is_empty() {
                break;
            }
            store = store.duplicate();
            damage(&store, &[leaves[random.below(leaves.len())]]);
            repair(&store, "between");
            let session = store.unlock().unwrap();
            for step in 0..30 {
                change(&session, &mut random, 1_000 * (round + 1) + step);
            }
        }
    }
    assert!(lost.0 > 20 && lost.1 > 100, "{lost:?}");
}
