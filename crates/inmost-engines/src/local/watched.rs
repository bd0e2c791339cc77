//! Notices when another program replaces, moves, removes or links the files of an open store.
//!
//! A sync client, a restore or a person can put other files under the names of those that a session has open. The session
//! would go on writing to files that no name leads to. So the files that a session writes are compared with their names
//! before a commit is acknowledged, before a checkpoint opens an engine again, and at the end.
//!
//! Not noticed: bytes that another program overwrites in place, and a file that is moved away and back between two looks.
//! The journal, the engine and the anchor check each other for that when the store is opened.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;
#[cfg(target_os = "linux")]
use std::time::{Duration, UNIX_EPOCH};

use inmost_storage::StorageError;

use crate::files;

/// The files that a session writes, as they were when the session began to use them.
#[derive(Default)]
pub(crate) struct Watched {
    files: Mutex<Vec<(PathBuf, Seen)>>,
    /// What was found first. It stays, even if the files come back: what was written meanwhile is in others.
    found: OnceLock<String>,
}

/// What is compared.
#[derive(Clone, Copy)]
pub(super) enum By {
    /// Its number in the file system. For files that are open: the number of another one can change or be given to a new file.
    Number,
    /// The same, but only to name the folder once a file in it is another. The files tell by themselves.
    Folder,
    /// Its length and the time of its last change. For files that are written only by being replaced.
    Time,
    /// Only whether it has other names.
    Names,
}

#[derive(Clone, Copy)]
struct Seen {
    by: By,
    number: (u64, u64),
    born: Option<SystemTime>,
    length: u64,
    changed: Option<SystemTime>,
    has_other_names: bool,
}

impl Watched {
    /// Watches a file from now on, as it is now; an absent one not at all.
    pub(super) fn note(&self, path: &Path, by: By) -> io::Result<()> {
        note(&mut self.files(), path, by)
    }

    /// Watches a file that is open from now on, unless an earlier handle of it was watched already.
    pub(super) fn note_open(&self, path: &Path) -> io::Result<()> {
        let mut files = self.files();
        let is_watched =
            |(watched, seen): &(PathBuf, Seen)| watched == path && matches!(seen.by, By::Number);
        if files.iter().any(is_watched) { Ok(()) } else { note(&mut files, path, By::Number) }
    }

    /// Runs a change that replaces a file. Nobody compares the file meanwhile.
    pub(super) fn replacing<T>(
        &self,
        path: &Path,
        by: By,
        change: impl FnOnce() -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let mut files = self.files();
        let changed = change();
        // Of a failed change too, which may have replaced the file before it failed.
        note(&mut files, path, by)?;
        changed
    }

    /// Watches a folder and what is below it no longer.
    pub(super) fn forget_below(&self, folder: &Path) {
        self.files().retain(|(watched, _)| !watched.starts_with(folder));
    }

    /// Compares the files with their names: one call to the system for each.
    ///
    /// # Errors
    /// [`StorageError::Replaced`], and from then on always.
    pub(crate) fn check(&self) -> Result<(), StorageError> {
        self.found()?;
        let files = self.files();
        let among = |is_folder: bool| {
            let mut some =
                files.iter().filter(|(_, seen)| matches!(seen.by, By::Folder) == is_folder);
            some.find_map(|(path, seen)| seen.difference(path))
        };
        let Some(what) = among(false) else { return Ok(()) };
        let what = among(true).unwrap_or(what);
        Err(StorageError::Replaced(self.found.get_or_init(|| what).clone()))
    }

    /// Returns what a check has found. Does no I/O.
    pub(super) fn found(&self) -> Result<(), StorageError> {
        self.found.get().map_or(Ok(()), |what| Err(StorageError::Replaced(what.clone())))
    }

    fn files(&self) -> MutexGuard<'_, Vec<(PathBuf, Seen)>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn note(files: &mut Vec<(PathBuf, Seen)>, path: &Path, by: By) -> io::Result<()> {
    files.retain(|(watched, _)| watched != path);
    match Seen::read(path, by) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        seen => {
            files.push((path.to_path_buf(), seen?));
            Ok(())
        }
    }
}

/// A link to the folder of a store leads to it; any other link is another file.
fn read(path: &Path) -> io::Result<Metadata> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_symlink() {
        return Ok(metadata);
    }
    Ok(fs::metadata(path).ok().filter(Metadata::is_dir).unwrap_or(metadata))
}

impl Seen {
    /// Looks at a file, and asks for the time of its last change only if that is compared. Linux from 6.13 on dates the next write
    /// to a file exactly once somebody has asked for the time of the last one. That made a durable edit take a third longer.
    fn read(path: &Path, by: By) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(seen) = Self::without_times(path, by) {
            return Ok(seen);
        }
        read(path).map(|metadata| Self::of(&metadata, by))
    }

    /// `None` for what the standard library is to look at: an error, a link, or a file that is compared by its time.
    #[cfg(target_os = "linux")]
    fn without_times(path: &Path, by: By) -> Option<Self> {
        use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev, statx};
        if matches!(by, By::Time) {
            return None;
        }
        let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::NLINK | StatxFlags::BTIME;
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
        let (kind, has) = (FileType::from_raw_mode(found.stx_mode.into()), found.stx_mask);
        let birth = &found.stx_btime;
        let born = u64::try_from(birth.tv_sec).ok().map(|it| Duration::new(it, birth.tv_nsec));
        (kind != FileType::Symlink).then(|| Self {
            by,
            number: (makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino),
            born: born.filter(|_| has & StatxFlags::BTIME.bits() != 0).map(|it| UNIX_EPOCH + it),
            length: 0,
            changed: None,
            has_other_names: kind == FileType::RegularFile && found.stx_nlink > 1,
        })
    }

    fn of(metadata: &Metadata, by: By) -> Self {
        #[cfg(unix)]
        let number = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(not(unix))]
        let number = (u64::from(metadata.is_dir()), u64::from(metadata.is_file()));
        Self {
            by,
            number,
            born: metadata.created().ok(),
            length: metadata.len(),
            changed: metadata.modified().ok(),
            has_other_names: files::has_other_names(metadata),
        }
    }

    /// What has happened to the file; `None` if it is the same. A failing system call says nothing about the file.
    fn difference(&self, path: &Path) -> Option<String> {
        let what = match Self::read(path, self.by) {
            Ok(now) => {
                let is_same = match self.by {
                    By::Number | By::Folder => (self.number, self.born) == (now.number, now.born),
                    By::Time => (self.length, self.changed) == (now.length, now.changed),
                    By::Names => true,
                };
                match (is_same, now.has_other_names == self.has_other_names) {
                    (true, true) => return None,
                    (true, false) => "has got another name, a hard link",
                    (false, _) => "was replaced",
                }
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                "was moved or removed"
            }
            Err(_) => return None,
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Only names that the store chooses: a folder's is its owner's.
        Some(match name.as_ref() {
            known if KNOWN.contains(&known) => format!("{known} {what}"),
            known if super::folder::parse_generation(known).is_some() => format!("{known} {what}"),
            _ => format!("the folder of the store {what}"),
        })
    }
}

const KNOWN: [&str; 7] = ["lock", "anchor", "header.a", "header.b", "journal", "db", "redb"];
