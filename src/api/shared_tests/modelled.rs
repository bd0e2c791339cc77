//! Paths of the model of hosts that share a vault (docs/PROOFS.md), with real sessions: what each call returns, and what the vault has
//! then, must be what the model says.
//!
//! Each seed is one path: the calls of one host, whose requests meet the fates that the seed chooses, with calls of another one in
//! between. `INMOST_SEEDS=0..3000 cargo test -p inmost --lib hosts_do` runs the long form.

use std::sync::{Arc, Mutex};

use inmost_engines::memory::shared::{Network, Operation, SharedMemory, Verdict};
use inmost_testing::{Random, seeds};

use super::SharedStore;
use crate::session::{Session, StoreError};
use crate::vfs::FileError;

#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    dead_code,
    reason = "a model has small numbers, and rules that the explorer alone leaves out"
)]
#[path = "../../../tests/model/src/hosts.rs"]
mod hosts;
use hosts::{Action, Bounds, Fate, Outcome, Stage, State, call_of};

const BOUNDS: Bounds = Bounds {
    hosts: 2,
    calls: 60,
    faults: 255,
    // Of a root alone. No path is near it.
    reach: 20,
    kept: 16,
    without: None,
};

/// A path, and the network of the first host.
struct Path {
    state: State,
    random: Random,
    server: SharedMemory,
    other: Session,
    /// Conflicts of the present call. After some, a call locks the root, and nobody comes in between any more.
    conflicts: u8,
}

impl Path {
    fn act(&mut self, action: Action) {
        assert!(self.state.actions(&BOUNDS).contains(&action), "{action:?}");
        self.state = self.state.next(&BOUNDS, action);
        assert_eq!(self.state.violation(), None);
    }

    /// What the first host does between two requests.
    fn go_on(&mut self) -> Option<Stage> {
        if matches!(self.state.hosts[0].0, Some(Stage::Begin(_))) {
            self.act(Action::Make(0));
        }
        self.state.hosts[0].0
    }

    /// Another host makes changes.
    fn change(&mut self) {
        for _ in 0..[0, 0, 1, 2, 25][self.random.below(5)] {
            if self.state.hosts[1].1 == BOUNDS.calls {
                return;
            }
            self.act(Action::Call(1));
            append(&self.other, call_of(1, self.state.hosts[1].1)).unwrap();
            self.act(Action::Make(1));
            self.act(Action::Send(1, Fate::Perform));
            assert_eq!(self.state.outcomes.last().unwrap().1, Outcome::Done);
        }
    }

    /// Others come in between, and the server may lose trails.
    fn meanwhile(&mut self) {
        if self.conflicts < 2 {
            self.change();
            // A young store can be told from its beginning.
            let may_lose = self.state.actions(&BOUNDS).contains(&Action::LoseTrails);
            if self.state.applied.len() > 25 && may_lose && self.random.below(3) == 0 {
                self.server.with(|vault| vault.trails.clear());
                self.act(Action::LoseTrails);
            }
        }
    }

    fn deliver(&mut self) {
        let _ = self.server.deliver();
        while let Some(Action::Deliver(batch)) = self.state.actions(&BOUNDS).first().copied() {
            self.act(Action::Deliver(batch));
        }
    }

    fn send(&mut self) -> Verdict {
        let stage = self.go_on();
        assert!(matches!(stage, Some(Stage::Send(_) | Stage::Again(_))), "{stage:?}");
        self.meanwhile();
        if self.random.below(4) == 0 {
            self.deliver();
        }
        // Nothing is late or sent twice in a transaction, which a call begins after two conflicts.
        let fates = if self.conflicts < 2 { 10 } else { 8 };
        let (fate, verdict) = match self.random.below(fates) {
            0 => (Fate::Refuse, Verdict::Refuse),
            1 => (Fate::LoseRequest, Verdict::LoseRequest),
            2 | 3 => (Fate::LoseReply, Verdict::LoseReply),
            8 => (Fate::Delay, Verdict::Delay),
            9 => (Fate::Double, Verdict::Double),
            _ => (Fate::Perform, Verdict::Perform),
        };
        self.act(Action::Send(0, fate));
        verdict
    }

    /// A host that looks what became of its batch may be too late, or have to ask again.
    fn pull(&mut self) -> Verdict {
        if !matches!(self.state.hosts[0].0, Some(Stage::Look(_))) {
            return Verdict::Perform;
        }
        self.meanwhile();
        if self.random.below(4) == 0 {
            return Verdict::Refuse;
        }
        self.conflicts += 1;
        self.act(Action::Look(0));
        Verdict::Perform
    }
}

struct Requests(Mutex<Path>);

impl Network for Requests {
    fn before(&self, _host: u64, operation: Operation) -> Verdict {
        match operation {
            Operation::Apply => self.0.lock().unwrap().send(),
            Operation::Pull => self.0.lock().unwrap().pull(),
            _ => Verdict::Perform,
        }
    }
}

fn append(session: &Session, call: u8) -> Result<(), FileError> {
    session.files().append("/memories/log", &format!("{call}\n")).map(drop)
}

fn follow(seed: u64) -> [usize; 3] {
    let (store, other) = SharedStore::create();
    other.files().write("/memories/log", "").unwrap();
    while other.status().unwrap().commit < 16 {
        other.files().append("/memories/padding", "x").unwrap();
    }
    let path = Path {
        state: State::new(&BOUNDS),
        random: Random(seed),
        server: store.server.clone(),
        other: other.clone(),
        conflicts: 0,
    };
    let requests = Arc::new(Requests(Mutex::new(path)));
    let mut counts = [0; 3];
    for _ in 0..8 {
        // A session that no server can prove the newest state to is of no use any more.
        let one = store.try_unlock(store.server.host_over(requests.clone())).unwrap();
        let call = {
            let mut path = requests.0.lock().unwrap();
            path.conflicts = 0;
            path.act(Action::Call(0));
            call_of(0, path.state.hosts[0].1)
        };
        let outcome = match append(&one, call) {
            Ok(()) => Outcome::Done,
            Err(FileError::Store(StoreError::Unavailable(_))) => Outcome::Unavailable,
            Err(FileError::Store(StoreError::CommitUnknown | StoreError::RolledBack { .. })) => {
                Outcome::Unknown
            }
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let mut path = requests.0.lock().unwrap();
        assert_eq!(
            path.go_on(),
            None,
            "seed {seed}: {outcome:?} {:?} {:?}",
            path.state,
            path.state.applied.len()
        );
        assert_eq!(path.state.outcomes.last(), Some(&(call, outcome)), "seed {seed}");
        counts[match outcome {
            Outcome::Done => 0,
            Outcome::Unavailable => 1,
            Outcome::Unknown => 2,
        }] += 1;
        if path.random.below(2) == 0 {
            path.deliver();
        }
        let applied = path.state.applied.iter().map(|batch| format!("{}\n", batch.call));
        let found = other.files().read("/memories/log").unwrap();
        assert_eq!(found.as_str(), applied.collect::<String>(), "seed {seed}");
    }
    counts
}

#[test]
fn hosts_do_what_the_model_says() {
    let mut counts = [0; 3];
    for seed in seeds(0..40) {
        for (count, more) in counts.iter_mut().zip(follow(seed)) {
            *count += more;
        }
    }
    assert!(counts.iter().all(|count| *count > 0), "done, failed, unknown: {counts:?}");
}
