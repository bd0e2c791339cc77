//! What the Python package and the npm package share: everything that does not name a value of either language.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod failure;
mod options;
mod place;
mod shared;

pub use failure::{Detail, Failure, Family};
pub use options::{Quotas, ToolLimits, history, in_memory, screen};
pub use place::Place;
pub use shared::Shared;
