//! Runs operations on a store and on the model, and compares every result.

mod observe;
mod requests;
mod undo;

use crate::input::Input;
use crate::model::{Memory, Why};
use crate::naive::{Refused, canonical};
use crate::ops::{FilesCall, Op, PastCall, PlannedFault, Setup};
use crate::store::Store;
use inmost::internals::stop_clock;
use inmost::{FileError, Files, FolderEntry, StoreError};
use observe::Work;

pub(crate) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut run = Run::new(&Setup::read(&mut input));
    let mut steps = 0;
    while !input.is_empty() && steps < STEPS {
        run.step(&Op::read(&mut input));
        steps += 1;
    }
    run.finish();
}

/// Operations on a fresh store. Each is read from its own bytes, so that a failing scenario shrinks to a few
/// simple operations.
#[derive(Debug)]
pub struct Scenario {
    setup: Setup,
    operations: Vec<Op>,
}

impl Scenario {
    /// Returns the scenario that these bytes encode.
    #[must_use]
    pub fn from_bytes(setup: &[u8], operations: &[Vec<u8>]) -> Self {
        let operations = operations.iter().map(|bytes| Op::read(&mut Input::new(bytes)));
        Self { setup: Setup::read(&mut Input::new(setup)), operations: operations.collect() }
    }

    /// Runs the operations and compares each result with the model.
    pub fn run(&self) {
        let mut run = Run::new(&self.setup);
        for operation in &self.operations {
            run.step(operation);
        }
        run.finish();
    }
}

/// The store and the model.
struct Run {
    store: Store,
    memory: Memory,
    cache_bytes: usize,
    steps: usize,
}

impl Run {
    fn new(setup: &Setup) -> Self {
        stop_clock(START);
        let mut memory = Memory::new(setup.rules.clone());
        memory.past.limits.now = START;
        Self { store: Store::create(setup), memory, cache_bytes: setup.cache_bytes, steps: 0 }
    }

    fn step(&mut self, operation: &Op) {
        self.move_clock(if let Op::Clock(milliseconds) = operation { *milliseconds } else { TICK });
        let (writes, held) = (self.store.writes(), self.memory.past.holdings());
        // After a failed change, the memory is in the state before or after the change.
        let before = self.store.may_fail().then(|| self.memory.clone());
        let purged = matches!(operation, Op::Purge).then(|| self.store.generation());
        let done = match operation {
            Op::Fill { folder, first, count, long, text } => {
                for at in 0..*count {
                    let name = format!("{:03}{}", (first + at) % 256, "n".repeat(*long));
                    self.write_one(&format!("{folder}/{name}"), text);
                }
                Ok(())
            }
            Op::Fail(planned) => {
                self.store.fail(*planned);
                Ok(())
            }
            Op::Lock => {
                self.lock();
                Ok(())
            }
            Op::LosePower => {
                self.store.crash(true);
                self.reopen(None);
                self.store.check(&self.memory);
                Ok(())
            }
            Op::Reopen { cache_bytes, fault } => {
                self.cache_bytes = *cache_bytes;
                self.reopen(*fault);
                Ok(())
            }
            Op::Purge => {
                self.memory.past.end();
                self.store.session().purge()
            }
            Op::Past(call) => {
                self.past(call);
                Ok(())
            }
            Op::Clock(_) => Ok(()),
            Op::Settle => {
                self.trim();
                Ok(())
            }
            Op::Tool(_) | Op::Files(_) => apply(&self.store, &mut self.memory, operation),
        };
        self.settle(done, before, purged);
        self.compare(&Work { has_committed: self.store.writes() != writes, held });
    }

    fn move_clock(&mut self, milliseconds: i64) {
        let limits = &mut self.memory.past.limits;
        limits.now = limits.now.saturating_add_signed(milliseconds);
        stop_clock(limits.now);
    }

    /// Makes changes that end no text, until nothing is left to drop. Each commit drops at least what one entry holds.
    fn trim(&mut self) {
        if self.store.may_fail() || !self.memory.past.keeps {
            return;
        }
        for _ in 0..2 * self.memory.past.changes.len() + 4 {
            if observe::is_trimmed(&self.store, &self.memory.past) {
                return;
            }
            let (writes, held) = (self.store.writes(), self.memory.past.holdings());
            // A change of a deep file leaves the least room to drop anything along with it.
            let short = self.memory.files.keys().filter(|path| path.len() < 1_000);
            let call = match short.max_by_key(|path| path.matches('/').count()) {
                Some(old) => {
                    let folder = &old[..=old.rfind('/').unwrap()];
                    let mut names = (0..).map(|number| format!("{folder}~{number}"));
                    let free = names.find(|path| !self.memory.is_there(path));
                    FilesCall::Rename { old: old.clone(), new: free.unwrap() }
                }
                None => FilesCall::Write { path: "/memories/~".to_owned(), text: String::new() },
            };
            apply(&self.store, &mut self.memory, &Op::Files(call)).unwrap();
            self.compare(&Work { has_committed: self.store.writes() != writes, held });
        }
        panic!("versions that are to be dropped stay: {:?}", self.memory.past.limits);
    }

