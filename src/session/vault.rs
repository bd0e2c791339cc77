//! Creates, opens and unlocks stores on disk.

mod create;
#[cfg(feature = "postgres")]
pub(crate) mod database;
mod keyslots;
pub(crate) mod leftovers;
mod several_hosts;
mod url;

use std::path::Path;
use std::sync::Arc;

use self::create::begin;
use crate::session::anchor::freshness::{self, Rollback};
use crate::session::anchor::{Anchor, FreshnessAnchor, FreshnessMark, Mark};
use crate::session::clock::{check_clock, now};
use crate::session::commit::handle::Session;
use crate::session::engines::{LOCAL, is_built};
use crate::session::error::StoreError;
use crate::session::expiry_settings::ExpirySettings;
use crate::session::history_settings::HistorySettings;
use crate::session::open::Open;
use crate::session::open::generation::{FIRST_GENERATION, open_records, sealer, write_headers};
use crate::session::options::{SessionOptions, StorageEngine};
use inmost_engines::local::LocalStorage;
use inmost_format::crypto::cost::{KdfCost, KdfLimits};
use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::passphrase::Passphrase;
use inmost_format::header::{Credential, Enrolment, SlotKind};
use inmost_format::header::{Header, HeaderError};
use inmost_format::header::{NewHeader, SlotInfo, Unlocked};
use inmost_format::header::{SlotLabel, unlock_first};
use inmost_format::secret::Process;
use inmost_storage::{EngineKind, HeaderCopy, Storage, StorageError};

/// A locked store. It can only be unlocked: no method reads its content.
///
/// A vault holds its store, so no other process can open it. After an unlock, the session holds the store instead. In a
/// child that `fork` makes, its methods return [`StoreError::Forked`].
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("claude.inmost");
/// use inmost::{Passphrase, StoreError, Vault};
///
/// let passphrase = Passphrase::new("correct horse battery staple")?;
/// Vault::create(&path, &passphrase)?.lock();
///
/// let mut vault = Vault::open(&path)?;
/// let wrong = vault.unlock(&Passphrase::new("incorrect horse")?);
/// assert!(matches!(wrong, Err(StoreError::WrongPassphrase)));
/// let session = vault.unlock(&passphrase)?;
/// # session.lock();
/// # Ok(())
/// # }
/// ```
pub struct Vault {
    /// `None` once a session holds it.
    pub(super) storage: Option<Arc<dyn Storage>>,
    /// The readable copies of the header, the higher revision first.
    pub(super) headers: Vec<(HeaderCopy, Header)>,
    pub(super) options: VaultOptions,
    /// The process that it belongs to.
    process: Process,
}

/// Options for creating and opening stores.
#[derive(Clone, Default)]
#[must_use]
pub struct VaultOptions {
    cost: KdfCost,
    limits: KdfLimits,
    pub(super) session: SessionOptions,
    pub(super) freshness: Option<Arc<dyn FreshnessAnchor>>,
    at_least: Option<FreshnessMark>,
    pub(super) requires_fresh: bool,
    engine: StorageEngine,
    history: HistorySettings,
    expiry: ExpirySettings,
    /// Whether unused files stay at an unlock.
    keeps_unused: bool,
}

impl Vault {
    /// Whether unused files stay at an unlock.
    pub(crate) fn keeps_unused(&self) -> bool {
        self.options.keeps_unused
    }

