//! Tampers with every record of a history: the files stay as they are and can be changed, and no wrong text is shown.

use std::collections::HashMap;
use std::time::Duration;

use super::model::{dump, parse, tampered, text};
use crate::session::tests::store::TestStore;
use crate::session::{HistorySettings, Session};
use crate::vfs::error::FileError;
use crate::vfs::{VersionQuery, edit};
use inmost_format::record::{Kind, RecordId};

const LONG: &str = "/memories/long";

/// Damages the value of a record.
type Damage = fn(&mut Vec<u8>);

fn filled() -> TestStore {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    session.history().set(HistorySettings::keep(month)).unwrap();
    session.files().write(LONG, &text("long", 20_000)).unwrap();
    for number in 0..1_500 {
        // Long names, so that the history has inner nodes.
        let path = format!("/memories/{}/{}", "n".repeat(240), number % 7);
        session.files().write(&path, &format!("{number}\n")).unwrap();
        if number % 100 == 0 {
            edit::insert(&session, &parse(LONG), 3, &format!("line {number}")).unwrap();
        }
    }
    store
}

fn texts(session: &Session) -> HashMap<u64, String> {
    let mut texts = HashMap::new();
    let page = session.history().page(&VersionQuery::all(), None, 2_000).unwrap();
    for version in page.items {
        if version.bytes > 10_000 || version.number % 5 == 0 {
            let text = session.history().text(version.number).unwrap();
            texts.insert(version.number, text.into_string());
        }
    }
    texts
}

/// A record of this kind: the head, or one in the middle of the others.
fn victim(store: &TestStore, kind: Kind) -> RecordId {
    let mut records = store.records_of(kind);
    assert!(!records.is_empty(), "{kind:?}");
    records.sort_by_key(|id| id.index);
    records[records.len() / 2]
}

#[test]
fn damage_to_the_history_stops_no_call_and_shows_no_wrong_text() {
    let store = filled();
    let earlier = store.values();
    let session = store.unlock().unwrap();
    edit::insert(&session, &parse(LONG), 3, "last line").unwrap();
    let (files, right) = (dump(&session).unwrap(), texts(&session));
    drop(session);
    let flips: [Option<Damage>; 5] = [
        Some(|value| value[40] ^= 1),
        Some(|value| value.truncate(99)),
        Some(Vec::clear),
        None,
        None,
    ];
    for kind in [Kind::History, Kind::HistoryInner, Kind::HistoryLeaf] {
        let at = store.address(victim(&store, kind));
        for (number, damage) in flips.iter().enumerate() {
            let context = format!("{kind:?}, {number}");
            let store = store.duplicate();
            store.tamper(|records| match damage {
                Some(damage) => damage(records.get_mut(&at).unwrap()),
                None if number == 3 => drop(records.remove(&at)),
                None => {
                    // An older version, where there is one.
                    let older = earlier.get(&at).filter(|older| **older != records[&at]);
                    let other = older.unwrap_or_else(|| records.values().next().unwrap()).clone();
                    records.insert(at, other);
                }
            });
            let session = store.unlock().unwrap();
            assert_eq!(dump(&session).unwrap(), files, "{context}");
            let mut refused = 0;
            for (number, text) in &right {
                match session.history().text(*number) {
                    Ok(found) => assert_eq!(found.as_str(), text, "{context}"),
                    Err(error) => {
                        assert!(tampered(&error).is_some(), "{context}: {error}");
                        refused += 1;
                    }
                }
            }
            assert!(refused > 0, "{context}");
            let status = session.history().status().unwrap();
            assert_eq!(status.is_damaged, kind == Kind::History, "{context}");
            let report = session.check().unwrap();
            assert!(!report.is_clean(), "{context}");

            edit::insert(&session, &parse(LONG), 3, "still written to").unwrap();
            session.files().remove(LONG).unwrap();
            let page = session.history().page(&VersionQuery::all(), None, 2).unwrap();
            let [deleted, edited] = page.items.as_slice() else { panic!("{context}") };
            let text = session.history().text(edited.number).unwrap();
            assert!(text.as_str().contains("still written to"), "{context}");
            assert_eq!(session.history().restore(deleted.number, None).unwrap() % 64, 0);
            assert!(session.files().exists(LONG).unwrap());
            session.purge().unwrap();
            assert!(session.check().unwrap().is_clean(), "{context}: a purge ends the damage");
        }
    }
}

#[test]
fn a_text_that_is_damaged_costs_the_versions_that_have_it() {
    let store = filled();
    let session = store.unlock().unwrap();
    let (files, right) = (dump(&session).unwrap(), texts(&session));
    drop(session);
    let heads = store.records_of(Kind::File);
    let chunks = store.records_of(Kind::Chunk);
    let mut costly = 0;
    for victim in heads.iter().step_by(211).chain(chunks.iter().step_by(3)) {
        let at = store.address(*victim);
        let store = store.duplicate();
        store.tamper(|records| records.get_mut(&at).unwrap()[40] ^= 1);
        let session = store.unlock().unwrap();
        for (path, text) in &files {
            match session.files().read(path) {
                Ok(found) => assert_eq!(found.as_str(), text),
                Err(error) => assert!(tampered(&error).is_some(), "{error}"),
            }
        }
        for (number, text) in &right {
            match session.history().text(*number) {
                Ok(found) => assert_eq!(found.as_str(), text),
                Err(FileError::Store(_)) => costly += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(!session.check().unwrap().is_clean());
    }
    assert!(costly > 0);
}
