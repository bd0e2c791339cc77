//! What looks after a whole store: writing it anew, checking, repairing and salvaging it.

mod backup;
mod check;
mod copy;
mod raw;
mod repair;
mod rewrite;
mod rotate;
mod salvage;

pub use check::{CheckReport, Problem};
pub use repair::RepairReport;
pub use salvage::{Lost, SalvageReport};
