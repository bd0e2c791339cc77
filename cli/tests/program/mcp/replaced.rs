//! Files of the store that another program replaces, under an MCP server and under a key daemon. The long form is
//! `tests/store/replaced.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Client, done, unavailable};
use crate::inmost::{PATIENCE, Place};

const GENERATION: &str = "gen-0000000000000001";

/// Files, the folder of the records, and the whole store.
fn targets() -> [PathBuf; 8] {
    let in_generation = |name: &str| Path::new(GENERATION).join(name);
    [
        "lock".into(),
        "header.a".into(),
        "header.b".into(),
        "anchor".into(),
        in_generation("journal"),
        in_generation("db"),
        GENERATION.into(),
        PathBuf::new(),
    ]
}

/// Puts an older copy in the place of a file or a folder, as a restore does.
fn restore(place: &Place, target: &Path) {
    let (older, path) = (place.beside("older").join(target), place.store().join(target));
    let draft = place.beside("draft");
    copy(&older, &draft);
    if path.is_dir() {
        fs::rename(&path, place.beside("replaced")).unwrap();
    }
    fs::rename(&draft, &path).unwrap();
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

#[test]
fn a_server_saves_nothing_more_when_files_are_replaced() {
    for target in targets() {
        let place = Place::with_store();
        place.lock();
        let mut client = Client::with(&place, &[]);
        let create =
            |path: &str| json!({ "command": "create", "path": path, "file_text": "dig\n" });
        copy(&place.store(), &place.beside("older"));
        let created = client.call(&create("/memories/a"));
        assert_eq!(created, done("File created successfully at: /memories/a"));
        restore(&place, &target);
        assert_eq!(client.call(&create("/memories/b")), unavailable(), "{}", target.display());
        assert_eq!(client.call(&create("/memories/c")), unavailable(), "{}", target.display());
        let warning = "Another program has changed the files of the open store";
        assert!(client.end().err.contains(warning), "{}", target.display());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_key_daemon_says_that_files_were_replaced_and_ends() {
    let what = "Another program has changed the files of the open store";
    // A change, looking at the status, and locking notice it.
    for (target, command) in targets()
        .iter()
        .zip([["write", "/memories/b"].as_slice(), &["lock"], &["status"]].iter().cycle())
    {
        let place = Place::with_store();
        place.lock();
        let process = place.unlock(&[]);
        copy(&place.store(), &place.beside("older"));
        place.run(["write", "/memories/a"], "dig\n").expect(0);
        restore(&place, target);
        place.run(*command, "dig\n").expect_failure(14, what);
        let start = Instant::now();
        while Path::new(&format!("/proc/{process}/exe")).exists() {
            assert!(start.elapsed() < PATIENCE, "{}", target.display());
            thread::sleep(Duration::from_millis(20));
        }
    }
}
