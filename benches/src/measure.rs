//! Measurements that Criterion does not make: traces, sizes, and events that happen once per process.

pub mod replay;
pub mod space;
pub mod start;
pub mod unlock;
