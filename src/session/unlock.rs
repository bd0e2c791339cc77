//! Creating, finding and unlocking a store on disk.

use std::path::Path;
use std::sync::Arc;

use super::anchor::{self, Anchor, FreshnessAnchor};
use super::clock::now;
use super::create::begin;
use super::error::StoreError;
use super::generation::{FIRST_GENERATION, write_headers};
use super::handle::Session;
use super::open::Open;
use super::options::{SessionOptions, StorageEngine};
use inmost_engines::is_built;
use inmost_engines::local::LocalStorage;
use inmost_format::crypto::cost::{KdfCost, KdfLimits};
use inmost_format::crypto::passphrase::Passphrase;
use inmost_format::crypto::store_id::StoreId;
use inmost_format::header::{Credential, Enrolment, SlotKind};
use inmost_format::header::{Header, HeaderError};
use inmost_format::header::{NewHeader, Unlocked};
use inmost_format::header::{SlotLabel, unlock_first};
use inmost_format::record::{Flaw, HeaderId, Kind, Sealer};
use inmost_storage::{Engine, EngineKind, HeaderCopy, Storage, StorageError};

/// A locked store. It can only be unlocked: no method reads what is in it.
///
/// A vault holds its store: no other process can open it meanwhile. Once it is unlocked the session holds it instead.
pub struct Vault {
    /// `None` once a session has it.
    storage: Option<Arc<dyn Storage>>,
    /// What can be read of the header, the higher revision first.
    headers: Vec<(HeaderCopy, Header)>,
    options: VaultOptions,
}

/// How stores are created and opened.
#[derive(Clone, Default)]
#[must_use]
pub struct VaultOptions {
    cost: KdfCost,
    limits: KdfLimits,
    session: SessionOptions,
    freshness: Option<Arc<dyn FreshnessAnchor>>,
    engine: StorageEngine,
}