    /// Opens the store in a folder and takes its lock, with the default options.
    ///
    /// # Errors
    /// Those of [`VaultOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        VaultOptions::new().open(path)
    }

    /// Creates a store in a new folder and unlocks it, with the default options.
    ///
    /// # Errors
    /// Those of [`VaultOptions::create`].
    pub fn create(path: impl AsRef<Path>, passphrase: &Passphrase) -> Result<Session, StoreError> {
        VaultOptions::new().create(path, passphrase)
    }

    /// Destroys the store in a folder. Needs no passphrase and no intact store.
    ///
    /// Both copies of the header, which alone hold the store's keys, are overwritten and synced before anything else is
    /// removed. Other files in the folder stay, and then the folder stays too.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`], [`StoreError::InUse`] and [`StoreError::OtherOwner`], in which case nothing was touched; [`StoreError::Io`] and
    /// [`StoreError::UntrustedFile`] for a file that could not be overwritten or removed, when everything else is gone.
    ///
    /// # Security
    /// An SSD, a snapshot or a copy-on-write file system may keep the overwritten bytes. Backups are separate stores
    /// and are not touched.
    pub fn destroy(path: impl AsRef<Path>) -> Result<(), StoreError> {
        Ok(LocalStorage::open(path.as_ref(), LOCAL)?.destroy()?)
    }

    /// Returns the kinds of credential that the store has keyslots for, so that a program knows what to ask for.
    ///
    /// # Security
    /// This is read from a header that is not authenticated yet. Anyone who can write to the store can change it.
    #[must_use]
    pub fn slot_kinds(&self) -> Vec<SlotKind> {
        self.headers.first().map(|(_, header)| header.kinds()).unwrap_or_default()
    }

    /// Lists the keyslots of the header that an unlock with this credential would use. Opens no record, so it works for
    /// a store that is refused as rolled back: these keyslots are valid if that is accepted.
    ///
    /// # Errors
    /// [`StoreError::WrongPassphrase`], [`StoreError::WrongKey`], [`StoreError::KdfOutOfBounds`],
    /// [`StoreError::OutOfMemory`], [`StoreError::Tampered`], [`StoreError::InUse`] as for [`unlock`](Vault::unlock).
    pub fn slots<'a>(
        &self,
        credential: impl Into<Credential<'a>>,
    ) -> Result<Vec<SlotInfo>, StoreError> {
        self.storage()?;
        Ok(self.unlock_header(&credential.into())?.slots()?)
    }

    /// Unlocks the store. The methods of the host do what is due at an unlock besides.
    pub(crate) fn unlock_by(
        &mut self,
        credential: &Credential<'_>,
        rollback: Rollback,
    ) -> Result<Session, StoreError> {
        let storage = Arc::clone(self.storage()?);
        if let Some(place) = storage.shared() {
            return self.unlock_shared(&storage, place, credential, rollback);
        }
        let keys = self.unlock_header(credential)?;
        let options = &self.options;
        let header = keys.header().clone();
        // The engine recovers its files when it opens them, so this comes after the header has authenticated.
        let sealer = sealer(&keys);
        let engine = open_records(&*storage, &header, &sealer)?;
        let mut anchor = self.anchor(&keys)?;
        let mut open = Open::new(storage, engine, sealer, Some(keys), &options.session)?;
        // A process may have died between applying its last batch and syncing it. A power cut must not take back
        // anything that is shown from here on.
        open.engine().sync()?;

        let (bound, found) = (open.root().header, open.mark());
        let anchored = open.root().anchored;
        let unsettled =
            freshness::check(&header, &bound, found.as_ref(), anchored, &mut anchor, rollback)?;
        if self.options.requires_fresh && rollback == Rollback::Refuse {
            anchor.require_fresh()?;
        }
        open.keep_anchor(anchor);
        leftovers::keep_only(open.storage(), &header, &self.headers)?;
        let session = Session::with(open, &options.session)?;
        session.settle(unsettled.header.then(|| header.id()), unsettled.skip)?;
        // From here on the session alone holds the store, and releases it when it is locked.
        self.storage = None;
        Ok(session)
    }

    /// The storage, unless a session holds it.
    pub(crate) fn storage(&self) -> Result<&Arc<dyn Storage>, StoreError> {
        StoreError::check_process(self.process.is_current())?;
        self.storage.as_ref().ok_or(StoreError::InUse(Some(std::process::id())))
    }

    /// The anchors, as they were before this unlock.
    pub(crate) fn anchor(&self, keys: &Unlocked) -> Result<Anchor, StoreError> {
        let mut anchor = Anchor::new(keys, self.options.freshness.clone());
        anchor.load(&**self.storage()?);
        anchor.load_external();
        if let Some(mark) = &self.options.at_least {
            anchor.require(mark);
        }
        Ok(anchor)
    }

    /// The parsed copies of the header.
    pub(crate) fn headers(&self) -> &[(HeaderCopy, Header)] {
        &self.headers
    }

    /// Tries the copies of the header, the higher revision first.
    pub(crate) fn unlock_header(
        &self,
        credential: &Credential<'_>,
    ) -> Result<Unlocked, StoreError> {
        StoreError::check_process(self.process.is_current() && credential.is_of_this_process())?;
        let headers: Vec<&Header> = self.headers.iter().map(|(_, header)| header).collect();
        let unlocked = unlock_first(&headers, credential).map(|(_, keys)| keys);
        unlocked.map_err(|error| StoreError::of_unlock(error, credential.kind()))
    }
}

