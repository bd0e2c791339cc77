//! Tests of a repair that begins at an older root, because the newest ones are damaged: what came after it is lost, and nothing
//! else, then or later.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::forgotten::flip;
use super::model::{dump, parse, text};
use super::versions::{MONTH, assert_whole, newest};
use crate::maintenance::{BareRecords, RecoveryReport};
use crate::session::tests::store::{options, passphrase};
use crate::session::{AnchorStatus, HistorySettings, Session, StoreError};
use crate::vfs::edit;
use inmost_format::crypto::passphrase::Passphrase;
use inmost_format::header::{Credential, NewSlot};
use inmost_format::record::Node;

/// A store with a history, in files of the default engine. Where a session is dropped, its journal has the last commits.
pub(super) struct OnDisk {
    _folder: TempDir,
    path: PathBuf,
}

impl OnDisk {
    pub(super) fn create() -> (Self, Session) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let keeps = options().history(HistorySettings::keep(MONTH));
        let session = keeps.create(&path, &passphrase()).unwrap();
        (Self { _folder: folder, path }, session)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A copy of the files.
    pub(super) fn duplicate(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        copy(&self.path, &path);
        Self { _folder: folder, path }
    }

    pub(super) fn unlock(&self) -> Session {
        options().open(&self.path).unwrap().unlock(&passphrase()).unwrap()
    }

    /// Repairs the store after so many of its newest roots were damaged. Without its anchor, nothing says that a root is older than
    /// the newest.
    pub(super) fn repair_without_roots(&self, count: usize, has_anchor: bool) -> RecoveryReport {
        for tag in newest_roots(&self.path).iter().take(count) {
            assert!(flip(&self.path, tag) > 0);
        }
        if !has_anchor {
            std::fs::remove_file(self.path.join("anchor")).unwrap();
        }
        options().open(&self.path).unwrap().repair(&passphrase(), |_| {}).unwrap()
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let from = entry.unwrap().path();
        let to = to.join(from.file_name().unwrap());
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(from, to).unwrap();
        }
    }
}

/// The tags of all roots, the newest first.
fn newest_roots(path: &Path) -> Vec<[u8; 16]> {
    tags(path, |records| {
        let roots = records.all().filter_map(|it| match &it.node {
            Node::Root(root) => Some((root.commit, it.tag.0)),
            _ => None,
        });
        let mut roots: Vec<_> = roots.collect();
        roots.sort_unstable();
        roots.dedup();
        roots.into_iter().rev().map(|(_, tag)| tag).collect()
    })
}

/// What the records in the bare files say.
pub(super) fn tags<T>(path: &Path, wanted: impl FnOnce(&BareRecords) -> T) -> T {
    let vault = options().open(path).unwrap();
    let phrase = passphrase();
    wanted(&BareRecords::of(&vault, &Credential::from(&phrase), &mut |_| {}).unwrap().0)
}

/// Regression: behind the last entry of a journal is the rest of one of an earlier epoch. What is in it was taken for the newest, so that
/// most files were lost, and some came back that were forgotten.
#[test]
fn the_rest_of_an_older_journal_entry_is_not_taken_for_the_newest_record() {
    for more in 0..24_usize {
        let (store, session) = OnDisk::create();
        session.files().write("/memories/000", "secret secret\n").unwrap();
        let write = |number: usize| {
            let text = text(&number.to_string(), 9_000 + number % 7 * 1_000);
            session.files().write(&format!("/memories/{number:03}"), &text).unwrap();
        };
        (1..34).for_each(write);
        session.files().remove("/memories/000").unwrap();
        session.history().forget("/memories/000", None, |_| {}).unwrap();
        (34..34 + more).for_each(write);
        drop(session);
        let report = store.repair_without_roots(1, true);
        let session = store.unlock();
        let files = session.status().unwrap().files;
        assert_eq!(files, u64::try_from(33 + more).unwrap(), "{more}: {report:?}");
        assert!(session.files().read("/memories/000").is_err(), "{more}: {report:?}");
    }
}

