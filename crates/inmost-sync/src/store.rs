//! The store of a device, as synchronisation sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};

use inmost::{FileError, NewFile, NumberedFile, Precondition, Session, StoreError};

use crate::error::SyncError;
use crate::pool::text;
use crate::tree::Text;

/// Why a file was not changed.
pub(crate) enum Refused {
    /// The file is not what it was, or something is in the way. It must be looked at again.
    Changed,
    /// The store does not take it: a limit, or the rules for paths.
    Held,
    Failed(SyncError),
}

/// A file of a store. Paths are below `/memories/`.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) version: u64,
    /// When it was made, in milliseconds since 1970.
    pub(crate) created: u64,
}

/// The files of a store: each change is one atomic step.
pub(crate) trait Store {
    /// The files by their numbers.
    fn files(&self) -> Result<BTreeMap<u64, Entry>, SyncError>;
    /// `None` if there is no such file any more.
    fn read(&self, path: &str) -> Result<Option<Text>, SyncError>;
    /// Replaces the text of a file of this version. Returns the new version.
    fn write(&self, path: &str, text: &str, version: u64) -> Result<u64, Refused>;
    /// Makes new files that say that they were made at this time, in their order. Returns the version of each, which is its number too.
    /// After an error, those before some point of the order are there.
    fn create(
        &self,
        files: &[(&str, &str)],
        created: u64,
    ) -> Result<Vec<Result<u64, Refused>>, SyncError>;
    fn rename(&self, old: &str, new: &str, version: u64) -> Result<u64, Refused>;
    fn remove(&self, path: &str, version: u64) -> Result<(), Refused>;
    /// Commits since the store was made.
    fn commit(&self) -> Result<u64, SyncError>;
    /// Up to which change files were forgotten since [`drop_noted`](Self::drop_noted), by their numbers. `u64::MAX` stands for all
    /// changes.
    fn noted_forgets(&self) -> Result<BTreeMap<u64, u64>, SyncError>;
    fn drop_noted(&self, forgets: &BTreeMap<u64, u64>) -> Result<(), SyncError>;
    /// Forgets versions of files up to a change. The current texts stay.
    fn forget(&self, numbers: &BTreeSet<u64>, until: u64) -> Result<(), SyncError>;
}

impl Store for Session {
    fn files(&self) -> Result<BTreeMap<u64, Entry>, SyncError> {
        let files = self.numbered_files()?.into_iter();
        let entry = |file: &NumberedFile| Entry {
            path: below(file.path.as_str()).to_owned(),
            version: file.version,
            created: file.created,
        };
        Ok(files.map(|file| (file.number, entry(&file))).collect())
    }

    fn read(&self, path: &str) -> Result<Option<Text>, SyncError> {
        match self.without_recording().files().read(&full(path)) {
            Ok(found) => Ok(Some(text(found.as_str()))),
            Err(FileError::NotFound | FileError::IsAFolder(_) | FileError::NotAFolder(_)) => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn write(&self, path: &str, text: &str, version: u64) -> Result<u64, Refused> {
        Ok(self.files().write_if(&full(path), text, &Precondition::Version(version))?.version)
    }

    fn create(
        &self,
        files: &[(&str, &str)],
        created: u64,
    ) -> Result<Vec<Result<u64, Refused>>, SyncError> {
        let time = UNIX_EPOCH + Duration::from_millis(created);
        let paths: Vec<_> = files.iter().map(|(path, _)| listed(path).ok()).collect();
        let new = paths
            .iter()
            .zip(files)
            .filter_map(|(path, (_, text))| Some(NewFile::new(path.as_ref()?, text).created(time)));
        let mut created = self.create_files(&new.collect::<Vec<_>>())?.into_iter();
        let result = |path: &Option<String>| match path.as_ref().and_then(|_| created.next()) {
            Some(created) => created.map_err(Into::into),
            None => Err(Refused::Held),
        };
        Ok(paths.iter().map(result).collect())
    }

    fn rename(&self, old: &str, new: &str, version: u64) -> Result<u64, Refused> {
        let new = listed(new)?;
        Ok(self.files().rename_if(&full(old), &new, &Precondition::Version(version))?)
    }

    fn remove(&self, path: &str, version: u64) -> Result<(), Refused> {
        Ok(self.files().remove_if(&full(path), &Precondition::Version(version))?)
    }

    fn commit(&self) -> Result<u64, SyncError> {
        Ok(self.status()?.commit)
    }

    fn noted_forgets(&self) -> Result<BTreeMap<u64, u64>, SyncError> {
        Ok(Session::noted_forgets(self)?)
    }

    fn drop_noted(&self, forgets: &BTreeMap<u64, u64>) -> Result<(), SyncError> {
        Ok(self.drop_noted_forgets(forgets)?)
    }

    fn forget(&self, numbers: &BTreeSet<u64>, until: u64) -> Result<(), SyncError> {
        Ok(self.forget_files(numbers, until)?)
    }
}

impl From<FileError> for Refused {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Changed(_)
            | FileError::NotFound
            | FileError::AlreadyExists
            | FileError::NotAFolder(_)
            | FileError::IsAFolder(_) => Self::Changed,
            FileError::Store(error) if !matches!(error, StoreError::TooLarge) => {
                Self::Failed(error.into())
            }
            _ => Self::Held,
        }
    }
}

fn full(path: &str) -> String {
    format!("{ROOT}{path}")
}

/// The whole path of a file, if it is listed with it. Another one would be taken for another file.
fn listed(path: &str) -> Result<String, Refused> {
    let path = full(path);
    let is_same = Session::listed_path(&path).is_some_and(|listed| *listed == path);
    if is_same { Ok(path) } else { Err(Refused::Held) }
}

fn below(path: &str) -> &str {
    path.strip_prefix(ROOT).unwrap_or(path)
}

const ROOT: &str = "/memories/";
