//! A new store that the salvaged files are written to.

use std::path::Path;

use inmost::{Credential, FileError, Precondition, Session, SessionOptions, VaultOptions};
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
        // A folder without a parent is saved deeper than before, so its paths can become too long. Damage can also produce a file
        // and a folder with the same name, and a store that was salvaged before has files with the names that are given here.
        let write = |path: &str| session.files().write_if(path, text, &Precondition::Absent);
        let is_taken = |error: &FileError| {
            use FileError::{AlreadyExists, Changed, IsAFolder};
            matches!(error, AlreadyExists | Changed(_) | IsAFolder(_))
        };
        match write(path) {
            Ok(_) => return Ok(()),
            Err(FileError::InvalidPath(_) | FileError::PathBelow(_) | FileError::NotAFolder(_)) => {
            }
            Err(error) if is_taken(&error) => {}
            Err(error) => return Err(error.into()),
        }
        let mut number = self.renamed.len();
        loop {
            let to = format!("/memories/salvaged/renamed-{number}");
            match write(&to) {
                Ok(_) => {
                    self.renamed.push(Renamed { from: path.to_owned(), to });
                    return Ok(());
                }
                Err(error) if is_taken(&error) => number = number.saturating_add(1),
                Err(error) => return Err(error.into()),
            }
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

#[cfg(test)]
mod tests {
    use clap::Parser;
    use inmost_testing::passphrase;

    use super::*;

    #[derive(Parser)]
    struct Args {
        #[command(flatten)]
        kdf: KdfArgs,
    }

    /// A store that was salvaged before has a file with the name that is given to one without a path of its own.
    #[test]
    fn no_saved_file_replaces_another() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("saved");
        let args = Args::parse_from(["salvage", "--kdf-memory-mib", "19", "--kdf-passes", "2"]);
        let secret = passphrase();
        let mut store = NewStore::new(&place, (&secret).into(), &args.kdf);
        let saved = [
            ("/memories/a/../b", "1", "/memories/salvaged/renamed-0"),
            ("/memories/salvaged/renamed-0", "2", "/memories/salvaged/renamed-1"),
            ("/memories/salvaged/renamed-2", "3", "/memories/salvaged/renamed-2"),
            ("/memories/a/../c", "4", "/memories/salvaged/renamed-3"),
        ];
        for (path, text, _) in saved {
            store.save(path, text).unwrap();
        }
        let files = store.session.as_ref().unwrap().files();
        for (_, text, at) in saved {
            assert_eq!(files.read(at).unwrap().as_str(), text, "{at}");
        }
        assert_eq!(store.close().len(), 3);
    }
}
