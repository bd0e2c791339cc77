//! Tests of purge and backup on a real folder: deleted records are gone from every file, and every live file
//! remains.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use inmost::{MemoryTool, Session, StoreError, Vault, VaultOptions};
use inmost_testing::{CHEAP, passphrase};

fn create(path: &Path) -> Session {
    VaultOptions::new().kdf_cost(CHEAP).create(path, &passphrase()).unwrap()
}

fn unlock(path: &Path) -> Session {
    Vault::open(path).unwrap().unlock(&passphrase()).unwrap()
}

/// Returns runs of 48 bytes that look sealed, from all files below `folder`: one begins at every `step`th byte. Random bytes
/// rarely repeat; the engine's own frames and the zeros between them do.
fn runs(folder: &Path, step: usize) -> HashSet<[u8; 48]> {
    let mut runs = HashSet::new();
    // Neither ever contains a record. The ballast stays unchanged, and so does the noise beside the slots of the anchor.
    let holds_records = |file: &PathBuf| !file.ends_with("ballast") && !file.ends_with("anchor");
    for file in files(folder).into_iter().filter(holds_records) {
        let bytes = fs::read(file).unwrap();
        let sealed = bytes.windows(48).step_by(step).filter(|run| looks_sealed(run));
        runs.extend(sealed.map(|run| <[u8; 48]>::try_from(run).unwrap()));
    }
    runs
}

fn looks_sealed(run: &[u8]) -> bool {
    let mut seen = [false; 256];
    for byte in run {
        seen[usize::from(*byte)] = true;
    }
    seen.iter().filter(|seen| **seen).count() > 34
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn fill(session: &Session) {
    let files = session.files();
    for number in 0..40 {
        files
            .write(
                &format!("/memories/notes/{number}.md"),
                &format!("note {number}\n").repeat(number),
            )
            .unwrap();
    }
    files.write("/memories/long.txt", &"a long line of text\n".repeat(20_000)).unwrap();
    files.write("/memories/doomed.txt", &"this is to be forgotten\n".repeat(100)).unwrap();
}

fn dump(session: &Session, folder: &str, into: &mut Vec<(String, String)>) {
    for entry in session.files().list(folder).unwrap() {
        let path = format!("{folder}/{}", entry.name);
        if matches!(entry.metadata.kind, inmost::EntryKind::Folder) {
            dump(session, &path, into);
        } else {
            into.push((path.clone(), session.files().read(&path).unwrap().as_str().to_owned()));
        }
    }
}

fn contents(session: &Session) -> Vec<(String, String)> {
    let mut all = Vec::new();
    dump(session, "/memories", &mut all);
    all
}

#[test]
fn a_purge_leaves_no_old_record_and_every_live_file() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store");
    let session = create(&path);
    fill(&session);
    session.files().remove("/memories/doomed.txt").unwrap();
    let before = contents(&session);
    let commit = session.status().unwrap().commit;
    session.lock();
    // A record of 63 bytes or more has such a run.
    let old = runs(&path, 16);

    let session = unlock(&path);
    let mut reported = 0;
    session.purge_reporting(&mut |records| reported = records).unwrap();
    assert!(reported > 100, "the progress reported {reported} records");
    assert_eq!(contents(&session), before);
    assert!(session.status().unwrap().commit > commit);
    session.files().write("/memories/after.txt", "goes on\n").unwrap();
    session.lock();

    // The sealed keyslot and the store id must stay.
    let header = fs::read(path.join("header.a")).unwrap();
    let kept: HashSet<&[u8]> = header.windows(48).collect();
    let now = runs(&path, 1);
    let survivors = now.intersection(&old).filter(|run| !kept.contains(run.as_slice()));
    assert_eq!(survivors.count(), 0, "runs of old bytes");

    let session = unlock(&path);
    assert_eq!(contents(&session).len(), before.len() + 1);
}

