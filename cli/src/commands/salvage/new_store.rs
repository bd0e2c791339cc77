//! A new store that the salvaged files are written to.

use std::path::Path;

use inmost::{Credential, FileError, Session, SessionOptions, VaultOptions};
use serde::Serialize;

use crate::args::KdfArgs;
use crate::exit::Failure;
use crate::store::naming;

/// A file that could not be saved under its own path: the path in the damaged store, and the path that it was saved under.
#[derive(Serialize)]
pub(super) struct Renamed {
    pub(super) from: String,
    pub(super) to: String,
}

/// The new store. It is created with the first file, so that a wrong passphrase leaves none.
pub(super) struct NewStore<'a> {
    place: &'a Path,
    credential: Credential<'a>,
    kdf: &'a KdfArgs,
    session: Option<Session>,
    renamed: Vec<Renamed>,
}

impl<'a> NewStore<'a> {
    pub(super) fn new(place: &'a Path, credential: Credential<'a>, kdf: &'a KdfArgs) -> Self {
        Self { place, credential, kdf, session: None, renamed: Vec::new() }
    }

    pub(super) fn save(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        let session = match &self.session {
            Some(session) => session,
            None => self.session.insert(create(self.place, self.credential, self.kdf)?),
        };
        match session.files().write(path, text) {
            // A folder without a parent is saved deeper than before, so its paths can become too long. Damage can also
            // produce a file and a folder with the same name.
            Err(
                FileError::InvalidPath(_)
                | FileError::PathBelow(_)
                | FileError::NotAFolder(_)
                | FileError::AlreadyExists,
            ) => {
                let to = format!("/memories/salvaged/renamed-{}", self.renamed.len());
                session.files().write(&to, text)?;
                self.renamed.push(Renamed { from: path.to_owned(), to });
                Ok(())
            }
            written => Ok(written?),
        }
    }

    pub(super) fn close(self) -> Vec<Renamed> {
        if let Some(session) = self.session {
            session.lock();
        }
        self.renamed
    }
}

fn create(place: &Path, credential: Credential<'_>, kdf: &KdfArgs) -> Result<Session, Failure> {
    // The application may have raised the limits of the damaged store above the defaults.
    let max = u64::MAX;
    let quotas = SessionOptions::new().max_file_bytes(max).max_files(max).max_store_bytes(max);
    let options = VaultOptions::new().kdf_cost(kdf.cost()).session(quotas);
    let created = options.create_with(place, credential);
    created.map_err(|error| naming::creating(place, error))
}
