//! Tests of a fault at every change of the engine during a call: the session halts, and a reopened store has the state
//! before the call or the state after it.

use std::time::Duration;

use super::model::{Call, Model, dump, make_commits, set_day, text};
use crate::session::tests::store::{TestStore, unlock_on};
use crate::session::{HistorySettings, Session, StoreError};
use crate::vfs::VersionQuery;
use crate::vfs::error::FileError;
use inmost_engines::faulty::{Fault, Faults, FaultyStorage};

/// The kind of fault, and whether the machine also loses unsynced data.
const MODES: [(Fault, bool); 6] = [
    (Fault::Refused, false),
    (Fault::Refused, true),
    (Fault::Unreported, false),
    (Fault::Unreported, true),
    (Fault::Stopped, false),
    (Fault::Stopped, true),
];

/// Every kind of change, small and long, in an order in which each finds the files it needs.
fn script() -> Vec<Call> {
    let long = text("long", 150_000);
    let line = |number: usize| long.split_inclusive('\n').nth(number).unwrap().to_owned();
    vec![
        Call::Write("/memories/a", "one\n".to_owned()),
        Call::Write("/memories/d/a", "two\n".to_owned()),
        Call::Insert("/memories/a", 1, "three\n".to_owned()),
        Call::Replace("/memories/a", "one\n".to_owned(), "1\n".to_owned()),
        Call::Write("/memories/d/long", long.clone()),
        Call::Insert("/memories/d/long", 2_000, text("more", 9_000)),
        Call::Replace("/memories/d/long", line(3_000), text("other", 5_000)),
        Call::Replace("/memories/d/long", line(10), String::new()),
        Call::Insert("/memories/a", 0, text("much", 40_000)),
        Call::Header,
        Call::Purge,
        Call::Fill("/memories/d", 0..100),
        Call::Fill("/memories/d", 100..200),
        Call::Fill("/memories/d", 200..300),
        Call::Write("/memories/d/150", "between\n".to_owned()),
        Call::Rename("/memories/d", "/memories/x/y/z"),
        Call::Write("/memories/x/y/z/150", "changed\n".to_owned()),
        Call::Clear("/memories/x/y/z", 0..100),
        Call::Clear("/memories/x/y/z", 100..200),
        Call::Clear("/memories/x/y/z", 200..299),
        Call::Rename("/memories/x/y/z/299-nnnnnnnnnnnnnnnnnnn", "/memories/x/y/only"),
        Call::Write("/memories/x/y/z/long", "short again\n".to_owned()),
        Call::Header,
        Call::Fill("/memories/x/big", 0..75),
        Call::Fill("/memories/x/big", 75..150),
        Call::Write("/memories/x/big/0/long", text("garbage", 20_000)),
        Call::Write("/memories/x/big/1/long", text("garbage", 9_000)),
        Call::Remove("/memories/x"),
        Call::Write("/memories/staged", text("staged", 200_000)),
        Call::Replace("/memories/staged", text("staged", 200_000), "nothing\n".to_owned()),
        Call::Remove("/memories/a"),
        Call::Purge,
    ]
}

/// Changes of the history, in a store that keeps one.
fn script_of_versions() -> Vec<Call> {
    let long = text("long", 60_000);
    vec![
        Call::Write("/memories/a", "one\n".to_owned()),
        Call::Insert("/memories/a", 1, "two\n".to_owned()),
        Call::Write("/memories/long", long.clone()),
        Call::Insert("/memories/long", 300, text("more", 9_000)),
        Call::Insert("/memories/long", 0, text("and", 3_000)),
        Call::ForgetOld("/memories/long"),
        Call::Insert("/memories/a", 0, "three\n".to_owned()),
        Call::ForgetOld("/memories/a"),
        Call::Write("/memories/d/e/f", long.clone()),
        Call::Remove("/memories/d"),
        Call::BackFolder("/memories/d", "/memories/d/e/f", long.clone()),
        Call::Rename("/memories/d/e", "/memories/e"),
        Call::Write("/memories/e/f", "short\n".to_owned()),
        Call::Compact,
        Call::Remove("/memories/e/f"),
        Call::Back("/memories/e/f", "short\n".to_owned()),
        Call::Remove("/memories/e"),
        Call::Forget("/memories/e/f"),
        Call::Insert("/memories/long", 100, text("mid", 20_000)),
        Call::Forget("/memories/long"),
        Call::Write("/memories/big", text("big", 150_000)),
        Call::Remove("/memories/big"),
        Call::Back("/memories/big", text("big", 150_000)),
        Call::Forget("/memories"),
        Call::Purge,
    ]
}

