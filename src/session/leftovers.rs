//! Generations that the header does not name: what a rewrite left behind is removed, and anything else is set aside.

use super::error::StoreError;
use inmost_format::header::Header;
use inmost_storage::{HeaderCopy, Leftover, Storage, StorageError};

/// Makes both copies of the header equal to the one in effect, then leaves only the generation that it names. `found` are
/// the parsed copies, as they were found.
pub(crate) fn keep_only(
    storage: &dyn Storage,
    header: &Header,
    found: &[(HeaderCopy, Header)],
) -> Result<(), StoreError> {
    for place in [HeaderCopy::A, HeaderCopy::B] {
        if found.iter().any(|(copy, kept)| *copy == place && kept.bytes() == header.bytes()) {
            continue;
        }
        match storage.write_header(place, header.bytes()) {
            // A folder in place of the copy holds no keyslot that needs renewal, and its origin is unknown. Reads work
            // without this copy; a change of a keyslot will fail because of it.
            Err(StorageError::UntrustedFile(_)) => {}
            renewed => renewed?,
        }
    }
    let copies: Vec<&Header> = found.iter().map(|(_, header)| header).collect();
    clear(storage, header, &copies)
}

/// Leaves no generation but the one that the header in effect names. `copies` are the parsed copies of the header, as they
/// were found.
///
/// Both copies on disk must be the header in effect by now. Otherwise a crash would leave a header whose generation is
/// gone. The note of the rewrite goes last, so a crash at any point repeats the rest.
pub(crate) fn clear(
    storage: &dyn Storage,
    header: &Header,
    copies: &[&Header],
) -> Result<(), StoreError> {
    let rewriting = storage.rewriting()?;
    let named = header.generation();
    for generation in storage.generations()?.into_iter().filter(|found| *found != named) {
        let leftover = rewriting.as_ref().map(|it| it.leftover(named, generation));
        match leftover.unwrap_or(Leftover::Unknown) {
            Leftover::Remove => storage.remove_generation(generation)?,
            Leftover::Keep(header) => storage.set_aside(generation, Some(header))?,
            Leftover::Unknown => {
                // A header that was found and names it has the only key of its records.
                let own = copies.iter().find(|copy| copy.generation() == generation);
                storage.set_aside(generation, own.map(|copy| copy.bytes().as_slice()))?;
            }
        }
    }
    if rewriting.is_some() {
        storage.finish_rewrite()?;
    }
    Ok(())
}
