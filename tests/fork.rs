//! Tests of forked children: a session belongs to the process that opened it.
#![cfg(unix)]
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "`fork` and `waitpid` are calls of C; a test should stop at the first unexpected result and report it"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use inmost::{
    BackupOptions, ExpirySettings, FileError, HistorySettings, LineRange, MemoryTool, NewFile,
    NewSlot, Precondition, RankQuery, SearchQuery, Session, StorageEngine, StoreError, Vault,
    VaultOptions, VersionQuery,
};
use inmost_engines::local::LocalStorage;
use inmost_storage::{EngineKind, Storage};
use inmost_testing::{CHEAP, in_child, passphrase};
use tempfile::TempDir;

fn options() -> VaultOptions {
    VaultOptions::new().kdf_cost(CHEAP)
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    (folder, path)
}

fn read(session: &Session, path: &str) -> String {
    session.files().read(path).unwrap().as_str().to_owned()
}

#[track_caller]
fn forked<T>(result: Result<T, StoreError>) {
    assert!(matches!(result.err(), Some(StoreError::Forked)));
}

#[track_caller]
fn forked_file<T>(result: Result<T, FileError>) {
    assert!(matches!(result.err(), Some(FileError::Store(StoreError::Forked))));
}

/// The methods of a session that return a result.
fn every_call_is_refused(session: &Session, copy: &Path) {
    assert!(session.is_locked());
    let own = passphrase();
    forked(session.status());
    forked(session.mark());
    forked(session.lock_checking_files());
    forked(session.check());
    forked(session.purge());
    forked(session.compact());
    forked(session.migrate(StorageEngine::Sled));
    forked(session.compaction_due());
    forked(session.backup(copy));
    forked(session.backup_with_versions(copy));
    forked(session.backup_into(copy, &BackupOptions::default(), &mut |_| {}));
    forked(session.set_aside());
    forked(session.discard_set_aside(1));
    forked(session.slots());
    forked(session.add_slot(&NewSlot::new(&own)));
    forked(session.replace_slot(0, &NewSlot::new(&own)));
    forked(session.remove_slot(0));
    forked(session.rotate(&own));
    assert!(!copy.exists());

    let files = session.files();
    // The text of this file is in the cache.
    forked_file(files.read("/memories/cached"));
    forked_file(files.read_lines("/memories/cached", LineRange::from(1)));
    forked_file(files.read_with_metadata("/memories/cached"));
    forked(files.read_many(&["/memories/cached"]));
    forked_file(files.version("/memories/cached"));
    forked_file(files.metadata("/memories/cached"));
    forked_file(files.exists("/memories/cached"));
    forked_file(files.write("/memories/cached", "x"));
    forked_file(files.append("/memories/cached", "x"));
    forked_file(files.list("/memories"));
    forked_file(files.remove("/memories/cached"));
    forked_file(files.rename("/memories/cached", "/memories/other"));
    let (file, any) = (NewFile::new("/memories/cached", "x"), Precondition::Version(1));
    forked(files.write_many(&[file]));
    forked_file(files.write_if("/memories/cached", "x", &any));
    forked_file(files.write_file_if(&file, &any));
    forked_file(files.set_modified_if("/memories/cached", SystemTime::UNIX_EPOCH, &any));
    forked_file(files.replace_if("/memories/cached", "/memories/other", &any, &any));
    forked_file(files.remove_if("/memories/cached", &any));
    forked_file(files.rename_if("/memories/cached", "/memories/other", &any));
    forked_file(files.rank("/memories", &RankQuery::new("x")));
    forked_file(files.walk("/memories").next().unwrap());
    forked_file(files.search("/memories", SearchQuery::text("x")).next().unwrap());

    let history = session.history();
    forked(history.status());
    forked(history.set(HistorySettings::off()));
    forked_file(history.page(&VersionQuery::all(), None, 1));
    forked_file(history.text(1));
    forked_file(history.restore(1, None));
    forked_file(history.plan_undo(&VersionQuery::all()));
    forked_file(history.forget("/memories", None, |_| {}));
    let expiry = session.expiry();
    forked(expiry.status());
    forked(expiry.set(ExpirySettings::off()));
    forked_file(expiry.expire(Duration::from_secs(1), false, |_| {}));

    let tool = MemoryTool::new(session.clone());
    for call in [
        r#"{"command":"view","path":"/memories/cached"}"#,
        r#"{"command":"view","path":"/memories"}"#,
        r#"{"command":"create","path":"/memories/cached","file_text":"x"}"#,
        r#"{"command":"str_replace","path":"/memories/cached","old_str":"c","new_str":"x"}"#,
        r#"{"command":"insert","path":"/memories/cached","insert_line":0,"insert_text":"x"}"#,
        r#"{"command":"delete","path":"/memories/cached"}"#,
        r#"{"command":"rename","old_path":"/memories/cached","new_path":"/memories/x"}"#,
    ] {
        forked(tool.try_run_json(call));
    }
    session.lock();
}

