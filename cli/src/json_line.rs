//! Answers for scripts: one JSON object a line.

use serde::Serialize;

use crate::exit::Failure;
use crate::wiped::Wiped;

/// Appends a line.
pub(crate) fn append(line: &impl Serialize, to: &mut Wiped) -> Result<(), Failure> {
    // Neither strings and numbers nor the buffer can fail.
    serde_json::to_writer(&mut *to, line).map_err(|error| Failure::output(&error.into()))?;
    to.append(b"\n");
    Ok(())
}
