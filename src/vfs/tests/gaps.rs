//! Tests of a history with records that cannot be read: time and room go on to end the other versions.

use std::time::Duration;

use super::pass_days;
use super::versions::{MONTH, keeps, log};
use crate::session::tests::store::TestStore;
use crate::session::{HistorySettings, Session, StoreError, shift_clock};
use crate::vfs::{FileError, VersionInfo, VersionQuery};
use inmost_format::record::Kind;

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// A store with many entries, one of whose history leaves is damaged, by its place in the order.
fn damaged(kind: Kind, places: &[usize]) -> TestStore {
    damaged_of(600, kind, places)
}

fn damaged_of(entries: usize, kind: Kind, places: &[usize]) -> TestStore {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    for number in 0..entries {
        // Long names, so that the history has inner nodes.
        let path = format!("/memories/{}/{}", "n".repeat(200), number % 7);
        session.files().write(&path, &format!("{number}\n").repeat(9)).unwrap();
    }
    drop(session);
    let records = store.records_of(kind);
    assert!(records.len() > places.len(), "{kind:?}");
    for place in places {
        let at = store.address(records[*place]);
        store.tamper(|records| records.get_mut(&at).unwrap()[40] ^= 1);
    }
    store
}

fn entries(session: &Session) -> u64 {
    session.history().status().unwrap().entries
}

/// Makes small changes until trimming has nothing left to do.
fn settle(session: &Session) {
    for step in 0..400 {
        session.files().write("/memories/after", &format!("{step}")).unwrap();
    }
}

#[test]
fn the_time_of_versions_ends_behind_entries_that_cannot_be_read() {
    for (kind, places) in [
        (Kind::HistoryLeaf, vec![0]),
        (Kind::HistoryLeaf, vec![0, 1, 2, 7]),
        (Kind::HistoryInner, vec![0]),
    ] {
        let store = damaged(kind, &places);
        let session = store.unlock().unwrap();
        let before = session.history().status().unwrap();
        assert!(before.unreadable > 0 && before.unreadable < before.entries, "{before:?}");
        // Nothing is dropped while the time of the entries behind is not over.
        session.files().write("/memories/after", "x").unwrap();
        assert_eq!(entries(&session), before.entries + 1, "{kind:?}");
        drop(session);

        let session = store.unlock().unwrap();
        pass_days(&session, 36);
        settle(&session);
        let after = session.history().status().unwrap();
        assert!(after.entries <= 413 && after.unreadable == 0, "{kind:?}: {after:?}");
        assert_eq!(after.bytes, held_by(&session), "{kind:?}");
        // What the lost entries held has no owner, and a rewrite works again.
        session.compact().unwrap();
        let report = session.check().unwrap();
        assert!(report.is_clean() && report.orphans == 0, "{kind:?}: {report:?}");
        drop(session);
        shift_clock(-36 * DAY);
    }
}

#[test]
fn many_places_in_a_row_that_cannot_be_read_do_not_keep_versions_for_ever() {
    let places: Vec<usize> = (0..90).collect();
    let store = damaged_of(1_800, Kind::HistoryLeaf, &places);
    let session = store.unlock().unwrap();
    let before = session.history().status().unwrap();
    assert!(before.unreadable > 0 && before.unreadable < before.entries, "{before:?}");
    session.files().write("/memories/after", "x").unwrap();
    assert_eq!(entries(&session), before.entries + 1);
    drop(session);
    let session = store.unlock().unwrap();
    pass_days(&session, 36);
    settle(&session);
    let after = session.history().status().unwrap();
    assert!(after.entries <= 413 && after.unreadable == 0, "{after:?}");
    drop(session);
    shift_clock(-36 * DAY);
}

/// The bytes of the texts that the listed versions ended.
fn held_by(session: &Session) -> u64 {
    let versions = log(session);
    let ended = versions.iter().filter_map(|version| {
        let previous = version.previous?;
        session.history().text(previous).ok().map(|text| text.as_str().len())
    });
    ended.map(|bytes| u64::try_from(bytes).unwrap()).sum()
}

#[test]
fn the_room_of_versions_is_kept_behind_entries_that_cannot_be_read() {
    let store = damaged(Kind::HistoryLeaf, &[0, 5]);
    let session = store.unlock().unwrap();
    let unreadable = session.history().status().unwrap().unreadable;
    assert!(unreadable > 0);
    let settings = HistorySettings::keep(MONTH).max_bytes(2_000);
    session.history().set(settings).unwrap();
    let status = session.history().status().unwrap();
    assert!(status.bytes <= 2_000, "{status:?}");
    // The newest texts stay.
    let newest = log_of(&session, 3);
    for number in newest {
        session.history().text(number).unwrap();
    }
    session.history().set(settings.max_bytes(0)).unwrap();
    assert_eq!(session.history().status().unwrap().bytes, 0);
    session.files().write("/memories/after", "1").unwrap();
    session.files().write("/memories/after", "2").unwrap();
    session.history().set(HistorySettings::off()).unwrap();
    let status = session.history().status().unwrap();
    assert_eq!((status.entries, status.unreadable), (0, 0));
    assert!(session.check().unwrap().is_clean());
}

/// The versions that the newest changes of files ended.
fn log_of(session: &Session, most: usize) -> Vec<u64> {
    let page = session.history().page(&crate::vfs::VersionQuery::all(), None, most).unwrap();
    page.items.iter().filter_map(|version| version.previous).collect()
}

