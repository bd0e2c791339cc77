//! How a command gets its store: from the key agent if one has it, else from the disk.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use inmost::{StoreError, Vault};

use super::facts::Freshness;
use super::restrictions::Restrictions;
use super::{OpenStore, place};
use crate::agent::{self, Connection};
use crate::args::{KdfArgs, OpenArgs, PlaceArgs, StoreArgs};
use crate::credential::By;
use crate::engine::EngineName;
use crate::exit::{Exit, Failure};
use crate::passphrase::Input;
use crate::secret::Secret;
use crate::{compact_offer, streams};

/// Who has hold of the store.
pub(crate) enum Held {
    Here(Vault),
    Agent(Connection),
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
        self.with_restricted_store(input, &Restrictions::default(), work)
    }

    /// The same, for an agent that does not get all of it.
    pub(crate) fn with_restricted_store<T>(
        &self,
        input: Input,
        restrictions: &Restrictions,
        work: impl FnOnce(&OpenStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        work_on(self.open_store(input, restrictions)?, work)
    }

    /// Opens the store for as long as the caller likes.
    pub(crate) fn open_store(
        &self,
        input: Input,
        restrictions: &Restrictions,
    ) -> Result<OpenStore, Failure> {
        self.open.open_store(&self.place()?, input, self.by(), restrictions)
    }

    /// Works on the store with what opens it in hand, which a key agent has not kept.
    pub(crate) fn with_secret<T>(
        &self,
        work: impl FnOnce(&OpenStore, &Secret) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let held = self.open.hold(&self.place()?, &Restrictions::default())?;
        let secret = self.open.credential.of_store(Input::Free, self.by())?;
        let store = match held {
            Held::Agent(connection) => OpenStore::through(connection),
            Held::Here(vault) => self.open.unlock(vault, &secret, &Restrictions::default())?,
        };
        work_on(store, |store| work(store, &secret))
    }

    /// Works on a store that is made first if there is none.
    pub(crate) fn with_store_or_new<T>(
        &self,
        kdf: &KdfArgs,
        input: Input,
        restrictions: &Restrictions,
        work: impl FnOnce(&OpenStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let store = match self.open_store(input, restrictions) {
            Err(Failure::Error { exit: Exit::NotAStore, .. }) if self.recovery => {
                return Err(Failure::usage(
                    "A new store needs a passphrase.",
                    "Leave out --recovery; `inmost slot add --recovery` makes a key for it.",
                ));
            }
            Err(Failure::Error { exit: Exit::NotAStore, .. }) => {
                self.open.create(&self.place()?, kdf, EngineName::Sled, input, restrictions)?
            }
            opened => opened?,
        };
        work_on(store, work)
    }

    /// Takes hold of the store, and asks for what opens it.
    pub(crate) fn open(&self, input: Input) -> Result<(Vault, Secret), Failure> {
        self.open.credential.passphrase.check(input)?;
        let vault = self.vault()?;
        Ok((vault, self.secret(input)?))
    }

    /// Takes hold of the store in this process, for what no key agent can do.
    pub(crate) fn vault(&self) -> Result<Vault, Failure> {
        match self.hold()? {
            Held::Here(vault) => Ok(vault),
            Held::Agent(connection) => Err(connection.lock_first()),
        }
    }

    /// Looks who has hold of the store, and takes it if nobody has.
    pub(crate) fn hold(&self) -> Result<Held, Failure> {
        self.open.hold(&self.place()?, &Restrictions::default())
    }

    /// What opens the store.
    pub(crate) fn secret(&self, input: Input) -> Result<Secret, Failure> {
        self.open.credential.of_store(input, self.by())
    }
}

impl OpenArgs {
    /// See [`StoreArgs::with_store_as_it_is`].
    pub(crate) fn with_store<T>(
        &self,
        by: By,
        work: impl FnOnce(&OpenStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let store = self.open_store(&self.place()?, Input::Free, by, &Restrictions::default())?;
        work_on(store, work)
    }

    /// Makes a store, and works on it.
    pub(crate) fn make_store<T>(
        &self,
        kdf: &KdfArgs,
        engine: EngineName,
        work: impl FnOnce(&OpenStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let unrestricted = Restrictions::default();
        work_on(self.create(&self.place()?, kdf, engine, Input::Free, &unrestricted)?, work)
    }

    fn open_store(
        &self,
        place: &Path,
        input: Input,
        by: By,
        restrictions: &Restrictions,
    ) -> Result<OpenStore, Failure> {
        self.credential.passphrase.check(input)?;
        match self.hold(place, restrictions)? {
            Held::Agent(connection) => Ok(OpenStore::through(connection)),
            Held::Here(vault) => {
                // The place was looked at before anyone is asked for a passphrase in vain; and what opened the store
                // does not lie in memory as long as the work takes.
                let secret = self.credential.of_store(input, by)?;
                self.unlock(vault, &secret, restrictions)
            }
        }
    }

    /// Another process may be about to let go of the store, or to hand it to a key agent.
    fn hold(&self, place: &Path, restrictions: &Restrictions) -> Result<Held, Failure> {
        let options = place::vault_options(place, self.anchor.as_deref())?;
        let patience = Instant::now() + PATIENCE;
        loop {
            if let Some(connection) = agent::connect(place, self.anchor.as_deref(), restrictions)? {
                return Ok(Held::Agent(connection));
            }
            match options.open(place) {
                Err(StoreError::InUse(_)) if Instant::now() < patience => thread::sleep(PAUSE),
                opened => return Ok(Held::Here(opened?)),
            }
        }
    }

    fn unlock(
        &self,
        vault: Vault,
        secret: &Secret,
        restrictions: &Restrictions,
    ) -> Result<OpenStore, Failure> {
        let session = vault.unlock_with(secret.credential())?;
        self.warn_of_anchor(session.status()?.anchor.into());
        OpenStore::here(session, restrictions)
    }

    /// Tells what a person has to hear about the anchor of a store that was just unlocked.
    pub(crate) fn warn_of_anchor(&self, freshness: Freshness) {
        match freshness {
            Freshness::AnchorFailing if self.anchor.is_some() => {
                streams::warn("The file given as anchor cannot be read or written.");
            }
            // Only once: from now on there is one again.
            Freshness::AnchorWasMissing => streams::warn(
                "What would tell of an older copy of the store was not there (its anchor); it is made anew.",
            ),
            _ => {}
        }
    }

    fn create(
        &self,
        place: &Path,
        kdf: &KdfArgs,
        engine: EngineName,
        input: Input,
        restrictions: &Restrictions,
    ) -> Result<OpenStore, Failure> {
        place::check_vacant(place)?;
        if self.place.folder.is_none() {
            place::make_data_folder(place)?;
        }
        place::check_parent(place)?;
        let options = place::vault_options(place, self.anchor.as_deref())?;
        let options = options.kdf_cost(kdf.cost()).engine(engine.engine());
        if self.anchor.as_ref().is_some_and(|anchor| anchor.exists()) {
            return Err(Failure::usage(
                "The file given as anchor is there already, so it is another store's.",
                "Give each store an anchor of its own, or remove the file.",
            ));
        }
        let secret = self.credential.of_new_store(input)?;
        let session = options.create_with(place, secret.credential())?;
        OpenStore::here(session, restrictions)
    }
}

impl PlaceArgs {
    /// Why a command that needs no passphrase cannot have the store.
    pub(crate) fn in_use(&self, process: Option<u32>) -> Failure {
        let connected =
            self.place().and_then(|place| agent::connect(&place, None, &Restrictions::default()));
        match connected {
            Ok(Some(connection)) => connection.lock_first(),
            _ => StoreError::InUse(process).into(),
        }
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

/// How long a store that another process uses is waited for: most commands are done by then.
const PATIENCE: Duration = Duration::from_secs(1);

const PAUSE: Duration = Duration::from_millis(20);
