//! The store that a command works on: where it is, how it is opened, what it can be asked.

use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};

use std::sync::Arc;

use etcetera::BaseStrategy;
use inmost::{
    AnchorStatus, CheckReport, Entry, FileAnchor, FileError, FileText, MemoryTool, RepairReport,
    Session, Status, StorageEngine, StoreError, ToolResult, Vault, VaultOptions,
};

use crate::args::{EngineName, KdfArgs, OpenArgs, PlaceArgs, StoreArgs};
use crate::credential::{By, Secret};
use crate::exit::{Exit, Failure};
use crate::passphrase::Input;
use crate::{compact_offer, streams};

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

    pub(crate) fn check(&self, progress: impl FnMut(u64)) -> Result<CheckReport, StoreError> {
        self.session.check(progress)
    }

    pub(crate) fn repair(&self, progress: impl FnMut(u64)) -> Result<RepairReport, StoreError> {
        self.session.repair(progress)
    }

    pub(crate) fn purge(&self, progress: impl FnMut(u64)) -> Result<(), StoreError> {
        self.session.purge(progress)
    }

    pub(crate) fn migrate(
        &self,
        engine: StorageEngine,
        progress: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        self.session.migrate(engine, progress)
    }

    pub(crate) fn backup(&self, to: &Path, progress: impl FnMut(u64)) -> Result<(), StoreError> {
        self.session.backup(to, progress)
    }

    pub(crate) fn compaction_due(&self) -> Result<bool, StoreError> {
        self.session.compaction_due()
    }

    fn close(self) {
        self.session.lock();
    }
}