impl Vault {
    /// Finds the store in a folder and takes hold of it, with the default options.
    ///
    /// # Errors
    /// See [`VaultOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        VaultOptions::new().open(path)
    }

    /// Creates a store in a new folder and unlocks it, with the default options.
    ///
    /// # Errors
    /// See [`VaultOptions::create`].
    pub fn create(path: impl AsRef<Path>, passphrase: &Passphrase) -> Result<Session, StoreError> {
        VaultOptions::new().create(path, passphrase)
    }

    /// Removes the store in a folder for good: both copies of its header, which alone hold its keys, are overwritten and
    /// synced before anything else is removed. Asks for no passphrase, and for nothing to be intact. Files in the folder
    /// that are not the store's stay, and the folder with them.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`] and [`StoreError::InUse`], and then nothing was touched; [`StoreError::Io`] and
    /// [`StoreError::UntrustedFile`] for what could not be overwritten or removed, when everything else is gone.
    ///
    /// # Security
    /// An SSD, a snapshot or a copy-on-write file system may keep the overwritten bytes, and backups are stores of their
    /// own.
    pub fn destroy(path: impl AsRef<Path>) -> Result<(), StoreError> {
        Ok(LocalStorage::open(path.as_ref())?.destroy()?)
    }

    /// Unlocks the store.
    ///
    /// Costs one key derivation for each keyslot that is tried. What a crash has left to do is done here: a stale copy
    /// of the header is renewed, an unfinished generation removed, and some of what was deleted reaped.
    ///
    /// # Errors
    /// [`StoreError::WrongPassphrase`], [`StoreError::KdfOutOfBounds`], [`StoreError::RolledBack`], [`StoreError::Tampered`],
    /// [`StoreError::Storage`], [`StoreError::Io`]. The vault still holds the store then, for another try.
    /// [`StoreError::InUse`] with this process's own number if it was unlocked before.
    pub fn unlock(&mut self, passphrase: &Passphrase) -> Result<Session, StoreError> {
        self.unlock_with(passphrase)
    }

    /// Unlocks the store with any kind of credential: `&passphrase`, `(&passphrase, &keyfile)`, `&recovery_key`,
    /// `&raw_key`. It is tried on the keyslots of its kind.
    ///
    /// # Errors
    /// As [`unlock`](Vault::unlock), and [`StoreError::WrongKey`] where the credential is no passphrase alone.
    pub fn unlock_with<'a>(
        &mut self,
        credential: impl Into<Credential<'a>>,
    ) -> Result<Session, StoreError> {
        self.unlock_by(&credential.into(), Rollback::Refuse)
    }

    /// The kinds of credential that the store has keyslots for, to know what to ask for.
    ///
    /// # Security
    /// Read from a header that is not authenticated yet; whoever can write to the store can make it say anything.
    #[must_use]
    pub fn slot_kinds(&self) -> Vec<SlotKind> {
        self.headers.first().map(|(_, header)| header.kinds()).unwrap_or_default()
    }

    /// Unlocks a store that [`unlock`](Vault::unlock) calls rolled back, and goes on from its older state. For when a
    /// person knows why: a restored backup, a copy, a second device.
    ///
    /// The next commit gets a number above everything that was seen, so this is needed once.
    ///
    /// # Errors
    /// As [`unlock`](Vault::unlock); a header that is older than its records is refused here too, since it could bring a
    /// removed keyslot back.
    pub fn unlock_accepting_rollback<'a>(
        &mut self,
        credential: impl Into<Credential<'a>>,
    ) -> Result<Session, StoreError> {
        self.unlock_by(&credential.into(), Rollback::Accept)
    }

    fn unlock_by(
        &mut self,
        credential: &Credential<'_>,
        rollback: Rollback,
    ) -> Result<Session, StoreError> {
        let storage = Arc::clone(self.storage()?);
        let (copy, keys) = self.unlock_header(credential)?;
        let Self { headers, options, .. } = &*self;
        let header = keys.header().clone();
        // The engine runs recovery on its files when it opens them, so it comes after the header has
        // authenticated.
        let engine = open_records(&*storage, &header)?;
        let mut anchor = Anchor::new(&keys, options.freshness.clone());
        let seen = anchor.newest(&*storage, header.generation());
        let sealer = sealer(&keys);
        let mut open = Open::new(storage, engine, sealer, Some(keys), &options.session)?;
        // A process may have died between applying its last batch and syncing it. No power cut may take back
        // what is shown from here on.
        open.engine().sync()?;

        let bound = open.root().header;
        let interrupted = header.follows(&bound);
        if header.id() != bound && !interrupted {
            let (expected, found) = (bound.revision, header.revision());
            return Err(StoreError::HeaderRolledBack { expected, found });
        }
        let fresh = if anchor.is_foreign() {
            Err(StoreError::ForeignAnchor)
        } else {
            open.mark().map_or(Ok(()), |found| anchor::check(&found, seen.as_ref()))
        };
        let skip = match (fresh, rollback) {
            (Ok(()), _) => None,
            (Err(_), Rollback::Accept) => seen.map(|seen| seen.commit),
            (Err(error), Rollback::Refuse) => return Err(error),
        };
        open.keep_anchor(anchor);
        let other = copy.other();
        if !headers.iter().any(|(copy, kept)| *copy == other && kept.bytes() == header.bytes()) {
            match open.storage().write_header(other, header.bytes()) {
                // There is no keyslot to renew in a folder, and whose it is nobody knows. It keeps nobody from
                // reading; what changes a keyslot fails over it.
                Err(StorageError::UntrustedFile(_)) => {}
                renewed => renewed?,
            }
        }
        for stale in open.storage().generations()? {
            if stale != header.generation() {
                open.storage().remove_generation(stale)?;
            }
        }
        let session = Session::with(open, &options.session)?;
        session.settle(interrupted.then(|| header.id()), skip)?;
        // The session alone holds the store from here on, and gives it up when it is locked.
        self.storage = None;
        Ok(session)
    }

    /// Where the store is, unless a session has it.
    pub(crate) fn storage(&self) -> Result<&Arc<dyn Storage>, StoreError> {
        self.storage.as_ref().ok_or(StoreError::InUse(Some(std::process::id())))
    }

    /// Tries the copies of the header, the higher revision first.
    pub(crate) fn unlock_header(
        &self,
        credential: &Credential<'_>,
    ) -> Result<(HeaderCopy, Unlocked), StoreError> {
        let headers: Vec<&Header> = self.headers.iter().map(|(_, header)| header).collect();
        let (index, keys) = unlock_first(&headers, credential)
            .map_err(|error| StoreError::of_unlock(error, credential.kind()))?;
        let (copy, _) = self.headers.get(index).ok_or(StoreError::HeaderDamaged)?;
        Ok((*copy, keys))
    }
}

