//! What has the name of a file of the store and is none that the store may use.

use std::fmt;
use std::fs::Metadata;
use std::path::Path;

/// Something that is left alone, under one of the store's own names. Inside an [`io::Error`](std::io::Error) until it
/// becomes [`StorageError::Odd`](super::StorageError::Odd).
#[derive(Debug)]
pub(crate) struct OddFile {
    name: String,
    how: Oddity,
}

/// What it is instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Oddity {
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

impl Oddity {
    /// What takes the place of something else. Does no I/O.
    pub(super) fn of(metadata: &Metadata) -> Self {
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

impl OddFile {
    /// The last part of the path is named, and only if it is made of what our names are made of: whoever made a
    /// folder chose what is in it, and a message goes to terminals and logs.
    pub(super) fn new(path: &Path, how: Oddity) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_plain = |name: &str| {
            name.len() <= NAME_BYTES
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
        };
        let name = if is_plain(&name) { name.into_owned() } else { "something there".into() };
        Self { name, how }
    }

    /// Whether there are bytes of the store in it all the same.
    pub(super) fn is_hard_link(&self) -> bool {
        self.how == Oddity::HardLink
    }
}

/// Bytes of the longest name that is repeated.
const NAME_BYTES: usize = 64;

impl fmt::Display for OddFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            Oddity::Folder => "is a folder",
            Oddity::File => "is a file and no folder",
            Oddity::Link => "is a symbolic link",
            Oddity::Special => "is a pipe, socket or device",
            Oddity::HardLink => "is a hard link to a file that has other names",
            Oddity::Replaced => "was replaced while it was opened",
            Oddity::Shared => "was made by somebody else, or others can write to it",
            Oddity::Foreign => "holds files that are not of a store",
        };
        write!(f, "{} {how}", self.name)
    }
}

impl std::error::Error for OddFile {}

#[cfg(test)]
mod tests {
    use super::Oddity as E;
    use super::*;
    use crate::variants::every_variant;

    #[test]
    fn every_oddity_is_named_with_its_file() {
        let table = every_variant!(Oddity {
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
            assert_eq!(OddFile::new(Path::new("/a/store/lock"), oddity).to_string(), phrase);
        }
    }
}