    /// Makes a request to the history. One that a fault ends in the middle may have made a part of its steps.
    fn past(&mut self, call: &PastCall) {
        let done = requests::run(&self.store, &mut self.memory, call);
        let Some(planned) = self.store.struck() else {
            return done.unwrap_or_else(|error| panic!("it failed without a fault: {error}"));
        };
        self.store.crash(planned.power);
        self.reopen(None);
        requests::restart(&self.store, &mut self.memory, call);
        self.store.check(&self.memory);
    }

    /// Compares the entries of the history with the naive one, and some of the texts.
    fn compare(&mut self, work: &Work) {
        self.steps += 1;
        if observe::compare(&self.store, &mut self.memory, work) {
            // Dropping versions must not touch anything else.
            self.store.check(&self.memory);
        }
        let every = self.memory.past.changes.len() / 4 + 1;
        observe::compare_texts(&self.store, &self.memory, self.steps, every);
    }

    /// Writes one file as a separate step, so that after a fault it is known which files were written.
    fn write_one(&mut self, path: &str, text: &str) {
        let before = self.store.may_fail().then(|| self.memory.clone());
        let call = FilesCall::Write { path: path.to_owned(), text: text.to_owned() };
        let done = apply(&self.store, &mut self.memory, &Op::Files(call));
        self.settle(done, before, None);
    }

    /// Opens the store again if a fault has struck. A failed call may have taken effect or not. A successful
    /// call has taken effect: a fault in the anchor fails no call. `purged` is the generation that a purge was to replace.
    fn settle(
        &mut self,
        done: Result<(), StoreError>,
        before: Option<Memory>,
        purged: Option<u64>,
    ) {
        let Some(planned) = self.store.struck() else {
            return done
                .unwrap_or_else(|error| panic!("it failed without an injected fault: {error}"));
        };
        // The session that ends now may have made a part of the steps of a long call.
        self.memory.past.mark_expired();
        self.store.crash(planned.power);
        self.reopen(None);
        let is_after = |memory: &Memory| {
            // What a history without entries has seen of time does not show.
            purged != Some(self.store.generation())
                && self.store.contents().unwrap() == memory.files
                && memory.past.fits(&observe::physical(&self.store).unwrap())
        };
        if done.is_err() && !is_after(&self.memory) {
            self.memory = before.unwrap();
            self.memory.past.mark_expired();
        }
        self.store.check(&self.memory);
    }

