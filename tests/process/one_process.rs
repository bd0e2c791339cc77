//! Tests that one process at a time holds a store: opening a store that another process holds fails without
//! waiting and names that process. A killed holder leaves nothing that a person would have to remove.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use inmost::{Session, StorageEngine, StoreError, Vault, VaultOptions};
use inmost_testing::{CHEAP, passphrase};

/// The environment variable with the child's store.
const STORE: &str = "INMOST_TEST_STORE";

fn unlocked(store: &Path) -> Session {
    Vault::open(store).unwrap().unlock(&passphrase()).unwrap()
}

/// The child process: opens the store, writes in an endless loop, and prints a line after the first write.
/// Without its environment variable it does nothing.
#[test]
fn child_writes_until_it_is_killed() {
    let Ok(store) = std::env::var(STORE) else { return };
    let session = unlocked(Path::new(&store));
    for number in 0_u64.. {
        session.files().write("/memories/busy.txt", &format!("{number}")).unwrap();
        if number == 0 {
            println!("\nbusy");
        }
    }
}

fn busy_child(store: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "one_process::child_writes_until_it_is_killed", "--nocapture"])
        .env(STORE, store)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "busy"), "the child failed");
    child
}

fn a_holder_is_named_and_leaves_nothing_behind(engine: StorageEngine) {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine);
    let session = options.create(&store, &passphrase()).unwrap();
    session.files().write("/memories/kept.txt", "kept").unwrap();
    session.lock();
    for _ in 0..5 {
        let mut child = busy_child(&store);

        // The holder lives until it is killed below, so this cannot wait for it.
        let refused = Vault::open(&store);
        let Err(StoreError::InUse(pid)) = refused else {
            panic!("two processes opened the same store")
        };
        assert_eq!(pid, Some(child.id()));

        child.kill().unwrap();
        child.wait().unwrap();
        let session = unlocked(&store);
        assert_eq!(session.files().read("/memories/kept.txt").unwrap().as_str(), "kept");
        session.files().read("/memories/busy.txt").unwrap().as_str().parse::<u64>().unwrap();
        session.lock();
    }
}

#[test]
fn a_holder_on_sled_is_named_and_leaves_nothing_behind() {
    a_holder_is_named_and_leaves_nothing_behind(StorageEngine::Sled);
}

#[cfg(feature = "redb")]
#[test]
fn a_holder_on_redb_is_named_and_leaves_nothing_behind() {
    a_holder_is_named_and_leaves_nothing_behind(StorageEngine::Redb);
}
