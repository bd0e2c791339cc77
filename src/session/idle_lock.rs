//! Locks a session that has been unused for too long. A thread polls the clocks.

use std::sync::{Arc, Weak};
use std::time::Duration;
use std::{io, thread};

use super::author::Author;
use super::error::StoreError;
use super::handle::{Session, Shared};
use super::open::Open;
use super::options::SessionOptions;

impl Session {
    /// Creates the session of an open store, with an idle lock if the options set one.
    pub(super) fn with(open: Open, options: &SessionOptions) -> Result<Self, StoreError> {
        let session = Self::new(open);
        if let Some(limit) = options.idle_lock {
            watch(&session, limit).map_err(StoreError::Io)?;
        }
        Ok(session)
    }
}

/// Starts the thread that locks `session` once it has been unused for `limit`. The thread ends with the session.
fn watch(session: &Session, limit: Duration) -> io::Result<()> {
    let shared = Arc::downgrade(&session.shared);
    let pause = (limit / 8).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
    let thread = thread::Builder::new().name("inmost-idle".to_owned());
    thread
        .spawn(move || {
            while is_in_use(&shared, limit) {
                thread::sleep(pause);
            }
        })
        .map(drop)
}

fn is_in_use(shared: &Weak<Shared>, limit: Duration) -> bool {
    let Some(shared) = shared.upgrade() else { return false };
    let session = Session { shared, author: Author::default() };
    if session.is_locked() {
        return false;
    }
    if session.shared.idle.is_over(limit) {
        session.lock();
        return false;
    }
    true
}

/// Short enough to lock soon after the machine resumes from a suspend.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
