//! Tests that a text which was redacted or forgotten does not come back: by a crash and a restore, or by damage and a repair.

use std::collections::BTreeMap;

use super::history_repair::{damage, repair};
use super::history_repair_cases::{fill, leaf_with};
use super::model::{dump, parse, text};
use super::older_root::OnDisk;
use super::versions::{MONTH, assert_whole, grow, keeps, log, newest};
use crate::session::tests::store::TestStore;
use crate::session::{Session, shift_clock};
use crate::vfs::edit;
use crate::vfs::error::FileError;
use inmost_format::record::history::{Before, Version};
use inmost_format::record::{Kind, Node, RecordId};
use inmost_storage::Address;

const LONG: &str = "/memories/d/long";

/// Writes three versions of a file. Returns their numbers.
fn three_versions(session: &Session) -> [u64; 3] {
    session.files().write("/memories/a", "secret secret\n").unwrap();
    let first = newest(session).number;
    [first, edited(session), edited(session)]
}

fn edited(session: &Session) -> u64 {
    edit::insert(session, &parse("/memories/a"), 1, "more\n").unwrap();
    newest(session).number
}

/// Writes a file whose text takes many steps to remove. Returns the numbers of the versions but for the first.
fn grown(session: &Session) -> Vec<u64> {
    session.files().write(LONG, &text("first", 9_000)).unwrap();
    grow(session, LONG, 14)
}

/// Cuts a redaction off after more and more steps, and calls `check` with each store in which the last version has been redacted.
/// Returns how many these were.
fn cut_off(
    prepared: &TestStore,
    (first, last): (u64, u64),
    mut check: impl FnMut(&TestStore),
) -> usize {
    let mut count = 0;
    for operation in 1.. {
        let store = prepared.duplicate();
        let session = store.unlock_to_stop_at(operation * 2);
        let done = session.history().redact(first, last);
        drop(session);
        if done.is_ok() {
            break;
        }
        let session = store.unlock().unwrap();
        let is_redacted = log(&session).iter().any(|it| it.number == last && it.redacted.is_some());
        drop(session);
        if is_redacted {
            check(&store);
            count += 1;
        }
    }
    count
}

/// Regression: the text came back with its file or its folder, whole or in part.
#[test]
fn what_a_crash_left_of_a_redacted_text_does_not_come_back_with_its_file_or_folder() {
    for gone in [LONG, "/memories/d"] {
        let prepared = TestStore::create();
        let session = keeps(prepared.unlock().unwrap());
        session.files().write("/memories/d/other", "other").unwrap();
        let numbers = grown(&session);
        session.files().remove(gone).unwrap();
        let deletion = newest(&session).number;
        drop(session);
        let count = cut_off(&prepared, (numbers[0], numbers[13]), |store| {
            let session = store.unlock().unwrap();
            let back = session.history().restore(deletion, None);
            assert!(session.files().read(LONG).is_err(), "{gone}: {back:?}");
            if gone == LONG {
                assert!(matches!(back, Err(FileError::VersionGone(_))), "{back:?}");
            } else {
                back.unwrap();
                assert_eq!(session.files().read("/memories/d/other").unwrap().as_str(), "other");
            }
            assert_whole(&session, gone);
        });
        assert!(count > 3, "{gone}: {count}");
    }
}

/// Regression: the entry of the first version is lost. That of the second, which has the same text, says that it was redacted.
#[test]
fn what_a_crash_left_of_a_redacted_text_does_not_come_back_with_a_repair_after_a_rename() {
    let prepared = TestStore::create();
    let session = keeps(prepared.unlock().unwrap());
    let numbers = grown(&session);
    fill(&session);
    session.files().rename(LONG, "/memories/other").unwrap();
    let renamed = newest(&session).number;
    fill(&session);
    session.files().remove("/memories/other").unwrap();
    fill(&session);
    session.history().redact(numbers[0], numbers[13]).unwrap();
    drop(session);
    let count = cut_off(&prepared, (renamed, renamed), |store| {
        let leaf = leaf_with(store, numbers[13]);
        assert_ne!(leaf, leaf_with(store, renamed));
        damage(store, &[leaf]);
        repair(store, "renamed");
        let session = store.unlock().unwrap();
        assert!(session.history().text(numbers[13]).is_err());
        assert_whole(&session, "renamed");
    });
    assert!(count > 3, "{count}");
}

