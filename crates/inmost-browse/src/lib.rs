//! A browser for the memory, in a terminal. This crate exists for the program `inmost` and makes no promise of semantic
//! versioning.
//!
//! `model` is its whole state. `update` takes an event (a key, a reply of the store) to a new state and to effects (a
//! request, an editor), and `view` paints a state: neither does I/O. `run` is the loop around them. `worker` does the
//! requests on threads of its own, so no key waits for the store.
//!
//! Texts and names of the store reach the screen through `glyphs` only, which escapes control characters. They are wiped
//! when they are dropped, and the cells of the screen are overwritten when the store is locked and at the end.
#![cfg(unix)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod event;
mod glyphs;
mod input;
mod jobs;
mod key;
mod layout;
mod model;
mod names;
mod painter;
mod past;
mod reader;
mod rows;
mod run;
mod screen;
mod search;
mod searcher;
mod theme;
mod tree;
mod update;
mod view;
mod worker;

pub use event::Problem;
pub use jobs::{of_failure, problem};
pub use run::{Guard, Options, run};

#[cfg(test)]
mod tests;