    fn lock(&mut self) {
        self.store.session().lock();
        let error = self.store.call(r#"{"command":"view","path":"/memories"}"#).unwrap_err();
        assert!(matches!(error, StoreError::Locked), "{error}");
        let for_model = error.for_model();
        assert!(for_model.is_error() && for_model.content() == "Error: Memory is locked.");
        self.reopen(None);
    }

    fn reopen(&mut self, fault: Option<PlannedFault>) {
        // An unlock does not fail because what it reaps cannot be read. The next call does.
        let opened = self.store.reopen(self.cache_bytes, fault);
        let opened = opened.and_then(|()| self.store.session().history().status());
        if let Err(error) = opened {
            // Another unlock finishes the work of the failed one.
            let Some(planned) = fault else { panic!("the store does not open: {error}") };
            self.store.crash(planned.power);
            self.store.reopen(self.cache_bytes, None).unwrap();
        }
    }

    fn finish(mut self) {
        observe::compare_texts(&self.store, &self.memory, 0, 1);
        self.store.check(&self.memory);
        // An unlock makes commits too.
        let held = self.memory.past.holdings();
        self.reopen(None);
        self.compare(&Work { has_committed: true, held });
        self.trim();
        observe::compare_texts(&self.store, &self.memory, 0, 1);
        for _ in 0..REOPENINGS {
            self.reopen(None);
            if !self.store.check(&self.memory) {
                return;
            }
        }
        panic!("deleted records are never reaped");
    }
}

/// Runs a call on the store and on the model, and compares the results. After a store error, the model is as
/// if the call had succeeded.
pub(crate) fn apply(store: &Store, memory: &mut Memory, operation: &Op) -> Result<(), StoreError> {
    match operation {
        Op::Tool(sketch) => {
            let text = |path: &str| {
                let text = memory.files.get(&canonical(path).ok()?)?;
                Some(text.to_string())
            };
            let call = sketch.resolve(text);
            let json = call.json();
            let expected = memory.call(&call);
            let result = store.call(&json)?;
            assert!(
                expected.is(result.content(), result.is_error()),
                "{json}\nreturns    {:?}\ninstead of {expected:?}",
                result.content()
            );
            Ok(())
        }
        Op::Files(call) => apply_files(&store.session().files(), memory, call),
        _ => Ok(()),
    }
}

fn apply_files(files: &Files<'_>, memory: &mut Memory, call: &FilesCall) -> Result<(), StoreError> {
    memory.past.channel = inmost::VersionChannel::Files;
    let (result, expected) = match call {
        FilesCall::Read { path } => {
            let text = |path: String| match memory.files.get(&path) {
                Some(text) => Ok(text.to_string()),
                None if memory.is_folder(&path) => Err(No("IsAFolder".to_owned())),
                None => Err(Why::Missing.into()),
            };
            (files.read(path).map(|text| text.as_str().to_owned()), with(path, text))
        }
        FilesCall::List { path } => {
            let listed = files.list(path).map(|entries| {
                let line = |entry: &FolderEntry| {
                    let is_folder = entry.metadata.is_folder();
                    format!("{} {} {is_folder}\n", entry.name, entry.metadata.bytes)
                };
                entries.iter().map(line).collect()
            });
            (listed, with(path, |path| list(memory, &path)))
        }
        FilesCall::Write { path, text } => {
            let expected = with(path, |path| memory.put(&path, text, true));
            (files.write(path, text).map(|()| String::new()), expected.map(|()| String::new()))
        }
        FilesCall::Remove { path } => {
            let expected = with(path, |path| memory.remove(&path));
            (files.remove(path).map(|()| String::new()), expected.map(|()| String::new()))
        }
        FilesCall::Rename { old, new } => {
            let expected = with(old, |old| with(new, |new| memory.move_to(&old, &new)));
            (files.rename(old, new).map(|()| String::new()), expected.map(|()| String::new()))
        }
    };
    let result = match result {
        Ok(text) => Ok(text),
        Err(FileError::Store(error)) => return Err(error),
        Err(error) => Err(reason(&error)),
    };
    assert_eq!(result, expected.map_err(|no| no.0), "{call:?}");
    Ok(())
}

/// Why a call of the file API is refused, in the format of [`reason`].
struct No(String);

impl From<Why> for No {
    fn from(why: Why) -> Self {
        Self(format!("{why:?}"))
    }
}

fn with<T, E: Into<No>>(path: &str, work: impl FnOnce(String) -> Result<T, E>) -> Result<T, No> {
    let invalid = |_: Refused| No("InvalidPath".to_owned());
    canonical(path).map_err(invalid).and_then(|path| work(path).map_err(Into::into))
}

fn list(memory: &Memory, path: &str) -> Result<String, Why> {
    if memory.files.contains_key(path) {
        return Err(Why::ParentIsFile(path.to_owned()));
    }
    if !memory.is_folder(path) {
        return Err(Why::Missing);
    }
    let line = |(name, is_folder): (&str, bool)| {
        let child = format!("{path}/{name}");
        let bytes = memory.files.get(&child).map_or_else(
            || memory.below(&child).map(|(_, text)| text.len()).sum(),
            |text| text.len(),
        );
        format!("{name} {bytes} {is_folder}\n")
    };
    Ok(memory.names(path).into_iter().map(line).collect())
}

fn reason(error: &FileError) -> String {
    let why = match error {
        FileError::AlreadyExists => Why::Exists,
        FileError::FileTooLarge(limit) => Why::FileTooLarge(usize::try_from(*limit).unwrap()),
        FileError::IntoItself => Why::IntoItself,
        FileError::NotFound => Why::Missing,
        FileError::NotAFolder(file) => Why::ParentIsFile(file.as_str().to_owned()),
        FileError::PathBelow(_) => Why::PathBelow,
        FileError::Root => Why::Root,
        FileError::TooManyFiles(_) => Why::TooManyFiles,
        FileError::TooMuchText(_) => Why::TooMuchText,
        FileError::InvalidPath(_) => return "InvalidPath".to_owned(),
        FileError::IsAFolder(_) => return "IsAFolder".to_owned(),
        other => panic!("unexpected error of a file operation: {other}"),
    };
    format!("{why:?}")
}

const STEPS: usize = 60;
/// The time at which a run begins, in milliseconds since 1970.
const START: u64 = 1_700_000_000_000;
/// How far the clock goes on with each operation, in milliseconds.
const TICK: i64 = 1_000;
/// Enough reopenings to reap everything that a run of this length deletes.
const REOPENINGS: usize = 8;
