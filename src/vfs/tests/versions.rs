//! Tests of the history against a naive one that copies every text.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::model::{Model, dump, text};
use super::pass_days;
use crate::session::tests::store::TestStore;
use crate::session::{HistorySettings, Session, StoreError, now, shift_clock, time_of};
use crate::vfs::edit;
use crate::vfs::error::FileError;
use crate::vfs::{FileText, VersionInfo, VersionKind, VersionQuery, VersionText};
use inmost_format::record::plain::Random;

pub(crate) const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const PATHS: [&str; 6] = [
    "/memories/a.md",
    "/memories/b/c.md",
    "/memories/b/d/e.md",
    "/memories/b/d/f.md",
    "/memories/g/h.md",
    "/memories/long.md",
];
const FOLDERS: [&str; 3] = ["/memories/b", "/memories/b/d", "/memories/moved/b"];

pub(crate) fn keeping() -> Session {
    keeps(Session::in_memory().unwrap())
}

pub(crate) fn keeps(session: Session) -> Session {
    session.history().set(HistorySettings::keep(MONTH)).unwrap();
    session
}

pub(crate) fn log(session: &Session) -> Vec<VersionInfo> {
    let mut versions = Vec::new();
    let mut before = None;
    loop {
        // A small page, so that the pages are tested too.
        let page = session.history().page(&VersionQuery::all(), before, 7).unwrap();
        versions.extend(page.items);
        let Some(next) = page.next else { return versions };
        before = Some(next);
    }
}

pub(crate) fn newest(session: &Session) -> VersionInfo {
    session.history().page(&VersionQuery::all(), None, 1).unwrap().items.remove(0)
}

/// Inserts so many long pieces at the beginning of a file, so that removing its text takes many steps. Returns the numbers of the
/// versions.
pub(crate) fn grow(session: &Session, path: &str, steps: usize) -> Vec<u64> {
    let step = |step| {
        let piece = text(&format!("i{step}"), 28_000);
        edit::insert(session, &parse(path), 1, &piece).unwrap();
        newest(session).number
    };
    (0..steps).map(step).collect()
}

/// Neither damaged nor lost records, and every folder with the totals of its content.
pub(crate) fn assert_whole(session: &Session, context: &str) {
    session
        .exclusive(|exclusive| {
            while exclusive.session().read(|open| {
                let system = open.root().system;
                let folder = inmost_format::record::load_folder(open, system.id, &system.tag)?;
                Ok::<_, crate::session::StoreError>(folder.body.count() > 0)
            })? {
                exclusive.reap()?;
            }
            Ok::<_, crate::session::StoreError>(())
        })
        .unwrap();
    let report = session.check().unwrap();
    assert!(report.is_clean() && report.orphans == 0, "{context}: {report:?}");
    assert_texts(session, context);
}

/// Lists say of every version whether its text can be read, whatever the size of their pages.
pub(crate) fn assert_texts(session: &Session, context: &str) {
    let history = session.history();
    let listed = log(session);
    assert!(history.page(&VersionQuery::all(), None, 1_000).unwrap().items == listed, "{context}");
    for version in listed {
        let text = match history.text(version.number) {
            Ok(_) => VersionText::Kept,
            Err(FileError::IsAFolder(_)) => VersionText::None,
            Err(FileError::VersionGone(_)) if version.file.is_none() => VersionText::None,
            Err(FileError::VersionGone(_)) => match version.kind {
                VersionKind::Deleted | VersionKind::Expired => VersionText::None,
                _ => VersionText::Gone,
            },
            Err(FileError::Store(StoreError::Tampered { .. })) => VersionText::Unknown,
            Err(error) => panic!("{context}: {error}"),
        };
        assert_eq!(version.text, text, "{context}: {}", version.number);
    }
}

/// The texts of all versions, by number.
pub(crate) type Naive = HashMap<u64, String>;

/// Makes a random change. Returns whether it was made.
pub(crate) fn change(session: &Session, random: &mut Random, step: usize) -> bool {
    let files = session.files();
    let path = PATHS[random.below(PATHS.len())];
    let done = match random.below(12) {
        0 | 1 => files.write(path, &text("w", random.below(9_000))),
        2..6 => crate::vfs::edit::insert(session, &parse(path), 0, &format!("line {step}")),
        6 => crate::vfs::edit::insert(session, &parse(path), 0, &text("i", random.below(30_000))),
        7 => files.append(path, &format!("end {step}\n")),
        8 => files.remove(path),
        9 => files.remove(FOLDERS[random.below(FOLDERS.len())]),
        10 => files.rename(path, PATHS[random.below(PATHS.len())]),
        _ => {
            let (old, new) = (random.below(FOLDERS.len()), random.below(FOLDERS.len()));
            files.rename(FOLDERS[old], FOLDERS[new])
        }
    };
    match done {
        Ok(()) => true,
        // A tool forgets in steps then, and makes the change again.
        Err(FileError::Store(StoreError::TooLarge)) if !session.keeps_texts() => false,
        Err(FileError::Store(error)) => panic!("{error}"),
        Err(_) => false,
    }
}

