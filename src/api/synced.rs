//! What the crate `inmost-sync` needs of a session: the numbers of files, and a key for its state.

use std::collections::{BTreeMap, BTreeSet};

use inmost_format::header::Unlocked;
use inmost_format::limits::PATH_DEPTH;
use inmost_format::record::node::What;
use inmost_format::secret::Wiped;

use crate::session::{ReadAhead, Scope, Session, StoreError, open_state, seal_state};
use crate::vfs::path::MemoryPath;
use crate::vfs::{FileError, FileText, NewFile, many, versions, walk};

/// A file and the numbers by which it is recognised.
#[doc(hidden)]
pub struct NumberedFile {
    /// Its canonical path.
    pub path: FileText,
    /// The number of the change that created it, which a rename does not change.
    pub number: u64,
    /// When it was created, in milliseconds since 1970. Neither a rename nor an edit changes it.
    pub created: u64,
    /// The number of its last change. If a folder above it is renamed, it stays.
    pub version: u64,
}

/// For the crate `inmost-sync`: without any promise of semver.
impl Session {
    /// Returns all files of one state of the store.
    ///
    /// # Errors
    /// [`FileError::Store`].
    #[doc(hidden)]
    pub fn numbered_files(&self) -> Result<Vec<NumberedFile>, FileError> {
        Session::read(self, |open| {
            let mut files = Vec::new();
            let source = ReadAhead::new(open, Scope::folders(PATH_DEPTH));
            walk::visit(
                (open, &source),
                &MemoryPath::parse("/memories")?,
                None,
                PATH_DEPTH,
                &mut |step| {
                    if let What::File(info) = step.entry.what {
                        let path = step.path.to_owned().into();
                        files.push(NumberedFile {
                            path,
                            number: info.number,
                            created: info.created,
                            version: info.version,
                        });
                    }
                    Ok(true)
                },
            )?;
            Ok(files)
        })
    }

