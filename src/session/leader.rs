//! Leadership: one thread at a time commits.

use std::sync::MutexGuard;

use super::error::StoreError;
use super::handle::{Session, lock};
use super::queue::Progress;

/// Leadership of a commit; released on drop, also after a panic.
pub(super) struct Leader<'a> {
    session: &'a Session,
    /// A destructor may make this call while its thread is already unwinding.
    was_panicking: bool,
}

impl<'a> Leader<'a> {
    /// Takes the leadership, which must be free.
    pub(super) fn of(session: &'a Session, mut progress: MutexGuard<'_, Progress>) -> Self {
        progress.leading = true;
        progress.gathering = false;
        Self { session, was_panicking: std::thread::panicking() }
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            // A panic while leading is a bug. The group is lost, so its waiting callers must not see it as durable.
            self.session.halt(StoreError::Halted);
        }
        lock(&self.session.shared.progress).leading = false;
        self.session.shared.finished.notify_all();
    }
}