pub(crate) fn parse(path: &str) -> crate::vfs::path::MemoryPath {
    crate::vfs::path::MemoryPath::parse(path).unwrap()
}

/// Adds the version that the last change made.
pub(crate) fn remember(session: &Session, naive: &mut Naive) {
    let version = newest(session);
    if version.file.is_some() && version.kind != VersionKind::Deleted {
        let path = version.path.as_ref().unwrap().as_str();
        naive.insert(version.number, session.files().read(path).unwrap().into_string());
    }
}

fn assert_versions(session: &Session, naive: &Naive, context: &str) {
    for (number, text) in naive {
        let found = session.history().text(*number);
        let found = found.unwrap_or_else(|error| panic!("{context}: {number}: {error}"));
        assert_eq!(found.as_str(), text, "{context}: {number}");
    }
}

#[test]
fn every_version_has_the_text_that_it_had() {
    for seed in 0..4 {
        let store = TestStore::create();
        let session = keeps(store.unlock().unwrap());
        let mut random = Random(seed);
        let mut naive = Naive::new();
        let mut changes = 0;
        for step in 0..160 {
            let context = format!("seed {seed}, step {step}");
            if change(&session, &mut random, step) {
                changes += 1;
                remember(&session, &mut naive);
            }
            if step % 20 == 19 {
                assert_versions(&session, &naive, &context);
                assert_whole(&session, &context);
            }
            if step == 99 {
                session.compact().unwrap();
                assert_versions(&session, &naive, &context);
            }
        }
        assert_eq!(log(&session).len(), changes, "a change that was refused leaves no version");
        session.purge().unwrap();
        assert!(log(&session).is_empty());
        assert_whole(&session, "after a purge");
    }
}

#[test]
fn an_undo_of_everything_by_an_actor_brings_back_what_was_there() {
    for seed in 0..6 {
        let session = keeping();
        let mut random = Random(seed + 100);
        let user = session.acting_as("user");
        for step in 0..30 {
            change(&user, &mut random, step);
        }
        let before: Model = dump(&session).unwrap();
        let agent = session.acting_as("agent");
        for step in 0..60 {
            change(&agent, &mut random, step);
        }
        let history = session.history();
        let plan = history.plan_undo(&VersionQuery::all().actor("agent")).unwrap();
        assert!(plan.left.is_empty());
        let undone = history.undo(&plan, |_| {}).unwrap();
        assert!(
            undone.iter().all(|undone| format!("{undone:?}").starts_with("Done")),
            "seed {seed}: {undone:?}, {plan:?}"
        );
        assert_eq!(dump(&session).unwrap(), before, "seed {seed}");
        assert_whole(&session, &format!("seed {seed}"));
    }
}

#[test]
fn what_was_forgotten_has_no_entry_and_no_text_and_the_files_stay() {
    for seed in 0..6 {
        let session = keeping();
        let mut random = Random(seed + 200);
        for step in 0..80 {
            change(&session, &mut random, step);
        }
        let before: Model = dump(&session).unwrap();
        let path = ["/memories/b", "/memories/a.md", "/memories", "/memories/b/d/e.md"];
        let path = path[random.below(path.len())];
        session.history().forget(path, None, |_| {}).unwrap();
        assert_eq!(dump(&session).unwrap(), before, "seed {seed}");
        for version in log(&session) {
            let at = |path: &FileText| path.as_str().to_owned();
            let paths = version.path.iter().chain(&version.old_path).map(at);
            for other in paths {
                let rest = other.strip_prefix(path);
                let is_below = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                assert!(!is_below, "seed {seed}: {other} after {path}");
            }
        }
        assert_whole(&session, &format!("seed {seed}, {path}"));
    }
}

#[test]
fn versions_up_to_one_are_forgotten_and_the_others_stay() {
    for seed in 0..6 {
        let session = keeping();
        let mut random = Random(seed + 300);
        let mut naive = Naive::new();
        for step in 0..80 {
            if change(&session, &mut random, step) {
                remember(&session, &mut naive);
            }
        }
        let files = dump(&session).unwrap();
        for _ in 0..12 {
            let before = log(&session);
            let version = &before[random.below(before.len())];
            let Some(path) = &version.path else { continue };
            let (path, until) = (path.as_str(), version.number);
            let removed = session.history().forget(path, Some(until), |_| {}).unwrap();
            let left: BTreeMap<u64, Option<u64>> =
                log(&session).iter().map(|it| (it.number, it.file)).collect();
            let context = format!("seed {seed}, {path} until {until}");
            let (gone, stay): (Vec<_>, Vec<_>) =
                before.iter().partition(|it| !left.contains_key(&it.number));
            assert_eq!(u64::try_from(gone.len()).unwrap(), removed, "{context}");
            assert!(gone.iter().all(|it| it.number <= until), "{context}");
            let is_old = |it: &&&VersionInfo| it.file == version.file && it.number <= until;
            assert!(version.file.is_none() || !stay.iter().any(|it| is_old(&it)), "{context}");
            for version in gone {
                naive.remove(&version.number);
                assert!(session.history().text(version.number).is_err(), "{context}");
            }
            assert_versions(&session, &naive, &context);
            assert_whole(&session, &context);
        }
        assert_eq!(dump(&session).unwrap(), files);
    }
}