/// Regression: with a history that is newer than the tree, an entry took records out of use that the file still has.
#[test]
fn no_live_text_is_lost_after_a_repair_at_an_older_root() {
    const FILE: &str = "/memories/a";
    let cases = [1, 2, 3].map(|lost| [(lost, true), (lost, false)]);
    for (lost, has_anchor) in cases.into_iter().flatten() {
        // By forgetting, by switching the history off, by forgetting a version, by a change.
        for end in 0..4 {
            let (store, session) = OnDisk::create();
            session.files().write(FILE, &text("first", 60_000)).unwrap();
            let first = newest(&session).number;
            let lines = session.files().read(FILE).unwrap().as_str().lines().count();
            let lines = i64::try_from(lines).unwrap();
            for at in [1, lines - 3, lines / 2] {
                edit::insert(&session, &parse(FILE), at, "a line\n").unwrap();
            }
            drop(session);
            let report = store.repair_without_roots(lost, has_anchor);
            let context = format!("end {end}, lost {lost}, anchor {has_anchor}: {report:?}");
            let session = store.unlock();
            assert_whole(&session, &context);
            let live = dump(&session).unwrap();
            match end {
                0 => drop(session.history().forget(FILE, None, |_| {}).unwrap()),
                1 => {
                    session.history().set(HistorySettings::off()).unwrap();
                    for number in 0..30 {
                        session.files().write("/memories/x", &number.to_string()).unwrap();
                    }
                    session.files().remove("/memories/x").unwrap();
                }
                2 => drop(session.history().forget(FILE, Some(first), |_| {}).unwrap()),
                _ => {
                    edit::insert(&session, &parse(FILE), lines - 9, "other\n").unwrap();
                    let changed = session.files().read(FILE).unwrap();
                    session.files().write(FILE, &changed.as_str().replace("other\n", "")).unwrap();
                }
            }
            assert_eq!(dump(&session).unwrap(), live, "{context}");
            assert_whole(&session, &context);
        }
    }
}

/// Regression: the tree did not have the folder yet, and the newer history had it no longer.
#[test]
fn a_folder_that_a_lost_change_brought_back_can_be_brought_back_again() {
    for has_anchor in [true, false] {
        let (store, session) = OnDisk::create();
        session.files().write("/memories/d/a", "text of a\n").unwrap();
        session.files().remove("/memories/d").unwrap();
        let deletion = newest(&session).number;
        session.history().restore(deletion, None).unwrap();
        drop(session);
        let report = store.repair_without_roots(1, has_anchor);
        let session = store.unlock();
        let is_live = session.files().read("/memories/d/a").is_ok();
        let back = session.history().restore(deletion, Some("/memories/back"));
        assert!(is_live || back.is_ok(), "{has_anchor}: {back:?}, {report:?}");
        assert_whole(&session, &format!("{has_anchor}: {report:?}"));
    }
}

/// An attacker kept the anchor, damaged roots so that somebody repaired the store, and put the anchor back: the store was known to be
/// the newest, without a word. So it was if the attacker had removed the anchor before the repair.
#[test]
fn an_anchor_from_before_a_repair_does_not_vouch_for_the_repaired_store() {
    for (lost, has_anchor) in [(1, true), (1, false), (usize::MAX, true), (usize::MAX, false)] {
        let (store, session) = OnDisk::create();
        for number in 0..9 {
            session.files().write(&format!("/memories/{number}"), "text\n").unwrap();
        }
        session.lock();
        let anchor = store.path().join("anchor");
        let kept = std::fs::read(&anchor).unwrap();
        store.repair_without_roots(lost, has_anchor);
        std::fs::write(&anchor, kept).unwrap();
        match options().open(store.path()).unwrap().unlock(&passphrase()) {
            Ok(session) => {
                let status = session.status().unwrap().anchor;
                assert_eq!(status, AnchorStatus::Unknown, "lost {lost}, anchor {has_anchor}");
            }
            // Without the anchor, the repaired store may have a number that was used before.
            Err(StoreError::RolledBack { .. }) if !has_anchor => {}
            Err(error) => panic!("lost {lost}, anchor {has_anchor}: {error}"),
        }
    }
}

/// With the older header, a removed keyslot opened the store again: a repair without roots did not ask the anchor.
#[test]
fn a_repair_without_roots_takes_no_header_that_is_older_than_the_anchor() {
    let (store, session) = OnDisk::create();
    session.files().write("/memories/a", "text\n").unwrap();
    let path = store.path();
    let headers = ["header.a", "header.b"].map(|name| path.join(name));
    let older = std::fs::read(&headers[0]).unwrap();
    let added = Passphrase::new("another passphrase").unwrap();
    session.add_slot(&NewSlot::new(&added)).unwrap();
    session.files().write("/memories/b", "text\n").unwrap();
    session.lock();
    for header in &headers {
        std::fs::write(header, &older).unwrap();
    }
    for tag in newest_roots(path) {
        assert!(flip(path, &tag) > 0);
    }
    let vault = options().open(path).unwrap();
    let refused = vault.repair(&passphrase(), |_| {});
    assert!(matches!(refused, Err(StoreError::HeaderRolledBack { .. })), "{refused:?}");
}
