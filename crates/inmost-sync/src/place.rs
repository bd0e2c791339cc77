//! Places: where devices leave sealed objects for each other. Nobody has to trust them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::chains::{Dot, LogId, Tag};
use crate::names::hex;
use crate::object::MOST_SEALED;

pub(crate) mod open;
#[cfg(feature = "s3")]
mod s3;
#[cfg(any(feature = "s3", feature = "webdav"))]
mod server;
#[cfg(feature = "webdav")]
mod webdav;

/// Where devices leave sealed objects for each other: a folder that a sync program keeps in step, or anything that can list, put
/// whole objects and get them. It may delay, reorder, repeat and lose objects and show others; it can then delay changes, and
/// neither read nor forge them.
pub trait Place {
    /// The objects that are there. What has no name of an object is left out.
    ///
    /// # Errors
    /// Those of the place.
    fn list(&self) -> io::Result<BTreeSet<Dot>>;

    /// The bytes of an object; `None` if it is gone, or if this one cannot be read.
    ///
    /// # Errors
    /// Those of the place as a whole. They end the round.
    fn get(&self, dot: &Dot) -> io::Result<Option<Vec<u8>>>;

    /// Puts an object whole, or not at all.
    ///
    /// # Errors
    /// Those of the place.
    fn put(&self, dot: &Dot, bytes: &[u8]) -> io::Result<()>;

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// Those of the place.
    fn remove(&self, dot: &Dot) -> io::Result<()>;

    /// Whether an object that is listed has these bytes. If not, it is put again. Where objects come whole or not at all, the answer
    /// needs no reading.
    ///
    /// # Errors
    /// Those of the place.
    fn has(&self, dot: &Dot, bytes: &[u8]) -> io::Result<bool> {
        Ok(self.get(dot)?.is_some_and(|found| found == bytes))
    }
}

/// A folder: one that Dropbox, iCloud or Syncthing keeps in step, or one on a stick. It has a folder for each log, with a file for each
/// object.
#[derive(Debug)]
pub struct FolderPlace {
    folder: PathBuf,
}

impl FolderPlace {
    /// A place in this folder, which must exist.
    ///
    /// # Errors
    /// `NotFound` or `NotADirectory` if there is no such folder: a stick is absent, or a sync program does not run.
    pub fn open(folder: impl AsRef<Path>) -> io::Result<Self> {
        let folder = fs::canonicalize(folder)?;
        if !folder.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok(Self { folder })
    }

    fn file(&self, dot: &Dot) -> PathBuf {
        self.folder.join(path(dot))
    }
}

/// Makes the names in a folder durable. Some file systems, such as folders that a virtual machine shares, offer no sync of a folder; an
/// object that is lost there is put again.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}

