//! Names of files in a mount: how they become paths of the store, and which of them are scratch files.

use std::ffi::OsStr;

use fuser::Errno;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use unicode_normalization::UnicodeNormalization;

/// The names of scratch files and folders: they live in memory, with everything below them.
pub struct ScratchNames(GlobSet);

impl ScratchNames {
    /// Those of the programs that are known, and more.
    ///
    /// # Errors
    /// The error of a glob that is not valid.
    pub fn new(more: &[String]) -> Result<Self, String> {
        let mut globs = GlobSetBuilder::new();
        for glob in KNOWN.iter().copied().chain(more.iter().map(String::as_str)) {
            let glob = GlobBuilder::new(glob).literal_separator(true).build();
            globs.add(glob.map_err(|error| error.to_string())?);
        }
        Ok(Self(globs.build().map_err(|error| error.to_string())?))
    }

    /// Whether a path is that of a scratch file or folder, or is inside of one. Does no I/O.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        path.split('/').any(|name| !name.is_empty() && self.0.is_match(name))
    }
}

/// The path of an entry of a folder.
///
/// # Errors
/// `EILSEQ` for a name that is not UTF-8; `ENAMETOOLONG`. Other names that the store refuses are found by the store.
pub(crate) fn join(folder: &str, name: &OsStr) -> Result<String, Errno> {
    let name = name.to_str().ok_or(Errno::EILSEQ)?;
    let mut path = String::with_capacity(folder.len().saturating_add(name.len()).saturating_add(1));
    path.push_str(folder);
    path.push('/');
    path.extend(name.nfc());
    let length = path.len().saturating_sub(folder.len()).saturating_sub(1);
    if length > NAME_BYTES || path.len() > PATH_BYTES {
        return Err(Errno::ENAMETOOLONG);
    }
    Ok(path)
}

/// The folder of a path, which is not the root of the store.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last name of a path.
pub(crate) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Whether a path is inside a folder.
pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The path beside a file for a text that could not take its place. `attempt` makes another one.
pub(crate) fn conflict(path: &str, version: u64, attempt: u32) -> String {
    let mut ending = format!(".conflict-{version}");
    if attempt > 0 {
        ending = format!("{ending}-{attempt}");
    }
    let (folder, name) = (parent(path), name(path));
    let room = NAME_BYTES.saturating_sub(ending.len());
    let length = (0..=room.min(name.len())).rev().find(|at| name.is_char_boundary(*at));
    let name = name.get(..length.unwrap_or_default()).unwrap_or_default();
    format!("{folder}/{name}{ending}")
}

/// Bytes of a name, as the store allows them.
const NAME_BYTES: usize = 255;

/// Bytes of a path, as the store allows them.
const PATH_BYTES: usize = 1_024;

/// Repositories that Codex and people keep in a memory, temporary files that replace others, files of editors, and locks.
const KNOWN: [&str; 7] = [".git", ".codex-baseline", "*.tmp.*", "*~", ".*.sw?", "4913", "*.lock"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_names_are_known_in_every_folder() {
        let scratch = ScratchNames::new(&["*.part".to_owned()]).unwrap();
        for path in [
            "/memories/.git/objects/ab/cd",
            "/memories/a/todo.md.tmp.812.0123456789ab",
            "/memories/todo.md~",
            "/memories/a/.todo.md.swp",
            "/memories/4913",
            "/memories/.consolidate.lock",
            "/memories/x.part",
        ] {
            assert!(scratch.has(path), "{path}");
        }
        for path in
            ["/memories/todo.md", "/memories/.gitignore", "/memories/tmp", "/memories/a.tmp"]
        {
            assert!(!scratch.has(path), "{path}");
        }
        assert!(ScratchNames::new(&["[".to_owned()]).is_err());
    }

    #[test]
    fn names_are_folded_and_bounded() {
        use std::os::unix::ffi::OsStrExt;
        assert_eq!(join("/memories", OsStr::new("e\u{301}")).unwrap(), "/memories/\u{e9}");
        let code = |name: &OsStr| join("/memories", name).unwrap_err().code();
        assert_eq!(code(OsStr::from_bytes(b"\xe9")), Errno::EILSEQ.code());
        assert_eq!(code(OsStr::new(&"x".repeat(256))), Errno::ENAMETOOLONG.code());
    }

    #[test]
    fn a_conflict_has_a_valid_name_beside_the_file() {
        assert_eq!(conflict("/memories/a/b.md", 7, 0), "/memories/a/b.md.conflict-7");
        let long = conflict(&format!("/memories/{}", "\u{e9}".repeat(127)), 7, 3);
        assert!(long.ends_with(".conflict-7-3") && name(&long).len() <= NAME_BYTES, "{long}");
    }
}
