//! Files of the host outside the store, opened and created without following links.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::windows_name;

/// More than a memory file can have. The store reports its own limit.
pub(crate) const MAX_FILE_BYTES: usize = 64 << 20;

/// Why bytes that are not UTF-8 are refused. Text in another encoding can be converted; a picture or an archive cannot, and
/// mostly has a NUL, as only UTF-16 does among texts.
pub(crate) fn why_no_text(bytes: &[u8]) -> &'static str {
    let is_utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    if bytes.contains(&0) && !is_utf16 {
        "it is not text, and the memory holds only text"
    } else {
        "its text is not UTF-8; convert it first, for example with iconv"
    }
}

/// Opens a regular file to read it. Refuses a link, and does not wait for the other end of a pipe.
#[cfg(unix)]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    regular(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Opens a regular file to read it.
#[cfg(not(unix))]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if path.symlink_metadata()?.is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    regular(File::open(path)?)
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Creates a new file that only its owner can access. Never overwrites a file and never follows a link.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Creates a folder and its missing parents. Only their owner can access them.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes the name of a new file durable, on systems where a folder can be synced.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// The relative path of these names; `None` if one of them could lead outside the folder that the path is joined to. Does no
/// I/O.
///
/// # Security
/// Names from a crafted store are not trusted here, even if they were checked before.
pub(crate) fn relative(names: &str) -> Option<PathBuf> {
    let mut place = PathBuf::new();
    for name in names.split('/') {
        let mut parts = Path::new(name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(part)), None) if part == name => place.push(part),
            _ => return None,
        }
        // Separators, drives and streams on Windows.
        if name.contains(['\\', ':', '\0']) && cfg!(not(unix)) {
            return None;
        }
    }
    Some(place)
}

/// Whether the system writes a file of each of these names under that name. Does no I/O.
pub(crate) fn keeps_names(names: &str) -> bool {
    !cfg!(windows) || names.split('/').all(windows_name::is_accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_the_folder() {
        for names in ["../a", "a/../../b", "/etc/passwd", "./a", "a/./b", "a//b", "a/", "/", ""] {
            assert_eq!(relative(names), None, "{names}");
        }
        assert_eq!(relative("a/.b..c"), Some(PathBuf::from("a/.b..c")));
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_opened() {
        let home = tempfile::tempdir().unwrap();
        let (file, link) = (home.path().join("file"), home.path().join("link"));
        create(&file).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(open(&file).is_ok());
        assert!(open(&link).is_err());
        assert!(open(home.path()).is_err());
        assert!(create(&link).is_err());
    }
}