#[test]
fn a_time_that_is_over_ends_versions_although_all_entries_before_cannot_be_read() {
    let store = damaged(Kind::HistoryLeaf, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let session = store.unlock().unwrap();
    pass_days(&session, 9);
    let short = HistorySettings::keep(Duration::from_secs(60));
    session.history().set(short).unwrap();
    let status = session.history().status().unwrap();
    // The last change was made just now.
    assert_eq!((status.entries, status.unreadable, status.bytes), (1, 0, 1));
    shift_clock(-9 * DAY);
}

/// Everything around a lost part of the history is listed, read, brought back and forgotten.
#[test]
fn versions_on_both_sides_of_entries_that_cannot_be_read_are_of_use() {
    let leaves = damaged_of(1_200, Kind::HistoryLeaf, &[]).records_of(Kind::HistoryLeaf).len();
    for (kind, place) in
        [(Kind::HistoryLeaf, 3), (Kind::HistoryInner, 1), (Kind::HistoryLeaf, leaves - 1)]
    {
        let whole = log(&damaged_of(1_200, Kind::HistoryLeaf, &[]).unlock().unwrap());
        let store = damaged_of(1_200, kind, &[place]);
        let session = store.unlock().unwrap();
        let history = session.history();
        let problems = session.check().unwrap().problems;
        let (found, unreadable) = pages(&session, &VersionQuery::all());
        assert_eq!(unreadable, history.status().unwrap().unreadable, "{kind:?}");
        assert_eq!(found.len() + usize::try_from(unreadable).unwrap(), whole.len(), "{kind:?}");
        assert_eq!(found[0].number, whole[0].number, "the newest are in the head");
        assert_eq!(found.last().map(|it| it.number), whole.last().map(|it| it.number));

        let oldest = found.last().unwrap().number;
        let mut damaged = 0;
        for version in &found {
            match history.text(version.number) {
                Ok(text) => {
                    let index = whole.iter().rev().position(|it| it.number == version.number);
                    let expected = format!("{}\n", index.unwrap()).repeat(9);
                    assert_eq!(text.as_str(), expected);
                }
                // The change that ended it is among the lost.
                Err(FileError::Store(StoreError::Tampered { .. })) => damaged += 1,
                Err(error) => panic!("{kind:?}: {error:?}"),
            }
        }
        assert!((1..=7).contains(&damaged), "{kind:?}: {damaged}");

        let text = history.text(oldest).unwrap();
        let restored = history.restore(oldest, None).unwrap();
        assert_eq!(history.text(restored).unwrap(), text);
        let path = found.last().unwrap().path.as_ref().unwrap().as_str().to_owned();
        // Whether versions of the file are in the lost part cannot be known, so the call says so.
        let forgotten = history.forget(&path, Some(oldest), |_| {});
        let is_damage = matches!(forgotten, Err(FileError::Store(StoreError::Tampered { .. })));
        assert!(is_damage, "{kind:?}: {forgotten:?}");
        assert!(history.text(oldest).is_err());
        assert_eq!(session.check().unwrap().problems, problems, "{kind:?}");
    }
}

/// All pages, and the number of entries that cannot be read.
fn pages(session: &Session, query: &VersionQuery) -> (Vec<VersionInfo>, u64) {
    let (mut found, mut unreadable, mut before) = (Vec::new(), 0, None);
    loop {
        let page = session.history().page(query, before, 10).unwrap();
        found.extend(page.items);
        unreadable += page.unreadable;
        match page.next {
            Some(next) => before = Some(next),
            None => return (found, unreadable),
        }
    }
}

/// An undo leaves the files whose way back leads through what cannot be read, and says that there may be others.
#[test]
fn an_undo_goes_around_entries_that_cannot_be_read() {
    let store = damaged(Kind::HistoryLeaf, &[3]);
    let session = store.unlock().unwrap();
    let actor = session.acting_as("agent");
    let paths: Vec<String> = (0..7).map(|n| format!("/memories/{}/{n}", "n".repeat(200))).collect();
    for path in &paths[..3] {
        actor.files().write(path, "of the agent").unwrap();
    }
    let history = session.history();
    let plan = history.plan_undo(&VersionQuery::all().actor("agent")).unwrap();
    assert_eq!((plan.steps.len(), plan.gone.len()), (3, 0), "{plan:?}");
    assert_eq!(history.undo(&plan, |_| {}).unwrap().len(), 3);
    for (index, path) in paths.iter().enumerate() {
        let last = (0..600).rev().find(|number| number % 7 == index).unwrap();
        let text = format!("{last}\n").repeat(9);
        assert_eq!(session.files().read(path).unwrap().as_str(), text);
    }
    // Each of the lost entries was one of another file.
    let all = history.plan_undo(&VersionQuery::all()).unwrap();
    let lost = usize::try_from(all.unreadable).unwrap();
    assert_eq!(all.unreadable, history.status().unwrap().unreadable);
    assert_eq!((all.steps.len(), all.gone.len()), (7 - lost, lost), "{all:?}");
}

/// What was forgotten or dropped is in the plan as gone, and is not promised.
#[test]
fn a_plan_to_undo_says_which_texts_are_gone() {
    let session = keeps(Session::in_memory().unwrap());
    for path in ["/memories/a", "/memories/b"] {
        session.files().write(path, "before").unwrap();
        session.acting_as("agent").files().write(path, "after").unwrap();
    }
    let history = session.history();
    let first = log(&session).last().unwrap().number;
    history.forget("/memories/a", Some(first), |_| {}).unwrap();
    let plan = history.plan_undo(&VersionQuery::all().actor("agent")).unwrap();
    assert_eq!((plan.steps.len(), plan.gone.len(), plan.left.len()), (1, 1, 0), "{plan:?}");
    assert_eq!(plan.gone[0].path.as_ref().unwrap().as_str(), "/memories/a");
    history.undo(&plan, |_| {}).unwrap();
    assert_eq!(session.files().read("/memories/b").unwrap().as_str(), "before");
    assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "after");
}