impl StoreArgs {
    /// Opens the store, works on it and closes it, however the work went. A person at a terminal may be offered to
    /// compact it first.
    pub(crate) fn with_store<T>(
        &self,
        input: Input,
        work: impl FnOnce(&OpenStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.with_store_as_it_is(input, |store| {
            if !self.open.no_compact_offer && input == Input::Free {
                compact_offer::make(store)?;
            }
            work(store)
        })
    }

    /// The same, without an offer.
    pub(crate) fn with_store_as_it_is<T>(
        &self,
        input: Input,
        work: impl FnOnce(&OpenStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.open.credential.passphrase.check(input)?;
        work_on(self.open.unlock(&self.place()?, input, self.by())?.0, work)
    }

    /// The same, for work on the keyslots; it gets what opened the store as well.
    pub(crate) fn with_keys<T>(
        &self,
        work: impl FnOnce(&Session, &Secret) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.open.with_keys(self.by(), work)
    }

    /// The same, on a store that is made first if there is none.
    pub(crate) fn with_store_or_new<T>(
        &self,
        kdf: &KdfArgs,
        input: Input,
        work: impl FnOnce(&OpenStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.open.credential.passphrase.check(input)?;
        let place = self.place()?;
        let store = match self.open.unlock(&place, input, self.by()) {
            Err(Failure::Told { exit: Exit::NotAStore, .. }) if self.recovery => {
                return Err(Failure::usage(
                    "A new store needs a passphrase.",
                    "Leave out --recovery; `inmost slot add --recovery` makes a key for it.",
                ));
            }
            Err(Failure::Told { exit: Exit::NotAStore, .. }) => {
                self.open.create(&place, kdf, EngineName::Sled, input)?
            }
            unlocked => unlocked?.0,
        };
        work_on(store, work)
    }

    /// Takes hold of the store, and asks for what opens it.
    pub(crate) fn open(&self, input: Input) -> Result<(Vault, Secret), Failure> {
        self.open.credential.passphrase.check(input)?;
        let vault = self.vault()?;
        let secret = self.open.credential.of_store(input, self.by())?;
        Ok((vault, secret))
    }

    /// Takes hold of the store. The place is looked at before anyone is asked for a passphrase in vain.
    pub(crate) fn vault(&self) -> Result<Vault, Failure> {
        let place = self.place()?;
        Ok(self.open.options(&place)?.open(&place)?)
    }

    /// Where the store is.
    pub(crate) fn place(&self) -> Result<PathBuf, Failure> {
        self.open.place()
    }

    fn by(&self) -> By {
        By::recovery(self.recovery)
    }
}

impl OpenArgs {
    /// See [`StoreArgs::with_keys`].
    pub(crate) fn with_keys<T>(
        &self,
        by: By,
        work: impl FnOnce(&Session, &Secret) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let (store, secret) = self.unlock(&self.place()?, Input::Free, by)?;
        work_on(store, |store| work(&store.session, &secret))
    }

    /// Makes a store, and works on it.
    pub(crate) fn make_store<T>(
        &self,
        kdf: &KdfArgs,
        engine: EngineName,
        work: impl FnOnce(&Session) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let store = self.create(&self.place()?, kdf, engine, Input::Free)?;
        work_on(store, |store| work(&store.session))
    }

    /// Where the store is.
    pub(crate) fn place(&self) -> Result<PathBuf, Failure> {
        self.place.place()
    }

    fn options(&self, place: &Path) -> Result<VaultOptions, Failure> {
        let options = VaultOptions::new();
        let Some(anchor) = &self.anchor else { return Ok(options) };
        check_anchor(anchor, place)?;
        Ok(options.freshness_anchor(Arc::new(FileAnchor::new(anchor))))
    }

    fn unlock(&self, place: &Path, input: Input, by: By) -> Result<(OpenStore, Secret), Failure> {
        let vault = self.options(place)?.open(place)?;
        let secret = self.credential.of_store(input, by)?;
        let store = OpenStore::new(vault.unlock_with(secret.credential())?);
        if self.anchor.is_some() && store.status()?.anchor == AnchorStatus::Failing {
            streams::warn("The file given as anchor cannot be read or written.");
        }
        Ok((store, secret))
    }

    fn create(
        &self,
        place: &Path,
        kdf: &KdfArgs,
        engine: EngineName,
        input: Input,
    ) -> Result<OpenStore, Failure> {
        check_vacant(place)?;
        if self.place.folder.is_none() {
            make_data_folder(place)?;
        }
        check_parent(place)?;
        let options = self.options(place)?.kdf_cost(kdf.cost()).engine(engine.engine());
        if self.anchor.as_ref().is_some_and(|anchor| anchor.exists()) {
            return Err(Failure::usage(
                "The file given as anchor is there already, so it is another store's.",
                "Give each store an anchor of its own, or remove the file.",
            ));
        }
        let secret = self.credential.of_new_store(input)?;
        Ok(OpenStore::new(options.create_with(place, secret.credential())?))
    }
}

impl PlaceArgs {
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
}

fn work_on<T>(
    store: OpenStore,
    work: impl FnOnce(&OpenStore) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let done = work(&store);
    store.close();
    done
}

/// An anchor that is put back together with its store tells nothing.
fn check_anchor(anchor: &Path, store: &Path) -> Result<(), Failure> {
    if is_inside(anchor, store) {
        return Err(Failure::usage(
            "The file given as anchor is in the folder of the store, and would be put back with it.",
            "Keep it elsewhere, best on another disk.",
        ));
    }
    if folder_of(anchor).is_dir() {
        return Ok(());
    }
    Err(Failure::usage(
        "The folder of the file given as anchor is not there.",
        "Check the path, or make that folder.",
    ))
}

/// Whether a place, taken or not, is in the folder `outer` or below it.
pub(crate) fn is_inside(place: &Path, outer: &Path) -> bool {
    match (folder_of(place).canonicalize(), outer.canonicalize()) {
        (Ok(folder), Ok(outer)) => folder.starts_with(outer),
        _ => false,
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Spares a person the choice of a passphrase for a store that cannot be made; the library decides.
pub(crate) fn check_vacant(place: &Path) -> Result<(), Failure> {
    let is_vacant = match fs::read_dir(place) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    if is_vacant { Ok(()) } else { Err(StoreError::AlreadyExists.into()) }
}

pub(crate) fn check_parent(place: &Path) -> Result<(), Failure> {
    if folder_of(place).is_dir() {
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
