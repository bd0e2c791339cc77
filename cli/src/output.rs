//! Printing to standard output.

use std::io::Write;

use crate::exit::Failure;
use crate::{hints, streams};

/// Prints a text for a person. The commands that it offers select the store of this command line.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    print(hints::runnable(text).as_bytes())
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
