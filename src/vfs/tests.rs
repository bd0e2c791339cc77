//! What a store of files keeps through faults, crashes, crowds and tampering.

mod model;
mod reap;
