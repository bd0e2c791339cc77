//! How long a leader waits for delay before it closes its group.
//!
//! Those whose group became durable are back within microseconds if they are busy. Who then closes the next group at
//! once leaves them behind, and two halves of the callers take turns of one sync each. So a leader waits until as many
//! calls have joined as were in the last group and behind it, for half the time that the last group took to be stored
//! at most: `commit_delay` and `commit_siblings` of `PostgreSQL`, set by what was seen. A caller who is alone never waits.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What one group tells about the next.
#[derive(Default)]
pub(super) struct CommitDelay {
    /// Calls in the group that is being formed.
    joined: AtomicUsize,
    /// Some call found no room in it.
    full: AtomicBool,
    /// Calls in the last group, and those that waited behind it when it was durable.
    expected: AtomicUsize,
    /// Nanoseconds of limit.
    limit: AtomicU64,
}

impl CommitDelay {
    /// A call has joined the group.
    pub(super) fn enqueue(&self) {
        self.joined.fetch_add(1, Ordering::Relaxed);
    }

    /// A call that does not fit waits for the group to be committed.
    pub(super) fn mark_full(&self) {
        self.full.store(true, Ordering::Relaxed);
    }

    /// Returns when the group is worth closing. The caller holds no lock that a call needs.
    pub(super) fn wait(&self) {
        let limit = Duration::from_nanos(self.limit.load(Ordering::Relaxed));
        let start = Instant::now();
        while self.joined.load(Ordering::Relaxed) < self.expected.load(Ordering::Relaxed)
            && !self.full.load(Ordering::Relaxed)
            && start.elapsed() < limit
        {
            // A sleep would be longer than all this.
            thread::yield_now();
        }
    }

    /// The group is closed; answers how many calls are in it.
    pub(super) fn close(&self) -> usize {
        self.full.store(false, Ordering::Relaxed);
        self.joined.swap(0, Ordering::Relaxed)
    }

    /// A group of so many calls has been stored within `took`, and nobody has been told yet.
    pub(super) fn record(&self, calls: usize, took: Duration) {
        let behind = self.joined.load(Ordering::Relaxed);
        self.expected.store(calls.saturating_add(behind), Ordering::Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.limit.store((nanoseconds / 2).min(LONGEST_NANOSECONDS), Ordering::Relaxed);
    }
}

/// Nanoseconds that nobody waits longer than, however slow the disk: 5 ms.
const LONGEST_NANOSECONDS: u64 = 5_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// How long a group waits that follows one of `calls`, `behind` of which waited, and has `joined` calls.
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
    fn only_who_expects_delay_waits_and_not_for_long() {
        let limit = Duration::from_nanos(LONGEST_NANOSECONDS);
        assert!(waited(1, 0, 1, false, LONG) < limit, "alone");
        assert!(waited(3, 1, 4, false, LONG) < limit, "all are there");
        assert!(waited(3, 1, 2, true, LONG) < limit, "no room for more");
        assert!(waited(3, 1, 2, false, Duration::ZERO) < limit, "storing takes no time");
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
