//! Tests of a full disk: the error is clear, nothing is lost, and the store still opens, reads and deletes.
//!
//! Needs Linux, root and `mount`; elsewhere the tests print that they were skipped.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use inmost::{
    BackupOptions, Backups, FileError, HistorySettings, Session, StorageEngine, StoreError, Vault,
    VaultOptions, VersionQuery,
};
use inmost_testing::{CHEAP, passphrase};
use tempfile::TempDir;

/// A small, separate file system. It is unmounted when dropped.
struct Disk(TempDir);

impl Disk {
    fn tmpfs() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted =
            run("mount", &["-t", "tmpfs", "-o", "size=12m", "inmost-test"], folder.path());
        Self::of(folder, mounted)
    }

    /// A file system with a journal, where freed space is not available at once.
    fn ext4() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(24 << 20).unwrap();
        let target = folder.path().join("disk");
        fs::create_dir(&target).unwrap();
        let mounted = run("mkfs.ext4", &["-q", "-F", "-m", "0"], &image)
            && run("mount", &["-o", "loop", image.to_str().unwrap()], &target);
        Self::of(folder, mounted)
    }

    fn of(folder: TempDir, mounted: bool) -> Option<Self> {
        if !mounted {
            eprintln!("SKIPPED: a full disk needs root and mount, so nothing was tested");
            return None;
        }
        Some(Self(folder))
    }

    fn root(&self) -> PathBuf {
        let inner = self.0.path().join("disk");
        if inner.is_dir() { inner } else { self.0.path().to_path_buf() }
    }

    /// Fills every free block.
    fn fill(&self) {
        let mut file =
            OpenOptions::new().append(true).create(true).open(self.root().join("filler")).unwrap();
        for piece in [1 << 20, 64 << 10, 4 << 10, 1] {
            while file.write_all(&vec![7; piece]).is_ok() {}
        }
        let _ = file.sync_all();
    }

    /// Gives back some of the bytes.
    fn leave(&self, room: u64) {
        let filler = File::options().write(true).open(self.root().join("filler")).unwrap();
        filler.set_len(filler.metadata().unwrap().len() - room).unwrap();
        filler.sync_all().unwrap();
    }

    fn make_room(&self) {
        fs::remove_file(self.root().join("filler")).unwrap();
        File::open(self.root()).unwrap().sync_all().unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run("umount", &[], &self.root());
    }
}

fn run(program: &str, arguments: &[&str], last: &Path) -> bool {
    Command::new(program).args(arguments).arg(last).output().is_ok_and(|it| it.status.success())
}

fn unlocked(store: &Path) -> Session {
    Vault::open(store).unwrap().unlock(&passphrase()).unwrap()
}

fn text(number: usize) -> String {
    format!("{number} ").repeat(500)
}

/// Acknowledged texts by path.
type Files = BTreeMap<String, String>;

fn assert_all_there(session: &Session, files: &Files) {
    for (path, text) in files {
        assert_eq!(session.files().read(path).unwrap().as_str(), text, "{path}");
    }
    assert_eq!(session.files().list("/memories").unwrap().len(), files.len());
}

/// Writes until the disk is full, and adds the acknowledged files to `files`.
fn write_until_full(session: &Session, files: &mut Files, prefix: &str) {
    for number in 0..10_000 {
        let path = format!("/memories/{prefix}{number:05}.txt");
        match session.files().write(&path, &text(number)) {
            Ok(()) => files.insert(path, text(number)),
            Err(FileError::Store(StoreError::DiskFull)) => return,
            Err(error) => panic!("unexpected error: {error}"),
        };
    }
    panic!("the disk was never full");
}