impl VaultOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// What guessing the passphrase of a new store is to cost.
    pub fn kdf_cost(mut self, cost: KdfCost) -> Self {
        self.cost = cost;
        self
    }

    /// What unlocking may cost; a header that asks for more is refused before anything is paid.
    pub fn kdf_limits(mut self, limits: KdfLimits) -> Self {
        self.limits = limits;
        self
    }

    /// What a new store keeps its records in; sled unless told otherwise. An existing one says itself.
    pub fn engine(mut self, engine: StorageEngine) -> Self {
        self.engine = engine;
        self
    }

    /// Quotas and cache of the session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.session = options;
        self
    }

    /// Where else the newest commit is remembered, to notice that the whole store was put back from an older copy.
    pub fn freshness_anchor(mut self, anchor: Arc<dyn FreshnessAnchor>) -> Self {
        self.freshness = Some(anchor);
        self
    }

    /// Finds the store in a folder and takes hold of it. A folder without a store is left as it is.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`], [`StoreError::InUse`], [`StoreError::HeaderDamaged`] if neither copy of the header can
    /// be read, [`StoreError::UnknownFormat`], [`StoreError::EngineNotBuilt`], [`StoreError::KdfOutOfBounds`],
    /// [`StoreError::UntrustedFile`], [`StoreError::Io`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Vault, StoreError> {
        self.open_storage(Arc::new(LocalStorage::open(path.as_ref())?))
    }

    /// Creates a store in a folder that does not exist yet, or is empty, and unlocks it. A crash leaves a whole
    /// store or none.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`], [`StoreError::EngineNotBuilt`], [`StoreError::KdfOutOfBounds`],
    /// [`StoreError::ForeignAnchor`] if the freshness anchor has a value already, [`StoreError::RandomnessFailed`],
    /// [`StoreError::UntrustedFile`], [`StoreError::Io`].
    pub fn create(
        &self,
        path: impl AsRef<Path>,
        passphrase: &Passphrase,
    ) -> Result<Session, StoreError> {
        self.create_with(path, passphrase)
    }

    /// As [`create`](VaultOptions::create), for any kind of credential.
    ///
    /// # Errors
    /// As [`create`](VaultOptions::create).
    pub fn create_with<'a>(
        &self,
        path: impl AsRef<Path>,
        credential: impl Into<Credential<'a>>,
    ) -> Result<Session, StoreError> {
        if !is_built(self.engine.kind()) {
            return Err(StoreError::EngineNotBuilt);
        }
        // It would be overwritten, and is the only thing that tells of a rollback of the store it belongs to.
        if let Some(Ok(Some(_))) = self.freshness.as_ref().map(|anchor| anchor.load()) {
            return Err(StoreError::ForeignAnchor);
        }
        let storage = LocalStorage::create(path.as_ref()).map_err(occupied)?;
        let keys = self.fill(&storage, self.engine.kind(), credential)?;
        let storage = storage.publish().map_err(occupied)?;
        let header = keys.header();
        let engine = storage.open_generation(header.generation(), header.engine())?;
        let sealer = sealer(&keys);
        let anchor = Anchor::new(&keys, self.freshness.clone());
        let mut open = Open::new(Arc::new(storage), engine, sealer, Some(keys), &self.session)?;
        open.keep_anchor(anchor);
        open.remember();
        Session::with(open, &self.session)
    }

    /// Writes a new store: generation and root first, then the header, without which the rest is nothing.
    pub(crate) fn fill<'a>(
        &self,
        storage: &dyn Storage,
        engine: EngineKind,
        credential: impl Into<Credential<'a>>,
    ) -> Result<Unlocked, StoreError> {
        let credential = credential.into();
        let label = SlotLabel::of_kind(credential.kind());
        let enrolment = Enrolment { credential, cost: self.cost, label: &label, now_ms: now() };
        let store = StoreId::generate()?;
        let generation = FIRST_GENERATION;
        let keys = NewHeader { store, engine, generation, enrolment }.create(&self.limits)?;
        let records: Box<dyn Engine> = storage.create_generation(generation, engine)?;
        begin(&*records, &sealer(&keys), keys.header().id())?;
        records.close()?;
        write_headers(storage, keys.header().bytes())?;
        Ok(keys)
    }

    pub(crate) fn open_storage(&self, storage: Arc<dyn Storage>) -> Result<Vault, StoreError> {
        let mut headers = Vec::new();
        let mut failure = None::<StoreError>;
        for copy in [HeaderCopy::A, HeaderCopy::B] {
            let Some(bytes) = storage.read_header(copy)? else { continue };
            match Header::parse(&bytes, &self.limits) {
                Ok(header) if is_built(header.engine()) => headers.push((copy, header)),
                Ok(_) => failure = Some(StoreError::EngineNotBuilt),
                // A copy that is no header at all says less than one that is a header of another kind.
                Err(HeaderError::NotAStore | HeaderError::Damaged(_)) => {}
                Err(error) => failure = Some(error.into()),
            }
        }
        if headers.is_empty() {
            // Generations without a header are a store that lost it, never an empty one; so is a file of that
            // name that is no header.
            return Err(failure.unwrap_or(StoreError::HeaderDamaged));
        }
        headers.sort_by_key(|(_, header)| std::cmp::Reverse(header.revision()));
        Ok(Vault { storage: Some(storage), headers, options: self.clone() })
    }
}

