//! What is due along with commits: the removal of deleted objects and of old versions, and the recording of readings.

pub(crate) mod history;
pub(crate) mod ledger;
pub(crate) mod reap;
pub(crate) mod trim;
