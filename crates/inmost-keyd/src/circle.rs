//! The part of an open store in a circle of devices.

use std::io::ErrorKind;
use std::path::Path;

use inmost::FileText;
use inmost_sync::{Report, Status, Sync, SyncError, is_remote};

use crate::body;
use crate::open_store::OpenStore;
use crate::request::Request;
use crate::requests::{
    ClientMessage, SyncFollow, SyncInit, SyncInvitation, SyncJoin, SyncLeave, SyncRemove, SyncRun,
    SyncStatus,
};
use crate::rounds::{follow, init, invitation, join, remove, run};

/// The part of an open store in a circle of devices: [`inmost_sync::Sync`] in the process that holds the store. A key daemon uses the
/// variables, files and network of its own process, and reaches folders by their absolute paths.
#[must_use]
pub struct OpenSync<'s> {
    pub(crate) store: &'s OpenStore,
    pub(crate) folder: &'s Path,
}

impl<'s> OpenSync<'s> {
    /// As [`Sync::init`], in the place at this path or URL; see [`inmost_sync::open_place`].
    ///
    /// # Errors
    /// The same as there; [`SyncError::PlaceUnavailable`].
    pub fn init(&self, place: &Path, name: &str) -> Result<(), SyncError> {
        let location = location(place)?;
        let request = SyncInit { name: name.to_owned() };
        self.perform(|circle| init(circle, &location, name), request, location.as_bytes())
    }

    /// As [`Sync::join`], in the place at this path or URL; see [`inmost_sync::open_place`].
    ///
    /// # Errors
    /// The same as there; [`SyncError::PlaceUnavailable`].
    pub fn join(&self, place: &Path, invitation: &str, name: &str) -> Result<(), SyncError> {
        let location = location(place)?;
        let request = SyncJoin { name: name.to_owned() };
        let body =
            body::join(&[location.as_str(), invitation]).ok_or(SyncError::InvalidInvitation)?;
        let here = |circle: &Sync<'s>| join(circle, &location, invitation, name);
        self.perform(here, request, body.as_slice())
    }

    /// As [`Sync::remove`], into the place at this path or URL; see [`inmost_sync::open_place`].
    ///
    /// # Errors
    /// The same as there; [`SyncError::PlaceUnavailable`].
    pub fn remove(&self, names: &[String], to: &Path) -> Result<(), SyncError> {
        let location = location(to)?;
        let request = SyncRemove { names: names.to_vec() };
        self.perform(|circle| remove(circle, names, &location), request, location.as_bytes())
    }

    /// As [`Sync::follow`], into the place at this path or URL; see [`inmost_sync::open_place`].
    ///
    /// # Errors
    /// The same as there; [`SyncError::PlaceUnavailable`].
    pub fn follow(&self, place: &Path, invitation: &str) -> Result<(), SyncError> {
        let location = location(place)?;
        let body =
            body::join(&[location.as_str(), invitation]).ok_or(SyncError::InvalidInvitation)?;
        let here = |circle: &Sync<'s>| follow(circle, &location, invitation);
        self.perform(here, SyncFollow {}, body.as_slice())
    }

    /// As [`Sync::invitation`].
    ///
    /// # Errors
    /// The same as there.
    pub fn invitation(&self) -> Result<FileText, SyncError> {
        self.perform(invitation, SyncInvitation {}, &[])
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
        self.perform(Sync::status, SyncStatus {}, &[])
    }

    /// As [`Sync::leave`].
    ///
    /// # Errors
    /// The same as there.
    pub fn leave(&self) -> Result<(), SyncError> {
        self.perform(Sync::leave, SyncLeave {}, &[])
    }

    /// Does it in this process, or sends the request with this body to the key daemon.
    fn perform<T, R>(
        &self,
        here: impl FnOnce(&Sync<'s>) -> Result<T, SyncError>,
        request: R,
        body: &[u8],
    ) -> Result<T, SyncError>
    where
        R: Request<Reply = Result<T, SyncError>> + Into<ClientMessage>,
    {
        match self.store {
            OpenStore::Here(session) => here(&Sync::new(session, self.folder)),
            OpenStore::Daemon(client) => client.call(request, body, &mut |_| {})?,
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
