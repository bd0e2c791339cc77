//! The state that the threads of the daemon share: its connections, the requests under way, and its end.
//!
//! Connections that have sent no hello, and those for the status alone, have room of their own. There the newest takes the
//! place of the oldest, so that a client that stalls never keeps another one from locking the store or reading its status.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::clock::{Clock, Moment};
use super::listening::Waker;
use crate::facts::{DaemonFacts, Limits, SyncFacts};
use crate::stream::Stream;

/// Shared by all threads of a daemon.
pub(super) struct State {
    inner: Mutex<Inner>,
    /// Notified when a request is finished.
    finished: Condvar,
    /// Wakes the thread that waits for connections.
    waker: Waker,
}

struct Inner {
    clock: Clock,
    is_ending: bool,
    under_way: usize,
    /// The connections without a place, by their number: the oldest is the first.
    passing: BTreeMap<u64, Arc<Stream>>,
    /// The clients that have a place, by the number of their connection.
    connected: BTreeMap<u64, Connected>,
    next: u64,
}

/// A client that has a place.
struct Connected {
    process: u32,
    stream: Arc<Stream>,
}

impl State {
    pub(super) fn new(limits: Limits, waker: Waker) -> Self {
        let inner = Inner {
            clock: Clock::start(limits, Moment::now()),
            is_ending: false,
            under_way: 0,
            passing: BTreeMap::new(),
            connected: BTreeMap::new(),
            next: 0,
        };
        Self { inner: Mutex::new(inner), finished: Condvar::new(), waker }
    }

    /// Ends the daemon: it accepts no client and begins no request from now on.
    pub(super) fn end(&self) {
        self.lock().is_ending = true;
        self.waker.wake();
    }

