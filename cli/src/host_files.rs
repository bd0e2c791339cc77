//! Plain files beside the store, read and written without following links and without leaving half a file.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};

/// More than any file of a store may have; the store's own limit is told by itself.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Opens a regular file to read it; a link is not followed, and nothing waits for the other end of a pipe.
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
        Err(io::Error::other("it is no regular file"))
    }
}

/// Makes a new file that is its owner's alone. Nothing is ever written over, and no link followed.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a folder, and those on the way to it, its owner's alone.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A path that lies below any folder it is joined to; `None` if one of its names could lead elsewhere. Does no I/O.
///
/// # Security
/// A store can be crafted: its names are not to be trusted here, whoever has checked them before.
pub(crate) fn relative(names: &str) -> Option<PathBuf> {
    let mut place = PathBuf::new();
    for name in names.split('/') {
        let mut parts = Path::new(name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(part)), None) if part == name => place.push(part),
            _ => return None,
        }
        // Separators, drives and streams of other systems.
        if name.contains(['\\', ':', '\0']) && cfg!(not(unix)) {
            return None;
        }
    }
    Some(place)
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