fn a_full_disk_loses_nothing(disk: &Disk, engine: StorageEngine) {
    let store = disk.root().join("store");
    let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine);
    let session = options.create(&store, &passphrase()).unwrap();
    let mut files = Files::new();
    for number in 0..40 {
        let path = format!("/memories/first{number:05}.txt");
        session.files().write(&path, &text(number)).unwrap();
        files.insert(path, text(number));
    }

    disk.fill();
    write_until_full(&session, &mut files, "second");
    // The session goes on: it reads, and it deletes.
    assert_all_there(&session, &files);
    for number in 0..10 {
        let path = format!("/memories/first{number:05}.txt");
        session.files().remove(&path).unwrap();
        files.remove(&path);
    }
    assert_all_there(&session, &files);
    drop(session);

    // Every further attempt fails and does not affect the next.
    for round in 0..12 {
        disk.fill();
        let session = unlocked(&store);
        assert_all_there(&session, &files);
        if round % 3 == 0 {
            session.lock();
            continue;
        }
        write_until_full(&session, &mut files, &format!("round{round}"));
    }

    disk.fill();
    let session = unlocked(&store);
    for path in files.keys().take(20).cloned().collect::<Vec<_>>() {
        session.files().remove(&path).unwrap();
        files.remove(&path);
    }
    assert_all_there(&session, &files);
    drop(session);
    assert_all_there(&unlocked(&store), &files);

    disk.make_room();
    let session = unlocked(&store);
    for number in 0..20 {
        let path = format!("/memories/third{number:05}.txt");
        session.files().write(&path, &text(number)).unwrap();
        files.insert(path, text(number));
    }
    assert_eq!(fs::metadata(store.join("ballast")).unwrap().len(), 4 << 20);
    session.lock();
    assert_all_there(&unlocked(&store), &files);
}

fn no_store_begins_on_a_full_disk(disk: &Disk, engine: StorageEngine) {
    disk.fill();
    let store = disk.root().join("store");
    let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine);
    assert!(matches!(options.create(&store, &passphrase()), Err(StoreError::DiskFull)));
    disk.make_room();
    assert_eq!(fs::read_dir(disk.root()).unwrap().filter(|it| !is_of_the_disk(it)).count(), 0);
    options.create(&store, &passphrase()).unwrap();
}

/// A copy of a store may lack the ballast. Then only sled's snapshots can still be freed.
fn a_lost_ballast_loses_nothing(disk: &Disk, engine: StorageEngine) {
    let store = disk.root().join("store");
    let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine);
    let session = options.create(&store, &passphrase()).unwrap();
    let mut files = Files::new();
    disk.fill();
    write_until_full(&session, &mut files, "some");
    drop(session);
    fs::remove_file(store.join("ballast")).unwrap();
    disk.fill();
    match Vault::open(&store).unwrap().unlock(&passphrase()) {
        Ok(session) => assert_all_there(&session, &files),
        Err(StoreError::DiskFull) => assert_eq!(engine, StorageEngine::Sled),
        Err(error) => panic!("unexpected error: {error}"),
    }
    disk.make_room();
    assert_all_there(&unlocked(&store), &files);
    assert_eq!(fs::metadata(store.join("ballast")).unwrap().len(), 4 << 20);
}

/// Once the ballast is in use, no batch that adds records is taken. Edits go on, because each drops an old text.
fn a_full_disk_costs_old_texts_before_it_refuses(disk: &Disk, engine: StorageEngine) {
    let store = disk.root().join("store");
    let history = HistorySettings::keep(Duration::from_secs(24 * 60 * 60));
    let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine).history(history);
    let session = options.create(&store, &passphrase()).unwrap();
    let mut files = Files::new();
    let edit = |session: &Session, files: &mut Files, number: usize| {
        let path = format!("/memories/edited{:05}.txt", number % 20);
        session.files().write(&path, &text(number))?;
        files.insert(path, text(number));
        Ok(())
    };
    for number in 0..300 {
        edit(&session, &mut files, number).unwrap_or_else(|error: FileError| panic!("{error}"));
    }
    assert_eq!(gone(&session), 0);

    disk.fill();
    let refused = (300..2_000).find_map(|number| edit(&session, &mut files, number).err());
    assert!(matches!(refused, Some(FileError::Store(StoreError::DiskFull))), "{refused:?}");
    let (entries, gone) = (session.history().status().unwrap().entries, gone(&session));
    println!("{engine:?}: {} edits on the full disk, {gone} old texts dropped", entries - 300);
    assert!(gone > 0);
    assert_all_there(&session, &files);
    drop(session);

    disk.fill();
    assert_all_there(&unlocked(&store), &files);
    disk.make_room();
    let session = unlocked(&store);
    session.files().write("/memories/edited00000.txt", "room again").unwrap();
    assert!(session.check().unwrap().is_clean());
}

