//! A folder in memory for one text, which nobody else can read and which leaves nothing behind.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Failure};
use crate::host_files::{self, MOST_BYTES};
use crate::streams;
use crate::wiped::Wiped;

/// The folder; everything in it is overwritten and removed when this is dropped, unless it is kept.
pub(super) struct PrivateFolder {
    folder: PathBuf,
    file: PathBuf,
    is_kept: bool,
}

impl PrivateFolder {
    /// With a file of this text. Its name is not that of the file of the memory, which editors and the list of
    /// processes would tell, but the ending is, by which an editor knows what kind of text it is.
    ///
    /// # Errors
    /// If there is no file system in memory, or it is full.
    pub(super) fn with_file(path: &str, text: &str) -> Result<Self, Failure> {
        let folder = make()?;
        let file = folder.join(format!("memory{}", ending(path)));
        let private = Self { folder, file, is_kept: false };
        let file = host_files::create(&private.file);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
            let advice = "Make room in the file system in memory.";
            Failure::io("The text cannot be handed to the editor", &error, advice)
        })?;
        Ok(private)
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// What the file holds now.
    pub(super) fn read(&self) -> Result<Wiped, Failure> {
        let read = host_files::open(&self.file).and_then(|file| Wiped::read(file, MOST_BYTES));
        let text = read.map_err(|error| {
            Failure::io("The edited text cannot be read", &error, "Nothing was written.")
        })?;
        text.ok_or_else(|| {
            Failure::new(
                Exit::Other,
                "The edited text is too long for a file of the memory.",
                "Split it over several files.",
            )
        })
    }

    /// Leaves the text where it is, since it could not be written for this reason.
    pub(super) fn keep(&mut self, failure: Failure) -> Failure {
        let Failure::Error { exit, message, advice } = failure else { return failure };
        if !self.file.exists() {
            return Failure::Error { exit, message, advice };
        }
        self.is_kept = true;
        let advice = format!(
            "{advice} The edited text is kept in memory, in {}: give it to `inmost write`, then remove its folder.",
            self.file.display()
        );
        Failure::new(exit, message, advice)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if !self.is_kept && wipe(&self.folder).is_err() {
            let folder = self.folder.display();
            streams::warn(&format!("The folder {folder}, with the text, cannot be removed."));
        }
    }
}

/// A new folder in memory.
fn make() -> Result<PathBuf, Failure> {
    // Of the user alone, where there is one; else that of all, in which only its owner can remove a folder.
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let parents = session.into_iter().chain([PathBuf::from("/dev/shm")]);
    for parent in parents.filter(|parent| parent.is_absolute()) {
        if let Ok(folder) = make_in(&parent) {
            if is_in_memory(&folder) {
                return Ok(folder);
            }
            let _ = fs::remove_dir(&folder);
        }
    }
    Err(super::unsupported::no_memory_file_system())
}

fn make_in(parent: &Path) -> io::Result<PathBuf> {
    let mut number = 0;
    loop {
        let folder = parent.join(format!("inmost-edit-{}-{number}", std::process::id()));
        // Never one that is there: it would be somebody's.
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < TRIES => {
                number += 1;
            }
            made => return made.map(|()| folder),
        }
    }
}

/// More than anybody keeps; somebody may have taken the first names to be a nuisance.
const TRIES: u32 = 100;

fn is_in_memory(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|system| system.f_type == TMPFS)
}

/// `TMPFS_MAGIC` of Linux.
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

/// `.md` of a path that ends so; nothing if what stands there is no ordinary ending. Does no I/O.
fn ending(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((_, ending))
            if (1..=8).contains(&ending.len())
                && ending.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            format!(".{ending}")
        }
        _ => String::new(),
    }
}

/// Overwrites every file of a folder and removes them and it. Goes on after a failure, and tells of the first.
fn wipe(folder: &Path) -> io::Result<()> {
    let mut first = Ok(());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let removed = if kind.is_dir() {
            wipe(&path)
        } else {
            if kind.is_file() {
                // What cannot be overwritten can still be removed.
                let _ = overwrite(&path);
            }
            fs::remove_file(&path)
        };
        first = first.and(removed);
    }
    first.and(fs::remove_dir(folder))
}

/// In a file system in memory these are the same pages.
fn overwrite(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let bytes = file.metadata()?.len();
    io::copy(&mut io::repeat(0).take(bytes), &mut file).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ordinary_endings_are_told() {
        for (path, expected) in [
            ("/memories/a.md", ".md"),
            ("/memories/a.b/c", ""),
            ("/memories/a.tar.gz", ".gz"),
            ("/memories/secret.of my life", ""),
            ("/memories/a.averylongone", ""),
            ("/memories/a.", ""),
            ("/memories/.b", ".b"),
        ] {
            assert_eq!(ending(path), expected, "{path}");
        }
    }

    #[test]
    fn what_is_removed_was_overwritten_first() {
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