/// Changes of the ledger of readings. Comparing the content reads every file, so each call writes readings too.
fn script_of_readings() -> Vec<Call> {
    vec![
        Call::Write("/memories/a", "one\n".to_owned()),
        Call::Record(true),
        Call::Write("/memories/d/f", "two\n".to_owned()),
        Call::Write("/memories/d/g", "three\n".to_owned()),
        Call::Later(5, "/memories/b"),
        Call::Read("/memories/a", "/memories/b"),
        Call::Later(15, "/memories/c"),
        Call::Rename("/memories/c", "/memories/e"),
        Call::Later(25, "/memories/c"),
        Call::Expire(19, &["/memories/a", "/memories/b", "/memories/d/f", "/memories/d/g"]),
        Call::Back("/memories/b", "read\n".to_owned()),
        Call::Back("/memories/d/f", "two\n".to_owned()),
        Call::Compact,
        Call::Remove("/memories/d"),
        Call::BackFolder("/memories/d", "/memories/d/f", "two\n".to_owned()),
        Call::Read("/memories/b", "/memories/c"),
        Call::Record(false),
        Call::Record(true),
        Call::Read("/memories/d/f", "/memories/c"),
        Call::Purge,
    ]
}

/// A store and its expected content.
struct State {
    store: TestStore,
    model: Model,
}

impl State {
    fn new() -> Self {
        Self { store: TestStore::create(), model: Model::new() }
    }

    fn keeping_versions() -> Self {
        let state = Self::new();
        let session = state.store.unlock().unwrap();
        let month = Duration::from_secs(30 * 24 * 60 * 60);
        session.history().set(HistorySettings::keep(month)).unwrap();
        drop(session);
        state
    }

    fn duplicate(&self) -> Self {
        Self { store: self.store.duplicate(), model: self.model.clone() }
    }

    /// Makes a call on the store and, if it is acknowledged, on the model.
    fn make(&mut self, call: &Call, session: &Session) -> Result<(), FileError> {
        call.make(&self.store, session)?;
        call.apply(&mut self.model);
        Ok(())
    }

    fn unlock(&self) -> (Session, Faults) {
        let storage = FaultyStorage::new(self.store.memory.clone());
        let faults = storage.faults();
        (unlock_on(storage).unwrap(), faults)
    }

    /// Checks that after a failed call the content is `self.model` with or without that call.
    fn check_after(&self, failed: Option<&Call>, crashed: bool, context: &str) {
        if crashed {
            self.store.memory.crash();
        }
        let session = self.store.unlock().unwrap_or_else(|error| panic!("{error}: {context}"));
        let found = dump(&session).unwrap_or_else(|error| panic!("{error}: {context}"));
        let is_after = failed.is_some_and(|call| {
            let mut after = self.model.clone();
            call.apply(&mut after);
            found == after
        });
        assert!(is_after || found == self.model, "neither before nor after: {context}");
        check_versions(&session, context);
        make_commits(&session, 3);
        drop(session);
        self.store.assert_tidy(context);
    }
}

/// Every version can be read, unless its text is gone.
fn check_versions(session: &Session, context: &str) {
    let page = session.history().page(&VersionQuery::all(), None, 1_000).unwrap();
    for version in page.items {
        match session.history().text(version.number) {
            Ok(text) => {
                let bytes = u64::try_from(text.as_str().len()).unwrap();
                assert_eq!(bytes, version.bytes, "{context}");
            }
            Err(FileError::VersionGone(_) | FileError::IsAFolder(_)) => {}
            Err(error) => panic!("{error}: {version:?}: {context}"),
        }
    }
}

fn is_halted<T>(result: &Result<T, FileError>) -> bool {
    matches!(result, Err(FileError::Store(StoreError::Halted)))
}

