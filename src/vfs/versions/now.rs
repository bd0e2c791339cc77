//! Where a file is now.

use inmost_format::record::history::{Operation, Version};

use super::files::in_tree;
use super::locate::{Place, locate};
use super::past::Past;
use crate::session::Txn;
use crate::vfs::error::FileError;
use crate::vfs::path::MemoryPath;

/// Where a file is now.
pub(super) struct Now {
    pub(super) newest: Version,
    pub(super) path: Option<MemoryPath>,
    /// Whether it is in a folder that was deleted.
    pub(super) is_inside: bool,
}

/// Where the file of an entry is now.
///
/// Entries whose time is over count here. After a clock has gone back and forth, one of them may be the newest of a file that
/// is in the tree, and the file would look deleted. A restore to another path would then give its number to a second file.
/// Entries are removed from the oldest on, so the newest of a file is there as long as any of them. If entries after the newest
/// that can be read are lost, the tree says where the file is and which change was its last.
pub(super) fn now_of(txn: &Txn<'_>, file: u64, from: u64) -> Result<Now, FileError> {
    let root = txn.root()?;
    let past = &Past::open(txn, &root, 0)?.ok_or(FileError::NoSuchVersion(from))?;
    let (mut newest, is_uncertain) =
        past.newest_of(file, from)?.ok_or(FileError::NoSuchVersion(from))?;
    if is_uncertain {
        let Some((path, info)) = in_tree(past, file)? else {
            return Ok(Now { newest, path: None, is_inside: true });
        };
        newest.number = info.version;
        return Ok(Now { newest, path: Some(MemoryPath::parse(&path)?), is_inside: false });
    }
    if matches!(newest.operation, Operation::Deleted | Operation::Expired) {
        return Ok(Now { newest, path: None, is_inside: false });
    }
    let (path, is_inside) = match locate(past, newest.number) {
        Ok(located) => match located.place {
            Place::Current(path) => (Some(MemoryPath::parse(&path)?), false),
            Place::Inside(..) => (None, true),
            Place::Head(_) | Place::Object(_) => (None, false),
        },
        Err(FileError::VersionGone(_) | FileError::NoSuchVersion(_)) => (None, true),
        Err(error) => return Err(error),
    };
    Ok(Now { newest, path, is_inside })
}
