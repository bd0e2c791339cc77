//! Measures how long a session has been unused, and watches for a time that is too long.
//!
//! Two clocks are read: the monotonic one cannot be set back, and the wall clock runs on while the machine is
//! suspended.

use std::time::{Duration, Instant, SystemTime};
use std::{io, thread};

use super::sync::{Mutex, MutexGuard, lock};

/// The time of a session's last use.
pub(crate) struct Idle(Mutex<Used>);

struct Used {
    /// Calls in progress.
    calls: usize,
    at: Instant,
    wall: SystemTime,
    limit: Duration,
}

impl Idle {
    pub(crate) fn new(limit: Duration) -> Self {
        Self(Mutex::new(Used { calls: 0, at: Instant::now(), wall: SystemTime::now(), limit }))
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        lock(&self.0)
    }

    /// Marks the session as in use until the returned value is dropped. `None`, once, if its time was over before: after a suspend, a
    /// call can come before the thread that watches.
    pub(crate) fn begin(&self) -> Option<Call<'_>> {
        let mut used = self.used();
        if used.is_over(Instant::now(), SystemTime::now()) {
            used.limit = Duration::MAX;
            return None;
        }
        used.calls += 1;
        Some(Call(self))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.used().is_over(Instant::now(), SystemTime::now())
    }

    /// As if the machine had been suspended.
    #[cfg(test)]
    pub(crate) fn suspend(&self, time: Duration) {
        self.used().wall -= time;
    }
}

impl Used {
    fn is_over(&self, now: Instant, wall: SystemTime) -> bool {
        // A wall clock that was set back gives no information.
        let by_wall = wall.duration_since(self.wall).unwrap_or_default();
        self.calls == 0 && now.saturating_duration_since(self.at).max(by_wall) >= self.limit
    }
}

/// A call in progress.
pub(crate) struct Call<'a>(&'a Idle);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut used = self.0.used();
        *used = Used {
            calls: used.calls.saturating_sub(1),
            at: Instant::now(),
            wall: SystemTime::now(),
            ..*used
        };
    }
}

/// Starts a thread that calls `is_in_use` often enough to end what has been unused for `limit`, until it returns `false`.
pub(crate) fn watch(
    limit: Duration,
    is_in_use: impl Fn() -> bool + Send + 'static,
) -> io::Result<()> {
    let pause = (limit / 8).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
    let thread = thread::Builder::new().name("inmost-idle".to_owned());
    let poll = move || {
        while is_in_use() {
            thread::sleep(pause);
        }
    };
    thread.spawn(poll).map(drop)
}

/// Short enough to lock soon after the machine resumes from a suspend.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_clock_ends_it_and_a_call_keeps_it() {
        let (at, wall) = (Instant::now(), SystemTime::now());
        let [short, limit] = [59, 60].map(Duration::from_secs);
        let used = |calls| Used { calls, at, wall, limit };
        assert!(!used(0).is_over(at + short, wall + short));
        assert!(used(0).is_over(at + limit, wall + limit));
        // The machine slept, and the wall clock was set back.
        assert!(used(0).is_over(at, wall + limit));
        assert!(used(0).is_over(at + limit, wall - limit));
        assert!(!used(0).is_over(at, wall - limit));
        assert!(!used(1).is_over(at + limit, wall + limit));
    }
}
