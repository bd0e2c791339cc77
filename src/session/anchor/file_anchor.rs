//! A freshness anchor in a file, for hosts that have another disk or folder for it.

use std::error::Error;
use std::path::PathBuf;

use super::FreshnessAnchor;
use inmost_engines::files;

/// A [`FreshnessAnchor`] in a file outside the store, for applications that have no better place for it.
///
/// One file is for one store. Keep it where it is never restored together with the store: not in the store's folder,
/// and not in the same backup or synced folder. Every commit replaces and syncs the whole file, which costs about as
/// much as the commit itself. Processes that have the same vault in a database open need a file each: the file does not tell
/// which of two marks is newer, so the later write stays.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (path, anchor) = (folder.path().join("claude.inmost"), folder.path().join("claude.anchor"));
/// use std::sync::Arc;
///
/// use inmost::{FileAnchor, Passphrase, VaultOptions};
///
/// let options = VaultOptions::new().freshness_anchor(Arc::new(FileAnchor::new(&anchor)));
/// options.create(&path, &Passphrase::new("correct horse battery staple")?)?.lock();
/// assert!(anchor.exists());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FileAnchor {
    path: PathBuf,
}

impl FileAnchor {
    /// Creates an anchor in this file, which is written with the first commit. Its folder must exist. A relative path starts
    /// at the present working folder, also if the program changes that later.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        // Without a working folder, the path names no file, and loading the anchor fails.
        Self { path: std::path::absolute(&path).unwrap_or(path) }
    }
}

impl FreshnessAnchor for FileAnchor {
    fn load(&self) -> Result<Option<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        Ok(files::read_small(&self.path, MOST_BYTES)?)
    }

    fn save(&self, value: &[u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        // A mistyped path must not destroy the file there: only a file that could be an anchor is replaced.
        if let Some(held) = files::read_small(&self.path, MOST_BYTES)?
            && !matches!(held.len(), 0 | 120 | 240)
        {
            return Err("the file is not an anchor".into());
        }
        Ok(files::replace(&self.path, value)?)
    }
}

/// More bytes than any value has.
const MOST_BYTES: u64 = 4 << 10;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_last_value_is_kept_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("anchor");
        let anchor = FileAnchor::new(&path);
        assert!(anchor.load().unwrap().is_none());
        // The temporary file of an interrupted save does not block the next one.
        fs::write(folder.path().join(".anchor.new"), "half").unwrap();
        for value in [[1; 120].as_slice(), &[2; 240], &[3; 120]] {
            anchor.save(value).unwrap();
            assert_eq!(anchor.load().unwrap().as_deref(), Some(value));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_relative_path_does_not_depend_on_later_changes_of_the_working_folder() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(FileAnchor::new("claude.anchor").path, here.join("claude.anchor"));
    }

    #[test]
    fn a_file_that_is_not_an_anchor_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("anchor");
        fs::write(&path, vec![0; 4_097]).unwrap();
        assert!(FileAnchor::new(&path).load().is_err());
        assert!(FileAnchor::new(folder.path()).load().is_err());
        assert!(FileAnchor::new(folder.path()).save(b"value").is_err());
        assert!(FileAnchor::new(&path).save(&[1; 120]).is_err());
        assert_eq!(fs::metadata(&path).unwrap().len(), 4_097);
        fs::write(&path, "a text that must survive").unwrap();
        assert!(FileAnchor::new(&path).save(&[1; 120]).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"a text that must survive");
        assert!(FileAnchor::new(folder.path().join("not/there")).save(b"value").is_err());
    }
}
