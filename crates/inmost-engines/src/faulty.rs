//! A storage that injects faults.
//!
//! The n-th change is refused, is applied but reported as failed, or is the last operation before a simulated
//! crash. A test counts the operations of a scenario once, then repeats it with a fault at each of them.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(test)]
use crate::local_engine::LocalEngine;
use inmost_storage::{
    Address, BareFiles, Batch, Engine, EngineKind, HeaderCopy, Rewriting, SetAsideGeneration,
    Storage, StorageError,
};

/// A fault that is injected once, at one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The operation is not performed and returns the error.
    Refused,
    /// The operation is performed but returns the error.
    Unreported,
    /// The operation is not performed, and every later operation, reads included, returns the error.
    Stopped,
}

/// The fault plan and the operation count, shared with every engine of one [`FaultyStorage`].
#[derive(Clone)]
pub struct Faults(Arc<Mutex<Plan>>);

struct Plan {
    operations: u64,
    fault: Option<(u64, Fault)>,
    stopped: bool,
    error: fn() -> StorageError,
}

enum Verdict {
    Do,
    Refuse(StorageError),
    DoAndFail(StorageError),
}

impl Faults {
    pub(crate) fn new() -> Self {
        let error = || StorageError::Io(io::Error::other("injected fault"));
        Self(Arc::new(Mutex::new(Plan { operations: 0, fault: None, stopped: false, error })))
    }

    /// Returns the number of changes attempted so far.
    ///
    /// `apply`, `sync`, `write_header`, `write_anchor`, and whatever creates, removes, notes or sets aside a generation
    /// count, successful or not. Opening, closing and reading do not count.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.plan().operations
    }

    /// Makes the operation with this number fail. The first operation is 1.
    pub fn set(&self, operation: u64, fault: Fault) {
        self.plan().fault = Some((operation, fault));
    }

    /// Makes the next operation fail.
    pub fn set_next(&self, fault: Fault) {
        let mut plan = self.plan();
        plan.fault = Some((plan.operations + 1, fault));
    }

    /// Sets the error that faults return, for example a full disk. The default is an I/O error.
    pub fn set_error(&self, error: fn() -> StorageError) {
        self.plan().error = error;
    }

    /// Ends [`Fault::Stopped`].
    #[cfg(test)]
    pub(crate) fn go_on(&self) {
        self.plan().stopped = false;
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn check_alive(&self) -> Result<(), StorageError> {
        let plan = self.plan();
        if plan.stopped { Err((plan.error)()) } else { Ok(()) }
    }

    fn verdict(&self) -> Verdict {
        let mut plan = self.plan();
        if plan.stopped {
            return Verdict::Refuse((plan.error)());
        }
        plan.operations += 1;
        let now = plan.operations;
        let Some((_, fault)) = plan.fault.take_if(|(at, _)| *at == now) else {
            return Verdict::Do;
        };
        plan.stopped = fault == Fault::Stopped;
        match fault {
            Fault::Refused | Fault::Stopped => Verdict::Refuse((plan.error)()),
            Fault::Unreported => Verdict::DoAndFail((plan.error)()),
        }
    }

    pub(crate) fn run<T>(
        &self,
        operation: impl FnOnce() -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        match self.verdict() {
            Verdict::Do => operation(),
            Verdict::Refuse(error) => Err(error),
            Verdict::DoAndFail(error) => operation().and(Err(error)),
        }
    }
}

/// Wraps any storage and injects faults.
///
/// After [`Fault::Stopped`], use a clone of the inner storage or take it back with `into_inner`. For a
/// storage in memory, simulate a crash to discard unsynced changes.
pub struct FaultyStorage<S> {
    inner: S,
    faults: Faults,
}

impl<S: Storage> FaultyStorage<S> {
    /// Wraps a storage. Nothing fails until a fault is set.
    pub fn new(inner: S) -> Self {
        Self { inner, faults: Faults::new() }
    }

