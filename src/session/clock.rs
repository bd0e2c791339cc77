//! Times as they are stored: milliseconds since 1970.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The current time; 0 if the clock is set to a time before 1970.
pub(crate) fn now() -> u64 {
    let now = milliseconds(SystemTime::now());
    #[cfg(any(test, feature = "internals"))]
    let now = FROZEN.get().unwrap_or(now);
    #[cfg(test)]
    let now = now.saturating_add_signed(SHIFT.get());
    now
}

#[cfg(test)]
thread_local! {
    /// Milliseconds by which the clock of this thread is ahead.
    static SHIFT: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
}

#[cfg(any(test, feature = "internals"))]
thread_local! {
    /// The time of this thread, if it stands still.
    static FROZEN: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// Shifts the clock of this thread.
#[cfg(test)]
pub(crate) fn shift_clock(milliseconds: i64) {
    SHIFT.set(SHIFT.get().saturating_add(milliseconds));
}

/// Stops the clock of this thread at a time, in milliseconds since 1970.
#[cfg(any(test, feature = "internals"))]
pub(crate) fn freeze_clock(milliseconds: u64) {
    FROZEN.set(Some(milliseconds));
}

/// Converts a time to store it. A time before 1970 becomes 0.
pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Converts a stored time. A time that this system cannot express becomes 1970.
pub(crate) fn time_of(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds)).unwrap_or(UNIX_EPOCH)
}
