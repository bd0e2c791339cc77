//! A private folder on an in-memory file system that holds one text while it is edited.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Failure};
use crate::host_files::{self, MAX_FILE_BYTES};
use crate::streams;
use inmost_console::Wiped;

/// The folder. On drop, every file in it is overwritten and removed, unless [`PrivateFolder::keep`] was called.
pub(crate) struct PrivateFolder {
    folder: PathBuf,
    file: PathBuf,
    /// Locked for as long as this process lives, so that another one does not take the folder for a dead one's.
    _lock: File,
    is_kept: bool,
}

impl PrivateFolder {
    /// Creates the folder with one file that holds this text.
    ///
    /// The file does not have the name of the memory file, because editors and the process list would show it. It has the
    /// same extension, from which an editor detects the type of the text.
    ///
    /// # Errors
    /// If there is no in-memory file system, or it is full.
    pub(crate) fn with_file(path: &str, text: &str) -> Result<Self, Failure> {
        let (folder, lock) = make()?;
        let file = folder.join(format!("memory{}", extension(path)));
        let private = Self { folder, file, _lock: lock, is_kept: false };
        let file = host_files::create(&private.file);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
            let advice = "Free some space on that file system.";
            let message = format!("The text cannot be written to {}", private.file.display());
            Failure::io(&message, &error, advice)
        })?;
        Ok(private)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The text of the file after the edit.
    pub(crate) fn read(&self) -> Result<Wiped, Failure> {
        let read = host_files::open(&self.file).and_then(|file| Wiped::read(file, MAX_FILE_BYTES));
        let text = read.map_err(|error| {
            Failure::io("The edited text cannot be read", &error, "Nothing was written. Try again.")
        })?;
        text.ok_or_else(|| {
            Failure::new(
                Exit::Other,
                "The edited text is too long for a memory file.",
                "Split it into several files.",
            )
        })
    }

    /// Keeps the edited text after it could not be written, and adds its path to the failure.
    pub(crate) fn keep(&mut self, failure: Failure) -> Failure {
        let Failure::Error { exit, message, advice } = failure else { return failure };
        if !self.file.exists() {
            return Failure::Error { exit, message, advice };
        }
        self.is_kept = true;
        // Under another name: folders of this one are removed once their process has ended. A browser may keep several.
        let mut names = (0..TRIES).map(|number| {
            self.folder.with_file_name(format!("{KEPT_PREFIX}{}-{number}", std::process::id()))
        });
        if let Some(kept) = names.find(|kept| fs::rename(&self.folder, kept).is_ok()) {
            self.file = kept.join(self.file.file_name().unwrap_or_default());
            self.folder = kept;
        }
        let advice = format!(
            "{advice} The edited text is kept in {}. Pass it to `inmost write`, then remove that folder.",
            self.file.display()
        );
        Failure::new(exit, message, advice)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if !self.is_kept && wipe(&self.folder).is_err() {
            let folder = self.folder.display();
            streams::warn(&format!(
                "The folder {folder}, which contains the edited text, cannot be removed."
            ));
        }
    }
}

/// Creates a new folder on an in-memory file system.
fn make() -> Result<(PathBuf, File), Failure> {
    // Prefer the folder that belongs to the user alone. In /dev/shm, which everyone shares, only the owner can remove a folder.
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let parents = session.into_iter().chain([PathBuf::from("/dev/shm")]);
    for parent in parents.filter(|parent| parent.is_absolute()) {
        sweep(&parent);
        if let Ok((folder, lock)) = make_in(&parent) {
            if is_in_memory(&folder) {
                return Ok((folder, lock));
            }
            let _ = fs::remove_dir(&folder);
        }
    }
    Err(super::no_memory_file_system())
}

fn make_in(parent: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = 0;
    loop {
        let folder = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        number += 1;
        // Never use an existing folder: it may belong to another user.
        match DirBuilder::new().mode(0o700).create(&folder).and_then(|()| lock(&folder)) {
            // Another process that swept at this moment has taken the new folder for a dead one's.
            Err(error) if is_taken(&error) && number < TRIES => {}
            locked => return locked.map(|lock| (folder, lock)),
        }
    }
}

fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, NotFound, WouldBlock};
    [AlreadyExists, NotFound, WouldBlock].contains(&error.kind())
}

