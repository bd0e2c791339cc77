//! Checks at unlock whether header and records are the newest that were seen. Does no I/O.

use super::{Anchor, Mark};
use crate::session::error::StoreError;
use inmost_format::header::Header;
use inmost_format::record::HeaderId;

/// How to handle a store that may be older than it was.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rollback {
    Accept,
    Refuse,
}

/// What has to be committed before the store is used.
#[derive(Default)]
pub(crate) struct Unsettled {
    /// The root does not name the header that is in use.
    pub(crate) header: bool,
    /// The next commit gets a number above this one.
    pub(crate) skip: Option<u64>,
}

/// Compares the header with the one that the root names, the newest commit `found` with the anchor, and the anchor with what the
/// root says of it.
///
/// # Errors
/// [`StoreError::HeaderRolledBack`], also if a rollback is to be accepted: it could make a removed keyslot valid.
/// Otherwise [`StoreError::RecordsBehindHeader`], [`StoreError::RolledBack`], [`StoreError::ForeignAnchor`].
pub(crate) fn check(
    header: &Header,
    bound: &HeaderId,
    found: Option<&Mark>,
    anchored: u64,
    anchor: &mut Anchor,
    rollback: Rollback,
) -> Result<Unsettled, StoreError> {
    let is_bound = header.id() == *bound;
    let mut unsettled = Unsettled { header: !is_bound, skip: None };
    let records = if is_bound || header.follows(bound) {
        Ok(())
    } else {
        Err(explain(header, bound, anchor.newest_revision())?)
    };
    anchor.check_sequence(anchored);
    let fresh = found.map_or(Ok(()), |found| anchor.check(found));
    match (records.and(fresh), rollback) {
        (Err(error), Rollback::Refuse) => return Err(error),
        (Err(_), Rollback::Accept) => {
            unsettled.skip = anchor.newest_commit();
            anchor.accept();
        }
        (Ok(()), Rollback::Accept) => anchor.accept(),
        (Ok(()), Rollback::Refuse) => {}
    }
    Ok(unsettled)
}

/// Checks that a header is not older than records that are going to be rewritten under it: than the one that their root names, if
/// there is a root, and than any that the anchor has `seen`. An attacker who puts an older header back can remove the roots as well.
///
/// # Errors
/// [`StoreError::HeaderRolledBack`].
pub(crate) fn check_header(
    header: &Header,
    bound: Option<&HeaderId>,
    seen: Option<u64>,
) -> Result<(), StoreError> {
    let found = header.revision();
    if let Some(expected) = seen.filter(|seen| *seen > found) {
        return Err(StoreError::HeaderRolledBack { expected, found });
    }
    match bound {
        Some(bound) if header.id() != *bound && !header.follows(bound) => {
            explain(header, bound, seen).map(drop)
        }
        _ => Ok(()),
    }
}

/// Why the records do not name the header, which is authentic. An error if the header is the older one of the two.
fn explain(header: &Header, bound: &HeaderId, seen: Option<u64>) -> Result<StoreError, StoreError> {
    let (found, newest) = (header.revision(), seen.unwrap_or(0).max(bound.revision));
    // The header that was made next names the one of the root as the header before it, and this one does not. So it
    // is of another history, in which a removed keyslot may have stayed.
    let is_of_another_history = bound.revision.checked_add(1) == Some(found);
    if found > bound.revision && found >= newest && !is_of_another_history {
        Ok(StoreError::RecordsBehindHeader { expected: found, found: bound.revision })
    } else {
        Err(StoreError::HeaderRolledBack { expected: newest, found })
    }
}
