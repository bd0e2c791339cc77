//! Keeps the store in step with its circle of devices, on a thread of its own.
//!
//! A round here is no request: it does not restart the idle time, and the end of the daemon does not wait for it. The session locks
//! between two of its steps, and the next step fails. A place may never answer; then the end of the process ends the round.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::LOOK_TIME;
use super::clock::Moment;
use super::serving::Daemon;

/// Starts the thread. It ends with the daemon.
pub(super) fn start(daemon: &Arc<Daemon>, every: Duration) -> io::Result<()> {
    let daemon = Arc::clone(daemon);
    let work = move || {
        let mut pace = Pace::new(every);
        while daemon.state.time_left().is_some() && !daemon.session.is_locked() {
            // If it fails, so does the round, which says why.
            let commit = daemon.session.status().map(|status| status.commit).unwrap_or_default();
            if pace.is_due(commit, Moment::now()) {
                let run = daemon.rounds.run(&daemon.session, &mut |_| {});
                pace.note(run.is_ok(), commit, Moment::now());
            }
            thread::sleep(LOOK_TIME.min(every));
        }
        // A halted session refuses everything; the store may work when it is unlocked again.
        daemon.state.end();
    };
    thread::Builder::new().spawn(work).map(drop)
}

/// When the next round is due. Does no I/O.
struct Pace {
    every: Duration,
    /// The end of the last round.
    last: Option<Moment>,
    /// The commit before it. What the round itself has changed in the store leads to one more, which sends what was changed meanwhile.
    commit: u64,
    /// The newest commit, and when it was seen first.
    newest: Option<(u64, Moment)>,
    /// Rounds in succession that failed.
    failures: u32,
}

impl Pace {
    fn new(every: Duration) -> Self {
        Self { every, last: None, commit: 0, newest: None, failures: 0 }
    }

    fn is_due(&mut self, commit: u64, now: Moment) -> bool {
        let newest = self.newest.filter(|(newest, _)| *newest == commit);
        let (_, since) = *self.newest.insert(newest.unwrap_or((commit, now)));
        let Some(last) = self.last else { return true };
        let is_changed = commit != self.commit && now.since(since) >= QUIET;
        let pause = self.every.saturating_mul(1 << self.failures.min(MOST_DOUBLINGS));
        // The wall clock runs on during a suspend, so a round is due after it.
        is_changed && self.failures == 0 || now.since(last) >= pause
    }

    fn note(&mut self, is_done: bool, commit: u64, now: Moment) {
        self.failures = if is_done { 0 } else { self.failures.saturating_add(1) };
        (self.last, self.commit) = (Some(now), commit);
    }
}

/// How long a store must be unchanged before its changes are sent.
const QUIET: Duration = Duration::from_secs(3);

/// After failures, the interval is doubled this often at most.
const MOST_DOUBLINGS: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn later(start: Moment, monotonic: u64, suspended: u64) -> Moment {
        Moment {
            monotonic: start.monotonic + SECOND * u32::try_from(monotonic).unwrap(),
            wall: start.wall + Duration::from_secs(monotonic + suspended),
        }
    }

    #[test]
    fn a_round_is_due_after_changes_at_intervals_and_after_a_suspend() {
        let (start, mut pace) = (Moment::now(), Pace::new(60 * SECOND));
        assert!(pace.is_due(7, start));
        pace.note(true, 7, start);
        assert!(!pace.is_due(7, later(start, 59, 0)));
        assert!(pace.is_due(7, later(start, 60, 0)) && pace.is_due(7, later(start, 2, 60)));
        // A store that keeps changing is not quiet.
        assert!(!(2..9).any(|second| pace.is_due(7 + second, later(start, second, 0))));
        assert!(!pace.is_due(15, later(start, 10, 0)));
        assert!(pace.is_due(15, later(start, 11, 0)));
    }

    #[test]
    fn failures_make_the_interval_longer_up_to_a_bound() {
        let (start, mut pace) = (Moment::now(), Pace::new(60 * SECOND));
        for minutes in [2, 4, 8, 16, 16] {
            pace.note(false, 7, start);
            assert!(!pace.is_due(8, later(start, 60 * minutes - 1, 0)), "{minutes}");
            assert!(pace.is_due(8, later(start, 60 * minutes, 0)), "{minutes}");
        }
        pace.note(true, 7, start);
        assert!(pace.is_due(7, later(start, 60, 0)));
    }
}
