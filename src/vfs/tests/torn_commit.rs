//! Tests of a last commit of which a part is missing.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::forgotten::flip;
use super::versions::{assert_whole, log};
use crate::maintenance::BareRecords;
use crate::session::tests::store::{options, passphrase};
use crate::session::{HistorySettings, StoreError};
use inmost_format::header::Credential;
use inmost_format::record::{Kind, Tag};

const LONG: &str = "/memories/a/long.md";
const CHANGED: &str = "/memories/a/b/7.md";

type Texts = BTreeMap<String, String>;

/// A store whose last commit changed one file and whose anchor is that of the commit before, the texts before that commit and after it,
/// and the records that the commit has added.
struct Torn {
    _folder: TempDir,
    path: PathBuf,
    before: Texts,
    after: Texts,
    added: Vec<(Kind, Tag)>,
}

impl Torn {
    fn of(history: HistorySettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let session = options().history(history).create(&path, &passphrase()).unwrap();
        let mut texts = Texts::new();
        for number in 0..40 {
            texts
                .insert(format!("/memories/a/b/{number}.md"), format!("{number}\n").repeat(number));
        }
        texts.insert(LONG.to_owned(), "a long line of text\n".repeat(2_000));
        for (path, text) in &texts {
            session.files().write(path, text).unwrap();
        }
        session.lock();
        let (before, old) = (texts.clone(), tags(&path));
        let anchor = fs::read(path.join("anchor")).unwrap();
        let session = options().open(&path).unwrap().unlock(&passphrase()).unwrap();
        let text = format!("changed\n{}", texts[CHANGED]);
        session.files().write(CHANGED, &text).unwrap();
        texts.insert(CHANGED.to_owned(), text);
        session.lock();
        let is_new = |(tag, _): &([u8; 16], Kind)| !old.contains_key(tag);
        let new = tags(&path).into_iter().filter(is_new);
        let added = new.map(|(tag, kind)| (kind, Tag(tag))).collect();
        fs::write(path.join("anchor"), anchor).unwrap();
        Self { _folder: folder, path, before, after: texts, added }
    }

    fn salvaged(&self) -> Texts {
        let mut texts = Texts::new();
        let save = |path: &str, text: &str| {
            texts.insert(path.to_owned(), text.to_owned());
            Ok::<(), StoreError>(())
        };
        let report = options().open(&self.path).unwrap().salvage(&passphrase(), save).unwrap();
        assert!(report.is_complete(), "{report:?}");
        texts
    }
}

fn tags(store: &Path) -> HashMap<[u8; 16], Kind> {
    let vault = options().open(store).unwrap();
    let passphrase = passphrase();
    let records = BareRecords::of(&vault, &Credential::from(&passphrase), &mut |_| {}).unwrap().0;
    records.all().map(|version| (version.tag.0, version.id.kind)).collect()
}

/// Each record of the commit may be the one that is missing.
#[test]
fn a_salvage_finds_the_state_before_the_commit() {
    let month = HistorySettings::keep(Duration::from_secs(30 * 24 * 60 * 60));
    for history in [month, HistorySettings::off()] {
        let torn = Torn::of(history);
        assert_eq!(torn.salvaged(), torn.after);
        let mut cut = Vec::new();
        for (kind, tag) in &torn.added {
            assert!(flip(&torn.path, &tag.0) > 0);
            let texts = torn.salvaged();
            assert!(texts == torn.before || texts == torn.after, "{kind:?}");
            if texts == torn.before {
                cut.push(*kind);
            }
            let mut flipped = tag.0;
            flipped[0] ^= 1;
            assert!(flip(&torn.path, &flipped) > 0);
        }
        for kind in [Kind::Root, Kind::Folder, Kind::File] {
            assert!(cut.contains(&kind), "{kind:?} is not among {cut:?}");
        }
    }
}

/// Regression: the commit counted as whole without its part of the history, and then the whole history was lost.
#[test]
fn a_repair_finds_the_history_before_the_commit() {
    let month = HistorySettings::keep(Duration::from_secs(30 * 24 * 60 * 60));
    let count = Torn::of(month).after.len();
    for kind in [Kind::Root, Kind::Folder, Kind::File, Kind::History] {
        let torn = Torn::of(month);
        let (_, tag) = torn.added.iter().find(|(added, _)| *added == kind).unwrap();
        assert!(flip(&torn.path, &tag.0) > 0);
        options().open(&torn.path).unwrap().repair(&passphrase(), |_| {}).unwrap();
        let session = options().open(&torn.path).unwrap().unlock(&passphrase()).unwrap();
        let versions = log(&session).len();
        assert_eq!(versions, count, "{kind:?}");
        assert_whole(&session, &format!("{kind:?}"));
    }
}

/// Without an anchor, it may as well be damage, which is reported.
#[test]
fn a_salvage_without_an_anchor_reports_what_is_missing() {
    let torn = Torn::of(HistorySettings::off());
    fs::remove_file(torn.path.join("anchor")).unwrap();
    let (_, tag) = torn.added.iter().find(|(kind, _)| *kind == Kind::File).unwrap();
    assert!(flip(&torn.path, &tag.0) > 0);
    let report = options()
        .open(&torn.path)
        .unwrap()
        .salvage(&passphrase(), |_, _| Ok::<(), StoreError>(()))
        .unwrap();
    assert_eq!(report.older.len() + report.lost.len(), 1, "{report:?}");
}
