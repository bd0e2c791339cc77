//! Makes a store of every past, with its truth and an older copy of it.
//!
//! A folder of the cache holds `store`, `older`, and `truth`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use inmost::{
    FileError, HistorySettings, NewFile, RawKey, Session, StorageEngine, StoreError, Vault,
    VaultOptions,
};

use crate::folder;
use crate::random::Random;
use crate::truth::{Truth, digest};

pub const ENGINES: [(&str, StorageEngine); 2] =
    [("sled", StorageEngine::Sled), ("redb", StorageEngine::Redb)];
pub const PASTS: [&str; 7] =
    ["import", "edited", "backup", "purged", "in use", "power cut", "full disk"];

/// Raw keys need no slow key derivation.
pub fn key() -> RawKey {
    RawKey::from_bytes(&[7; 32])
}

pub fn unlock(store: &Path) -> Session {
    Vault::open(store).unwrap().unlock_with(&key()).unwrap()
}

/// Makes the stores that the cache lacks.
pub fn make(cache: &Path, only: Option<&str>) {
    for (name, engine) in ENGINES {
        for (number, past) in PASTS.iter().enumerate() {
            let label = format!("{name}, {past}");
            if only.is_some_and(|only| only != label) || cache.join(&label).is_dir() {
                continue;
            }
            let draft = cache.join(format!("{label}.new"));
            let _ = fs::remove_dir_all(&draft);
            fs::create_dir_all(&draft).unwrap();
            let seed = u64::try_from(number).unwrap();
            Maker { at: draft.clone(), truth: Truth::default(), random: Random(seed), next: 0 }
                .make(past, engine);
            fs::rename(draft, cache.join(&label)).unwrap();
            println!("made: {label}");
        }
    }
}

struct Maker {
    at: PathBuf,
    truth: Truth,
    random: Random,
    /// The number of the next file.
    next: u64,
}

/// Versions are kept in two of the pasts, and with LAB_HISTORY=1 in all.
fn history(past: &str) -> HistorySettings {
    let in_all = std::env::var("LAB_HISTORY").is_ok_and(|value| value == "1");
    if in_all || matches!(past, "in use" | "power cut") {
        return HistorySettings::keep(Duration::from_secs(24 * 60 * 60));
    }
    HistorySettings::off()
}

impl Maker {
    fn make(mut self, past: &str, engine: StorageEngine) {
        let store = self.at.join("store");
        let options = VaultOptions::new().engine(engine).history(history(past));
        let session = options.create_with(&store, &key()).unwrap();
        self.import(&session, FILES / 2);
        session.lock();
        if past == "import" {
            self.keep_older();
        }
        let session = unlock(&store);
        self.import(&session, FILES / 2);
        if past == "import" {
            self.delete(&session, 40);
            session.lock();
            return self.finish(&folder::read(&store));
        }
        session.lock();
        for _ in 0..SESSIONS {
            let session = unlock(&store);
            self.edit(&session, EDITS);
            session.lock();
        }
        match past {
            "backup" => {
                let session = unlock(&store);
                let copy = self.at.join("backup");
                session.backup(&copy).unwrap();
                session.lock();
                fs::remove_dir_all(&store).unwrap();
                fs::rename(copy, &store).unwrap();
            }
            "purged" => {
                let session = unlock(&store);
                session.purge().unwrap();
                session.lock();
            }
            _ => {}
        }
        self.keep_older();
        if past == "full disk" {
            let full = self.fill_disk(&store);
            return self.finish(&full);
        }
        let session = unlock(&store);
        self.edit(&session, 8);
        if past == "in use" {
            self.edit(&session, 300);
            let used = folder::read(&store);
            session.lock();
            return self.finish(&used);
        }
        if past == "power cut" {
            let cut = self.cut_power(&session, &store);
            session.lock();
            return self.finish(&cut);
        }
        session.lock();
        self.finish(&folder::read(&store));
    }

    /// A part of the blocks of the last commit. Nothing but the journal and the anchor was written for it, so that every
    /// choice of blocks is one that a power cut can leave.
    fn cut_power(&mut self, session: &Session, store: &Path) -> folder::Bytes {
        self.edit(session, 100);
        let (before, after) = loop {
            let before = folder::read(store);
            let path = self.any_path();
            let (earlier, file) = (self.truth.now[&path], self.file_of(&path));
            self.write(session, &path, file, 3_000);
            let after = folder::read(store);
            let is_quiet = before.iter().all(|(name, bytes)| {
                name.ends_with("journal")
                    || name.ends_with("anchor")
                    || after.get(name) == Some(bytes)
            });
            if is_quiet && before.len() == after.len() {
                break (before, (after, path, earlier));
            }
        };
        let (mut mixed, path, earlier) = after;
        for (name, bytes) in &mut mixed {
            for (now, then) in bytes.chunks_mut(BLOCK).zip(before[name].chunks(BLOCK)) {
                // The anchor is written when the commit is synced.
                if name.ends_with("anchor") || self.random.below(2) == 0 {
                    now.copy_from_slice(then);
                }
            }
        }
        // The interrupted commit may have happened or not.
        let copy = self.at.join("copy");
        folder::write(&copy, &mixed);
        let session = unlock(&copy);
        let found = digest(session.files().read(&path).unwrap().as_str());
        session.lock();
        fs::remove_dir_all(copy).unwrap();
        assert!(found == earlier || found == self.truth.now[&path]);
        self.truth.now.insert(path, found);
        mixed
    }

