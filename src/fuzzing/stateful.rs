//! Operations on a store and on the model side by side; every answer is compared.

use super::input::Input;
use super::model::{Memory, Refused, Why, canonical};
use super::ops::{FilesCall, Op, PlannedFault, Setup};
use super::store::Store;
use crate::session::StoreError;
use crate::vfs::EntryKind;
use crate::vfs::{FileError, Files};

pub(super) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut run = Run::new(&Setup::read(&mut input));
    let mut steps = 0;
    while !input.is_empty() && steps < STEPS {
        run.step(&Op::read(&mut input));
        steps += 1;
    }
    run.finish();
}

pub(super) fn run_operations(setup: &Setup, operations: &[Op]) {
    let mut run = Run::new(setup);
    for operation in operations {
        run.step(operation);
    }
    run.finish();
}

/// Both sides.
struct Run {
    store: Store,
    memory: Memory,
    cache_bytes: usize,
}

impl Run {
    fn new(setup: &Setup) -> Self {
        let memory = Memory::new(setup.rules.clone());
        Self { store: Store::create(setup), memory, cache_bytes: setup.cache_bytes }
    }

    fn step(&mut self, operation: &Op) {
        // A change that fails leaves the memory as it was or as it should have become; nothing else is right.
        let before = self.store.may_fail().then(|| self.memory.clone());
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
            Op::Purge => self.store.session().purge(|_| {}),
            Op::Tool(_) | Op::Files(_) => apply(&self.store, &mut self.memory, operation),
        };
        self.settle(done, before);
    }

    /// As one step of a longer operation: a fault must not blur which of the steps were done.
    fn write_one(&mut self, path: &str, text: &str) {
        let before = self.store.may_fail().then(|| self.memory.clone());
        let call = FilesCall::Write { path: path.to_owned(), text: text.to_owned() };
        let done = apply(&self.store, &mut self.memory, &Op::Files(call));
        self.settle(done, before);
    }

    /// Opens the store again if a fault has struck. A call that failed was made or not; one that did not, since a
    /// fault in the anchor fails nothing, was made.
    fn settle(&mut self, done: Result<(), StoreError>, before: Option<Memory>) {
        let Some(planned) = self.store.struck() else {
            return done.unwrap_or_else(|error| panic!("it failed by itself: {error}"));
        };
        self.store.crash(planned.power);
        self.reopen(None);
        if done.is_err() && self.store.contents().unwrap() != self.memory.files {
            self.memory = before.unwrap();
        }
        self.store.check(&self.memory);
    }

    fn lock(&mut self) {
        self.store.session().lock();
        let answer = self.store.call(r#"{"command":"view","path":"/memories"}"#).unwrap_err();
        assert!(matches!(answer, StoreError::Locked), "{answer}");
        let for_model = answer.for_model();
        assert!(for_model.is_error() && for_model.content() == "Error: Memory is unavailable.");
        self.reopen(None);
    }

    fn reopen(&mut self, fault: Option<PlannedFault>) {
        if let Err(error) = self.store.reopen(self.cache_bytes, fault) {
            // What unlock leaves undone, another unlock does.
            let Some(planned) = fault else { panic!("it does not open: {error}") };
            self.store.crash(planned.power);
            self.store.reopen(self.cache_bytes, None).unwrap();
        }
    }

    fn finish(mut self) {
        self.store.check(&self.memory);
        for _ in 0..REOPENINGS {
            self.reopen(None);
            if !self.store.check(&self.memory) {
                return;
            }
        }
        panic!("what was deleted is never reaped");
    }
}

/// Runs a call on both sides and compares the answers. An error of the store leaves the model as it would be
/// had the call succeeded.
pub(super) fn apply(store: &Store, memory: &mut Memory, operation: &Op) -> Result<(), StoreError> {
    match operation {
        Op::Tool(sketch) => {
            let text = |path: &str| {
                let text = memory.files.get(&canonical(path).ok()?)?;
                Some(text.to_string())
            };
            let call = sketch.resolve(text);
            let json = call.json();
            let expected = memory.call(&call);
            let answer = store.call(&json)?;
            assert!(
                expected.is(answer.content(), answer.is_error()),
                "{json}\nanswers  {:?}\nand not  {expected:?}",
                answer.content()
            );
            Ok(())
        }
        Op::Files(call) => apply_files(&store.session().files(), memory, call),
        _ => Ok(()),
    }
}

fn apply_files(files: &Files<'_>, memory: &mut Memory, call: &FilesCall) -> Result<(), StoreError> {
    let (answer, expected) = match call {
        FilesCall::Read { path } => {
            let text =
                |path: String| memory.files.get(&path).map(ToString::to_string).ok_or(Why::Missing);
            (files.read(path).map(|text| text.as_str().to_owned()), with(path, text))
        }
        FilesCall::List { path } => {
            let listed = files.list(path).map(|entries| {
                let line = |entry: &crate::vfs::Entry| {
                    let is_folder = entry.kind == EntryKind::Folder;
                    format!("{} {} {is_folder}\n", entry.name, entry.bytes)
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
    let answer = match answer {
        Ok(text) => Ok(text),
        Err(FileError::Store(error)) => return Err(error),
        Err(error) => Err(reason(&error)),
    };
    assert_eq!(answer, expected.map_err(|no| no.0), "{call:?}");
    Ok(())
}

/// Why a call of the file API is refused, as [`reason`] gives it.
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
    if let Some(text) = memory.files.get(path) {
        let name = path.rsplit('/').next().unwrap();
        return Ok(format!("{name} {} false\n", text.len()));
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
        other => panic!("no file operation answers this: {other}"),
    };
    format!("{why:?}")
}

const STEPS: usize = 60;
/// Enough to reap all that a run of this length deletes.
const REOPENINGS: usize = 8;