    /// Returns the handle that sets faults. It stays valid after this storage is moved.
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// Returns the inner storage, which injects no faults.
    pub fn into_inner(self) -> S {
        self.inner
    }

    fn wrap(&self, inner: Box<dyn Engine>) -> Box<dyn Engine> {
        Box::new(FaultyEngine::new(inner, &self.faults))
    }
}

impl<S: Storage> Storage for FaultyStorage<S> {
    fn read_header(&self, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError> {
        self.faults.check_alive()?;
        self.inner.read_header(copy)
    }

    fn write_header(&self, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError> {
        self.faults.run(|| self.inner.write_header(copy, bytes))
    }

    fn read_anchor(&self) -> Result<Option<Vec<u8>>, StorageError> {
        self.faults.check_alive()?;
        self.inner.read_anchor()
    }

    fn write_anchor(&self, bytes: &[u8]) -> Result<(), StorageError> {
        self.faults.run(|| self.inner.write_anchor(bytes))
    }

    fn write_anchor_durably(&self, bytes: &[u8]) -> Result<(), StorageError> {
        self.faults.run(|| self.inner.write_anchor_durably(bytes))
    }

    fn generations(&self) -> Result<Vec<u64>, StorageError> {
        self.faults.check_alive()?;
        self.inner.generations()
    }

    fn create_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        let inner = self.faults.run(|| self.inner.create_generation(number, engine))?;
        Ok(self.wrap(inner))
    }

    fn open_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        self.faults.check_alive()?;
        Ok(self.wrap(self.inner.open_generation(number, engine)?))
    }

    fn bare_files(&self, number: u64) -> Result<Box<dyn BareFiles>, StorageError> {
        self.faults.check_alive()?;
        self.inner.bare_files(number)
    }

    fn remove_generation(&self, number: u64) -> Result<(), StorageError> {
        self.faults.run(|| self.inner.remove_generation(number))
    }

    fn rewriting(&self) -> Result<Option<Rewriting>, StorageError> {
        self.faults.check_alive()?;
        self.inner.rewriting()
    }

    fn begin_rewrite(&self, rewriting: &Rewriting) -> Result<(), StorageError> {
        self.faults.run(|| self.inner.begin_rewrite(rewriting))
    }

    fn finish_rewrite(&self) -> Result<(), StorageError> {
        self.faults.run(|| self.inner.finish_rewrite())
    }

    fn set_aside(&self, number: u64, header: Option<&[u8]>) -> Result<(), StorageError> {
        self.faults.run(|| self.inner.set_aside(number, header))
    }

    fn set_aside_generations(&self) -> Result<Vec<SetAsideGeneration>, StorageError> {
        self.faults.check_alive()?;
        self.inner.set_aside_generations()
    }

    fn discard_set_aside(&self, number: u64) -> Result<(), StorageError> {
        self.faults.run(|| self.inner.discard_set_aside(number))
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.faults.check_alive()?;
        self.inner.size()
    }

    fn check_files(&self) -> Result<(), StorageError> {
        self.inner.check_files()
    }

    fn is_short_of_room(&self) -> bool {
        self.inner.is_short_of_room()
    }
}

/// Wraps an engine and injects faults.
pub(crate) struct FaultyEngine<E: ?Sized> {
    inner: Box<E>,
    faults: Faults,
    poisoned: AtomicBool,
}

impl<E: ?Sized> FaultyEngine<E> {
    pub(crate) fn new(inner: Box<E>, faults: &Faults) -> Self {
        Self { inner, faults: faults.clone(), poisoned: AtomicBool::new(false) }
    }

    fn check_usable(&self) -> Result<(), StorageError> {
        if self.poisoned.load(Ordering::SeqCst) {
            return Err(StorageError::Poisoned);
        }
        self.faults.check_alive()
    }

