//! How long a leader waits for company before it closes its group.
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
pub(super) struct Company {
    /// Calls in the group that is being formed.
    joined: AtomicUsize,
    /// Some call found no room in it.
    full: AtomicBool,
    /// Calls in the last group, and those that waited behind it when it was durable.
    expected: AtomicUsize,
    /// Nanoseconds of patience.
    patience: AtomicU64,
}

impl Company {
    /// A call has joined the group.
    pub(super) fn join(&self) {
        self.joined.fetch_add(1, Ordering::Relaxed);
    }

    /// A call that does not fit waits for the group to be committed.
    pub(super) fn refuse(&self) {
        self.full.store(true, Ordering::Relaxed);
    }

    /// Returns when the group is worth closing. The caller holds no lock that a call needs.
    pub(super) fn wait(&self) {
        let patience = Duration::from_nanos(self.patience.load(Ordering::Relaxed));
        let start = Instant::now();
        while self.joined.load(Ordering::Relaxed) < self.expected.load(Ordering::Relaxed)
            && !self.full.load(Ordering::Relaxed)
            && start.elapsed() < patience
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
    pub(super) fn stored(&self, calls: usize, took: Duration) {
        let behind = self.joined.load(Ordering::Relaxed);
        self.expected.store(calls.saturating_add(behind), Ordering::Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.patience.store((nanoseconds / 2).min(PATIENCE_MOST), Ordering::Relaxed);
    }
}

/// Nanoseconds that nobody waits longer than, however slow the disk: 5 ms.
const PATIENCE_MOST: u64 = 5_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// How long a group waits that follows one of `calls`, `behind` of which waited, and has `joined` calls.
    fn waited(calls: usize, behind: usize, joined: usize, full: bool, took: Duration) -> Duration {
        let company = Company::default();
        (0..behind).for_each(|_| company.join());
        company.stored(calls, took);
        (behind..joined).for_each(|_| company.join());
        if full {
            company.refuse();
        }
        let start = Instant::now();
        company.wait();
        start.elapsed()
    }

    #[test]
    fn only_who_expects_company_waits_and_not_for_long() {
        let patience = Duration::from_nanos(PATIENCE_MOST);
        assert!(waited(1, 0, 1, false, LONG) < patience, "alone");
        assert!(waited(3, 1, 4, false, LONG) < patience, "all are there");
        assert!(waited(3, 1, 2, true, LONG) < patience, "no room for more");
        assert!(waited(3, 1, 2, false, Duration::ZERO) < patience, "storing takes no time");
        assert!(waited(3, 1, 3, false, LONG) >= patience, "one is missing");
    }

    #[test]
    fn a_group_that_is_closed_is_forgotten() {
        let company = Company::default();
        company.join();
        company.join();
        company.refuse();
        assert_eq!(company.close(), 2);
        company.stored(2, LONG);
        company.join();
        let start = Instant::now();
        company.wait();
        assert!(start.elapsed() >= Duration::from_nanos(PATIENCE_MOST), "two were expected");
        assert_eq!(company.close(), 1);
    }
}
