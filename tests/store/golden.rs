//! Tests that stored examples of every released format open and contain their files: a store that was locked, one whose last
//! commits are in its journal, and one with a history.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use inmost::{AnchorStatus, EntryKind, Passphrase, Session, Vault};
use serde_json::{Value, json};

use crate::history_sample;

/// The folders of all stores. `in-use` is the store that was not locked, and `history` the one that kept versions.
fn golden() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut versions: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    versions.sort();
    assert!(!versions.is_empty());
    let stores = |version: PathBuf| [version.join("in-use"), version.join("history"), version];
    versions.into_iter().flat_map(stores).collect()
}

pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, to).unwrap();
        }
    }
}

fn unlock(store: &Path, version: &Path) -> Session {
    let passphrase = fs::read_to_string(version.join("passphrase")).unwrap();
    Vault::open(store).unwrap().unlock(&Passphrase::new(&passphrase).unwrap()).unwrap()
}

fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

fn walk(session: &Session, folder: &str, files: &mut Vec<Value>) {
    for entry in session.files().list(folder).unwrap() {
        let path = format!("{folder}/{}", entry.name);
        match entry.metadata.kind {
            EntryKind::Folder => walk(session, &path, files),
            EntryKind::File { lines, created, modified, .. } => files.push(json!({
                "path": path, "bytes": entry.metadata.bytes, "lines": lines, "created": milliseconds(created),
                "modified": milliseconds(modified), "text": session.files().read(&path).unwrap().as_str(),
            })),
            kind => unreachable!("{kind:?}"),
        }
    }
}

pub(super) fn files(session: &Session) -> Vec<Value> {
    let mut files = Vec::new();
    walk(session, "/memories", &mut files);
    files
}

#[test]
fn every_golden_store_holds_what_it_held() {
    for version in golden() {
        let expected = fs::read(version.join("files.json")).unwrap();
        let expected: Vec<Value> = serde_json::from_slice(&expected).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        copy(&version.join("store"), &store);

        let session = unlock(&store, &version);
        assert_eq!(files(&session), expected, "{}", version.display());
        assert_eq!(session.status().unwrap().anchor, AnchorStatus::Known);
        let report = session.check().unwrap();
        assert!(report.problems.is_empty(), "{:?}", report.problems);
        assert_eq!(report.orphans, 0);
    }
}

#[test]
fn every_golden_history_says_what_it_said() {
    let with_history = golden().into_iter().filter(|version| version.ends_with("history"));
    for version in with_history {
        let expected = fs::read(version.join("versions.json")).unwrap();
        let expected: Vec<Value> = serde_json::from_slice(&expected).unwrap();
        assert!(expected.len() > 20);
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        copy(&version.join("store"), &store);

        let session = unlock(&store, &version);
        assert_eq!(history_sample::versions(&session), expected, "{}", version.display());
        let readings: Vec<Value> =
            serde_json::from_slice(&fs::read(version.join("readings.json")).unwrap()).unwrap();
        assert!(readings[0].as_u64() > Some(1));
        assert_eq!([history_sample::readings(&session)], *readings, "{}", version.display());
        session.compact().unwrap();
        assert_eq!(history_sample::versions(&session), expected, "{}", version.display());
        assert!(session.check().unwrap().problems.is_empty());
    }
}

#[test]
fn every_golden_store_can_be_changed_and_purged() {
    for version in golden() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        copy(&version.join("store"), &store);

        let session = unlock(&store, &version);
        let before = files(&session).len();
        session.files().write("/memories/new/file", "new").unwrap();
        session.purge().unwrap();
        session.lock();
        let session = unlock(&store, &version);
        assert_eq!(files(&session).len(), before + 1);
        assert_eq!(session.files().read("/memories/new/file").unwrap().as_str(), "new");
    }
}
