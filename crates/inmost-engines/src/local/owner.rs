//! Whose files a store has. Root can open the store of another user, but what it creates there belongs to root, and locks the owner
//! out. So such a store is refused before anything is written, and the owner is told which file is in the way.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use inmost_storage::StorageError;
use rustix::fs::{Access, access};
use rustix::io::Errno;

/// Checks the folder of a store, and the files in it and in its generations. On a file system that knows no users, everything belongs
/// to whom it was mounted for, and can be used.
///
/// # Errors
/// [`StorageError::OtherOwner`] for the folder of another user, if this process is root's; for anybody, for what belongs to
/// another user and cannot be read and written.
pub(super) fn check(folder: &Path) -> Result<(), StorageError> {
    let user = rustix::process::geteuid().as_raw();
    let other = |path: &Path| fs::symlink_metadata(path).ok().map(|it| it.uid());
    if user == 0 {
        return match other(folder).filter(|owner| *owner != 0) {
            Some(owner) => Err(StorageError::OtherOwner { file: String::new(), owner }),
            None => Ok(()),
        };
    }
    let mut paths = vec![folder.to_owned()];
    for below in [folder.to_owned()].into_iter().chain(entries(folder)) {
        paths.extend(entries(&below));
    }
    for path in paths {
        let Some(owner) = other(&path).filter(|owner| *owner != user) else { continue };
        if access(&path, Access::READ_OK | Access::WRITE_OK) == Err(Errno::ACCESS) {
            let file = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            return Err(StorageError::OtherOwner { file, owner });
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_refused_what_belongs_to_another_user() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("header.a"), "x").unwrap();
        check(folder.path()).unwrap();
        // Only root can give a folder away.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(folder.path(), Some(65_534), None).unwrap();
            let error = check(folder.path()).unwrap_err();
            assert!(matches!(error, StorageError::OtherOwner { owner: 65_534, .. }), "{error}");
        }
    }
}