    /// Works on a small disk until calls were refused for want of room many times, and files were deleted in between.
    fn fill_disk(&mut self, store: &Path) -> folder::Bytes {
        let files = folder::read(store);
        let disk = SmallDisk::mount(self.at.join("disk"), files.values().map(Vec::len).sum());
        let place = disk.at.join("store");
        folder::write(&place, &files);
        let session = unlock(&place);
        let mut refused = 0;
        while refused < REFUSED && disk.is_small {
            let path = self.any_path();
            let file = self.file_of(&path);
            let length = 40 + self.random.below(60_000);
            let text = self.text(file, length);
            match session.files().write(&path, &text) {
                Ok(_) => self.truth.write(&path, file, &text),
                Err(FileError::Store(StoreError::DiskFull)) => refused += 1,
                Err(error) => panic!("{error}"),
            }
            if refused % 8 == 7 {
                let path = self.any_path();
                match session.files().remove(&path) {
                    Ok(()) => self.truth.remove(&path),
                    Err(FileError::Store(StoreError::DiskFull)) => {
                        let ballast = fs::metadata(place.join("ballast")).unwrap().len();
                        assert!(
                            ballast < SPENT,
                            "a deletion is refused before the ballast is spent"
                        );
                        refused += 1;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
        session.lock();
        folder::read(&place)
    }

    fn keep_older(&self) {
        folder::write(&self.at.join("older"), &folder::read(&self.at.join("store")));
    }

    fn finish(self, store: &folder::Bytes) {
        folder::write(&self.at.join("store"), store);
        self.truth.save(&self.at.join("truth"));
    }

    fn import(&mut self, session: &Session, files: u64) {
        let mut new = Vec::new();
        for _ in 0..files {
            let file = self.next;
            self.next += 1;
            let path = match file % 8 {
                // Folders of 300 and of 150 files, of 20, and of a few at different depths.
                0..2 => format!("/memories/all/note {file}.md"),
                2 => format!("/memories/log/{file}.txt"),
                3..6 => format!("/memories/people/{}/{file}.md", file / 53),
                _ => format!("/memories/projects/{}/{}/deep/{file}.md", file / 300, file / 40),
            };
            let length = match file % 100 {
                42 => 30_000 + self.random.below(170_000),
                3 | 50 => 3_000 + self.random.below(9_000),
                _ => 40 + self.random.below(1_200),
            };
            let text = self.text(file, length);
            self.truth.write(&path, file, &text);
            new.push((path, text));
        }
        let new: Vec<NewFile<'_>> =
            new.iter().map(|(path, text)| NewFile::new(path, text)).collect();
        for result in session.files().write_many(&new).unwrap() {
            result.unwrap();
        }
    }

    fn edit(&mut self, session: &Session, edits: usize) {
        for _ in 0..edits {
            match self.random.below(24) {
                0 => self.delete(session, 1),
                1 => {
                    let old = self.any_path();
                    let new = format!("/memories/moved/{} {}", self.random.next() % 9, self.next);
                    self.next += 1;
                    session.files().rename(&old, &new).unwrap();
                    self.truth.rename(&old, &new);
                }
                2 | 3 => {
                    let file = self.next;
                    self.next += 1;
                    self.write(session, &format!("/memories/all/new {file}.md"), file, 800);
                }
                _ => {
                    let path = self.any_path();
                    let file = self.file_of(&path);
                    let length = if file % 100 == 42 { 60_000 } else { 1_200 };
                    self.write(session, &path, file, length);
                }
            }
        }
    }

    fn write(&mut self, session: &Session, path: &str, file: u64, length: usize) {
        let length = 40 + self.random.below(length);
        let text = self.text(file, length);
        session.files().write(path, &text).unwrap();
        self.truth.write(path, file, &text);
    }

    fn delete(&mut self, session: &Session, files: usize) {
        for _ in 0..files {
            let path = self.any_path();
            session.files().remove(&path).unwrap();
            self.truth.remove(&path);
        }
    }

    fn any_path(&mut self) -> String {
        let index = self.random.below(self.truth.now.len());
        self.truth.now.keys().nth(index).unwrap().clone()
    }

    fn file_of(&self, path: &str) -> u64 {
        self.truth.files[&self.truth.now[path]]
    }

    /// A text that is unlike any other.
    fn text(&mut self, file: u64, length: usize) -> String {
        let mut text = format!("file {file}, {:x}\n", self.random.next());
        while text.len() < length {
            let word = self.random.next();
            text.push_str(&format!(
                "{:x}{}",
                word >> 20,
                if word.is_multiple_of(9) { '\n' } else { ' ' }
            ));
        }
        text
    }
}

/// A disk with a little more room than a store needs. Unmounted on drop.
struct SmallDisk {
    at: PathBuf,
    /// Whether the system allowed it.
    is_small: bool,
}

impl SmallDisk {
    fn mount(at: PathBuf, used: usize) -> Self {
        fs::create_dir_all(&at).unwrap();
        let size = format!("size={}", used + SPARE);
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&at).stderr(Stdio::null());
        let is_small = mount.status().is_ok_and(|status| status.success());
        if !is_small {
            println!(
                "a disk cannot be mounted: the store of a full disk is made on one that has room"
            );
        }
        Self { at, is_small }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if self.is_small {
            let _ = Command::new("umount").arg(&self.at).status();
        }
        let _ = fs::remove_dir_all(&self.at);
    }
}

const BLOCK: usize = 4096;
/// Bytes that a small disk has beyond the store.
const SPARE: usize = 8 << 20;
/// Bytes below which a ballast has no room for another checkpoint: the rest is for the next opening.
const SPENT: u64 = (5 << 19) + (64 << 10);
/// Calls that a full disk refuses.
const REFUSED: usize = 60;
const FILES: u64 = 1_200;
const SESSIONS: usize = 3;
const EDITS: usize = 700;
