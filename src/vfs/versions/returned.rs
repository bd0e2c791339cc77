//! The files of a deleted folder that moves back: they count as used, because nobody could read them meanwhile.

use std::collections::HashSet;

use inmost_format::record::history::{Before, Version};
use inmost_format::record::node::{Entries, Entry, What};
use inmost_format::record::{Flaw, Kind, RecordError, load_folder};

use crate::session::{Exclusive, Txn};
use crate::vfs::error::FileError;

/// Records that the files in the folder which a deletion holds are used, in durable steps. This comes before the folder moves
/// back: a crash in between leaves readings of files that are not there, which do no harm.
pub(super) fn record_use(
    exclusive: &mut Exclusive<'_>,
    deletion: &Version,
) -> Result<(), FileError> {
    let Before::Object(held) = &deletion.before else { return Ok(()) };
    let files = exclusive.commit(|txn| {
        if txn.root()?.reads_since == 0 {
            return Ok(Vec::new());
        }
        files_in(txn, held)
    })?;
    let mut rest = files.as_slice();
    while !rest.is_empty() {
        let done = exclusive.commit(|txn| Ok::<_, FileError>(txn.record_use(rest)?))?;
        rest = rest.get(done.max(1)..).unwrap_or_default();
    }
    Ok(())
}

/// The numbers of the files below a folder, in order.
fn files_in(txn: &Txn<'_>, folder: &Entry) -> Result<Vec<u64>, FileError> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.id, folder.tag)];
    let mut reached = HashSet::new();
    while let Some((object, tag)) = folders.pop() {
        // A forged tree of few folders could have too many paths to walk.
        if !reached.insert(object) {
            return Err(RecordError::Damaged { kind: Kind::Folder, flaw: Flaw::Repeated }.into());
        }
        let head = load_folder(txn, object, &tag)?;
        head.body.visit::<FileError>(txn, object, 0, &mut |_, leaf: &Entries| {
            for entry in &leaf.0 {
                match entry.what {
                    What::File(info) => files.push(info.number),
                    What::Folder => folders.push((entry.id, entry.tag)),
                }
            }
            Ok(true)
        })?;
    }
    files.sort_unstable();
    Ok(files)
}
