//! The open store that a command works on.
//!
//! A command uses an [`OpenStore`] in the same way whether this process or the key agent holds the store: both run the same
//! requests with the same code ([`local::Local`]).

pub(crate) mod facts;
pub(crate) mod local;
pub(crate) mod opening;
pub(crate) mod place;
pub(crate) mod request;
pub(crate) mod restrictions;
pub(crate) mod wire_path;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use inmost::{FileError, MemoryTool, Session};

use self::facts::{Dropped, Entry, Report, Slot, Status, Text, ToolAnswer};
use self::local::Local;
use self::request::{NewKey, Reply, Request};
use self::restrictions::Restrictions;
use crate::agent::{AgentFacts, Connection};
use crate::engine::EngineName;
use crate::exit::{Exit, Failure};
use crate::secret::Secret;
use crate::wiped::Wiped;

/// An unlocked store, shared by any number of threads.
pub(crate) struct OpenStore(Holder);

enum Holder {
    Here(Local),
    Agent(Mutex<Connection>),
}

impl OpenStore {
    fn here(session: Session, restrictions: &Restrictions) -> Result<Self, Failure> {
        Ok(Self(Holder::Here(Local::new(session, restrictions)?)))
    }

    /// An empty store in memory.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Self {
        Self::here(Session::in_memory().unwrap(), &Restrictions::default()).unwrap()
    }

    fn through(connection: Connection) -> Self {
        Self(Holder::Agent(Mutex::new(connection)))
    }

    /// Runs a call of the memory tool. Always returns an answer for the model; the failure says why no further call can run.
    pub(crate) fn run_call(&self, json: &[u8]) -> (ToolAnswer, Option<Failure>) {
        match self.ask_quietly(&Request::Call, json) {
            Ok((Reply::Answer { is_error, tool_use_id, failure }, content)) => {
                match content.into_text() {
                    Some(content) => (ToolAnswer { content, is_error, tool_use_id }, failure),
                    None => unavailable(json, unexpected()),
                }
            }
            Ok(_) => unavailable(json, unexpected()),
            Err(failure) => unavailable(json, failure),
        }
    }

    pub(crate) fn read(&self, path: &str) -> Result<Text, Failure> {
        self.find(path)?.ok_or_else(|| FileError::NotFound.into())
    }

    /// The text of a file; `None` if it does not exist.
    pub(crate) fn find(&self, path: &str) -> Result<Option<Text>, Failure> {
        match self.ask_quietly(&Request::Read { path: path.to_owned() }, &[])? {
            (Reply::Text, text) => text.into_text().map(Text).map(Some).ok_or_else(unexpected),
            (Reply::Missing, _) => Ok(None),
            _ => Err(unexpected()),
        }
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
        self.order(&Request::Write { path: path.to_owned() }, text.as_bytes(), |_| {})
    }

    pub(crate) fn list(&self, path: &str) -> Result<Vec<Entry>, Failure> {
        self.find_entries(path)?.ok_or_else(|| FileError::NotFound.into())
    }

    /// The entries of a folder, or the file itself; `None` if nothing is at the path.
    pub(crate) fn find_entries(&self, path: &str) -> Result<Option<Vec<Entry>>, Failure> {
        match self.ask_quietly(&Request::List { path: path.to_owned() }, &[])? {
            (Reply::Entries(entries), _) => Ok(Some(entries)),
            (Reply::Missing, _) => Ok(None),
            _ => Err(unexpected()),
        }
    }

    pub(crate) fn remove(&self, path: &str) -> Result<(), Failure> {
        self.order(&Request::Remove { path: path.to_owned() }, &[], |_| {})
    }

    pub(crate) fn rename(&self, old: &str, new: &str) -> Result<(), Failure> {
        let request = Request::Rename { old: old.to_owned(), new: new.to_owned() };
        self.order(&request, &[], |_| {})
    }

    pub(crate) fn status(&self) -> Result<Status, Failure> {
        match self.ask_quietly(&Request::Status, &[])? {
            (Reply::Status(status), _) => Ok(status),
            _ => Err(unexpected()),
        }
    }

    /// The state of the key agent, if one holds the store.
    pub(crate) fn agent(&self) -> Result<Option<AgentFacts>, Failure> {
        match &self.0 {
            Holder::Here(_) => Ok(None),
            Holder::Agent(connection) => lock(connection).facts().map(Some),
        }
    }

    pub(crate) fn compaction_due(&self) -> Result<bool, Failure> {
        match self.ask_quietly(&Request::CompactionDue, &[])? {
            (Reply::IsDue(is_due), _) => Ok(is_due),
            _ => Err(unexpected()),
        }
    }

    pub(crate) fn check(&self, progress: impl FnMut(u64)) -> Result<Report, Failure> {
        match self.ask(&Request::Check, &[], progress)? {
            (Reply::Report(report), _) => Ok(report),
            _ => Err(unexpected()),
        }
    }

    pub(crate) fn repair(&self, progress: impl FnMut(u64)) -> Result<Dropped, Failure> {
        match self.ask(&Request::Repair, &[], progress)? {
            (Reply::Dropped(dropped), _) => Ok(dropped),
            _ => Err(unexpected()),
        }
    }

    pub(crate) fn purge(&self, progress: impl FnMut(u64)) -> Result<(), Failure> {
        self.order(&Request::Purge, &[], progress)
    }

    pub(crate) fn migrate(
        &self,
        engine: EngineName,
        progress: impl FnMut(u64),
    ) -> Result<(), Failure> {
        self.order(&Request::Migrate { engine }, &[], progress)
    }

    pub(crate) fn backup(&self, to: &Path, progress: impl FnMut(u64)) -> Result<(), Failure> {
        self.order(&Request::Backup, &wire_path::encode(to)?, progress)
    }

    pub(crate) fn slots(&self) -> Result<Vec<Slot>, Failure> {
        match self.ask_quietly(&Request::Slots, &[])? {
            (Reply::Slots(slots), _) => Ok(slots),
            _ => Err(unexpected()),
        }
    }

    /// Adds a keyslot for a credential, and returns its number.
    pub(crate) fn add_slot(&self, key: NewKey, secret: &Secret) -> Result<u8, Failure> {
        match self.ask_quietly(&Request::AddSlot(key), secret.to_bytes().expose())? {
            (Reply::Added(number), _) => Ok(number),
            _ => Err(unexpected()),
        }
    }

    pub(crate) fn replace_slot(
        &self,
        number: u8,
        key: NewKey,
        secret: &Secret,
    ) -> Result<(), Failure> {
        let request = Request::ReplaceSlot { number, key };
        self.order(&request, secret.to_bytes().expose(), |_| {})
    }

    pub(crate) fn remove_slot(&self, number: u8) -> Result<(), Failure> {
        self.order(&Request::RemoveSlot { number }, &[], |_| {})
    }

    /// Replaces every key, and returns the dropped keyslots.
    pub(crate) fn rotate(
        &self,
        keep: &Secret,
        progress: impl FnMut(u64),
    ) -> Result<Vec<Slot>, Failure> {
        let request = Request::Rotate { keep: keep.shape() };
        match self.ask(&request, keep.to_bytes().expose(), progress)? {
            (Reply::Slots(dropped), _) => Ok(dropped),
            _ => Err(unexpected()),
        }
    }

    /// Wipes the keys if this process holds the store. A key agent keeps the store unlocked.
    fn close(&self) {
        if let Holder::Here(local) = &self.0 {
            local.lock();
        }
    }

    fn order(
        &self,
        request: &Request,
        bytes: &[u8],
        progress: impl FnMut(u64),
    ) -> Result<(), Failure> {
        match self.ask(request, bytes, progress)? {
            (Reply::Done, _) => Ok(()),
            _ => Err(unexpected()),
        }
    }

    fn ask_quietly(&self, request: &Request, bytes: &[u8]) -> Result<(Reply, Wiped), Failure> {
        self.ask(request, bytes, |_| {})
    }

    fn ask(
        &self,
        request: &Request,
        bytes: &[u8],
        mut progress: impl FnMut(u64),
    ) -> Result<(Reply, Wiped), Failure> {
        match &self.0 {
            Holder::Here(local) => local.carry_out(request, bytes, &mut progress),
            Holder::Agent(connection) => lock(connection).ask(request, bytes, &mut progress),
        }
    }
}

/// Ignores a poisoned lock: the connection itself detects that a request was interrupted.
fn lock(connection: &Mutex<Connection>) -> std::sync::MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The answer for the model when the store cannot run the call. It comes from a locked store in memory, so that an
/// invalid call still gets its own error, and the answer has the id of the call.
fn unavailable(json: &[u8], failure: Failure) -> (ToolAnswer, Option<Failure>) {
    let answer = match Session::in_memory() {
        Ok(session) => {
            session.lock();
            MemoryTool::new(session).answer(json).0
        }
        Err(error) => error.for_model(),
    };
    (answer.into(), Some(failure))
}

fn unexpected() -> Failure {
    Failure::new(
        Exit::Other,
        "The key agent sent an unexpected reply.",
        "Please report it. Every change that the store acknowledged is safe.",
    )
}
