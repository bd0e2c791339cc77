//! The rules that every file of a store obeys: readable by its owner alone, a plain file with no other name,
//! durable with its name. What a platform cannot do (modes, hard links and folder syncs outside Unix) is left out
//! there.
//!
//! A store can come from somebody else, and a name in it can lead to any file of whoever opens it. So nothing
//! is written, cut or given another mode before it is known that what is open has this one name and no other.
//! Who owns it is not asked: it is the folder that says whose store this is, and a restored backup, a mounted disk
//! or a container may show another owner.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use inmost_storage::{FileProblem, UntrustedFile};

/// Creates a folder that only its owner can enter, whatever the umask.
///
/// # Errors
/// `AlreadyExists` if anything has that name.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    make_private(path)
}

/// Creates a file that only its owner can open, whatever the umask.
///
/// # Errors
/// `AlreadyExists` if anything has that name, a dangling link included.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    make_private(path)?;
    Ok(file)
}

/// Takes every right from group and others: 0700 for a folder, 0600 for a file.
///
/// # Errors
/// [`UntrustedFile`] for a link, a pipe, and a file that has other names: their modes are not ours to set.
#[cfg(unix)]
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::symlink_metadata(path)?;
    let wanted = match (metadata.is_dir(), metadata.is_file()) {
        (true, _) => 0o700,
        (_, true) => 0o600,
        // A link's mode means nothing, and setting it would reach through to a file that is not ours.
        _ => return Err(odd(path, FileProblem::of(&metadata))),
    };
    refuse_other_names(path, &metadata)?;
    if metadata.permissions().mode() & 0o7777 == wanted {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(wanted))
}

#[cfg(not(unix))]
pub(crate) fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Opens an existing regular file to read it.
///
/// # Errors
/// [`UntrustedFile`] for anything else.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_plain(path, OpenOptions::new().read(true))
}

/// Opens an existing file of the store to read, write or cut it.
///
/// # Errors
/// [`UntrustedFile`] for anything but a regular file, and for one with other names.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    let file = open_plain(path, OpenOptions::new().read(true).write(true))?;
    refuse_other_names(path, &file.metadata()?)?;
    Ok(file)
}

/// A link, pipe or device in its place is refused before it is opened, since opening a pipe can wait for
/// ever; that the opened file is the one looked at is checked afterwards.
fn open_plain(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Err(odd(path, FileProblem::of(&metadata)));
    }
    let file = options.open(path)?;
    if names(path, &file)? { Ok(file) } else { Err(odd(path, FileProblem::Replaced)) }
}

/// Refuses a file that can be reached by other names too, and so may be somebody's own.
///
/// # Errors
/// [`UntrustedFile`].
pub(crate) fn refuse_other_names(path: &Path, metadata: &Metadata) -> io::Result<()> {
    if has_other_names(metadata) { Err(odd(path, FileProblem::HardLink)) } else { Ok(()) }
}

/// Whether a regular file has more names than one. (Some file systems in user space count none at all.)
#[cfg(unix)]
pub(crate) fn has_other_names(metadata: &Metadata) -> bool {
    metadata.is_file() && std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

#[cfg(not(unix))]
pub(crate) fn has_other_names(_: &Metadata) -> bool {
    false
}

/// The bytes of a small regular file; `None` if there is none.
///
/// # Errors
/// `FileTooLarge` beyond `most` bytes.
pub fn read_small(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    if file.metadata()?.len() > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Replaces a file, or makes it, durably: after a crash it is the old one or the new one, whole. What is written
/// first is a hidden sibling with `.new` at the end of its name.
///
/// # Errors
/// `InvalidInput` if the path names no file.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".new");
    let draft = path.with_file_name(hidden);
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written = create_private_file(&draft).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&draft);
        return written;
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => sync_folder(folder),
        _ => sync_folder(Path::new(".")),
    }
}

/// Whether `path` is a regular file, the very one that is open as `file`.
pub(crate) fn names(path: &Path, file: &File) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(named) => Ok(named.is_file() && same_file(&named, &file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn same_file(left: &Metadata, right: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (left.dev(), left.ino()) == (right.dev(), right.ino())
}

#[cfg(not(unix))]
fn same_file(_: &Metadata, right: &Metadata) -> bool {
    right.is_file()
}

/// Makes the names in a folder survive power loss.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// The lengths of all files below a folder, links not followed.
pub(crate) fn size_below(folder: &Path) -> io::Result<u64> {
    let mut size = 0_u64;
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => size = size.saturating_add(metadata.len()),
                // Temporary files come and go while the folder is read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(size)
}

pub(crate) fn odd(path: &Path, how: FileProblem) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, UntrustedFile::new(path, how))
}
