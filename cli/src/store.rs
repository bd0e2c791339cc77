//! The store that a command works on: where it is, how it is opened, what it can be asked.

use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use inmost::{
    Entry, FileError, FileText, MemoryTool, Session, Status, StoreError, ToolResult, Vault,
    VaultOptions,
};

use crate::args::{KdfArgs, PlaceArgs, StoreArgs};
use crate::credential::{By, Secret};
use crate::exit::{Exit, Failure};
use crate::passphrase::Input;

/// An unlocked store. Commands know nothing else of it, so that it need not be this process that holds it.
pub(crate) struct OpenStore {
    session: Session,
    tool: MemoryTool,
}

impl OpenStore {
    fn new(session: Session) -> Self {
        Self { tool: MemoryTool::new(session.clone()), session }
    }

    /// Answers a call of the memory tool in any case; the error is why no further one can be.
    pub(crate) fn answer(&self, json: &[u8]) -> (ToolResult, Option<StoreError>) {
        self.tool.answer(json)
    }

    pub(crate) fn read(&self, path: &str) -> Result<FileText, FileError> {
        self.session.files().read(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> Result<(), FileError> {
        self.session.files().write(path, text)
    }

    pub(crate) fn list(&self, path: &str) -> Result<Vec<Entry>, FileError> {
        self.session.files().list(path)
    }

    pub(crate) fn remove(&self, path: &str) -> Result<(), FileError> {
        self.session.files().remove(path)
    }

    pub(crate) fn rename(&self, old: &str, new: &str) -> Result<(), FileError> {
        self.session.files().rename(old, new)
    }

    pub(crate) fn status(&self) -> Result<Status, StoreError> {
        self.session.status()
    }

    fn close(self) {
        self.session.lock();
    }
}

impl StoreArgs {
    /// Opens the store, works on it and closes it, however the work went.
    pub(crate) fn with_store<T>(
        &self,
        input: Input,
        work: impl FnOnce(&OpenStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.place.credential.passphrase.check(input)?;
        let (store, _) = self.place.unlock(&self.place.path()?, input, self.by())?;
        work_on(store, work)
    }

    /// The same, for work on the keyslots; it gets what opened the store as well.
    pub(crate) fn with_keys<T>(
        &self,
        work: impl FnOnce(&Session, &Secret) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.place.with_keys(self.by(), work)
    }

    fn by(&self) -> By {
        By::recovery(self.recovery)
    }

    /// The same, on a store that is made first if there is none.
    pub(crate) fn with_store_or_new<T>(
        &self,
        kdf: &KdfArgs,
        input: Input,
        work: impl FnOnce(&OpenStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.place.credential.passphrase.check(input)?;
        let path = self.place.path()?;
        let store = match self.place.unlock(&path, input, self.by()) {
            Err(Failure::Told { exit: Exit::NotAStore, .. }) if self.recovery => {
                return Err(Failure::usage(
                    "A new store needs a passphrase.",
                    "Leave out --recovery; `inmost slot add --recovery` makes a key for it.",
                ));
            }
            Err(Failure::Told { exit: Exit::NotAStore, .. }) => {
                self.place.create(&path, kdf, input)?
            }
            unlocked => unlocked?.0,
        };
        work_on(store, work)
    }

    /// Where the store is.
    pub(crate) fn path(&self) -> Result<PathBuf, Failure> {
        self.place.path()
    }
}

impl PlaceArgs {
    /// See [`StoreArgs::with_keys`].
    pub(crate) fn with_keys<T>(
        &self,
        by: By,
        work: impl FnOnce(&Session, &Secret) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let (store, secret) = self.unlock(&self.path()?, Input::Free, by)?;
        work_on(store, |store| work(&store.session, &secret))
    }

    /// Makes a store, and works on it.
    pub(crate) fn make_store<T>(
        &self,
        kdf: &KdfArgs,
        work: impl FnOnce(&Session) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        work_on(self.create(&self.path()?, kdf, Input::Free)?, |store| work(&store.session))
    }

    /// Where the store is.
    pub(crate) fn path(&self) -> Result<PathBuf, Failure> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let folders = etcetera::choose_base_strategy().map_err(|_| {
            Failure::usage(
                "This system names no folder for the data of programs.",
                "Say where the store is, with --store or INMOST_STORE.",
            )
        })?;
        Ok(folders.data_dir().join("inmost").join("memory"))
    }

    /// The place is looked at before anyone is asked for a passphrase in vain.
    fn unlock(&self, place: &Path, input: Input, by: By) -> Result<(OpenStore, Secret), Failure> {
        let vault = Vault::open(place)?;
        let secret = self.credential.of_store(input, by)?;
        Ok((OpenStore::new(vault.unlock_with(secret.credential())?), secret))
    }

    fn create(&self, place: &Path, kdf: &KdfArgs, input: Input) -> Result<OpenStore, Failure> {
        check_vacant(place)?;
        if self.folder.is_none() {
            make_data_folder(place)?;
        }
        check_parent(place)?;
        let secret = self.credential.of_new_store(input)?;
        let options = VaultOptions::new().kdf_cost(kdf.cost());
        Ok(OpenStore::new(options.create_with(place, secret.credential())?))
    }
}

fn work_on<T>(
    store: OpenStore,
    work: impl FnOnce(&OpenStore) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let done = work(&store);
    store.close();
    done
}

/// Spares a person the choice of a passphrase for a store that cannot be made; the library decides.
fn check_vacant(place: &Path) -> Result<(), Failure> {
    let is_vacant = match fs::read_dir(place) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    if is_vacant { Ok(()) } else { Err(StoreError::AlreadyExists.into()) }
}

fn check_parent(place: &Path) -> Result<(), Failure> {
    let parent = match place.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Ok(()),
    };
    if parent.is_dir() {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Io,
        "The folder in which the store should be made is not there.",
        "Make that folder first, or choose another place.",
    ))
}

/// The data folder may be new on a new machine; what we add to it is its owner's alone.
fn make_data_folder(place: &Path) -> Result<(), Failure> {
    let Some(parent) = place.parent() else { return Ok(()) };
    let mut folder = DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.create(parent).map_err(|error| {
        Failure::io(
            "The data folder cannot be made",
            &error,
            "Say where the store should be, with --store or INMOST_STORE.",
        )
    })
}
