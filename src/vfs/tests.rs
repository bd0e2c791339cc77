//! What a store of files keeps through faults, crashes, crowds and tampering.

mod batches;
mod commit;
mod model;
mod reap;