/// The store is on another disk than its backups.
fn a_full_disk_costs_no_earlier_backup(disk: &Disk, engine: StorageEngine) {
    let home = tempfile::tempdir().unwrap();
    let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine);
    let session = options.create(home.path().join("store"), &passphrase()).unwrap();
    let write = |round: usize| {
        for number in 0..40 {
            let path = format!("/memories/{number:05}.txt");
            session.files().write(&path, &text(number + round)).unwrap();
        }
    };
    let place = disk.root().join("backups");
    let mut keep_one = BackupOptions::default();
    (keep_one.keep, keep_one.keep_within) = (1, Duration::ZERO);
    let back_up = |options| session.backup_into(&place, options, &mut |_| {});
    let assert_restored = |number: u64, round: usize| {
        let to = home.path().join("restored");
        let backups = Backups::open(&place).unwrap();
        backups.restore(number, &to, &passphrase(), &mut |_| {}).unwrap();
        let files =
            (0..40).map(|number| (format!("/memories/{number:05}.txt"), text(number + round)));
        let restored = unlocked(&to);
        assert_all_there(&restored, &files.collect());
        restored.lock();
        fs::remove_dir_all(to).unwrap();
    };
    write(0);
    back_up(&keep_one).unwrap();
    let names = || -> Vec<_> {
        fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    let before = names().len();
    write(1);
    // The disk is full at another step each time.
    for room in [0, 4 << 10, 40 << 10, 80 << 10, 120 << 10, 160 << 10] {
        disk.fill();
        disk.leave(room);
        let refused = back_up(&keep_one);
        assert!(matches!(refused, Err(StoreError::DiskFull)), "{room}: {refused:?}");
        assert_eq!(names().len(), before, "{room}: {:?}", names());
        assert_restored(1, 0);
    }
    disk.make_room();
    let report = back_up(&keep_one).unwrap();
    assert_eq!((report.number, report.removed), (2, vec![1]));
    assert_restored(2, 1);
    session.lock();
}

/// The number of edits whose text is not kept any more.
fn gone(session: &Session) -> usize {
    let page = session.history().page(&VersionQuery::all(), None, 4_000).unwrap();
    page.items.iter().filter(|version| session.history().text(version.number).is_err()).count()
}

fn is_of_the_disk(entry: &std::io::Result<fs::DirEntry>) -> bool {
    entry.as_ref().is_ok_and(|entry| entry.file_name() == "lost+found")
}

/// One test at a time: each looks at what the ballast of its store still pays for, and several at once slow checkpoints down.
static TURN: Mutex<()> = Mutex::new(());

macro_rules! on_disks {
    ($($name:ident: $disk:ident, $engine:ident, $behaviour:ident;)*) => {$(
        #[test]
        fn $name() {
            let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(disk) = Disk::$disk() {
                $behaviour(&disk, StorageEngine::$engine);
            }
        }
    )*};
}

on_disks! {
    sled_loses_nothing_on_a_full_tmpfs: tmpfs, Sled, a_full_disk_loses_nothing;
    sled_loses_nothing_on_a_full_ext4: ext4, Sled, a_full_disk_loses_nothing;
    sled_loses_nothing_without_its_ballast: tmpfs, Sled, a_lost_ballast_loses_nothing;
    sled_drops_old_texts_on_a_full_tmpfs: tmpfs, Sled, a_full_disk_costs_old_texts_before_it_refuses;
    sled_drops_old_texts_on_a_full_ext4: ext4, Sled, a_full_disk_costs_old_texts_before_it_refuses;
    backups_stay_on_a_full_tmpfs: tmpfs, Sled, a_full_disk_costs_no_earlier_backup;
    backups_stay_on_a_full_ext4: ext4, Sled, a_full_disk_costs_no_earlier_backup;
    sled_begins_nothing_on_a_full_disk: ext4, Sled, no_store_begins_on_a_full_disk;
}

#[cfg(feature = "redb")]
on_disks! {
    redb_loses_nothing_on_a_full_tmpfs: tmpfs, Redb, a_full_disk_loses_nothing;
    redb_loses_nothing_on_a_full_ext4: ext4, Redb, a_full_disk_loses_nothing;
    redb_loses_nothing_without_its_ballast: ext4, Redb, a_lost_ballast_loses_nothing;
    redb_drops_old_texts_on_a_full_ext4: ext4, Redb, a_full_disk_costs_old_texts_before_it_refuses;
    redb_begins_nothing_on_a_full_disk: ext4, Redb, no_store_begins_on_a_full_disk;
}
