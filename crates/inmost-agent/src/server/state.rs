//! The state that the threads of the agent share: its clients, the requests under way, and its end.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::clock::{Clock, Moment};
use crate::facts::{AgentFacts, Limits};

/// Shared by all threads of an agent.
pub(super) struct State {
    inner: Mutex<Inner>,
    /// Notified when a request is finished.
    finished: Condvar,
    /// Wakes the thread that waits for connections.
    waker: UnixStream,
}

struct Inner {
    clock: Clock,
    is_ending: bool,
    threads: usize,
    under_way: usize,
    /// The processes of the accepted clients, by the number of their connection.
    connected: BTreeMap<u64, u32>,
    next: u64,
}

impl State {
    pub(super) fn new(limits: Limits, waker: UnixStream) -> Self {
        let inner = Inner {
            clock: Clock::start(limits, Moment::now()),
            is_ending: false,
            threads: 0,
            under_way: 0,
            connected: BTreeMap::new(),
            next: 0,
        };
        Self { inner: Mutex::new(inner), finished: Condvar::new(), waker }
    }

    /// Ends the agent: it accepts no client and begins no request from now on.
    pub(super) fn end(&self) {
        self.lock().is_ending = true;
        // If this fails, the thread notices when it next reads the clock.
        let _ = (&self.waker).write(&[0]);
    }

    /// The time until the agent ends if no request comes; `None` if it must end now.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let inner = self.lock();
        let left = inner.time_left(Moment::now());
        (!inner.is_ending && !left.is_zero()).then_some(left)
    }

    /// Registers one more thread; `None` if there are too many.
    pub(super) fn admit(&self) -> Option<Thread<'_>> {
        let mut inner = self.lock();
        let has_room = inner.threads < MOST_THREADS;
        has_room.then(|| {
            inner.threads += 1;
            Thread(self)
        })
    }

    /// Accepts a client.
    pub(super) fn connect(&self, process: u32) -> Result<Connected<'_>, NotNow> {
        let mut inner = self.lock();
        if inner.is_ending || inner.time_left(Moment::now()).is_zero() {
            return Err(NotNow::Ending);
        }
        if inner.connected.len() >= MOST_CONNECTED {
            return Err(NotNow::Full);
        }
        let number = inner.next;
        inner.next += 1;
        inner.connected.insert(number, process);
        Ok(Connected { state: self, number })
    }

    /// Begins a request; `None` if the time is over, as it may be after a suspend. `is_use` restarts the idle time.
    pub(super) fn begin(&self, is_use: bool) -> Option<Work<'_>> {
        let mut inner = self.lock();
        let now = Moment::now();
        if inner.is_ending || inner.time_left(now).is_zero() {
            drop(inner);
            self.end();
            return None;
        }
        if is_use {
            inner.clock.touch(now);
        }
        inner.under_way += 1;
        Some(Work { state: self, is_use })
    }

    /// Waits up to `most` until no request is under way; returns whether none is.
    pub(super) fn wait_for_work(&self, most: Duration) -> bool {
        let deadline = Instant::now() + most;
        let mut inner = self.lock();
        while inner.under_way > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.finished.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// A running request counts as use, however long it takes.
    fn time_left(&self, now: Moment) -> Duration {
        if self.under_way > 0 { self.clock.total_left(now) } else { self.clock.idle_left(now) }
    }
}

/// Why a client is not accepted.
pub(super) enum NotNow {
    Ending,
    Full,
}

/// A registered thread.
pub(super) struct Thread<'s>(&'s State);

impl Drop for Thread<'_> {
    fn drop(&mut self) {
        self.0.lock().threads -= 1;
    }
}

/// An accepted client.
pub(super) struct Connected<'s> {
    state: &'s State,
    number: u64,
}

impl Connected<'_> {
    /// The facts of the agent for this client.
    pub(super) fn facts(&self) -> AgentFacts {
        let inner = self.state.lock();
        let now = Moment::now();
        let others = inner.connected.iter().filter(|(number, _)| **number != self.number);
        AgentFacts {
            process: std::process::id(),
            connected: others.map(|(_, process)| *process).collect(),
            limits: inner.clock.limits(),
            idle_left: inner.clock.idle_left(now),
            total_left: inner.clock.total_left(now),
        }
    }
}

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.state.lock().connected.remove(&self.number);
    }
}

/// A request that is under way.
pub(super) struct Work<'s> {
    state: &'s State,
    is_use: bool,
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let mut inner = self.state.lock();
        inner.under_way -= 1;
        if self.is_use {
            inner.clock.touch(Moment::now());
        }
        self.state.finished.notify_all();
    }
}

/// The maximum of connected clients; far more than one person uses.
const MOST_CONNECTED: usize = 64;

/// The maximum of threads: one for each client, and for each connection that has not sent its hello yet.
const MOST_THREADS: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    fn state(idle: Duration, total: Duration) -> State {
        State::new(Limits { idle, total }, UnixStream::pair().unwrap().0)
    }

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(3_600);

    fn pass(time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_request_longer_than_the_idle_time_counts_as_use() {
        let state = state(SHORT, LONG);
        let work = state.begin(true).unwrap();
        pass(2 * SHORT);
        assert!(state.time_left().unwrap() > LONG / 2);
        drop(work);
        assert!(state.time_left().unwrap() <= SHORT, "the idle time restarts when it ends");
        pass(2 * SHORT);
        assert!(state.time_left().is_none());
        assert!(state.begin(true).is_none(), "a request that comes too late is refused");
    }

    #[test]
    fn the_total_time_ends_even_running_work() {
        let state = state(LONG, SHORT);
        let _work = state.begin(true).unwrap();
        pass(2 * SHORT);
        assert!(state.time_left().is_none());
        assert!(state.begin(true).is_none());
        assert!(!state.wait_for_work(SHORT), "the wait is limited");
    }

    #[test]
    fn a_disconnected_client_frees_its_place() {
        let state = state(LONG, LONG);
        let threads: Vec<_> = (0..MOST_THREADS).map(|_| state.admit().unwrap()).collect();
        assert!(state.admit().is_none());
        drop(threads);
        assert!(state.admit().is_some());
        let clients: Vec<_> = (0..MOST_CONNECTED).map(|_| state.connect(7).ok().unwrap()).collect();
        assert!(matches!(state.connect(7), Err(NotNow::Full)));
        assert_eq!(clients[0].facts().connected, [7; MOST_CONNECTED - 1]);
        drop(clients);
        assert!(state.connect(7).is_ok());
        state.end();
        assert!(matches!(state.connect(7), Err(NotNow::Ending)));
    }
}
