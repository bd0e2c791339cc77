//! Where the state of synchronisation is kept: a sealed file in the folder of the store.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use inmost::{Session, VaultOptions};
use inmost_engines::files;
use inmost_format::secret::Wiped;

use crate::error::SyncError;
use crate::place::open::is_remote;

/// Keeps one value, which is replaced as a whole.
pub(crate) trait StateStore {
    /// `None` if the file does not exist.
    fn load(&self) -> Result<Option<Wiped<Vec<u8>>>, SyncError>;
    /// The value is durable when this returns.
    fn save(&self, state: Wiped<Vec<u8>>) -> Result<(), SyncError>;
}

/// A file under a key of the store.
pub(crate) struct StateFile<'s> {
    pub(crate) session: &'s Session,
    pub(crate) path: PathBuf,
}

impl StateFile<'_> {
    /// Refuses a place whose objects would be files of the store, or that would carry the store itself to other devices.
    pub(crate) fn check_apart_from(&self, location: &str) -> Result<(), SyncError> {
        if is_remote(location) {
            return Ok(());
        }
        let store = self.path.parent().unwrap_or(Path::new("."));
        let store = store.canonicalize().map_err(SyncError::StateUnavailable)?;
        let place = Path::new(location).canonicalize().map_err(SyncError::PlaceUnavailable)?;
        let overlaps = store.starts_with(&place) || place.starts_with(&store);
        if overlaps { Err(SyncError::PlaceOverlapsStore) } else { Ok(()) }
    }

    pub(crate) fn remove(&self) -> Result<(), SyncError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(SyncError::StateUnavailable),
        }
    }
}

impl StateStore for StateFile<'_> {
    fn load(&self) -> Result<Option<Wiped<Vec<u8>>>, SyncError> {
        if self.path.to_str().is_some_and(VaultOptions::is_url) {
            return Err(SyncError::NoFolder);
        }
        let sealed = match files::read_small(&self.path, MOST_STATE) {
            // A link, a pipe, or a length that no state has: this device has not written it.
            Err(error)
                if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::FileTooLarge) =>
            {
                return Err(SyncError::StateUnreadable);
            }
            read => read.map_err(SyncError::StateUnavailable)?,
        };
        let Some(sealed) = sealed else { return Ok(None) };
        self.session.open_sync_state(&sealed)?.map(Some).ok_or(SyncError::StateUnreadable)
    }

    fn save(&self, state: Wiped<Vec<u8>>) -> Result<(), SyncError> {
        let sealed = self.session.seal_sync_state(state)?;
        files::replace(&self.path, &sealed).map_err(SyncError::StateUnavailable)
    }
}

/// More than the objects that wait in a state take up: no file of a crafted store fills the memory.
const MOST_STATE: u64 = 1 << 32;
