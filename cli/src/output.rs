//! Printing to standard output.

use std::io::Write;

use crate::exit::Failure;
use crate::{hints, streams};

/// Prints a text for a person. The commands that it offers select the store of this command line.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    print(hints::runnable(text).as_bytes())
}

/// Goes on if nobody reads the output: a change is made in full, and its exit code is that of the work.
pub(crate) fn though_unread(printed: Result<(), Failure>) -> Result<(), Failure> {
    match printed {
        Err(Failure::OutputClosed) => Ok(()),
        printed => printed,
    }
}

/// Writes all the bytes and flushes them.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let print = || {
        let mut output = streams::output()?;
        output.write_all(bytes)?;
        output.flush()
    };
    print().map_err(|error| Failure::output(&error))
}