fn every_call_of_a_vault_is_refused(vault: &mut Vault) {
    let own = passphrase();
    forked(vault.unlock(&own));
    forked(vault.unlock_with(&own));
    forked(vault.unlock_accepting_rollback(&own));
    forked(vault.salvage(&own, |_, _| Ok::<(), StoreError>(())));
    forked(vault.check(&own, |_| {}));
    forked(vault.plan_repair(&own, |_| {}));
    forked(vault.repair(&own, |_| {}));
}

/// Other threads hold the locks of the session, of the caches and of the pages for keys at some of the forks.
#[test]
fn a_forked_child_is_refused_at_every_call_and_its_parent_goes_on() {
    let (folder, path) = place();
    let copy = folder.path().join("copy");
    let session = options().create(&path, &passphrase()).unwrap();
    session.files().write("/memories/cached", "cached").unwrap();
    assert_eq!(read(&session, "/memories/cached"), "cached");
    let done = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|thread| {
                let (session, done) = (session.clone(), &done);
                scope.spawn(move || {
                    let mut written = Vec::new();
                    for number in 0_u32.. {
                        if done.load(Ordering::SeqCst) {
                            break;
                        }
                        let path = format!("/memories/{thread}/{number}");
                        session.files().write(&path, &path).unwrap();
                        assert_eq!(read(&session, &path), path);
                        // Takes pages for keys, and a place among the caches.
                        drop(Session::in_memory().unwrap());
                        written.push(path);
                    }
                    written
                })
            })
            .collect();
        for _ in 0..20 {
            let mine = session.clone();
            in_child(|| {
                every_call_is_refused(&mine, &copy);
                drop(mine);
                // What belongs to the child works.
                let own = Session::in_memory().unwrap();
                own.files().write("/memories/own", "own").unwrap();
                assert_eq!(read(&own, "/memories/own"), "own");
                assert!(!own.is_locked());
            });
        }
        done.store(true, Ordering::SeqCst);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(!written.is_empty());
    session.files().write("/memories/after", "goes on").unwrap();
    assert!(session.check().unwrap().is_clean());
    session.lock();
    let session = Vault::open(&path).unwrap().unlock(&passphrase()).unwrap();
    assert_eq!(read(&session, "/memories/after"), "goes on");
    for path in written {
        assert_eq!(read(&session, &path), path);
    }
}

/// Regression: the child released the lock of its parent. Another process could destroy the store then, and the parent's
/// next change was acknowledged and lost.
#[test]
fn a_child_that_ends_does_not_give_up_the_lock_of_its_parent() {
    let (_folder, path) = place();
    let session = options().create(&path, &passphrase()).unwrap();
    // The last handle in the child: nothing of the session is in use there.
    let mut last = Some(session);
    in_child(|| drop(last.take()));
    let session = last.unwrap();
    in_child(|| assert!(matches!(Vault::destroy(&path), Err(StoreError::InUse(_)))));
    session.files().write("/memories/a", "acknowledged").unwrap();
    session.lock();

    let mut held = Some(Vault::open(&path).unwrap());
    in_child(|| {
        let mut vault = held.take().unwrap();
        every_call_of_a_vault_is_refused(&mut vault);
    });
    in_child(|| assert!(matches!(Vault::destroy(&path), Err(StoreError::InUse(_)))));
    let session = held.unwrap().unlock(&passphrase()).unwrap();
    assert_eq!(read(&session, "/memories/a"), "acknowledged");
}

#[test]
fn a_child_does_not_remove_the_store_that_its_parent_is_creating() {
    let (_folder, path) = place();
    let mut storage = Some(LocalStorage::create(&path, &[inmost_sled::KIND]).unwrap());
    in_child(|| drop(storage.take()));
    let storage = storage.unwrap();
    storage.create_generation(1, EngineKind::Sled).unwrap().close().unwrap();
    let storage = storage.publish().unwrap();
    assert_eq!(storage.generations().unwrap(), [1]);
}

