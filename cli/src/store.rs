//! The store that a command works on: where it is, how it is opened, what it can be asked.

use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use inmost::{
    Entry, FileError, FileText, MemoryTool, Session, Status, StoreError, ToolResult, Vault,
    VaultOptions,
};

use crate::args::{KdfArgs, StoreArgs};
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
        self.passphrase.check(input)?;
        work_on(self.unlock(&self.place()?, input)?, work)
    }

    /// The same, on a store that is made first if there is none.
    pub(crate) fn with_store_or_new<T>(
        &self,
        kdf: &KdfArgs,
        input: Input,
        work: impl FnOnce(&OpenStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.passphrase.check(input)?;
        let place = self.place()?;
        let store = match self.unlock(&place, input) {
            Err(Failure::Told { exit: Exit::NotAStore, .. }) => self.create(&place, kdf, input)?,
            unlocked => unlocked?,
        };
        work_on(store, work)
    }

    /// Makes a store, and says where.
    pub(crate) fn make_store(&self, kdf: &KdfArgs) -> Result<PathBuf, Failure> {
        let place = self.place()?;
        work_on(self.create(&place, kdf, Input::Free)?, |_| Ok(()))?;
        Ok(place)
    }

    /// Where the store is.
    pub(crate) fn place(&self) -> Result<PathBuf, Failure> {
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
    fn unlock(&self, place: &Path, input: Input) -> Result<OpenStore, Failure> {
        let vault = Vault::open(place)?;
        let passphrase = self.passphrase.of_store(input)?;
        Ok(OpenStore::new(vault.unlock(&passphrase)?))
    }

    fn create(&self, place: &Path, kdf: &KdfArgs, input: Input) -> Result<OpenStore, Failure> {
        check_vacant(place)?;
        if self.folder.is_none() {
            make_data_folder(place)?;
        }
        check_parent(place)?;
        let passphrase = self.passphrase.of_new_store(input)?;
        let options = VaultOptions::new().kdf_cost(kdf.cost());
        Ok(OpenStore::new(options.create(place, &passphrase)?))
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