    /// The time until the daemon ends if no request comes; `None` if it must end now.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let inner = self.lock();
        let left = inner.time_left(Moment::now());
        (!inner.is_ending && !left.is_zero()).then_some(left)
    }

    /// Registers a new connection. If there are too many without a place, the oldest of them is disconnected.
    pub(super) fn arrive(self: &Arc<Self>, stream: &Arc<Stream>) -> Arrival {
        let mut inner = self.lock();
        if inner.passing.len() >= MOST_PASSING
            && let Some((_, oldest)) = inner.passing.pop_first()
        {
            // Its thread finds the end of the connection.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let number = inner.next;
        inner.next += 1;
        inner.passing.insert(number, Arc::clone(stream));
        Arrival { state: Arc::clone(self), number }
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

    /// Receives nothing more from clients. What they send from here on fails at once, so they know that it was not executed.
    /// Otherwise a request could still be accepted by a process that is ending.
    pub(super) fn stop_receiving(&self) {
        for client in self.lock().connected.values() {
            let _ = client.stream.shutdown(Shutdown::Read);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn is_over(&self) -> bool {
        self.is_ending || self.time_left(Moment::now()).is_zero()
    }

    /// A running request counts as use, however long it takes.
    fn time_left(&self, now: Moment) -> Duration {
        if self.under_way > 0 { self.clock.total_left(now) } else { self.clock.idle_left(now) }
    }
}

/// Why a client gets no place.
pub(super) enum NotNow {
    Ending,
    Full,
}

/// A registered connection, until it is dropped.
pub(super) struct Arrival {
    state: Arc<State>,
    number: u64,
}

impl Arrival {
    /// Gives the client a place, which it keeps as long as the connection lasts.
    pub(super) fn connect(&self, process: u32) -> Result<(), NotNow> {
        let mut inner = self.state.lock();
        if inner.is_over() {
            return Err(NotNow::Ending);
        }
        if inner.connected.len() >= MOST_CONNECTED {
            return Err(NotNow::Full);
        }
        // A connection that lost its room to a newer one has ended.
        let stream = inner.passing.remove(&self.number).ok_or(NotNow::Full)?;
        inner.connected.insert(self.number, Connected { process, stream });
        Ok(())
    }

    /// Whether the daemon is about to end.
    pub(super) fn is_late(&self) -> bool {
        self.state.lock().is_over()
    }

    /// Takes the connection out of the room that newer ones compete for. `None` if it has lost that already.
    pub(super) fn keep(&self) -> Option<Arc<Stream>> {
        self.state.lock().passing.remove(&self.number)
    }

    /// The facts of the daemon for this client.
    pub(super) fn facts(&self) -> DaemonFacts {
        let inner = self.state.lock();
        let now = Moment::now();
        let others = inner.connected.iter().filter(|(number, _)| **number != self.number);
        DaemonFacts {
            process: std::process::id(),
            connected: others.map(|(_, client)| client.process).collect(),
            limits: inner.clock.limits(),
            idle_left: inner.clock.idle_left(now),
            total_left: inner.clock.total_left(now),
            sync: SyncFacts::default(),
        }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        let mut inner = self.state.lock();
        inner.passing.remove(&self.number);
        inner.connected.remove(&self.number);
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

/// The maximum of clients with a place; far more than one person uses.
const MOST_CONNECTED: usize = 64;

/// The maximum of connections without a place. A client sends its hello at once, so more are there only if clients stall.
const MOST_PASSING: usize = 32;

// The ends of connections are pairs of sockets.
#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    fn state(idle: Duration, total: Duration) -> State {
        State::new(Limits { idle, total }, Waker::of_nobody())
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

    /// A connection, and its two ends.
    fn arrive(state: &Arc<State>) -> (Arrival, UnixStream, Arc<UnixStream>) {
        let (client, daemon) = UnixStream::pair().unwrap();
        let daemon = Arc::new(daemon);
        (state.arrive(&daemon), client, daemon)
    }

    /// Whether the daemon has ended this connection.
    fn is_ended(client: &mut UnixStream) -> bool {
        client.set_nonblocking(true).unwrap();
        matches!(client.read(&mut [0]), Ok(0))
    }

    #[test]
    fn a_disconnected_client_frees_its_place() {
        let state = Arc::new(state(LONG, LONG));
        let connect = |_| {
            let client = arrive(&state);
            assert!(client.0.connect(7).is_ok());
            client
        };
        let mut clients: Vec<_> = (0..MOST_CONNECTED).map(connect).collect();
        let (late, ..) = arrive(&state);
        assert!(matches!(late.connect(7), Err(NotNow::Full)));
        assert_eq!(clients[0].0.facts().connected, [7; MOST_CONNECTED - 1]);
        assert_eq!(late.facts().connected, [7; MOST_CONNECTED]);
        clients.pop();
        assert!(late.connect(7).is_ok());
        state.end();
        clients.pop();
        assert!(matches!(arrive(&state).0.connect(7), Err(NotNow::Ending)));
    }

    #[test]
    fn a_daemon_that_ends_receives_nothing_more_and_can_still_reply() {
        let state = Arc::new(state(LONG, LONG));
        let (arrival, mut client, daemon) = arrive(&state);
        assert!(arrival.connect(7).is_ok());
        client.write_all(&[1]).unwrap();
        state.stop_receiving();
        let refused = client.write(&[2]).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::BrokenPipe);
        (&*daemon).write_all(&[3]).unwrap();
        let mut reply = [0];
        client.read_exact(&mut reply).unwrap();
        assert_eq!(reply, [3]);
    }

    #[test]
    fn of_too_many_connections_without_a_place_the_oldest_ends() {
        let state = Arc::new(state(LONG, LONG));
        let (client, mut its_stream, _end) = arrive(&state);
        assert!(client.connect(7).is_ok());
        let (locking, mut stream_of_locking, _other_end) = arrive(&state);
        let kept = locking.keep();
        assert!(kept.is_some());
        let mut waiting: Vec<_> = (0..MOST_PASSING).map(|_| arrive(&state)).collect();
        assert!(!waiting.iter_mut().any(|(_, stream, _)| is_ended(stream)));
        let newest = arrive(&state);
        let ended: Vec<_> = waiting.iter_mut().map(|(_, stream, _)| is_ended(stream)).collect();
        assert_eq!(ended.iter().position(|ended| *ended), Some(0));
        assert_eq!(ended.iter().filter(|ended| **ended).count(), 1);
        assert!(!is_ended(&mut its_stream) && !is_ended(&mut stream_of_locking));
        drop((waiting, newest));
        assert!(state.lock().passing.is_empty());
    }
}