    /// Poisons on the same failures as a real engine. A batch that the inner engine refuses poisons nothing.
    fn run<T>(&self, change: impl FnOnce() -> Result<T, StorageError>) -> Result<T, StorageError> {
        self.check_usable()?;
        let result = self.faults.run(change);
        let harmless =
            matches!(result, Ok(_) | Err(StorageError::Conflict | StorageError::TooLarge));
        if !harmless {
            self.poisoned.store(true, Ordering::SeqCst);
        }
        result
    }
}

impl<E: Engine + ?Sized> Engine for FaultyEngine<E> {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        self.check_usable()?;
        self.inner.get_many(addresses)
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        self.check_usable()?;
        self.inner.scan(after, limit)
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        self.run(|| self.inner.apply(batch))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.run(|| self.inner.sync())
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.check_usable()?;
        self.inner.size()
    }

    fn close(self: Box<Self>) -> Result<(), StorageError> {
        self.check_usable()?;
        self.inner.close()
    }

    fn verify(&self) -> Result<(), StorageError> {
        self.inner.verify()
    }

    fn discard(self: Box<Self>) {
        self.inner.discard();
    }
}

#[cfg(test)]
impl<E: LocalEngine + ?Sized> LocalEngine for FaultyEngine<E> {
    fn apply_loosely(&self, batch: &Batch) -> Result<bool, StorageError> {
        self.run(|| self.inner.apply_loosely(batch))
    }

    fn fill(&self, records: &[(Address, Vec<u8>)]) -> Result<(), StorageError> {
        self.run(|| self.inner.fill(records))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStorage;

    const KIND: EngineKind = EngineKind::Memory;

    fn put(byte: u8) -> Batch {
        Batch { puts: vec![(Address([byte; 32]), vec![byte])], ..Batch::default() }
    }

    fn stored(storage: &dyn Storage) -> usize {
        storage.open_generation(1, KIND).unwrap().scan(None, 9).unwrap().len()
    }

    #[test]
    fn a_refused_apply_writes_nothing_and_poisons() {
        let storage = FaultyStorage::new(MemoryStorage::default());
        let engine = storage.create_generation(1, KIND).unwrap();
        storage.faults().set_next(Fault::Refused);
        assert!(matches!(engine.apply(&put(1)), Err(StorageError::Io(_))));
        assert!(matches!(engine.scan(None, 9), Err(StorageError::Poisoned)));
        assert!(matches!(engine.sync(), Err(StorageError::Poisoned)));
        assert!(matches!(engine.close(), Err(StorageError::Poisoned)));
        assert_eq!(stored(&storage), 0);
    }

    #[test]
    fn an_unreported_apply_is_written_and_poisons() {
        let storage = FaultyStorage::new(MemoryStorage::default());
        let engine = storage.create_generation(1, KIND).unwrap();
        storage.faults().set_error(|| StorageError::Full);
        storage.faults().set(2, Fault::Unreported);
        assert!(matches!(engine.apply(&put(1)), Err(StorageError::Full)));
        assert!(matches!(engine.get_many(&[]), Err(StorageError::Poisoned)));
        drop(engine);
        assert_eq!(stored(&storage), 1);
        assert_eq!(storage.faults().operations(), 2);
    }

    #[test]
    fn after_a_stop_everything_fails_and_the_inner_storage_reopens() {
        let memory = MemoryStorage::default();
        let storage = FaultyStorage::new(memory.clone());
        let engine = storage.create_generation(1, KIND).unwrap();
        engine.apply(&put(1)).unwrap();
        engine.sync().unwrap();
        engine.apply(&put(2)).unwrap();
        storage.faults().set_next(Fault::Stopped);
        assert!(engine.sync().is_err());
        assert!(engine.scan(None, 9).is_err());
        assert!(storage.read_header(HeaderCopy::A).is_err());
        assert!(storage.write_header(HeaderCopy::A, b"late").is_err());
        assert!(storage.open_generation(1, KIND).is_err());

        memory.crash();

        let inner = storage.into_inner();
        assert_eq!(stored(&inner), 1);
        assert!(inner.read_header(HeaderCopy::A).unwrap().is_none());
    }
}
