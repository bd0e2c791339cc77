//! Files that have one of the store's names but must not be used.

use std::fmt;
use std::fs::Metadata;
use std::path::Path;

/// A file with one of the store's names that the store refuses to use.
///
/// It travels inside an [`io::Error`](std::io::Error) until it becomes
/// [`StorageError::UntrustedFile`](super::StorageError::UntrustedFile).
#[derive(Debug)]
pub struct UntrustedFile {
    name: String,
    problem: FileProblem,
}

/// Why the store refuses to use a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileProblem {
    /// It is a folder.
    Folder,
    /// It is a file in the place of a folder.
    File,
    /// It is a symbolic link.
    Link,
    /// It is a pipe, socket or device.
    Special,
    /// It has other hard links. A write to it would also change the file under its other names.
    HardLink,
    /// It was replaced while it was being opened.
    Replaced,
    /// It is a folder that another user owns or can write to.
    Shared,
    /// It is a folder with files that do not belong to a store.
    Foreign,
}

impl FileProblem {
    /// Returns the problem for a file of the wrong type. Does no I/O.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        if metadata.is_dir() {
            Self::Folder
        } else if metadata.is_file() {
            Self::File
        } else if metadata.is_symlink() {
            Self::Link
        } else {
            Self::Special
        }
    }
}

impl UntrustedFile {
    /// Describes the file by the last part of its path.
    ///
    /// The name is repeated only if it consists of the characters that the store uses in its own names.
    /// Another user may have chosen the name, and the message goes to terminals and logs.
    #[must_use]
    pub fn new(path: &Path, problem: FileProblem) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_plain = |name: &str| {
            name.len() <= NAME_BYTES
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
        };
        let name = if is_plain(&name) { name.into_owned() } else { "a file".into() };
        Self { name, problem }
    }

    /// Returns whether the file is a hard link. Its content may then still belong to the store.
    #[must_use]
    pub fn is_hard_link(&self) -> bool {
        self.problem == FileProblem::HardLink
    }
}

/// The longest name that a message repeats, in bytes.
const NAME_BYTES: usize = 64;

impl fmt::Display for UntrustedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = match self.problem {
            FileProblem::Folder => "is a folder",
            FileProblem::File => "is a file and not a folder",
            FileProblem::Link => "is a symbolic link",
            FileProblem::Special => "is a pipe, socket or device",
            FileProblem::HardLink => "is a hard link, and the file has other names",
            FileProblem::Replaced => "was replaced while it was being opened",
            FileProblem::Shared => "belongs to another user, or other users can write to it",
            FileProblem::Foreign => "contains files that do not belong to a store",
        };
        write!(f, "{} {problem}", self.name)
    }
}

impl std::error::Error for UntrustedFile {}

#[cfg(test)]
mod tests {
    use super::FileProblem as E;
    use super::*;
    use crate::every_variant;

    #[test]
    fn every_problem_is_reported_with_its_file() {
        let table = every_variant!(FileProblem {
            E::Folder => [E::Folder, "lock is a folder"];
            E::File => [E::File, "lock is a file and not a folder"];
            E::Link => [E::Link, "lock is a symbolic link"];
            E::Special => [E::Special, "lock is a pipe, socket or device"];
            E::HardLink => [E::HardLink, "lock is a hard link, and the file has other names"];
            E::Replaced => [E::Replaced, "lock was replaced while it was being opened"];
            E::Shared => [E::Shared, "lock belongs to another user, or other users can write to it"];
            E::Foreign => [E::Foreign, "lock contains files that do not belong to a store"];
        });
        for (problem, phrase) in table {
            assert_eq!(UntrustedFile::new(Path::new("/a/store/lock"), problem).to_string(), phrase);
        }
    }
}
