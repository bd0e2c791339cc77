//! The time that a leader waits for more calls before it closes its group.
//!
//! Busy callers return within microseconds once their group is durable. A leader that closed the next group at once
//! would miss them, and two halves of the callers would take turns with one sync each. So a leader waits until as many
//! calls have joined as were in the last group and behind it, but at most half the time that storing the last group
//! took. This is `commit_delay` and `commit_siblings` of `PostgreSQL`, set from measurements. A caller that is alone
//! never waits.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Measurements of the last group that set the delay of the next.
#[derive(Default)]
pub(super) struct CommitDelay {
    /// Calls in the group that is being formed.
    joined: AtomicUsize,
    /// Whether a call did not fit the group.
    full: AtomicBool,
    /// Calls in the last group, plus those that waited behind it when it became durable.
    expected: AtomicUsize,
    /// The longest wait, in nanoseconds.
    limit: AtomicU64,
}

impl CommitDelay {
    /// Counts a call that has joined the group.
    pub(super) fn enqueue(&self) {
        self.joined.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a call does not fit and waits for the group to be committed.
    pub(super) fn mark_full(&self) {
        self.full.store(true, Ordering::Relaxed);
    }

    /// Waits until the group should be closed. The caller must hold no lock that a call needs.
    pub(super) fn wait(&self) {
        let limit = Duration::from_nanos(self.limit.load(Ordering::Relaxed));
        let start = Instant::now();
        while self.joined.load(Ordering::Relaxed) < self.expected.load(Ordering::Relaxed)
            && !self.full.load(Ordering::Relaxed)
            && start.elapsed() < limit
        {
            // A sleep would be longer than the whole delay.
            thread::yield_now();
        }
    }

    /// Closes the group and returns the number of its calls.
    pub(super) fn close(&self) -> usize {
        self.full.store(false, Ordering::Relaxed);
        self.joined.swap(0, Ordering::Relaxed)
    }

    /// Records that a group of this many calls was stored within `took`. Must run before its callers are woken.
    pub(super) fn record(&self, calls: usize, took: Duration) {
        let behind = self.joined.load(Ordering::Relaxed);
        self.expected.store(calls.saturating_add(behind), Ordering::Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.limit.store((nanoseconds / 2).min(LONGEST_NANOSECONDS), Ordering::Relaxed);
    }
}

/// The longest wait in nanoseconds, however slow the disk: 5 ms.
const LONGEST_NANOSECONDS: u64 = 5_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Returns how long a group waits that has `joined` calls, after a group of `calls` calls with `behind` calls
    /// behind it.
    fn waited(calls: usize, behind: usize, joined: usize, full: bool, took: Duration) -> Duration {
        let delay = CommitDelay::default();
        (0..behind).for_each(|_| delay.enqueue());
        delay.record(calls, took);
        (behind..joined).for_each(|_| delay.enqueue());
        if full {
            delay.mark_full();
        }
        let start = Instant::now();
        delay.wait();
        start.elapsed()
    }

    #[test]
    fn only_a_leader_that_expects_calls_waits_and_not_for_long() {
        let limit = Duration::from_nanos(LONGEST_NANOSECONDS);
        assert!(waited(1, 0, 1, false, LONG) < limit, "alone");
        assert!(waited(3, 1, 4, false, LONG) < limit, "every expected call has joined");
        assert!(waited(3, 1, 2, true, LONG) < limit, "the group is full");
        assert!(waited(3, 1, 2, false, Duration::ZERO) < limit, "storing took no time");
        assert!(waited(3, 1, 3, false, LONG) >= limit, "one is missing");
    }

    #[test]
    fn a_group_that_is_closed_is_forgotten() {
        let delay = CommitDelay::default();
        delay.enqueue();
        delay.enqueue();
        delay.mark_full();
        assert_eq!(delay.close(), 2);
        delay.record(2, LONG);
        delay.enqueue();
        let start = Instant::now();
        delay.wait();
        assert!(start.elapsed() >= Duration::from_nanos(LONGEST_NANOSECONDS), "two were expected");
        assert_eq!(delay.close(), 1);
    }
}