impl VaultOptions {
    /// Starts from the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the cost of key derivation for a new store's passphrase.
    pub fn kdf_cost(mut self, cost: KdfCost) -> Self {
        self.cost = cost;
        self
    }

    /// Sets the limits on the cost of an unlock. A header that asks for more is refused before anything is paid.
    pub fn kdf_limits(mut self, limits: KdfLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the engine of a new store; sled by default. An existing store names its own.
    pub fn engine(mut self, engine: StorageEngine) -> Self {
        self.engine = engine;
        self
    }

    /// Sets how long a new store keeps earlier versions of files; off by default, so that what an application says about
    /// deleting is up to it. An existing store has its own setting; see [`History::set`](crate::History::set).
    pub fn history(mut self, settings: HistorySettings) -> Self {
        self.history = settings;
        self
    }

    /// Sets whether a new store records readings, and whether unused files expire; off by default. An existing store has its
    /// own setting; see [`Expiry::set`](crate::Expiry::set).
    pub fn expiry(mut self, settings: ExpirySettings) -> Self {
        self.expiry = settings;
        self
    }

    /// Keeps the files that would expire at this unlock, for a caller that only reads or that asks a person first. They expire
    /// at the next unlock without this option; off by default.
    pub fn keep_unused_files(mut self) -> Self {
        self.keeps_unused = true;
        self
    }

    /// Sets the quotas and the cache of the session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.session = options;
        self
    }

    /// Sets a second place for the newest commit's mark, to detect that the whole store was replaced by an older copy.
    pub fn freshness_anchor(mut self, anchor: Arc<dyn FreshnessAnchor>) -> Self {
        self.freshness = Some(anchor);
        self
    }

    /// Refuses a store that is older than this mark, with [`StoreError::RolledBack`]. A mark of another store, or from before its
    /// keys were rotated, is [`StoreError::ForeignAnchor`]. The mark comes from [`Session::mark`](crate::Session::mark), of this
    /// host or another one.
    pub fn at_least(mut self, mark: FreshnessMark) -> Self {
        self.at_least = Some(mark);
        self
    }

    /// Refuses a store whose freshness is not known, with [`StoreError::FreshnessUnknown`]: an anchor is missing, damaged or older,
    /// cannot be read, or had no value. For a vault in a database that is known only with an anchor or a mark of the application.
    /// [`unlock_accepting_rollback`](Vault::unlock_accepting_rollback) does not ask. Off by default: the status of the session
    /// tells.
    pub fn require_fresh(mut self) -> Self {
        self.requires_fresh = true;
        self
    }

