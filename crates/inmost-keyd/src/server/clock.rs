//! When the daemon locks by itself. Does no I/O.
//!
//! Two clocks are read, and the one that shows more time decides. The monotonic clock may stand still while the machine is
//! suspended, so the store would still be unlocked afterwards: on Linux only that of a virtual machine whose host is suspended
//! does. The wall clock can be set back, so with it alone the daemon could be kept unlocked forever.

use std::time::{Duration, SystemTime};

use crate::facts::Limits;

/// A moment on both clocks.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    /// Since some fixed moment.
    pub(super) monotonic: Duration,
    pub(super) wall: SystemTime,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self { monotonic: monotonic(), wall: SystemTime::now() }
    }

    pub(super) fn since(self, earlier: Self) -> Duration {
        let monotonic = self.monotonic.saturating_sub(earlier.monotonic);
        monotonic.max(self.wall.duration_since(earlier.wall).unwrap_or_default())
    }
}

/// The time since the start of the system, with that of suspends.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn monotonic() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    // It is never negative.
    Duration::try_from(time).unwrap_or_default()
}

/// The time since the first call.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn monotonic() -> Duration {
    use std::sync::LazyLock;
    use std::time::Instant;
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    FIRST.elapsed()
}

/// When the daemon started, and when it was last used.
pub(super) struct Clock {
    limits: Limits,
    started: Moment,
    used: Moment,
}

impl Clock {
    pub(super) fn start(limits: Limits, now: Moment) -> Self {
        Self { limits, started: now, used: now }
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Records a request or a reply.
    pub(super) fn touch(&mut self, now: Moment) {
        self.used = now;
    }

    /// The time until it locks if no request comes.
    pub(super) fn idle_left(&self, now: Moment) -> Duration {
        self.limits.idle.saturating_sub(now.since(self.used)).min(self.total_left(now))
    }

    /// The time until it locks even if requests come.
    pub(super) fn total_left(&self, now: Moment) -> Duration {
        self.limits.total.saturating_sub(now.since(self.started))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn clock(now: Moment) -> Clock {
        Clock::start(Limits { idle: 10 * SECOND, total: 60 * SECOND }, now)
    }

    /// The moment that is this many seconds later on the monotonic clock and on the wall clock.
    fn later(start: Moment, monotonic: u64, wall: i64) -> Moment {
        let by = Duration::from_secs(wall.unsigned_abs());
        Moment {
            monotonic: start.monotonic + Duration::from_secs(monotonic),
            wall: if wall < 0 { start.wall - by } else { start.wall + by },
        }
    }

    #[test]
    fn use_extends_the_idle_time_but_not_the_total_time() {
        let start = Moment::now();
        let mut clock = clock(start);
        for second in (0..60).step_by(5) {
            let now = later(start, second, second.try_into().unwrap());
            assert!(!clock.idle_left(now).is_zero());
            clock.touch(now);
        }
        assert!(clock.idle_left(later(start, 60, 60)).is_zero());
        assert!(clock.total_left(later(start, 60, 60)).is_zero());
    }

    #[test]
    fn time_during_a_suspend_counts() {
        let start = Moment::now();
        assert!(clock(start).idle_left(later(start, 1, 11)).is_zero());
        assert!(clock(start).total_left(later(start, 1, 61)).is_zero());
    }

    #[test]
    fn setting_the_wall_clock_back_does_not_extend_the_times() {
        let start = Moment::now();
        assert_eq!(clock(start).idle_left(later(start, 4, -3_600)), 6 * SECOND);
        assert!(clock(start).idle_left(later(start, 10, -3_600)).is_zero());
    }
}
