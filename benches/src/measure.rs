//! Measurements that Criterion does not make: traces, sizes, and events that happen once per process.

mod copies;
pub mod cpu;
pub mod import;
pub mod latency;
pub mod opening;
mod process;
pub mod replay;
pub mod space;
pub mod stall;
pub mod start;
pub mod unlock;
