//! Tests of what a session reports about the memory of its keys.
#![cfg(target_os = "linux")]

use std::env;
use std::process::Command;

use super::store::TestStore;
use inmost_format::secret::protections;

/// The child process of the next test, which may lock 64 KiB. Does nothing in a normal test run.
#[test]
fn child_unlocks_more_stores_than_it_may_lock_keys() {
    if env::var_os("INMOST_TEST_LOCKED_LIMIT").is_none() {
        return;
    }
    let stores: Vec<_> = (0..40).map(|_| TestStore::create()).collect();
    let sessions: Vec<_> = stores.iter().map(|store| store.unlock().unwrap()).collect();
    let locked = |place: usize| sessions[place].status().unwrap().protections.keys_locked;
    assert!(locked(0), "the keys of the first session fit");
    assert!(!locked(39), "those of the last do not");
    assert!(!protections().keys_locked, "the process has both");
    for session in &sessions {
        session.files().write("/memories/notes", "works without").unwrap();
    }
    assert!(locked(0) && !locked(39), "a session keeps its keys where they are");
}

#[test]
fn a_session_reports_whether_its_own_keys_are_locked() {
    // The limit does not apply to root.
    let limited = r#"ulimit -l 64
        if [ "$(id -u)" = 0 ]; then exec setpriv --reuid=65534 --clear-groups "$0" "$@"; fi
        exec "$0" "$@""#;
    let child = Command::new("sh")
        .args(["-c", limited])
        .arg(env::current_exe().unwrap())
        .args([
            "--exact",
            "session::tests::protections::child_unlocks_more_stores_than_it_may_lock_keys",
        ])
        .env("INMOST_TEST_LOCKED_LIMIT", "yes")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
}
