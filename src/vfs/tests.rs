//! What a store of files keeps through faults, crashes, crowds and tampering.

mod batches;
mod commit;
mod crafted;
mod faults;
mod lies;
mod lock;
mod model;
mod odd;
mod reap;
mod salvage;
mod tamper;