/// Locks a folder, without following a link. The system removes the lock when the process ends, however it ends.
fn lock(folder: &Path) -> io::Result<File> {
    use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = open(folder, flags, Mode::empty())?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(File::from(folder))
}

/// Wipes the folders that killed processes of this user left behind.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // A live process holds the lock.
        let Ok(locked) = lock(&path) else { continue };
        let user = rustix::process::geteuid().as_raw();
        let is_own = locked.metadata().is_ok_and(|folder| folder.uid() == user);
        if is_own && wipe(&path).is_ok() {
            streams::warn(&format!(
                "An earlier `inmost edit` was killed. The text that it left in {} was removed.",
                path.display()
            ));
        }
    }
}

/// The start of the name of a folder.
const PREFIX: &str = "inmost-edit-";

/// The same for a folder that was kept for the user.
const KEPT_PREFIX: &str = "inmost-kept-";

/// More than one user keeps. Another user may have taken the first names on purpose.
const TRIES: u32 = 100;

fn is_in_memory(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|system| system.f_type == TMPFS)
}

/// `TMPFS_MAGIC` of Linux.
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

/// The extension of a path with its dot, such as `.md`, or an empty string if it is not a short alphanumeric one: a longer
/// one could be part of a private name. Does no I/O.
fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((_, extension))
            if (1..=8).contains(&extension.len())
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            format!(".{extension}")
        }
        _ => String::new(),
    }
}

/// Overwrites and removes every file of a folder, then removes the folder. Continues after an error and returns the first.
fn wipe(folder: &Path) -> io::Result<()> {
    let mut first = Ok(());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let removed = if kind.is_dir() {
            wipe(&path)
        } else {
            if kind.is_file() {
                // If it cannot be overwritten, it may still be possible to remove it.
                let _ = overwrite(&path);
            }
            fs::remove_file(&path)
        };
        first = first.and(removed);
    }
    first.and(fs::remove_dir(folder))
}

/// On an in-memory file system this overwrites the same pages.
fn overwrite(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let bytes = file.metadata()?.len();
    io::copy(&mut io::repeat(0).take(bytes), &mut file).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ordinary_extensions_are_kept() {
        for (path, expected) in [
            ("/memories/a.md", ".md"),
            ("/memories/a.b/c", ""),
            ("/memories/a.tar.gz", ".gz"),
            ("/memories/secret.of my life", ""),
            ("/memories/a.averylongone", ""),
            ("/memories/a.", ""),
            ("/memories/.b", ".b"),
        ] {
            assert_eq!(extension(path), expected, "{path}");
        }
    }

    /// A folder of the first name would be taken for that of an edit that was killed.
    #[test]
    fn every_text_that_one_process_keeps_has_another_name() {
        let kept = ["one", "two"].map(|text| {
            let mut private = PrivateFolder::with_file("/memories/a.md", text).unwrap();
            private.keep(Failure::new(Exit::Other, "It is full.", "Free some space."));
            (text, private.file.clone())
        });
        for (text, file) in &kept {
            assert!(file.to_string_lossy().contains(KEPT_PREFIX), "{}", file.display());
            assert_eq!(fs::read_to_string(file).unwrap(), *text);
        }
        for (_, file) in kept {
            wipe(file.parent().unwrap()).unwrap();
        }
    }

    #[test]
    fn files_are_overwritten_before_removal() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("private");
        fs::create_dir_all(folder.join("below")).unwrap();
        fs::write(folder.join("below/text"), "secret").unwrap();
        fs::hard_link(folder.join("below/text"), home.path().join("seen")).unwrap();
        fs::write(home.path().join("outside"), "kept").unwrap();
        std::os::unix::fs::symlink(home.path().join("outside"), folder.join("link")).unwrap();
        wipe(&folder).unwrap();
        assert!(!folder.exists());
        assert_eq!(fs::read(home.path().join("seen")).unwrap(), [0; 6]);
        assert_eq!(fs::read(home.path().join("outside")).unwrap(), b"kept");
    }

    #[test]
    fn a_folder_on_a_disk_is_not_taken_for_one_in_memory() {
        assert!(!is_in_memory(Path::new("/proc")));
        assert!(!is_in_memory(Path::new("/nowhere")));
    }
}
