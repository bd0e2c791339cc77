//! Tests with SIGKILL before every single file change that creating, opening, writing, purging, rotating and closing a
//! store makes, and that a backup makes. The store opens with every acknowledged write, its freshness is known, and every backup
//! that is listed can be restored.
//!
//! A preloaded library (`tests/lab/shim.c`) counts the changes. The short form kills at some points of each
//! scenario. The long form kills at every point: `INMOST_LONG=1`, see `tests/lab/kill_points.sh`. Needs Linux
//! and a C compiler; elsewhere the tests print that they were skipped.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use inmost::{
    AnchorStatus, BackupOptions, Backups, Session, StorageEngine, StoreError, Vault, VaultOptions,
};
use inmost_testing::{CHEAP, passphrase};
use tempfile::TempDir;

/// Environment variables for the child: its store, its engine, and the file for acknowledgements.
const STORE: &str = "INMOST_TEST_STORE";
const ENGINE: &str = "INMOST_TEST_ENGINE";
const ACKNOWLEDGED: &str = "INMOST_TEST_ACKNOWLEDGED";
/// Makes the child only purge the store, rotate its keys, or back it up.
const REWRITE: &str = "INMOST_TEST_REWRITE";
const PURGE: &str = "purge";
const ROTATE: &str = "rotate";
const BACKUP: &str = "backup";
/// Kill points per scenario in the short form.
const POINTS: u64 = 10;

fn unlock(store: &Path) -> Result<Session, StoreError> {
    Vault::open(store)?.unlock(&passphrase())
}

fn text(number: usize) -> String {
    format!("{number} ").repeat(200 * (number % 8))
}

fn path(number: usize) -> String {
    format!("/memories/folder/{number:03}.txt")
}

/// Files that the child writes. Each is acknowledged before the next.
const WRITES: std::ops::Range<usize> = 100..104;
/// Files that exist before.
const BEFORE: std::ops::Range<usize> = 0..20;

/// The child process: creates or opens the store, writes, deletes, closes. Without its environment variables
/// it does nothing.
#[test]
fn child_uses_a_store() {
    let Ok(store) = std::env::var(STORE) else { return };
    let acknowledged = std::env::var(ACKNOWLEDGED).unwrap();
    let session = match std::env::var(ENGINE).as_deref() {
        Ok("sled") => create(Path::new(&store), StorageEngine::Sled),
        Ok(_) => create(Path::new(&store), StorageEngine::Redb),
        Err(_) => unlock(Path::new(&store)).unwrap(),
    };
    let mut done = Vec::new();
    fs::write(&acknowledged, &done).unwrap();
    if let Ok(rewrite) = std::env::var(REWRITE) {
        match rewrite.as_str() {
            PURGE => session.purge().unwrap(),
            ROTATE => drop(session.rotate(&passphrase()).unwrap()),
            _ => back_up(&session, &Path::new(&store).with_file_name("backups")),
        }
        session.lock();
        return;
    }
    for number in WRITES {
        session.files().write(&path(number), &text(number)).unwrap();
        done.push(b'w');
        fs::write(&acknowledged, &done).unwrap();
    }
    let _ = session.files().remove(&path(0));
    session.lock();
}

fn create(store: &Path, engine: StorageEngine) -> Session {
    VaultOptions::new().kdf_cost(CHEAP).engine(engine).create(store, &passphrase()).unwrap()
}

/// Adds a backup and keeps the newest two.
fn back_up(session: &Session, folder: &Path) {
    let mut options = BackupOptions::default();
    (options.keep, options.keep_within) = (2, Duration::ZERO);
    session.backup_into(folder, &options, &mut |_| {}).unwrap();
}

struct Lab {
    folder: TempDir,
    shim: PathBuf,
    rewrite: Option<&'static str>,
    /// The folder in the disk whose changes count.
    changing: &'static str,
}

