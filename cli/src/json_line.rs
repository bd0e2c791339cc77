//! Output for scripts: one JSON object per line.

use serde::Serialize;

use crate::exit::Failure;
use crate::wiped::Wiped;

/// Appends one object as a line.
pub(crate) fn append(line: &impl Serialize, to: &mut Wiped) -> Result<(), Failure> {
    // Serialising strings and numbers into memory cannot fail.
    serde_json::to_writer(&mut *to, line).map_err(|error| Failure::output(&error.into()))?;
    to.append(b"\n");
    Ok(())
}
