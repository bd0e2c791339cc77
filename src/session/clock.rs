//! Times as they are stored: milliseconds since 1970.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Now; 0 on a clock that is set to a time before 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A stored time; 1970 for one that this system cannot express.
pub(crate) fn time_of(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds)).unwrap_or(UNIX_EPOCH)
}
