//! Where the state of synchronisation is kept: a sealed file in the folder of the store.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use inmost::{Session, VaultOptions};
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

/// Creates a file that only its owner can open.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl StateStore for StateFile<'_> {
    fn load(&self) -> Result<Option<Wiped<Vec<u8>>>, SyncError> {
        if self.path.to_str().is_some_and(VaultOptions::is_url) {
            return Err(SyncError::NoFolder);
        }
        let sealed = match fs::read(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(SyncError::StateUnavailable)?,
        };
        self.session.open_sync_state(&sealed)?.map(Some).ok_or(SyncError::StateUnreadable)
    }

    fn save(&self, state: Wiped<Vec<u8>>) -> Result<(), SyncError> {
        let sealed = self.session.seal_sync_state(state)?;
        let temporary = self.path.with_extension("new");
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let write = || {
            let mut file = create_private(&temporary)?;
            file.write_all(&sealed)?;
            file.sync_all()?;
            drop(file);
            fs::rename(&temporary, &self.path)?;
            if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
        };
        write().map_err(SyncError::StateUnavailable)
    }
}
