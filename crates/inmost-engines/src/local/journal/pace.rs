//! When checkpoints run: in a thread that exists only while the journal holds something.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::state::{Shared, lock, read};
use inmost_storage::StorageError;

/// The thread of one journal.
pub(super) struct Pace {
    turn: Arc<Turn>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Turn {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    last_commit: Option<Instant>,
    is_running: bool,
    stop: bool,
    /// Whether an epoch waits for a checkpoint.
    has_frozen: bool,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { turn: Arc::default(), thread: Mutex::default() }
    }

    /// Notes a commit: starts the thread, or tells it that there is work.
    pub(super) fn committed(&self, shared: &Arc<Shared>) {
        if !shared.tuning.background {
            return;
        }
        let has_frozen = read(&shared.layers).frozen.is_some();
        let mut state = lock(&self.turn.state);
        state.last_commit = Some(Instant::now());
        let is_news = has_frozen && !state.has_frozen;
        state.has_frozen |= has_frozen;
        if state.is_running {
            drop(state);
            if is_news {
                self.turn.changed.notify_one();
            }
            return;
        }
        let (turn, shared) = (Arc::clone(&self.turn), Arc::clone(shared));
        let started = thread::Builder::new()
            .name("inmost-journal".to_owned())
            .spawn(move || turn.run(&shared));
        // Without a thread, the commit that finds its half full makes the checkpoint.
        if let Ok(thread) = started {
            state.is_running = true;
            *lock(&self.thread) = Some(thread);
        }
    }

    /// Ends the thread, after the batch that it is writing.
    pub(super) fn stop(&self) {
        lock(&self.turn.state).stop = true;
        self.turn.changed.notify_one();
        if let Some(thread) = lock(&self.thread).take() {
            // A panic in it has poisoned nothing that is used after this.
            let _ = thread.join();
        }
    }
}

impl Turn {
    fn run(&self, shared: &Shared) {
        while let Some(work) = self.next(shared.tuning.idle) {
            let done = match work {
                Work::Checkpoint => shared.checkpoint().and_then(|_| {
                    let most = shared.tuning.index_after;
                    shared.index_if_due(|turn| {
                        turn.indexing < SLOW && most.is_some_and(|most| turn.batches >= most)
                    })
                }),
                Work::Idle => shared.settle().map(|_| ()),
            };
            if done.is_err() {
                // The next call returns the reason.
                lock(&self.state).is_running = false;
                return;
            }
        }
    }

    /// Waits for work. Returns `None`, which ends the thread, when nothing is left to do or the journal is closed.
    fn next(&self, idle: Duration) -> Option<Work> {
        let mut state = lock(&self.state);
        loop {
            let waited = state.last_commit.map_or(idle, |last| last.elapsed());
            if state.stop {
                state.is_running = false;
                return None;
            }
            if std::mem::take(&mut state.has_frozen) {
                return Some(Work::Checkpoint);
            }
            let Some(rest) = idle.checked_sub(waited).filter(|rest| !rest.is_zero()) else {
                // Once per pause. If nothing comes after it, the thread ends.
                state.is_running = state.last_commit.take().is_some();
                return state.is_running.then_some(Work::Idle);
            };
            let woken = self.changed.wait_timeout(state, rest);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// If bringing the index up to date takes longer, it waits for a pause, because the next checkpoint would have to wait for it.
const SLOW: Duration = Duration::from_millis(25);

enum Work {
    /// A half is full.
    Checkpoint,
    /// No commit came for a while.
    Idle,
}

impl Shared {
    /// Empties the journal and brings the engine's index up to date, unless a commit is under way. Returns whether the disk had room.
    pub(super) fn settle(&self) -> Result<bool, StorageError> {
        {
            let Ok(mut writer) = self.writer.try_lock() else { return Ok(true) };
            self.poison.check()?;
            let has_entries = {
                let layers = read(&self.layers);
                layers.pending.is_empty() && !layers.active.changes.is_empty()
            };
            if has_entries && !writer.filling {
                match self.begin_epoch(&mut writer) {
                    Err(StorageError::Full) => return Ok(false),
                    begun => begun?,
                }
            }
        }
        // Commits go on in the other half meanwhile.
        if !self.checkpoint()? {
            return Ok(false);
        }
        self.index_if_due(|turn| turn.batches > 0 && self.tuning.index_after.is_some())?;
        Ok(true)
    }
}
