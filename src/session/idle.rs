//! Measures how long a session has been unused.
//!
//! Two clocks are read: the monotonic one cannot be set back, and the wall clock runs on while the machine is
//! suspended.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The time of a session's last use.
pub(super) struct Idle(Mutex<Used>);

struct Used {
    /// Calls in progress.
    calls: usize,
    at: Instant,
    wall: SystemTime,
}

impl Idle {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Used { calls: 0, at: Instant::now(), wall: SystemTime::now() }))
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the session as in use until the returned value is dropped.
    pub(super) fn begin(&self) -> Call<'_> {
        self.used().calls += 1;
        Call(self)
    }

    pub(super) fn is_over(&self, limit: Duration) -> bool {
        self.used().is_over(limit, Instant::now(), SystemTime::now())
    }
}

impl Used {
    fn is_over(&self, limit: Duration, now: Instant, wall: SystemTime) -> bool {
        // A wall clock that was set back gives no information.
        let by_wall = wall.duration_since(self.wall).unwrap_or_default();
        self.calls == 0 && now.saturating_duration_since(self.at).max(by_wall) >= limit
    }
}

/// A call in progress.
pub(super) struct Call<'a>(&'a Idle);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut used = self.0.used();
        *used = Used {
            calls: used.calls.saturating_sub(1),
            at: Instant::now(),
            wall: SystemTime::now(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_clock_ends_it_and_a_call_keeps_it() {
        let (at, wall) = (Instant::now(), SystemTime::now());
        let used = |calls| Used { calls, at, wall };
        let [short, limit] = [59, 60].map(Duration::from_secs);
        assert!(!used(0).is_over(limit, at + short, wall + short));
        assert!(used(0).is_over(limit, at + limit, wall + limit));
        // The machine slept, and the wall clock was set back.
        assert!(used(0).is_over(limit, at, wall + limit));
        assert!(used(0).is_over(limit, at + limit, wall - limit));
        assert!(!used(0).is_over(limit, at, wall - limit));
        assert!(!used(1).is_over(limit, at + limit, wall + limit));
    }
}