#[test]
fn readers_go_on_and_writers_wait_during_a_purge() {
    let place = tempfile::tempdir().unwrap();
    let session = create(&place.path().join("store"));
    fill(&session);
    let memory = MemoryTool::new(session.clone());
    std::thread::scope(|scope| {
        let purge = scope.spawn(|| session.purge());
        for number in 0..50 {
            let view =
                memory.try_run_json(r#"{"command":"view","path":"/memories/notes/7.md"}"#).unwrap();
            assert!(!view.is_error(), "{}", view.content());
            let call = format!(
                r#"{{"command":"create","path":"/memories/new/{number}","file_text":"x"}}"#
            );
            assert!(!memory.try_run_json(&call).unwrap().is_error());
        }
        purge.join().unwrap().unwrap();
    });
    assert_eq!(session.files().list("/memories/new").unwrap().len(), 50);
}

#[test]
fn a_backup_opens_with_the_same_passphrase_and_shares_no_record_with_its_source() {
    let place = tempfile::tempdir().unwrap();
    let (path, copy) = (place.path().join("store"), place.path().join("copy"));
    let session = create(&path);
    fill(&session);
    session.backup(&copy).unwrap();
    let before = contents(&session);
    session.files().write("/memories/later.txt", "not in the backup\n").unwrap();
    assert!(matches!(session.backup(&copy), Err(StoreError::AlreadyExists)));
    let restored = unlock(&copy);
    assert_eq!(contents(&restored), before);
    restored.files().write("/memories/own.txt", "a store of its own\n").unwrap();
    restored.lock();
    session.lock();
    assert_eq!(contents(&unlock(&path)).len(), before.len() + 1);
}

#[test]
fn a_large_deletion_makes_a_compaction_due_and_a_purge_settles_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store");
    let session = create(&path);
    fill(&session);
    assert!(!session.compaction_due().unwrap());
    session
        .files()
        .write("/memories/huge.txt", &"sixteen million bytes\n".repeat(700_000))
        .unwrap();
    assert!(!session.compaction_due().unwrap());
    session.files().remove("/memories/huge.txt").unwrap();
    assert!(session.compaction_due().unwrap());
    let before = session.status().unwrap().disk_bytes;
    session.purge().unwrap();
    assert!(!session.compaction_due().unwrap());
    assert!(session.status().unwrap().disk_bytes < before / 4);
}

/// Regression: such a purge reported success.
#[cfg(target_os = "linux")]
#[test]
fn a_purge_that_leaves_the_old_records_says_so() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store");
    let session = create(&path);
    fill(&session);
    let old = path.join("gen-0000000000000001");
    // A folder with a mount on it cannot be removed. (An immutable file would need a file system with that
    // attribute.)
    let blobs = old.join("blobs");
    let mount = |program: &str, arguments: &[&str]| {
        std::process::Command::new(program)
            .args(arguments)
            .output()
            .is_ok_and(|run| run.status.success())
    };
    let at = blobs.to_str().unwrap();
    if !mount("mount", &["-t", "tmpfs", "none", at]) {
        eprintln!("SKIPPED: this system does not allow the test to mount");
        return;
    }
    let purged = session.purge();
    let still_there = old.exists();
    let before = contents(&session);
    session.lock();
    assert!(mount("umount", &[at]));
    assert!(matches!(purged, Err(StoreError::OldRecordsRemain(_))), "{purged:?}");
    assert!(still_there);
    let session = unlock(&path);
    assert_eq!(contents(&session), before);
    assert!(!old.exists(), "the next unlock must remove it");
}

/// A sync client or a restore does this while the store is open. What a rewrite does goes by names.
#[cfg(unix)]
#[test]
fn a_purge_does_no_harm_to_a_copy_that_took_the_place_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let [store, older, away] = ["store", "older", "away"].map(|name| folder.path().join(name));
    let session = create(&store);
    session.files().write("/memories/a", "one").unwrap();
    session.lock();
    super::golden::copy(&store, &older);
    let session = unlock(&store);
    session.purge().unwrap();
    fs::rename(&store, &away).unwrap();
    fs::rename(&older, &store).unwrap();
    assert!(matches!(session.purge(), Err(StoreError::FilesReplaced(_))));
    session.lock();
    assert_eq!(unlock(&store).files().read("/memories/a").unwrap().as_str(), "one");
    assert_eq!(unlock(&away).files().read("/memories/a").unwrap().as_str(), "one");
}