    /// Creates files in few commits, in their order. Returns the version of each. One that is there already is an error.
    ///
    /// # Errors
    /// Those of the store. The files before some point of the order are then created, and those after it are not.
    #[doc(hidden)]
    pub fn create_files(
        &self,
        files: &[NewFile<'_>],
    ) -> Result<Vec<Result<u64, FileError>>, StoreError> {
        many::create(self, files)
    }

    /// Returns the path that a file at this path would be listed with. `None` if there cannot be one. Does no I/O.
    #[doc(hidden)]
    #[must_use]
    pub fn listed_path(path: &str) -> Option<Wiped<String>> {
        MemoryPath::parse(path).ok().map(|path| Wiped::new(path.as_str().to_owned()))
    }

    /// Seals the state of synchronisation under a key that follows from the master key. A rotation replaces it.
    ///
    /// # Errors
    /// [`StoreError::InMemory`]; [`StoreError::RandomnessFailed`].
    #[doc(hidden)]
    pub fn seal_sync_state(&self, mut state: Wiped<Vec<u8>>) -> Result<Vec<u8>, StoreError> {
        self.with_keys(|keys| seal_state(keys, &mut state))
    }

    /// Opens what [`seal_sync_state`](Self::seal_sync_state) returned. `None` if it is damaged, or was sealed under other keys.
    ///
    /// # Errors
    /// [`StoreError::InMemory`].
    #[doc(hidden)]
    pub fn open_sync_state(&self, sealed: &[u8]) -> Result<Option<Wiped<Vec<u8>>>, StoreError> {
        self.with_keys(|keys| Ok(open_state(keys, sealed)))
    }

    /// Returns up to which version files were forgotten that other devices do not know of yet, by the numbers of the files. `u64::MAX`
    /// stands for all versions.
    ///
    /// # Errors
    /// [`StoreError`].
    #[doc(hidden)]
    pub fn noted_forgets(&self) -> Result<BTreeMap<u64, u64>, StoreError> {
        self.forgets()
    }

    /// Drops what [`noted_forgets`](Self::noted_forgets) returned.
    ///
    /// # Errors
    /// [`StoreError`].
    #[doc(hidden)]
    pub fn drop_noted_forgets(&self, forgets: &BTreeMap<u64, u64>) -> Result<(), StoreError> {
        self.drop_forgets(forgets)
    }

    /// Forgets versions of files, up to and including one; `u64::MAX` stands for all. Current files stay as they are. Nothing is noted.
    ///
    /// # Errors
    /// [`FileError::Store`].
    #[doc(hidden)]
    pub fn forget_files(&self, numbers: &BTreeSet<u64>, until: u64) -> Result<(), FileError> {
        versions::forget_files(self, numbers, until)
    }

    fn with_keys<T>(
        &self,
        mut work: impl FnMut(&Unlocked) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        Session::read(self, |open| work(open.keys().ok_or(StoreError::InMemory)?))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::session::{HistorySettings, VaultOptions};
    use crate::vfs::{VersionKind, VersionQuery};
    use inmost_format::crypto::cost::{KdfCost, KdfLimits};
    use inmost_format::crypto::passphrase::Passphrase;

    #[test]
    fn a_rename_keeps_the_number_of_a_file() {
        let session = Session::in_memory().unwrap();
        session.files().write("/memories/a/x", "text").unwrap();
        session.files().write("/memories/y", "text").unwrap();
        let numbers = |session: &Session| -> Vec<_> {
            let files = session.numbered_files().unwrap();
            files
                .iter()
                .map(|file| (file.path.as_str().to_owned(), file.number, file.version))
                .collect()
        };
        let before = numbers(&session);
        session.files().rename("/memories/a", "/memories/b").unwrap();
        session.files().rename("/memories/y", "/memories/z").unwrap();
        let after = numbers(&session);
        assert_eq!(after[0], ("/memories/b/x".to_owned(), before[0].1, before[0].2));
        assert_eq!((after[1].1, after[1].0.as_str()), (before[1].1, "/memories/z"));
        assert_ne!(after[1].2, before[1].2);
    }

    #[test]
    fn created_files_have_the_versions_that_are_listed() {
        let session = Session::in_memory().unwrap();
        session.history().set(HistorySettings::keep(Duration::from_secs(86_400))).unwrap();
        session.files().write("/memories/there", "text").unwrap();
        let long = "x".repeat(crate::limits::STAGE_BYTES + 1);
        let short = [("/memories/a", "text"), ("/memories/b", "text"), ("/memories/c/d", "")];
        let new =
            short.into_iter().chain([("/memories/long", long.as_str()), ("/memories/e", "x")]);
        let old = [("/memories/there", "text"), ("/memories/there/below", "text")];
        let files: Vec<_> =
            new.clone().chain(old).map(|(path, text)| NewFile::new(path, text)).collect();
        let created = session.create_files(&files).unwrap();
        let listed = session.numbered_files().unwrap();
        for ((path, _), version) in new.zip(&created) {
            let listed = listed.iter().find(|file| file.path.as_str() == path).unwrap();
            assert_eq!(version.as_ref().unwrap(), &listed.version);
            assert_eq!(listed.number, listed.version);
        }
        let [.., Err(FileError::AlreadyExists), Err(FileError::NotAFolder(_))] = &created[..]
        else {
            panic!("{created:?}");
        };
        let page = session.history().page(&VersionQuery::all(), None, 100).unwrap();
        assert!(!page.items.is_empty());
        assert!(page.items.iter().all(|version| version.kind == VersionKind::Created));
    }

    #[test]
    fn the_sync_state_opens_in_its_own_store_alone() {
        let folder = tempfile::tempdir().unwrap();
        let passphrase = Passphrase::new("correct horse battery staple").unwrap();
        let [one, other] = ["one", "other"].map(|name| {
            let options = VaultOptions::new()
                .kdf_cost(KdfCost::new(64, 1, 1))
                .kdf_limits(KdfLimits::of_tests());
            options.create(folder.path().join(name), &passphrase).unwrap()
        });
        let sealed = one.seal_sync_state(Wiped::new(b"state".to_vec())).unwrap();
        assert_eq!(one.open_sync_state(&sealed).unwrap().unwrap().as_slice(), b"state");
        assert!(other.open_sync_state(&sealed).unwrap().is_none());
        assert!(one.open_sync_state(&sealed[..20]).unwrap().is_none());
        let memory = Session::in_memory().unwrap();
        assert!(matches!(memory.open_sync_state(&sealed), Err(StoreError::InMemory)));
    }
}