/// After a failed commit nothing is returned from memory. A failed write of a header or generation that is not in use
/// is not a failed commit. Neither is a read, which is the first thing that may fail on a storage that stopped.
fn check_halted(session: &Session, call: &Call, fault: Fault, context: &str) {
    if !matches!(call, Call::Header | Call::Purge | Call::Compact) {
        let stopped = fault == Fault::Stopped;
        let read = session.files().read("/memories/a");
        let list = session.files().list("/memories");
        let write = session.files().write("/memories/b", "x");
        assert!(is_halted(&read) || (stopped && read.is_err()), "{read:?}: {context}");
        assert!(is_halted(&list) || (stopped && list.is_err()), "{list:?}: {context}");
        assert!(is_halted(&write) || (stopped && write.is_err()), "{write:?}: {context}");
    }
}

/// Makes every change of the engine by every call fail in every way, each on a store of its own. Returns the number of
/// faults.
fn try_every_fault_of_each_call(mut state: State, script: Vec<Call>) -> usize {
    let mut tried = 0;
    for (number, call) in script.into_iter().enumerate() {
        let before = state.duplicate();
        let (session, faults) = state.unlock();
        let first = faults.operations() + 1;
        state.make(&call, &session).unwrap_or_else(|error| panic!("{number}: {error}"));
        let last = faults.operations();
        drop(session);
        for operation in first..=last {
            for (fault, crashed) in MODES {
                let context = format!("call {number}, operation {operation}, {fault:?} {crashed}");
                let mut state = before.duplicate();
                let (session, faults) = state.unlock();
                faults.set(operation, fault);
                let failed = state.make(&call, &session).is_err().then_some(&call);
                // Only the anchor, and removals after a rewrite, may fail without failing the call.
                if let Some(call) = failed {
                    check_halted(&session, call, fault, &context);
                }
                drop(session);
                state.check_after(failed, crashed, &context);
                tried += 1;
            }
        }
    }
    tried
}

/// Runs the whole script in one session, with a fault at every `step`-th change of the engine.
fn try_faults_of_the_whole(step: u64, modes: impl Fn(u64) -> Vec<(Fault, bool)>) -> usize {
    let run = |state: &mut State, session: &Session| {
        script().into_iter().find(|call| state.make(call, session).is_err())
    };
    let mut whole = State::new();
    let (session, faults) = whole.unlock();
    assert!(run(&mut whole, &session).is_none());
    assert_eq!(dump(&session).unwrap(), whole.model);
    drop(session);
    whole.store.assert_tidy("without a fault");

    let mut tried = 0;
    for operation in (1..=faults.operations()).step_by(usize::try_from(step).unwrap()) {
        for (fault, crashed) in modes(operation) {
            let context = format!("operation {operation}, {fault:?}, {crashed}");
            let mut state = State::new();
            let (session, faults) = state.unlock();
            faults.set(operation, fault);
            let failed = run(&mut state, &session);
            if let Some(call) = &failed {
                check_halted(&session, call, fault, &context);
            }
            drop(session);
            state.check_after(failed.as_ref(), crashed, &context);
            tried += 1;
        }
    }
    tried
}

#[test]
fn a_fault_at_any_change_leaves_the_state_before_or_after_the_call() {
    let tried = try_every_fault_of_each_call(State::new(), script());
    println!("{tried} faults");
    assert!(tried > 400);
}

#[test]
fn a_fault_at_any_change_leaves_the_versions_before_or_after_the_call() {
    let tried = try_every_fault_of_each_call(State::keeping_versions(), script_of_versions());
    println!("{tried} faults");
    assert!(tried > 400);
}

#[test]
fn a_fault_at_any_change_leaves_the_readings_before_or_after_the_call() {
    set_day(0);
    let tried = try_every_fault_of_each_call(State::keeping_versions(), script_of_readings());
    println!("{tried} faults");
    assert!(tried > 100);
}

#[test]
fn a_fault_in_a_long_session_loses_no_acknowledged_call() {
    let tried = try_faults_of_the_whole(3, |operation| {
        vec![MODES[usize::try_from(operation / 3).unwrap() % MODES.len()]]
    });
    println!("{tried} faults");
}

/// Run it with `cargo test --release --lib every_fault_of_a_long -- --ignored --nocapture`.
#[test]
#[ignore = "replays the whole script some 600 times"]
fn every_fault_of_a_long_session_loses_no_acknowledged_call() {
    println!("{} faults", try_faults_of_the_whole(1, |_| MODES.to_vec()));
}
