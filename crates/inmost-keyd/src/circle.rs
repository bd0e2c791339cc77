//! The part of an open store in a circle of devices.

use std::io::ErrorKind;
use std::path::Path;

use inmost::FileText;
use inmost_sync::{Report, Status, Sync, SyncError, is_remote};

use crate::body;
use crate::open_store::OpenStore;
use crate::requests::{
    SyncFollow, SyncInit, SyncInvitation, SyncJoin, SyncLeave, SyncRemove, SyncRun, SyncStatus,
};
use crate::rounds::{follow, init, invitation, join, remove, run};

/// The part of an open store in a circle of devices: [`inmost_sync::Sync`] in the process that holds the store. A key daemon uses the
/// variables, files and network of its own process, and reaches folders by their absolute paths.
#[must_use]
pub struct OpenSync<'s> {
    pub(crate) store: &'s OpenStore,
    pub(crate) folder: &'s Path,
}

impl OpenSync<'_> {
    /// As [`Sync::init`], in the place at this path or URL; see [`inmost_sync::open_place`].
    ///
    /// # Errors
    /// The same as there; [`SyncError::PlaceUnavailable`].
    pub fn init(&self, place: &Path, name: &str) -> Result<(), SyncError> {
        let location = &location(place)?;
        match self.store {
            OpenStore::Here(session) => init(&Sync::new(session, self.folder), location, name),
            OpenStore::Daemon(client) => {
                let request = SyncInit { name: name.to_owned() };
                client.call(request, location.as_bytes(), &mut |_| {})?
            }
        }
    }

    /// As [`Sync::join`], in the place at this path or URL; see [`inmost_sync::open_place`].
    ///
    /// # Errors
    /// The same as there; [`SyncError::PlaceUnavailable`].
    pub fn join(&self, place: &Path, invitation: &str, name: &str) -> Result<(), SyncError> {
        let location = location(place)?;
        match self.store {
            OpenStore::Here(session) => {
                join(&Sync::new(session, self.folder), &location, invitation, name)
            }
            OpenStore::Daemon(client) => {
                let request = SyncJoin { name: name.to_owned() };
                let body = body::join(&[location.as_str(), invitation])
                    .ok_or(SyncError::InvalidInvitation)?;
                client.call(request, body.as_slice(), &mut |_| {})?
            }
        }
    }

    /// As [`Sync::remove`], into the place at this path or URL; see [`inmost_sync::open_place`].
    ///
    /// # Errors
    /// The same as there; [`SyncError::PlaceUnavailable`].
    pub fn remove(&self, names: &[String], to: &Path) -> Result<(), SyncError> {
        let location = &location(to)?;
        match self.store {
            OpenStore::Here(session) => remove(&Sync::new(session, self.folder), names, location),
            OpenStore::Daemon(client) => {
                let request = SyncRemove { names: names.to_vec() };
                client.call(request, location.as_bytes(), &mut |_| {})?
            }
        }
    }

    /// As [`Sync::follow`], into the place at this path or URL; see [`inmost_sync::open_place`].
    ///
    /// # Errors
    /// The same as there; [`SyncError::PlaceUnavailable`].
    pub fn follow(&self, place: &Path, invitation: &str) -> Result<(), SyncError> {
        let location = location(place)?;
        match self.store {
            OpenStore::Here(session) => {
                follow(&Sync::new(session, self.folder), &location, invitation)
            }
            OpenStore::Daemon(client) => {
                let body = body::join(&[location.as_str(), invitation])
                    .ok_or(SyncError::InvalidInvitation)?;
                client.call(SyncFollow {}, body.as_slice(), &mut |_| {})?
            }
        }
    }

    /// As [`Sync::invitation`].
    ///
    /// # Errors
    /// The same as there.
    pub fn invitation(&self) -> Result<FileText, SyncError> {
        match self.store {
            OpenStore::Here(session) => invitation(&Sync::new(session, self.folder)),
            OpenStore::Daemon(client) => client.ask(SyncInvitation {})?,
        }
    }

    /// As [`Sync::synchronise`]; `progress` gets the number of objects read.
    ///
    /// # Errors
    /// The same as there.
    pub fn run(&self, mut progress: impl FnMut(u64)) -> Result<Report, SyncError> {
        match self.store {
            OpenStore::Here(session) => run(&Sync::new(session, self.folder), &mut progress),
            OpenStore::Daemon(client) => client.call(SyncRun {}, &[], &mut progress)?,
        }
    }

    /// As [`Sync::status`].
    ///
    /// # Errors
    /// The same as there.
    pub fn status(&self) -> Result<Status, SyncError> {
        match self.store {
            OpenStore::Here(session) => Sync::new(session, self.folder).status(),
            OpenStore::Daemon(client) => client.ask(SyncStatus {})?,
        }
    }

    /// As [`Sync::leave`].
    ///
    /// # Errors
    /// The same as there.
    pub fn leave(&self) -> Result<(), SyncError> {
        match self.store {
            OpenStore::Here(session) => Sync::new(session, self.folder).leave(),
            OpenStore::Daemon(client) => client.ask(SyncLeave {})?,
        }
    }
}

/// The location of a place: a URL, or an absolute path, because a key daemon has another working folder.
fn location(place: &Path) -> Result<String, SyncError> {
    if let Some(url) = place.to_str().filter(|location| is_remote(location)) {
        return Ok(url.to_owned());
    }
    let absolute = std::path::absolute(place).map_err(SyncError::PlaceUnavailable)?;
    let location = absolute.into_os_string().into_string();
    location.map_err(|_| SyncError::PlaceUnavailable(ErrorKind::InvalidInput.into()))
}
