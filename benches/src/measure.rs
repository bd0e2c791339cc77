//! What Criterion is not the tool for: traces, sizes, and what happens once a process.

pub mod replay;
pub mod space;
pub mod start;
pub mod unlock;