impl Lab {
    fn new() -> Option<Self> {
        // Only the process is killed, not the machine, so a file system in memory keeps every write and is
        // faster.
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let folder = folder.unwrap();
        let shim = folder.path().join("shim.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/shim.c");
        let built = Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .arg(&shim)
            .arg(source)
            .arg("-ldl")
            .status();
        if !built.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: no C compiler, so nothing was killed");
            return None;
        }
        Some(Self { folder, shim, rewrite: None, changing: "" })
    }

    fn disk(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn store(&self) -> PathBuf {
        self.disk().join("store")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Replaces the store with a copy of `base`, or removes it.
    fn reset(&self, base: Option<&Path>) {
        let _ = fs::remove_dir_all(self.disk());
        let _ = fs::remove_file(self.folder.path().join("acknowledged"));
        fs::create_dir(self.disk()).unwrap();
        if let Some(base) = base {
            let copied = Command::new("cp").arg("-a").arg(base).arg(self.store()).status();
            assert!(copied.unwrap().success());
        }
    }

    /// Runs the child and returns whether it was killed.
    fn run(&self, engine: Option<StorageEngine>, kill_at: Option<u64>) -> bool {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", "kill_points::child_uses_a_store"])
            .env("LD_PRELOAD", &self.shim)
            .env("SHIM_DIR", self.disk().join(self.changing))
            .env("SHIM_KILL_AT", kill_at.map_or("-1".into(), |at| at.to_string()))
            .env("SHIM_LOG", self.log())
            .env(STORE, self.store())
            .env(ACKNOWLEDGED, self.folder.path().join("acknowledged"));
        match engine {
            Some(StorageEngine::Sled) => child.env(ENGINE, "sled"),
            Some(_) => child.env(ENGINE, "redb"),
            None => child.env_remove(ENGINE),
        };
        if let Some(rewrite) = self.rewrite {
            child.env(REWRITE, rewrite);
        }
        let _ = fs::remove_file(self.log());
        let output = child.output().unwrap();
        let killed = output.status.signal() == Some(9);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(killed || output.status.success(), "at {kill_at:?}: {text}");
        killed
    }

    /// Returns the number of acknowledged writes, or `None` if the child never had a store.
    fn acknowledged(&self) -> Option<usize> {
        fs::read(self.folder.path().join("acknowledged")).ok().map(|done| done.len())
    }

    /// Kills at every point (long form) or at some points (short form). Returns the number of points.
    fn at_points(&self, base: Option<&Path>, engine: Option<StorageEngine>) -> u64 {
        let reset = || self.reset(base);
        self.kill_at_points(engine, reset, |point| self.assert_whole(base.is_some(), point))
    }

    fn kill_at_points(
        &self,
        engine: Option<StorageEngine>,
        reset: impl Fn(),
        assert_whole: impl Fn(u64),
    ) -> u64 {
        reset();
        assert!(!self.run(engine, None));
        let all: u64 = fs::read_to_string(self.log()).unwrap().lines().count().try_into().unwrap();
        assert!(all > 10, "the shim saw only {all} changes");
        let step = if std::env::var_os("INMOST_LONG").is_some() { 1 } else { all.div_ceil(POINTS) };
        let mut kills = 0;
        for point in (0..all).step_by(step.try_into().unwrap()) {
            reset();
            kills += u64::from(self.run(engine, Some(point)));
            assert_whole(point);
        }
        println!("{kills} kills, {all} points, every store opened");
        assert!(kills > 0);
        all
    }

    fn assert_whole(&self, existed: bool, point: u64) {
        let acknowledged = self.acknowledged();
        let last = fs::read_to_string(self.log()).unwrap().lines().last().map(str::to_owned);
        let session = match unlock(&self.store()) {
            Ok(session) => session,
            Err(StoreError::NotAStore) if !existed && acknowledged.is_none() => {
                create(&self.store(), StorageEngine::Sled).lock();
                return;
            }
            Err(error) => panic!("killed at {point} ({last:?}): {error}"),
        };
        let read = |session: &Session, number| {
            let read = session.files().read(&path(number));
            read.map(|read| read.as_str().to_owned()).map_err(|error| error.to_string())
        };
        let assert_there = |session: &Session| {
            // The child deletes the first file at the end.
            for number in BEFORE.filter(|number| existed && *number != 0) {
                assert_eq!(read(session, number), Ok(text(number)), "killed at {point} ({last:?})");
            }
            for number in WRITES.take(acknowledged.unwrap_or(0)) {
                assert_eq!(read(session, number), Ok(text(number)), "killed at {point} ({last:?})");
            }
        };
        assert_there(&session);
        let freshness = session.status().unwrap().anchor;
        assert_eq!(freshness, AnchorStatus::Known, "killed at {point} ({last:?})");
        let report = session.check().unwrap();
        assert!(report.is_clean(), "killed at {point} ({last:?}): {:?}", report.problems);
        // What an interrupted rewrite left is removed, not set aside.
        assert!(session.set_aside().unwrap().is_empty(), "killed at {point} ({last:?})");
        assert!(!self.store().join("rewriting").exists(), "killed at {point} ({last:?})");
        session.files().write(&path(200), &text(7)).unwrap();
        session.lock();
        let session = unlock(&self.store()).unwrap();
        assert_there(&session);
        assert_eq!(read(&session, 200), Ok(text(7)));
    }
}

fn kill_everywhere(engine: StorageEngine) {
    let Some(mut lab) = Lab::new() else { return };
    lab.at_points(None, Some(engine));

    let closed = lab.folder.path().join("closed");
    let session = create(&closed, engine);
    for number in BEFORE {
        session.files().write(&path(number), &text(number)).unwrap();
    }
    session.lock();
    drop(session);
    let all = lab.at_points(Some(&closed), None);

    // Opening after a kill takes a different path: recovery, and for redb a repair.
    lab.reset(Some(&closed));
    assert!(lab.run(None, Some(all / 3 * 2)), "killed too late");
    let killed = lab.folder.path().join("killed");
    fs::rename(lab.store(), &killed).unwrap();
    lab.at_points(Some(&killed), None);

    // A purge writes a generation, then both headers, then removes the old generation.
    lab.rewrite = Some(PURGE);
    lab.at_points(Some(&closed), None);

    // A rotation writes the other pair of the anchor's slots before the headers, and both pairs after them.
    lab.rewrite = Some(ROTATE);
    lab.at_points(Some(&closed), None);
}

#[test]
fn a_kill_at_any_change_leaves_a_store_on_sled_that_opens() {
    kill_everywhere(StorageEngine::Sled);
}

#[cfg(feature = "redb")]
#[test]
fn a_kill_at_any_change_leaves_a_store_on_redb_that_opens() {
    kill_everywhere(StorageEngine::Redb);
}

/// The text of a file in the backup of this number.
fn backed_up(number: usize, backup: u64) -> String {
    // Each backup changes a third of the files, so that later ones leave a part of its records out.
    let third = u64::try_from(number % 3).unwrap();
    if third < backup { format!("{}in {third}", text(number + 1)) } else { text(number + 1) }
}

/// A backup removes the oldest, and writes the records of one anew without what nobody uses any more.
#[test]
fn a_kill_at_any_change_of_a_backup_leaves_the_listed_ones_whole() {
    let Some(mut lab) = Lab::new() else { return };
    (lab.rewrite, lab.changing) = (Some(BACKUP), "backups");
    let (closed, earlier) = (lab.folder.path().join("closed"), lab.folder.path().join("earlier"));
    let session = create(&closed, StorageEngine::Sled);
    for backup in 1..=3 {
        for number in BEFORE {
            session.files().write(&path(number), &backed_up(number, backup)).unwrap();
        }
        if backup < 3 {
            session.backup_into(&earlier, &BackupOptions::default(), &mut |_| {}).unwrap();
        }
    }
    session.lock();

    let backups = lab.disk().join("backups");
    let reset = || {
        lab.reset(Some(&closed));
        assert!(
            Command::new("cp").arg("-a").args([&earlier, &backups]).status().unwrap().success()
        );
    };
    let assert_restored = |number: u64, point: u64| {
        let to = lab.folder.path().join("restored");
        let opened = Backups::open(&backups).unwrap();
        let checked = opened.check(number, &passphrase(), &mut |_| {}).unwrap();
        assert!(checked.is_clean(), "{number}, killed at {point}: {:?}", checked.problems);
        opened.restore(number, &to, &passphrase(), &mut |_| {}).unwrap();
        let session = unlock(&to).unwrap();
        for file in BEFORE {
            let read = session.files().read(&path(file)).unwrap();
            assert_eq!(read.as_str(), backed_up(file, number), "{number}, killed at {point}");
        }
        session.lock();
        fs::remove_dir_all(to).unwrap();
    };
    let listed = || -> Vec<u64> {
        Backups::open(&backups).unwrap().list().iter().map(|backup| backup.number).collect()
    };
    lab.kill_at_points(None, reset, |point| {
        let found = listed();
        assert!([&[1, 2][..], &[1, 2, 3], &[2, 3]].contains(&&found[..]), "{point}: {found:?}");
        for number in &found {
            assert_restored(*number, point);
        }
        // The next backup removes what this one left.
        let session = unlock(&lab.store()).unwrap();
        back_up(&session, &backups);
        session.lock();
        let now = listed();
        assert_eq!(
            now,
            found[found.len() - 1..].iter().flat_map(|last| [*last, last + 1]).collect::<Vec<_>>()
        );
        let files = fs::read_dir(&backups).unwrap().count();
        assert!((1 + 2 * 2..=1 + 2 * 3).contains(&files), "{point}: {files} files");
    });
}

/// Regression: no anchor was ever synced, and a system may delay a write for about 30 seconds. After a power
/// cut soon after creation, the store reported that its anchor was missing.
///
/// Before the first commit the anchor that was there is synced, or the one of the new store; then the one of the first commit;
/// and at the end the last one.
#[test]
fn the_first_anchors_of_a_session_and_the_last_are_synced_and_no_other() {
    let Some(lab) = Lab::new() else { return };
    for engine in [Some(StorageEngine::Sled), None] {
        if engine.is_some() {
            lab.reset(None);
        }
        assert!(!lab.run(engine, None));
        let log = fs::read_to_string(lab.log()).unwrap();
        let of_anchor = log.lines().filter(|line| line.contains("/anchor "));
        let calls: Vec<_> = of_anchor.filter_map(|line| line.split(' ').nth(1)).collect();
        let first = calls.iter().position(|call| *call == "pwrite").unwrap();
        let (synced, later) = calls[first..].split_at(4);
        assert_eq!(synced, ["pwrite", "fdatasync", "pwrite", "fdatasync"], "{calls:?}");
        let (later, last) = later.split_at(later.len() - 2);
        assert_eq!(last, ["pwrite", "fdatasync"], "{calls:?}");
        assert!(later.iter().all(|call| *call == "pwrite"), "{calls:?}");
        assert!(later.len() + 1 >= WRITES.len(), "{calls:?}");
    }
}