/// Regression: the entry that says that the text was redacted went first, and the deletion showed what was left of it.
#[test]
fn what_a_crash_left_of_a_redacted_text_does_not_come_back_when_its_entry_expires() {
    let day = 24 * 60 * 60 * 1_000;
    for gone in [LONG, "/memories/d"] {
        let prepared = TestStore::create();
        let session = keeps(prepared.unlock().unwrap());
        session.files().write("/memories/d/other", "other").unwrap();
        let numbers = grown(&session);
        shift_clock(20 * day);
        session.files().remove(gone).unwrap();
        let deletion = newest(&session).number;
        drop(session);
        let count = cut_off(&prepared, (numbers[0], numbers[13]), |store| {
            shift_clock(20 * day);
            let session = store.unlock().unwrap();
            assert!(session.history().text(numbers[13]).is_err(), "{gone}");
            let back = session.history().restore(deletion, None);
            assert_eq!(back.is_ok(), gone != LONG, "{gone}: {back:?}");
            assert!(session.files().read(LONG).is_err(), "{gone}");
            assert_whole(&session, gone);
            shift_clock(-20 * day);
        });
        shift_clock(-20 * day);
        assert!(count > 3, "{gone}: {count}");
    }
}

/// What is left goes with the next redaction or forgetting of any text, or when its time has passed.
#[test]
fn what_a_crash_left_of_a_redacted_text_is_removed_by_the_next_call_or_in_time() {
    let prepared = TestStore::create();
    let session = keeps(prepared.unlock().unwrap());
    session.files().write("/memories/d/other", "other").unwrap();
    let other = newest(&session).number;
    session.files().write("/memories/d/other", "another").unwrap();
    let numbers = grown(&session);
    session.files().remove(LONG).unwrap();
    drop(session);
    let count = cut_off(&prepared, (numbers[0], numbers[13]), |store| {
        for way in 0..3 {
            let store = store.duplicate();
            let session = store.unlock().unwrap();
            let month = i64::try_from(MONTH.as_millis()).unwrap();
            match way {
                0 => assert_eq!(session.history().redact(other, other).unwrap(), 1),
                1 => assert!(session.history().forget(LONG, |_| {}).unwrap() > 0),
                _ => {
                    // So that the clock does not seem to have jumped.
                    for _ in 0..2 {
                        shift_clock(month * 2 / 3);
                        (0..40).for_each(|_| {
                            session.files().write("/memories/d/new", "new").unwrap();
                        });
                    }
                    shift_clock(-month * 4 / 3);
                }
            }
            assert_whole(&session, "removed");
            session.lock();
            assert_eq!(store.values().len(), store.reachable().len(), "{way}");
            let first = store.records_of(Kind::Chunk).len();
            assert!(first < 8, "{way}: {first}");
        }
    });
    assert!(count > 3, "{count}");
}

/// A file that was set aside and is damaged is dropped. It keeps no other text from being redacted.
#[test]
fn damage_to_what_a_crash_left_of_a_redacted_text_is_told_once() {
    let prepared = TestStore::create();
    let session = keeps(prepared.unlock().unwrap());
    session.files().write("/memories/d/other", "other").unwrap();
    let other = newest(&session).number;
    session.files().write("/memories/d/other", "another").unwrap();
    let edited = newest(&session).number;
    session.files().write("/memories/d/other", "last").unwrap();
    let numbers = grown(&session);
    session.files().remove(LONG).unwrap();
    drop(session);
    let mut damaged = 0;
    cut_off(&prepared, (numbers[0], numbers[13]), |store| {
        let is_left = |version: &Version| matches!(&version.before, Before::Object(_));
        let reachable = store.reachable();
        let entries = reachable.values().filter_map(Node::versions);
        let note = entries.flat_map(|leaf| &leaf.0).find(|it| it.file == 0 && is_left(it));
        let Some(Before::Object(left)) = note.map(|note| &note.before) else { return };
        damage(store, &[left.head()]);
        damaged += 1;
        let session = store.unlock().unwrap();
        let redacted = session.history().redact(other, other);
        assert!(matches!(redacted, Err(FileError::Store(_))), "{redacted:?}");
        assert!(session.history().text(other).is_err());
        assert_eq!(session.history().redact(edited, edited).unwrap(), 1);
    });
    assert!(damaged > 1, "{damaged}");
}