    /// Opens the store in a folder and takes its lock. A folder without a store is left unchanged.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`], [`StoreError::InUse`], [`StoreError::ClockBefore1970`], [`StoreError::HeaderDamaged`] if neither
    /// copy of the header can be read, [`StoreError::UnknownFormat`], [`StoreError::EngineNotBuilt`], [`StoreError::KdfOutOfBounds`],
    /// [`StoreError::UntrustedFile`], [`StoreError::Io`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Vault, StoreError> {
        check_clock()?;
        self.open_storage(Arc::new(LocalStorage::open(path.as_ref(), LOCAL)?))
    }

    /// Creates a store in a new or empty folder, and unlocks it. A crash leaves either a complete store or none.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`], [`StoreError::EngineNotBuilt`], [`StoreError::KdfOutOfBounds`],
    /// [`StoreError::OutOfMemory`], [`StoreError::ForeignAnchor`] if the freshness anchor has a value already,
    /// [`StoreError::AnchorUnavailable`] if it cannot be read, [`StoreError::RandomnessFailed`], [`StoreError::UntrustedFile`],
    /// [`StoreError::DiskFull`], [`StoreError::Io`].
    pub fn create(
        &self,
        path: impl AsRef<Path>,
        passphrase: &Passphrase,
    ) -> Result<Session, StoreError> {
        self.create_with(path, passphrase)
    }

    /// Checks that the freshness anchor has no value. A new store would overwrite it, and it is the only evidence of a rollback of the
    /// store that it belongs to.
    pub(super) fn check_anchor_is_free(&self) -> Result<(), StoreError> {
        match self.freshness.as_ref().map(|anchor| anchor.load()) {
            None | Some(Ok(None)) => Ok(()),
            Some(Ok(Some(_))) => Err(StoreError::ForeignAnchor),
            Some(Err(_)) => Err(StoreError::AnchorUnavailable),
        }
    }

    /// As [`create`](VaultOptions::create), with any kind of credential.
    ///
    /// # Errors
    /// Those of [`create`](VaultOptions::create).
    pub fn create_with<'a>(
        &self,
        path: impl AsRef<Path>,
        credential: impl Into<Credential<'a>>,
    ) -> Result<Session, StoreError> {
        check_clock()?;
        if !is_built(self.engine.kind()) {
            return Err(StoreError::EngineNotBuilt);
        }
        self.check_anchor_is_free()?;
        let storage = LocalStorage::create(path.as_ref(), LOCAL).map_err(occupied)?;
        let keys = self.fill(&storage, self.engine.kind(), credential)?;
        let storage = storage.publish().map_err(occupied)?;
        let sealer = sealer(&keys);
        let engine = open_records(&storage, keys.header(), &sealer)?;
        let mut anchor = Anchor::new(&keys, self.freshness.clone());
        anchor.load(&storage);
        let mut open = Open::new(Arc::new(storage), engine, sealer, Some(keys), &self.session)?;
        open.keep_anchor(anchor);
        open.remember();
        Session::with(open, &self.session)
    }

    /// Writes a new store: generation and root first, then the header, without which they are unusable.
    pub(crate) fn fill<'a>(
        &self,
        storage: &dyn Storage,
        engine: EngineKind,
        credential: impl Into<Credential<'a>>,
    ) -> Result<Unlocked, StoreError> {
        let credential = credential.into();
        StoreError::check_process(credential.is_of_this_process())?;
        StoreError::check_new(credential.is_one_line())?;
        let label = SlotLabel::of_kind(credential.kind());
        let enrolment = Enrolment { credential, cost: self.cost, label: &label, now_ms: now() };
        let store = StoreId::generate()?;
        let generation = FIRST_GENERATION;
        let keys = NewHeader { store, engine, generation, enrolment }.create(&self.limits)?;
        let sealer = sealer(&keys);
        let records = storage.create_generation_with(generation, engine, sealer.journal())?;
        let (root, root_value) =
            begin(&*records, &sealer, keys.header().id(), self.history, self.expiry)?;
        records.close()?;
        // Before the store has its name, so that no crash leaves one without an anchor.
        if let Some(mark) = Mark::of(&root, generation, &root_value) {
            Anchor::new(&keys, None).remember(storage, &mark);
        }
        write_headers(storage, keys.header().bytes())?;
        Ok(keys)
    }

    pub(crate) fn open_storage(&self, storage: Arc<dyn Storage>) -> Result<Vault, StoreError> {
        let headers = self.read_headers(&*storage)?;
        let process = Process::current();
        Ok(Vault { storage: Some(storage), headers, options: self.clone(), process })
    }

    /// The copies of the header that can be read, the higher revision first. At least one.
    pub(super) fn read_headers(
        &self,
        storage: &dyn Storage,
    ) -> Result<Vec<(HeaderCopy, Header)>, StoreError> {
        let mut headers = Vec::new();
        let mut failure = None::<StoreError>;
        for copy in [HeaderCopy::A, HeaderCopy::B] {
            let bytes = match storage.read_header(copy) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => continue,
                // As a damaged copy: one bad sector must not keep the store closed.
                Err(error @ StorageError::Io(_)) => {
                    failure = Some(error.into());
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            match Header::parse(&bytes, &self.limits) {
                Ok(header) if is_built(header.engine()) => headers.push((copy, header)),
                Ok(_) => failure = Some(StoreError::EngineNotBuilt),
                // An unreadable copy carries less information than an intact one of an unknown format or engine.
                Err(HeaderError::NotAStore | HeaderError::Damaged(_)) => {}
                Err(error) => failure = Some(error.into()),
            }
        }
        if headers.is_empty() {
            // Generations without a header belong to a store that has lost its header, never to an empty one. The same
            // holds for a header file with other content.
            return Err(failure.unwrap_or(StoreError::HeaderDamaged));
        }
        headers.sort_by_key(|(_, header)| std::cmp::Reverse(header.revision()));
        Ok(headers)
    }
}

pub(crate) fn occupied(error: StorageError) -> StoreError {
    match error {
        StorageError::Io(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            StoreError::AlreadyExists
        }
        error => error.into(),
    }
}
