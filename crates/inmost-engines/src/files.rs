//! The rules for every file of a store: readable only by its owner, a regular file with one name, and durable
//! together with its name. Modes, hard-link checks and folder syncs apply to Unix only.
//!
//! A store can come from an attacker, and a name in it can lead to any file of the user who opens it. Before
//! anything is written, truncated or given another mode, this module checks that the open file has exactly
//! one name. It does not check the owner: the folder determines whose store this is, and a restored backup, a
//! mounted disk or a container may show another owner.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use inmost_storage::{FileProblem, UntrustedFile};

/// Creates a folder that only its owner can enter, regardless of the umask.
///
/// # Errors
/// `AlreadyExists` if the name is taken.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    private_builder().create(path)?;
    make_private(path)
}

#[cfg(unix)]
fn private_builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

#[cfg(not(unix))]
fn private_builder() -> DirBuilder {
    DirBuilder::new()
}

/// Creates a file that only its owner can open, regardless of the umask.
///
/// # Errors
/// `AlreadyExists` if the name is taken, even by a dangling link.
pub fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    make_private(path)?;
    Ok(file)
}

/// Removes all permissions of group and others: 0700 for a folder, 0600 for a file.
///
/// # Errors
/// [`UntrustedFile`] for a link, a pipe, or a file with other hard links. Changing their modes could affect
/// files outside the store.
#[cfg(unix)]
pub fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::symlink_metadata(path)?;
    let wanted = match (metadata.is_dir(), metadata.is_file()) {
        (true, _) => 0o700,
        (_, true) => 0o600,
        // A link has no useful mode, and setting it would change the file that it points to.
        _ => return Err(untrusted(path, FileProblem::of(&metadata))),
    };
    refuse_other_names(path, &metadata)?;
    if metadata.permissions().mode() & 0o7777 == wanted {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(wanted))
}

/// Does nothing: here a file has the access list of the folder that it was created in.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Opens an existing regular file for reading.
///
/// # Errors
/// [`UntrustedFile`] for anything else.
pub fn open(path: &Path) -> io::Result<File> {
    open_plain(path, OpenOptions::new().read(true))
}

/// Opens an existing file of the store for reading, writing or truncating.
///
/// # Errors
/// [`UntrustedFile`] for anything but a regular file, and for a file with other hard links.
pub fn open_to_write(path: &Path) -> io::Result<File> {
    let file = open_plain(path, OpenOptions::new().read(true).write(true))?;
    refuse_other_names(path, &file.metadata()?)?;
    Ok(file)
}

/// Opens a regular file.
///
/// A link, pipe or device is refused before it is opened, because opening a pipe can block forever. A second
/// check after opening detects a replaced file.
fn open_plain(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Err(untrusted(path, FileProblem::of(&metadata)));
    }
    let file = options.open(path)?;
    if names(path, &file)? { Ok(file) } else { Err(untrusted(path, FileProblem::Replaced)) }
}

/// Refuses a file with other hard links: it may be a file outside the store.
///
/// # Errors
/// [`UntrustedFile`] if it has other hard links.
pub fn refuse_other_names(path: &Path, metadata: &Metadata) -> io::Result<()> {
    if has_other_names(metadata) { Err(untrusted(path, FileProblem::HardLink)) } else { Ok(()) }
}

/// Returns whether a regular file has more than one name. Some user-space file systems report 0.
#[cfg(unix)]
#[must_use]
pub fn has_other_names(metadata: &Metadata) -> bool {
    metadata.is_file() && std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

/// Returns `false`: here the standard library does not count names.
#[cfg(not(unix))]
#[must_use]
pub fn has_other_names(_: &Metadata) -> bool {
    false
}

/// Returns the bytes of a small regular file, or `None` if it does not exist.
///
/// # Errors
/// `FileTooLarge` if it has more than `most` bytes.
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

/// Creates or replaces a file durably. After a crash, either the old or the new file is there, complete.
///
/// The bytes are first written to a hidden file in the same folder whose name ends in `.new`.
///
/// # Errors
/// `InvalidInput` if the path has no file name.
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
        drop(file);
        rename(&draft, path)
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

/// Renames a file or a folder. On Windows, tries again for a while if another program, such as a virus scanner, has it open.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let deadline = Instant::now() + RENAME_WAIT;
    loop {
        match fs::rename(from, to) {
            Err(error) if is_held(&error) && Instant::now() < deadline => {
                thread::sleep(RENAME_PAUSE);
            }
            renamed => return renamed,
        }
    }
}

/// Whether Windows refused access because a file is open: access denied, or a sharing violation.
fn is_held(error: &io::Error) -> bool {
    cfg!(windows) && matches!(error.raw_os_error(), Some(5 | 32))
}

/// Returns whether a file has fewer bytes on the disk than its length. Some file systems do not report it.
#[must_use]
pub fn is_sparse(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    let on_disk = std::os::unix::fs::MetadataExt::blocks(metadata).saturating_mul(512);
    #[cfg(not(unix))]
    let on_disk = u64::MAX;
    on_disk < metadata.len()
}

/// Returns whether `path` names a regular file, and the same one that is open as `file`.
pub fn names(path: &Path, file: &File) -> io::Result<bool> {
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

/// Fills the buffer with the bytes at an offset.
///
/// # Errors
/// `UnexpectedEof` if the file has fewer.
#[cfg(unix)]
pub fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

/// Fills the buffer with the bytes at an offset.
///
/// # Errors
/// `UnexpectedEof` if the file has fewer.
#[cfg(windows)]
pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        bytes = bytes.get_mut(read..).filter(|_| read > 0).ok_or(io::ErrorKind::UnexpectedEof)?;
        offset = offset.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
    }
    Ok(())
}

/// Writes all bytes at an offset.
#[cfg(unix)]
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Writes all bytes at an offset.
#[cfg(windows)]
pub fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        bytes = bytes.get(written..).filter(|_| written > 0).ok_or(io::ErrorKind::WriteZero)?;
        offset = offset.saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
    }
    Ok(())
}

/// Drops what the page cache holds of a file and believes written. After a failed sync, that may differ from the disk,
/// and a program that builds on it loses what it adds when the power fails. Best effort.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn forget_cached(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

/// Does nothing: here there is no call for it.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn forget_cached(_: &File) {}

/// [`forget_cached`] for every file in a folder.
pub fn forget_cached_in(folder: &Path) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|entry| open(&entry.path()).ok()).for_each(|file| forget_cached(&file));
}

/// Syncs a folder, so that the names in it survive a power loss.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Returns the total length of all files below a folder. Does not follow links.
pub fn size_below(folder: &Path) -> io::Result<u64> {
    let mut size = 0_u64;
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => size = size.saturating_add(metadata.len()),
                // Temporary files can disappear while the folder is read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(size)
}

/// The error for a file that must not be used.
#[must_use]
pub fn untrusted(path: &Path, problem: FileProblem) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, UntrustedFile::new(path, problem))
}

/// How long to wait on Windows for a program that has a file open.
const RENAME_WAIT: Duration = Duration::from_secs(2);
const RENAME_PAUSE: Duration = Duration::from_millis(20);