impl Place for FolderPlace {
    fn list(&self) -> io::Result<BTreeSet<Dot>> {
        let mut dots = BTreeSet::new();
        for log in fs::read_dir(&self.folder)? {
            let log = log?;
            // A log that was named by somebody else, or a file of a sync program.
            let Some(id) = log.file_name().to_str().and_then(unhex) else { continue };
            if !log.file_type()?.is_dir() {
                continue;
            }
            let objects = match fs::read_dir(log.path()) {
                // Its device has removed it since, or another user has written it.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::NotFound | ErrorKind::PermissionDenied
                    ) =>
                {
                    continue;
                }
                objects => objects?,
            };
            for object in objects {
                let dot = object?.file_name().to_str().and_then(|name| parse(LogId(id), name));
                dots.extend(dot);
            }
        }
        Ok(dots)
    }

    fn get(&self, dot: &Dot) -> io::Result<Option<Vec<u8>>> {
        let path = self.file(dot);
        let read = || -> io::Result<Vec<u8>> {
            // A link could lead anywhere, and a pipe never ends.
            let is_folder = fs::symlink_metadata(path.parent().unwrap_or(&path))?.is_dir();
            let found = fs::symlink_metadata(&path)?;
            let most = u64::try_from(MOST_SEALED).unwrap_or(u64::MAX);
            if !is_folder || !found.is_file() || found.len() > most {
                return Err(ErrorKind::NotFound.into());
            }
            let mut bytes = Vec::new();
            File::open(&path)?.take(most).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        // Others in the folder may be readable.
        Ok(read().ok())
    }

    fn put(&self, dot: &Dot, bytes: &[u8]) -> io::Result<()> {
        let path = self.file(dot);
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        if !fs::symlink_metadata(folder)?.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        // Other devices must never list a part of it under its name.
        let temporary = folder.join(format!(".{}.new", hex(&dot.tag.0)));
        // A link that somebody has put there must not be followed: it could name any file of the user.
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::options().write(true).create_new(true).open(&temporary)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        drop(file);
        // On a full place it would stay, and take room from others.
        written
            .and_then(|()| fs::rename(&temporary, &path))
            .inspect_err(|_| drop(fs::remove_file(&temporary)))?;
        if cfg!(unix) {
            sync_folder(folder)?;
            sync_folder(&self.folder)?;
        }
        Ok(())
    }

    fn remove(&self, dot: &Dot) -> io::Result<()> {
        let path = self.file(dot);
        let folder = path.parent().unwrap_or(&self.folder);
        let removed = || {
            // Behind a link are files of somebody else.
            if !fs::symlink_metadata(folder)?.is_dir() {
                return Err(ErrorKind::NotADirectory.into());
            }
            fs::remove_file(&path)
        };
        match removed() {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // The folder of a log that has ended. It stays if anything is in it.
        let _ = fs::remove_dir(folder);
        Ok(())
    }
}

/// The path of an object in a place: the log and the name.
fn path(dot: &Dot) -> String {
    format!("{}/{:08x}-{}", hex(&dot.log.0), dot.number, hex(&dot.tag.0))
}

/// The dot of a path.
#[cfg(feature = "s3")]
fn parse_path(path: &str) -> Option<Dot> {
    let (log, name) = path.split_once('/')?;
    parse(LogId(unhex(log)?), name)
}

/// The dot of a name such as `0000000a-` and 32 digits. `None` for every other spelling.
fn parse(log: LogId, name: &str) -> Option<Dot> {
    let (number, tag) = name.split_once('-')?;
    let parsed = u64::from_str_radix(number, 16).ok().filter(|parsed| *parsed > 0)?;
    let dot = Dot { log, number: parsed, tag: Tag(unhex(tag)?) };
    (format!("{parsed:08x}") == number).then_some(dot)
}

/// Bytes of exactly as many lower-case digits.
pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_names_are_objects() {
        let log = LogId([1; 16]);
        let tag = "0".repeat(31) + "a";
        assert_eq!(parse(log, &format!("0000000a-{tag}")).map(|dot| dot.number), Some(10));
        let tag_upper = tag.to_uppercase();
        for name in [
            format!("0000000A-{tag}"),
            format!("0000000a-{tag_upper}"),
            format!("a-{tag}"),
            format!("00000000-{tag}"),
            format!("+000000a-{tag}"),
            format!("0000000a-{tag} (conflicted copy)"),
            format!("0000000a-{tag}.sync-conflict-20261127"),
            format!(".{tag}.new"),
            String::new(),
        ] {
            assert_eq!(parse(log, &name), None, "{name}");
        }
    }

    #[test]
    fn an_object_that_cannot_be_read_is_no_error_of_the_place() {
        let folder = tempfile::tempdir().unwrap();
        let place = FolderPlace::open(folder.path()).unwrap();
        let dot = Dot { log: LogId([1; 16]), number: 1, tag: Tag([2; 16]) };
        fs::create_dir_all(place.file(&dot)).unwrap();
        assert_eq!(place.get(&dot).unwrap(), None);
    }

    #[test]
    fn a_put_that_fails_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let place = FolderPlace::open(folder.path()).unwrap();
        let dot = Dot { log: LogId([1; 16]), number: 1, tag: Tag([2; 16]) };
        let path = place.file(&dot);
        fs::create_dir_all(&path).unwrap();
        assert!(place.put(&dot, b"bytes").is_err());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_put_is_listed_and_junk_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let place = FolderPlace::open(folder.path()).unwrap();
        let dot = Dot { log: LogId([1; 16]), number: 1 << 40, tag: Tag([2; 16]) };
        place.put(&dot, b"bytes").unwrap();
        place.put(&dot, b"bytes").unwrap();
        let log = folder.path().join(hex(&dot.log.0));
        fs::write(log.join("desktop.ini"), "").unwrap();
        fs::create_dir(folder.path().join(".stfolder")).unwrap();
        fs::write(folder.path().join("f".repeat(32)), "").unwrap();
        assert_eq!(place.list().unwrap(), BTreeSet::from([dot]));
        assert_eq!(place.get(&dot).unwrap().unwrap(), b"bytes");
        assert_eq!(place.get(&Dot { number: 2, ..dot }).unwrap(), None);
        assert_eq!(fs::read_dir(&log).unwrap().count(), 2);
        for _ in 0..2 {
            place.remove(&dot).unwrap();
            assert!(log.join("desktop.ini").exists() && place.list().unwrap().is_empty());
        }
        fs::remove_file(log.join("desktop.ini")).unwrap();
        place.remove(&dot).unwrap();
        assert!(!log.exists());
        assert!(FolderPlace::open(folder.path().join("absent")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_in_the_folder_lead_to_no_other_file() {
        use std::os::unix::fs::symlink;

        let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = FolderPlace::open(folder.path()).unwrap();
        let dot = Dot { log: LogId([1; 16]), number: 1, tag: Tag([2; 16]) };
        place.put(&dot, b"bytes").unwrap();
        let (path, file) = (place.file(&dot), home.path().join("file"));
        let log = path.parent().unwrap();
        fs::write(&file, "mine").unwrap();

        fs::remove_file(&path).unwrap();
        symlink(&file, log.join(format!(".{}.new", hex(&dot.tag.0)))).unwrap();
        place.put(&dot, b"bytes").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"mine");
        assert_eq!(place.get(&dot).unwrap().unwrap(), b"bytes");

        fs::rename(log, home.path().join("log")).unwrap();
        symlink(home.path().join("log"), log).unwrap();
        assert_eq!(place.get(&dot).unwrap(), None);
        assert!(
            place.remove(&dot).is_err() && home.path().join("log").read_dir().unwrap().count() == 1
        );
        assert!(place.put(&Dot { number: 2, ..dot }, b"bytes").is_err());
        assert_eq!(fs::read_dir(home.path().join("log")).unwrap().count(), 1);
    }
}
