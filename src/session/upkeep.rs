//! What is due along with commits: the removal of deleted objects and of old versions, and the recording of readings.

pub(crate) mod history;
pub(crate) mod ledger;
pub(crate) mod reap;
pub(crate) mod trim;

use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::transaction::overlay::Overlay;
use inmost_format::record::ObjectId;

/// Adds to a group what is due along with its commit. It is part of the same batch, so it happens on the state that the batch expects
/// or not at all. Returns the files whose readings are recorded by it.
pub(crate) fn add_due(
    open: &Open,
    group: &mut Overlay,
    staged: Option<ObjectId>,
) -> Result<Vec<u64>, StoreError> {
    let recorded = ledger::record_into(open, group)?;
    reap::reap_into(open, group, staged)?;
    trim::trim_into(open, group)?;
    Ok(recorded)
}
