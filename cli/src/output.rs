//! Printing to standard output.

use std::io::Write;

use crate::exit::Failure;
use crate::streams;

/// Writes all the bytes and flushes them.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let print = || {
        let mut output = streams::output()?;
        output.write_all(bytes)?;
        output.flush()
    };
    print().map_err(|error| Failure::output(&error))
}
