//! Locking a session that nobody uses.
//!
//! A thread looks at the clocks every now and then. Two of them: the monotonic one cannot be set back, and the wall
//! clock goes on while the machine is suspended.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant, SystemTime};
use std::{io, thread};

use super::session::{Session, Shared, lock};

/// When a session was last used.
pub(super) struct Idle(Mutex<Used>);

struct Used {
    /// Calls under way.
    calls: usize,
    at: Instant,
    wall: SystemTime,
}

impl Idle {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Used { calls: 0, at: Instant::now(), wall: SystemTime::now() }))
    }

    /// Counts as use until it is dropped.
    pub(super) fn begin(&self) -> Call<'_> {
        lock(&self.0).calls += 1;
        Call(self)
    }

    fn is_over(&self, limit: Duration) -> bool {
        lock(&self.0).is_over(limit, Instant::now(), SystemTime::now())
    }
}

impl Used {
    fn is_over(&self, limit: Duration, now: Instant, wall: SystemTime) -> bool {
        // A wall clock that was set back says nothing.
        let by_wall = wall.duration_since(self.wall).unwrap_or_default();
        self.calls == 0 && now.saturating_duration_since(self.at).max(by_wall) >= limit
    }
}

/// A call under way.
pub(super) struct Call<'a>(&'a Idle);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut used = lock(&self.0.0);
        *used = Used {
            calls: used.calls.saturating_sub(1),
            at: Instant::now(),
            wall: SystemTime::now(),
        };
    }
}

/// Starts the thread that locks `session` once it was not used for `limit`. It ends with the session.
pub(super) fn watch(session: &Session, limit: Duration) -> io::Result<()> {
    let shared = Arc::downgrade(&session.shared);
    let pause = (limit / 8).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
    let thread = thread::Builder::new().name("inmost-idle".to_owned());
    thread
        .spawn(move || {
            while is_in_use(&shared, limit) {
                thread::sleep(pause);
            }
        })
        .map(drop)
}

fn is_in_use(shared: &Weak<Shared>, limit: Duration) -> bool {
    let Some(shared) = shared.upgrade() else { return false };
    let session = Session { shared };
    if session.is_locked() {
        return false;
    }
    if session.shared.idle.is_over(limit) {
        session.lock();
        return false;
    }
    true
}

/// Often enough to lock soon after the machine has come back from a suspend.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

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
        // The machine slept; the wall clock was set back.
        assert!(used(0).is_over(limit, at, wall + limit));
        assert!(used(0).is_over(limit, at + limit, wall - limit));
        assert!(!used(0).is_over(limit, at, wall - limit));
        assert!(!used(1).is_over(limit, at + limit, wall + limit));
    }
}