/// Regression: the entries went before the file in the folder, and only they said that it was at the path.
#[test]
fn a_path_that_a_crash_has_half_forgotten_is_forgotten_when_asked_again() {
    let prepared = TestStore::create();
    let session = keeps(prepared.unlock().unwrap());
    session.files().write("/memories/x", "secret secret\n").unwrap();
    session.files().rename("/memories/x", "/memories/d/y").unwrap();
    session.files().write("/memories/d/other", "other\n").unwrap();
    session.files().remove("/memories/d").unwrap();
    let deletion = newest(&session).number;
    drop(session);
    for operation in 1.. {
        let store = prepared.duplicate();
        let session = store.unlock_to_stop_at(operation);
        let done = session.history().forget("/memories/x", |_| {});
        drop(session);
        let session = store.unlock().unwrap();
        session.history().forget("/memories/x", |_| {}).unwrap();
        session.history().restore(deletion, None).unwrap();
        assert_eq!(dump(&session).unwrap().len(), 1, "{operation}");
        assert_whole(&session, &operation.to_string());
        if done.is_ok() {
            assert!(operation > 3, "{operation}");
            break;
        }
    }
}

/// Adds records that were there before under addresses of no record, as a log keeps them.
fn add_past_values(store: &TestStore, old: &BTreeMap<Address, Vec<u8>>) {
    let now = store.values();
    let replaced = old.iter().filter(|(address, value)| now.get(*address) != Some(value));
    store.tamper(|records| {
        for (number, (_, value)) in (0_u64..).zip(replaced) {
            let mut at = [0xEE; 32];
            at[..8].copy_from_slice(&number.to_le_bytes());
            records.insert(Address(at), value.clone());
        }
    });
}

/// Regression: the older root names an older history, which has the texts.
#[test]
fn what_was_redacted_does_not_come_back_with_an_older_root() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    let [first, second, third] = three_versions(&session);
    session.lock();
    let old = store.values();
    let session = store.unlock().unwrap();
    assert_eq!(session.history().redact(first, second).unwrap(), 2);
    drop(session);
    add_past_values(&store, &old);
    damage(&store, &[RecordId::ROOT]);
    repair(&store, "root");
    let session = store.unlock().unwrap();
    assert!(session.history().text(first).is_err() && session.history().text(second).is_err());
    assert!(session.history().text(third).is_ok());
    assert_whole(&session, "older root");
}

/// The same in files of the default engine. Without the anchor, nothing says that the root is older.
#[test]
fn what_was_redacted_or_forgotten_does_not_come_back_when_the_newest_root_is_damaged_on_disk() {
    for (forgets, has_anchor) in [(false, true), (true, true), (false, false), (true, false)] {
        let (store, session) = OnDisk::create();
        let [first, second, _] = three_versions(&session);
        if forgets {
            session.files().remove("/memories/a").unwrap();
            session.history().forget("/memories/a", |_| {}).unwrap();
        } else {
            assert_eq!(session.history().redact(first, first).unwrap(), 1);
        }
        drop(session);
        let report = store.repair_without_roots(1, has_anchor);
        let session = store.unlock();
        let context = format!("forgets {forgets}, anchor {has_anchor}: {report:?}");
        assert!(session.history().text(first).is_err(), "{context}");
        assert_eq!(session.history().text(second).is_err(), forgets, "{context}");
        assert_whole(&session, &context);
    }
}

/// Regression: the walk through the folder for redactions that a crash ended stopped at the damage.
#[test]
fn a_damaged_folder_does_not_keep_the_rest_of_a_deleted_folder_from_coming_back() {
    let store = TestStore::create();
    let session = keeps(store.unlock().unwrap());
    let paths = ["a", "b", "c"].map(|name| format!("/memories/d/{name}/file"));
    for path in &paths {
        session.files().write(path, "text\n").unwrap();
    }
    session.files().remove("/memories/d").unwrap();
    let deletion = newest(&session).number;
    drop(session);
    let has_file = |node: &Node| node.entries().iter().any(|it| it.name.as_str() == "file");
    let reachable = store.reachable();
    let below = reachable.iter().find(|(id, node)| id.kind == Kind::Folder && has_file(node));
    damage(&store, &[*below.unwrap().0]);
    let session = store.unlock().unwrap();
    session.history().restore(deletion, None).unwrap();
    let left = paths.iter().filter(|path| session.files().read(path).is_ok());
    assert_eq!(left.count(), 2);
}