/// A day, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000;

#[test]
fn a_version_is_gone_once_its_time_is_over_and_its_records_follow() {
    let session = keeping();
    let mut random = Random(5);
    let mut naive = Naive::new();
    for step in 0..120 {
        shift_clock(DAY);
        if change(&session, &mut random, step) {
            remember(&session, &mut naive);
        }
        let month = log(&session);
        assert!(month.len() <= 34, "step {step}: {}", month.len());
        for version in month.iter().filter(|version| version.kind != VersionKind::Deleted) {
            if let Some(text) = naive.get(&version.number) {
                assert_eq!(session.history().text(version.number).unwrap().as_str(), text);
            }
        }
        assert_whole(&session, &format!("step {step}"));
    }
    let status = session.history().status().unwrap();
    assert!(status.entries <= 35, "{status:?}");
}

#[test]
fn the_oldest_texts_go_when_there_is_no_room_and_their_entries_stay() {
    let session = Session::in_memory().unwrap();
    let settings = HistorySettings::keep(MONTH).max_bytes(100_000);
    session.history().set(settings).unwrap();
    let mut random = Random(6);
    let mut naive = Naive::new();
    let mut changes = 0;
    for step in 0..150 {
        if change(&session, &mut random, step) {
            remember(&session, &mut naive);
            changes += 1;
        }
    }
    session.files().write("/memories/last.md", "x").unwrap();
    let status = session.history().status().unwrap();
    assert_eq!(status.entries, changes + 1);
    assert!(status.bytes <= 100_000, "{status:?}");
    let mut kept = 0;
    for (number, text) in &naive {
        match session.history().text(*number) {
            Ok(found) => {
                assert_eq!(found.as_str(), text);
                kept += 1;
            }
            Err(FileError::VersionGone(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!((1..naive.len()).contains(&kept), "{kept} of {}", naive.len());
    assert_whole(&session, "room");
}

/// A clock that was behind for one edit removed what had ended minutes before, and hid the edit. One that was ahead for two
/// sessions removed everything.
#[test]
fn a_wrong_clock_drops_nothing_and_hides_no_change() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    session.files().write("/memories/a.md", "one").unwrap();
    session.files().write("/memories/a.md", "two").unwrap();
    let first = log(&session)[0].previous.unwrap();
    session.lock();
    let mut changes = 2;
    for days in [-40, 0, 400, 400, 0, 800, -20_000, 30, 0, 400, 0] {
        shift_clock(days * DAY);
        let session = store.unlock().unwrap();
        for text in 0..3 {
            session.files().write("/memories/b.md", &format!("{days}, {text}")).unwrap();
            changes += 1;
            assert_eq!(session.history().text(first).unwrap().as_str(), "one", "{days}");
            assert_eq!(log(&session).len(), changes, "{days}");
        }
        let until = session.history().status().unwrap().kept_until.unwrap();
        let real = time_of(now().saturating_add_signed(-days * DAY));
        assert!(until > real + MONTH / 2, "{days}: a day in the past");
        session.lock();
        shift_clock(-days * DAY);
    }
    let session = store.unlock().unwrap();
    // The time of the present finds what a clock that was behind wrote.
    let recent = VersionQuery::all().since(time_of(now() - 3_600_000));
    let page = session.history().page(&recent, None, 100).unwrap();
    assert_eq!(page.items.len(), changes);
    assert_eq!(session.history().plan_undo(&recent).unwrap().steps.len(), 2);
    // Real time ends them all the same.
    pass_days(&session, 36);
    assert!(matches!(session.history().text(first), Err(FileError::NoSuchVersion(_))));
    session.lock();
}

#[test]
fn history_that_is_switched_off_is_gone_and_edits_go_on_in_place() {
    let session = keeping();
    let mut random = Random(7);
    for step in 0..60 {
        change(&session, &mut random, step);
    }
    session.history().set(HistorySettings::off()).unwrap();
    let status = session.history().status().unwrap();
    assert_eq!((status.entries, status.bytes, status.settings.time()), (0, 0, None));
    for step in 60..120 {
        change(&session, &mut random, step);
    }
    assert!(log(&session).is_empty());
    assert_whole(&session, "off");
    session.history().set(HistorySettings::keep(MONTH)).unwrap();
    let mut naive = Naive::new();
    for step in 120..180 {
        if change(&session, &mut random, step) {
            remember(&session, &mut naive);
        }
    }
    assert_versions(&session, &naive, "on again");
    assert_whole(&session, "on again");
}
