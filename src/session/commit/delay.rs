//! The time that a call waits for more calls before its group is closed.
//!
//! Busy callers return within microseconds once their group is durable. A group that was closed at once would miss
//! them, and two halves of the callers would take turns with one sync each. So the first call of a group waits until as
//! many calls have joined as were in the last group and behind it, but at most half the time that storing the last
//! group took. The last expected call does not wake it, it commits the group itself. This is `commit_delay` and
//! `commit_siblings` of `PostgreSQL`, set from measurements. A caller that is alone never waits.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Measurements of the last group that set the delay of the next.
#[derive(Default)]
pub(crate) struct CommitDelay {
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
    pub(crate) fn enqueue(&self) {
        self.joined.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a call does not fit and waits for the group to be committed.
    pub(crate) fn mark_full(&self) {
        self.full.store(true, Ordering::Relaxed);
    }

    /// Whether no more calls are expected.
    pub(crate) fn is_complete(&self) -> bool {
        self.joined.load(Ordering::Relaxed) >= self.expected.load(Ordering::Relaxed)
            || self.full.load(Ordering::Relaxed)
    }

    /// The longest time to wait for the expected calls.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_nanos(self.limit.load(Ordering::Relaxed))
    }

    /// Expects this many calls for longer than a test takes, unless one of them never comes.
    #[cfg(test)]
    pub(crate) fn expect(&self, calls: usize) {
        self.expected.store(calls, Ordering::Relaxed);
        self.limit.store(20_000_000_000, Ordering::Relaxed);
    }

    /// The calls that have joined the group.
    #[cfg(test)]
    pub(crate) fn joined(&self) -> usize {
        self.joined.load(Ordering::Relaxed)
    }

    /// Closes the group and returns the number of its calls.
    pub(crate) fn close(&self) -> usize {
        self.full.store(false, Ordering::Relaxed);
        self.joined.swap(0, Ordering::Relaxed)
    }

    /// Records that a group of this many calls was stored within `took`. Must run before its callers are woken.
    pub(crate) fn record(&self, calls: usize, took: Duration) {
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

    /// After a group of `calls` calls with `behind` calls behind it, and with `joined` calls in the next.
    fn after(calls: usize, behind: usize, joined: usize) -> CommitDelay {
        let delay = CommitDelay::default();
        (0..behind).for_each(|_| delay.enqueue());
        delay.record(calls, LONG);
        (behind..joined).for_each(|_| delay.enqueue());
        delay
    }

    #[test]
    fn a_group_is_complete_when_the_expected_calls_have_joined_or_one_does_not_fit() {
        assert!(after(1, 0, 1).is_complete(), "alone");
        assert!(after(3, 1, 4).is_complete(), "every expected call has joined");
        let delay = after(3, 1, 3);
        assert!(!delay.is_complete(), "one is missing");
        delay.mark_full();
        assert!(delay.is_complete(), "the group is full");
    }

    #[test]
    fn the_wait_is_half_of_the_last_and_not_long() {
        let delay = CommitDelay::default();
        assert_eq!(delay.limit(), Duration::ZERO);
        delay.record(1, Duration::from_millis(2));
        assert_eq!(delay.limit(), Duration::from_millis(1));
        delay.record(1, LONG);
        assert_eq!(delay.limit(), Duration::from_millis(5));
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
        assert!(!delay.is_complete(), "two were expected");
        assert_eq!(delay.close(), 1);
    }
}
