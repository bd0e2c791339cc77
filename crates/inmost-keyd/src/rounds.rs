//! What is done for the circle of a store in the process that holds it, and how the last round of a daemon ended.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inmost::{FileText, Session, printable};
use inmost_sync::{Place, Report, Sync, SyncError, open_place};

use crate::facts::SyncFacts;

/// The rounds of a store.
pub(crate) struct Rounds {
    /// The folder of the store.
    folder: PathBuf,
    facts: Mutex<SyncFacts>,
}

impl Rounds {
    pub(crate) fn new(folder: PathBuf, every: Option<Duration>) -> Self {
        let facts = SyncFacts { every, ..SyncFacts::default() };
        Self { folder, facts: Mutex::new(facts) }
    }

    pub(crate) fn circle<'s>(&self, session: &'s Session) -> Sync<'s> {
        Sync::new(session, &self.folder)
    }

    pub(crate) fn run(
        &self,
        session: &Session,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Report, SyncError> {
        let done = run(&self.circle(session), progress);
        let mut facts = self.lock();
        facts.last_error = done.as_ref().err().map(|error| printable(&error.to_string()));
        if done.is_ok() {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            facts.last_success = u64::try_from(now.as_millis()).ok();
        }
        done
    }

    pub(crate) fn facts(&self) -> SyncFacts {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, SyncFacts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn init(circle: &Sync<'_>, location: &str, name: &str) -> Result<(), SyncError> {
    circle.init(&*place(location)?, location, name)
}

pub(crate) fn join(
    circle: &Sync<'_>,
    location: &str,
    invitation: &str,
    name: &str,
) -> Result<(), SyncError> {
    circle.join(&*place(location)?, invitation, location, name)
}

pub(crate) fn remove(circle: &Sync<'_>, names: &[String], location: &str) -> Result<(), SyncError> {
    circle.remove(names, &*place(location)?, location)
}

pub(crate) fn follow(circle: &Sync<'_>, location: &str, invitation: &str) -> Result<(), SyncError> {
    circle.follow(&*place(location)?, invitation, location)
}

pub(crate) fn invitation(circle: &Sync<'_>) -> Result<FileText, SyncError> {
    circle.invitation().map(|mut text| FileText::from(std::mem::take(&mut *text)))
}

pub(crate) fn run(circle: &Sync<'_>, progress: &mut dyn FnMut(u64)) -> Result<Report, SyncError> {
    circle.synchronise(&mut |read| progress(u64::try_from(read).unwrap_or(u64::MAX)))
}

fn place(location: &str) -> Result<Box<dyn Place>, SyncError> {
    open_place(location).map_err(SyncError::PlaceUnavailable)
}