impl Session {
    /// Finishes what a crash has interrupted.
    fn settle(&self, header: Option<HeaderId>, skip: Option<u64>) -> Result<(), StoreError> {
        if header.is_some() || skip.is_some() {
            self.exclusive(|exclusive| {
                exclusive.commit(|txn| {
                    header.map_or(Ok(()), |header| txn.bind_header(header))?;
                    skip.map_or(Ok(()), |commit| txn.skip_commits(commit))?;
                    Ok::<(), StoreError>(())
                })
            })?;
        } else {
            // Also what makes a missing anchor anew.
            self.read(|open| {
                open.remember();
                Ok::<(), StoreError>(())
            })?;
        }
        // On a full disk the little room that is left is for what the application asks for.
        let can_reap = |open: &Open| {
            Ok::<_, StoreError>(!open.storage().is_short_of_room() && super::reap::is_due(open)?)
        };
        if self.read(can_reap)? {
            self.exclusive(|exclusive| (0..REAP_ROUNDS).try_for_each(|_| exclusive.reap()))?;
        }
        Ok(())
    }
}

/// What to do with a store that is older than its anchor.
#[derive(Clone, Copy)]
pub(super) enum Rollback {
    Accept,
    Refuse,
}

/// Opens the generation that a header names; without it the store has lost its records.
pub(crate) fn open_records(
    storage: &dyn Storage,
    header: &Header,
) -> Result<Box<dyn Engine>, StoreError> {
    storage.open_generation(header.generation(), header.engine()).map_err(|error| match error {
        StorageError::Missing => StoreError::tampered(Kind::Root, Flaw::Absent),
        error => error.into(),
    })
}

pub(crate) fn sealer(keys: &Unlocked) -> Sealer {
    Sealer::new(keys.record_keys(), keys.header().store(), keys.header().generation())
}

pub(crate) fn occupied(error: StorageError) -> StoreError {
    match error {
        StorageError::Io(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            StoreError::AlreadyExists
        }
        error => error.into(),
    }
}

/// Durable steps of reaping that an unlock makes at most; the rest goes along with later commits.
const REAP_ROUNDS: usize = 16;
