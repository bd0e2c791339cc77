//! Locks that a panic does not make unusable.
//!
//! A thread that panicked inside a call left nothing half done: its changes were dropped with it. So the locks that it poisoned
//! can be used again.
//!
//! A build with `--cfg shuttle` takes the locks of shuttle, whose tests choose which thread goes on at each of them.

use std::sync::PoisonError;
use std::time::Duration;

#[cfg(all(test, shuttle))]
pub(super) use shuttle::sync::{
    Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
#[cfg(not(all(test, shuttle)))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Waits while `condition` holds, and for this time at most. Returns the guard of the mutex again.
#[cfg(not(all(test, shuttle)))]
pub(super) fn wait_while<'a, T>(
    condvar: &Condvar,
    _mutex: &'a Mutex<T>,
    guard: MutexGuard<'a, T>,
    limit: Duration,
    condition: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    condvar.wait_timeout_while(guard, limit, condition).unwrap_or_else(PoisonError::into_inner).0
}

/// As above, but the time is over at any moment: shuttle has no time.
#[cfg(all(test, shuttle))]
pub(super) fn wait_while<'a, T>(
    _condvar: &Condvar,
    mutex: &'a Mutex<T>,
    mut guard: MutexGuard<'a, T>,
    _limit: Duration,
    mut condition: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    use shuttle::rand::{Rng, thread_rng};
    while condition(&mut guard) && thread_rng().gen_bool(0.75) {
        drop(guard);
        shuttle::thread::yield_now();
        guard = lock(mutex);
    }
    guard
}
