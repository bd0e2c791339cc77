//! What has the name of a file of the store and is none that the store may use.

use std::fmt;
use std::fs::Metadata;
use std::path::Path;

/// Something that is left alone, under one of the store's own names. Inside an [`io::Error`](std::io::Error) until it
/// becomes [`StorageError::Odd`](super::StorageError::UntrustedFile).
#[derive(Debug)]
pub struct UntrustedFile {
    name: String,
    how: FileProblem,
}

/// What it is instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileProblem {
    /// A folder.
    Folder,
    /// A file where a folder should be.
    File,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Special,
    /// A file with other names: what is written to it is written to those as well.
    HardLink,
    /// Another file than a moment before.
    Replaced,
    /// A folder that somebody else made or can write to.
    Shared,
    /// A folder that holds more than a store does.
    Foreign,
}

impl FileProblem {
    /// What takes the place of something else. Does no I/O.
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
    /// The last part of the path is named, and only if it is made of what our names are made of: whoever made a
    /// folder chose what is in it, and a message goes to terminals and logs.
    #[must_use]
    pub fn new(path: &Path, how: FileProblem) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_plain = |name: &str| {
            name.len() <= NAME_BYTES
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
        };
        let name = if is_plain(&name) { name.into_owned() } else { "something there".into() };
        Self { name, how }
    }

    /// Whether there are bytes of the store in it all the same.
    #[must_use]
    pub fn is_hard_link(&self) -> bool {
        self.how == FileProblem::HardLink
    }
}

/// Bytes of the longest name that is repeated.
const NAME_BYTES: usize = 64;

impl fmt::Display for UntrustedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            FileProblem::Folder => "is a folder",
            FileProblem::File => "is a file and no folder",
            FileProblem::Link => "is a symbolic link",
            FileProblem::Special => "is a pipe, socket or device",
            FileProblem::HardLink => "is a hard link to a file that has other names",
            FileProblem::Replaced => "was replaced while it was opened",
            FileProblem::Shared => "was made by somebody else, or others can write to it",
            FileProblem::Foreign => "holds files that are not of a store",
        };
        write!(f, "{} {how}", self.name)
    }
}

impl std::error::Error for UntrustedFile {}

#[cfg(test)]
mod tests {
    use super::FileProblem as E;
    use super::*;
    use crate::every_variant;

    #[test]
    fn every_oddity_is_named_with_its_file() {
        let table = every_variant!(FileProblem {
            E::Folder => [E::Folder, "lock is a folder"];
            E::File => [E::File, "lock is a file and no folder"];
            E::Link => [E::Link, "lock is a symbolic link"];
            E::Special => [E::Special, "lock is a pipe, socket or device"];
            E::HardLink => [E::HardLink, "lock is a hard link to a file that has other names"];
            E::Replaced => [E::Replaced, "lock was replaced while it was opened"];
            E::Shared => [E::Shared, "lock was made by somebody else, or others can write to it"];
            E::Foreign => [E::Foreign, "lock holds files that are not of a store"];
        });
        for (oddity, phrase) in table {
            assert_eq!(UntrustedFile::new(Path::new("/a/store/lock"), oddity).to_string(), phrase);
        }
    }
}
