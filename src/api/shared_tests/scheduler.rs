//! A network whose seed decides which host goes next, and what happens to its operation.
//!
//! Every operation of a host is a point at which any other host may go first. Exactly one host runs at a time, so a seed stands
//! for one order of all steps.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inmost_engines::memory::shared::{Network, Operation, SharedMemory, Verdict};

use inmost_testing::Random;

/// The scheduler of one run.
pub(super) struct Scheduler {
    state: Mutex<State>,
    turn: Condvar,
    server: SharedMemory,
}

struct State {
    random: Random,
    hosts: BTreeMap<u64, Status>,
    /// Faults of each thousand operations.
    faults: u64,
    operations: u64,
    counted: BTreeMap<u64, u64>,
    /// Whether anything has gone wrong with an operation.
    is_faulty: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Running,
    Waiting(Operation),
    Granted(Verdict),
}

impl Scheduler {
    pub(super) fn new(server: &SharedMemory, seed: u64, faults: u64) -> Self {
        let state = State {
            random: Random(seed),
            hosts: BTreeMap::new(),
            faults,
            operations: 0,
            counted: BTreeMap::new(),
            is_faulty: false,
        };
        Self { state: Mutex::new(state), turn: Condvar::new(), server: server.clone() }
    }

    /// Lets a host take part. Nobody goes on until it has reached an operation.
    pub(super) fn join(&self, host: u64) {
        self.state().hosts.insert(host, Status::Running);
    }

    /// Ends the part of a host.
    pub(super) fn leave(&self, host: u64) {
        let mut state = self.state();
        state.hosts.remove(&host);
        self.choose(&mut state);
    }

    /// Ends the run: from here on nobody waits for another.
    pub(super) fn stop(&self) {
        self.state().hosts.clear();
        self.turn.notify_all();
    }

    /// Operations of a host so far, without those that only waited for a lock.
    pub(super) fn operations_of(&self, host: u64) -> u64 {
        self.state().counted.get(&host).copied().unwrap_or_default()
    }

    pub(super) fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Whether anything has gone wrong with an operation so far.
    pub(super) fn is_faulty(&self) -> bool {
        self.state().is_faulty
    }

    /// Chooses the next host, once all of them wait.
    fn choose(&self, state: &mut State) {
        let waiting: Vec<(u64, Operation)> = state
            .hosts
            .iter()
            .filter_map(|(host, status)| match status {
                Status::Waiting(operation) => Some((*host, *operation)),
                Status::Running | Status::Granted(_) => None,
            })
            .collect();
        if waiting.is_empty() || waiting.len() < state.hosts.len() {
            return;
        }
        let (host, operation) = waiting[state.random.below(waiting.len())];
        state.operations += 1;
        assert!(state.operations < MOST, "the hosts go on for ever");
        if operation != Operation::Wait {
            *state.counted.entry(host).or_default() += 1;
        }
        let verdict = state.verdict(operation);
        state.hosts.insert(host, Status::Granted(verdict));
        self.turn.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn verdict(&mut self, operation: Operation) -> Verdict {
        if self.faults == 0 || self.random.below(1_000) >= usize::try_from(self.faults).unwrap() {
            return Verdict::Perform;
        }
        self.is_faulty = true;
        let verdicts: &[Verdict] = match operation {
            Operation::Apply => &[
                Verdict::Refuse,
                Verdict::LoseRequest,
                Verdict::LoseReply,
                Verdict::LoseReply,
                Verdict::Delay,
                Verdict::Die,
            ],
            Operation::Wait => &[Verdict::Perform],
            _ => &[Verdict::Refuse, Verdict::Refuse, Verdict::Die],
        };
        verdicts[self.random.below(verdicts.len())]
    }
}

impl Network for Scheduler {
    fn before(&self, host: u64, operation: Operation) -> Verdict {
        let mut state = self.state();
        if !state.hosts.contains_key(&host) {
            // Before and after the run.
            return Verdict::Perform;
        }
        state.hosts.insert(host, Status::Waiting(operation));
        self.choose(&mut state);
        let verdict = loop {
            match state.hosts.get(&host) {
                Some(Status::Granted(verdict)) => break *verdict,
                Some(_) => {}
                None => return Verdict::Perform,
            }
            let waited =
                self.turn.wait_timeout(state, STUCK).unwrap_or_else(PoisonError::into_inner);
            assert!(!waited.1.timed_out(), "a host neither works nor asks");
            state = waited.0;
        };
        state.hosts.insert(host, Status::Running);
        let delivers = state.faults > 0 && state.random.below(8) == 0;
        drop(state);
        if delivers {
            let _ = self.server.deliver();
        }
        verdict
    }

    fn is_scheduled(&self) -> bool {
        true
    }
}

/// More operations than any run needs.
const MOST: u64 = 50_000;
/// Longer than any step of a host takes on a busy machine.
const STUCK: Duration = Duration::from_secs(120);
