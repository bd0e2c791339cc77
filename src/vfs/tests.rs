//! Tests of a store of files under faults, crashes, many threads and tampering.

mod batches;
mod commit;
mod crafted;
mod expiry;
mod expiry_damage;
mod expiry_model;
mod faults;
pub(crate) mod forgotten;
mod full_disk;
mod gaps;
mod lies;
mod lock;
mod many;
pub(crate) mod model;
mod odd;
mod reap;
mod redact_steps;
mod salvage;
mod series;
mod tamper;
mod tamper_history;
mod torn_commit;
mod version_model;
mod version_orders;
mod version_requests;
pub(crate) mod versions;