#[test]
fn a_credential_of_the_parent_is_refused_in_a_child() {
    let (_folder, path) = place();
    options().create(&path, &passphrase()).unwrap().lock();
    let passphrase = passphrase();
    in_child(|| {
        let mut vault = Vault::open(&path).unwrap();
        forked(vault.unlock(&passphrase));
        forked(vault.salvage(&passphrase, |_, _| Ok::<(), StoreError>(())));
        forked(options().create(path.with_extension("new"), &passphrase));
        drop(passphrase);
    });
    assert!(!path.with_extension("new").exists());
}

/// sled counts the threads of its pool, and none of them is in the child.
#[test]
fn a_child_of_a_process_that_used_sled_is_refused_before_sled_would_wait_for_ever() {
    let (_folder, path) = place();
    let session = options().create(&path, &passphrase()).unwrap();
    session.files().write("/memories/a", "kept").unwrap();
    session.lock();
    in_child(|| {
        forked(Vault::open(&path).unwrap().unlock(&passphrase()));
        forked(options().create(path.with_extension("new"), &passphrase()));
    });
    // The child gave up the lock that it had taken itself.
    let session = Vault::open(&path).unwrap().unlock(&passphrase()).unwrap();
    assert_eq!(read(&session, "/memories/a"), "kept");
}

/// The process of the next test, which has not used sled. Does nothing in a normal test run.
#[test]
fn child_forks_before_it_opens_a_store() {
    if std::env::var_os(FRESH).is_none() {
        return;
    }
    let (_folder, path) = place();
    for _ in 0..2 {
        in_child(|| {
            let session = match Vault::open(&path) {
                Err(StoreError::NotAStore) => options().create(&path, &passphrase()).unwrap(),
                opened => opened.unwrap().unlock(&passphrase()).unwrap(),
            };
            session.files().append("/memories/a", "once\n").unwrap();
            // A child has children of its own.
            in_child(|| every_call_is_refused(&session, &path.with_extension("copy")));
            session.lock();
        });
    }
    let session = Vault::open(&path).unwrap().unlock(&passphrase()).unwrap();
    assert_eq!(read(&session, "/memories/a"), "once\nonce\n");
}

#[test]
fn children_open_stores_if_their_parent_did_not() {
    let mut fresh = Command::new(std::env::current_exe().unwrap());
    fresh.args(["--exact", "child_forks_before_it_opens_a_store"]).env(FRESH, "1");
    let output = fresh.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Regression: a child kept the lock of sled's log. The parent was halted when it opened the log again, at a checkpoint, and
/// nobody could open the store until the child had ended.
#[test]
fn a_child_that_lives_on_does_not_keep_its_parent_from_opening_the_engine_again() {
    let (_folder, path) = place();
    let session = options().create(&path, &passphrase()).unwrap();
    session.files().write("/memories/a", "before").unwrap();
    let (mut end, keeps) = std::io::pipe().map(|(read, write)| (read, Some(write))).unwrap();
    // SAFETY: the child does nothing but wait until its parent closes the pipe or ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(keeps);
        let _ = std::io::Read::read(&mut end, &mut [0]);
        std::process::exit(0);
    }
    session.lock();
    // Each time the journal is brought to sled, and sled is opened again.
    for number in 0..3 {
        let session = Vault::open(&path).unwrap().unlock(&passphrase()).unwrap();
        session.files().append("/memories/a", &number.to_string()).unwrap();
        session.lock();
    }
    let session = Vault::open(&path).unwrap().unlock(&passphrase()).unwrap();
    assert_eq!(read(&session, "/memories/a"), "before012");
    drop(keeps);
    let mut status = 0;
    // SAFETY: `status` lives until the call returns.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}

/// Unlike sled, redb has no threads.
#[cfg(feature = "redb")]
#[test]
fn a_child_opens_a_store_on_redb_that_its_parent_has_locked() {
    let (_folder, path) = place();
    let session = options().engine(StorageEngine::Redb).create(&path, &passphrase()).unwrap();
    session.files().write("/memories/a", "1").unwrap();
    in_child(|| assert!(matches!(Vault::open(&path).err(), Some(StoreError::InUse(_)))));
    session.lock();
    in_child(|| {
        let session = Vault::open(&path).unwrap().unlock(&passphrase()).unwrap();
        session.files().write("/memories/a", "2").unwrap();
    });
    let session = Vault::open(&path).unwrap().unlock(&passphrase()).unwrap();
    assert_eq!(read(&session, "/memories/a"), "2");
}

/// Set for the process of `child_forks_before_it_opens_a_store`.
const FRESH: &str = "INMOST_TEST_FRESH_PROCESS";
