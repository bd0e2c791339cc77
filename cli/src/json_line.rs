//! Output for scripts: one JSON object per line.

use std::time::{SystemTime, UNIX_EPOCH};

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

/// A time in milliseconds since 1970; 0 before 1970.
pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
