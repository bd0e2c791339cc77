//! Opening a store: through the key daemon if it holds the store, else from disk.

use std::io::{self, IsTerminal};
use std::ops::Deref;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use inmost::{AnchorStatus, ExpirySettings, HistorySettings, Session, StoreError, Vault};
use inmost_keyd::{Client, ConnectOptions, Secret};

use super::restrictions::Restrictions;
use super::unlocking::is_wrong;
use super::{OpenStore, database, holder, naming, place, sealed_copy};
use crate::args::{ActorArgs, KdfArgs, OpenArgs, StoreArgs};
use crate::engine::EngineName;
use crate::exit::{Exit, Failure};
use crate::passphrase::By;
use crate::passphrase::{self, Asking, Input};
use crate::{display, streams};

/// How a command opens its store.
pub(crate) struct OpenOptions<'a> {
    /// How the command uses standard input.
    pub(crate) input: Input,
    /// Limits for a daemon that works on the store.
    pub(crate) restrictions: Restrictions,
    pub(crate) create: Create<'a>,
    /// Whether the command needs the credential as well, see [`StoreGuard::secret`].
    pub(crate) keep_secret: bool,
    pub(crate) access: Access,
    /// Whether what the command reads counts as use of a file.
    pub(crate) readings: Readings,
    /// What becomes of unused files if this command unlocks the store.
    pub(crate) unused: Unused,
    /// Who makes the changes, for the history.
    pub(crate) actor: Option<&'a str>,
}

impl Default for OpenOptions<'_> {
    fn default() -> Self {
        Self {
            input: Input::Free,
            restrictions: Restrictions::default(),
            create: Create::Never,
            keep_secret: false,
            access: Access::Change,
            readings: Readings::Count,
            unused: Unused::Stay,
            actor: None,
        }
    }
}

impl<'a> OpenOptions<'a> {
    /// Those of a command that makes changes.
    pub(crate) fn changing(actor: &'a ActorArgs) -> Self {
        Self { actor: actor.actor(), ..Self::default() }
    }

    /// Those of a command that changes nothing.
    pub(crate) fn reading() -> Self {
        Self { access: Access::Read, ..Self::default() }
    }

    /// How to connect to the key daemon.
    fn connect(&self) -> Result<ConnectOptions, Failure> {
        let connect = ConnectOptions::new().tool(self.restrictions.options()?);
        let connect = connect.as_program().actor(self.actor);
        let connect = match self.readings {
            Readings::Count => connect,
            Readings::DoNotCount => connect.without_recording(),
        };
        Ok(if self.access == Access::Status { connect.status_only() } else { connect })
    }

    /// The store that this process holds, with the actor of its changes.
    fn store(&self, session: &Session) -> OpenStore {
        let session = session.as_program();
        let session = match self.readings {
            Readings::Count => session,
            Readings::DoNotCount => session.without_recording(),
        };
        OpenStore::Here(match self.actor {
            Some(actor) => session.acting_as(actor),
            None => session,
        })
    }
}

/// What a command does to a store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Change,
    /// It changes nothing, so that it may read a copy of a store on read-only media.
    Read,
    /// It reads the status alone. A key daemon accepts it even while it has too many clients.
    Status,
}

/// Whether what a command reads counts as use of a file, for the expiry of unused ones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readings {
    Count,
    /// The command looks through many files, and nobody asked for each of them.
    DoNotCount,
}

/// What becomes of files that would expire at an unlock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unused {
    /// A person's command leaves them to `inmost unlock`.
    Stay,
    Expire,
}

/// Whether a new store is created.
#[derive(Clone, Copy)]
pub(crate) enum Create<'a> {
    Never,
    IfMissing(NewStore<'a>),
    /// An existing store is an error.
    Always(NewStore<'a>),
}

/// The properties of a store that is about to be created.
#[derive(Clone, Copy)]
pub(crate) struct NewStore<'a> {
    pub(crate) kdf: &'a KdfArgs,
    pub(crate) engine: EngineName,
    /// How long it keeps versions.
    pub(crate) history: HistorySettings,
    /// Whether it records readings, and whether unused files expire.
    pub(crate) expiry: ExpirySettings,
}

/// An open store that is closed on drop. Every acknowledged change is on disk already; [`closed`] fails if other files are in the
/// place of those by then.
pub(crate) struct StoreGuard {
    store: OpenStore,
    secret: Option<Secret>,
}

impl StoreGuard {
    /// The credential that opened the store.
    ///
    /// # Errors
    /// If the store was opened without [`OpenOptions::keep_secret`].
    pub(crate) fn secret(&self) -> Result<&Secret, Failure> {
        self.secret.as_ref().ok_or_else(|| {
            Failure::new(
                Exit::Other,
                "The credential of the store was not kept.",
                "Please report it as an error in inmost.",
            )
        })
    }
}

impl Deref for StoreGuard {
    type Target = OpenStore;

    fn deref(&self) -> &OpenStore {
        &self.store
    }
}

impl Drop for StoreGuard {
    fn drop(&mut self) {
        if let Err(error) = self.store.close() {
            *UNCLOSED.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }
}

/// Why the store of this process was not closed as it should be.
static UNCLOSED: Mutex<Option<StoreError>> = Mutex::new(None);

/// Fails if a store was not closed as it should be: what was acknowledged may be in files that were replaced.
pub(crate) fn closed() -> Result<(), Failure> {
    let error = UNCLOSED.lock().unwrap_or_else(PoisonError::into_inner).take();
    error.map_or(Ok(()), |error| Err(error.into()))
}

/// The process that holds the store.
pub(crate) enum Held {
    Here(Box<Vault>),
    Daemon(Client),
}

impl StoreArgs {
    /// Opens the store, see [`OpenArgs::open`].
    pub(crate) fn open(&self, options: &OpenOptions<'_>) -> Result<StoreGuard, Failure> {
        self.open.open(self.by(), options)
    }

    /// Holds the store, or finds the key daemon that does.
    pub(crate) fn hold(&self) -> Result<Held, Failure> {
        self.open.hold(&self.place()?, ConnectOptions::new(), false, Access::Change)
    }

    /// As [`hold`](Self::hold), for the status alone: a key daemon accepts it even while it has too many clients.
    pub(crate) fn hold_for_status(&self) -> Result<Held, Failure> {
        self.open.hold(
            &self.place()?,
            ConnectOptions::new().as_program().status_only(),
            false,
            Access::Status,
        )
    }

    /// As [`hold`](Self::hold), for a command that changes nothing. What is read through a key daemon does not count as use of
    /// a file.
    pub(crate) fn hold_to_read(&self) -> Result<Held, Failure> {
        self.open.hold(
            &self.place()?,
            ConnectOptions::new().without_recording(),
            false,
            Access::Read,
        )
    }

    /// Holds the store in this process, for work that the key daemon does not do. The store stays locked.
    pub(crate) fn vault(&self) -> Result<Vault, Failure> {
        match self.hold()? {
            Held::Here(vault) => Ok(*vault),
            Held::Daemon(client) => Err(lock_first(&client)),
        }
    }

    /// The credential, from its source or a prompt.
    pub(crate) fn secret(&self, input: Input) -> Result<Secret, Failure> {
        self.open.credential.of_store(&self.place()?, Asking::first(input), self.by())
    }
}

impl OpenArgs {
    /// Opens the store, or creates it if the options say so.
    pub(crate) fn open(&self, by: By, options: &OpenOptions<'_>) -> Result<StoreGuard, Failure> {
        self.credential.passphrase.check(options.input)?;
        let place = self.place()?;
        let held = match options.create {
            Create::Always(new) => return self.create(&place, new, options),
            _ => self.hold(
                &place,
                options.connect()?,
                options.unused == Unused::Expire && !options.restrictions.read_only,
                options.access,
            ),
        };
        match (held, options.create) {
            (Err(Failure::Error { exit: Exit::NotAStore, .. }), Create::IfMissing(new)) => match by
            {
                By::Passphrase => self.create(&place, new, options),
                By::RecoveryKey => Err(needs_passphrase()),
            },
            (held, _) => self.unlock(&place, held?, by, options),
        }
    }

    /// How long to wait for a store that is in use.
    pub(crate) fn wait(&self) -> Duration {
        self.wait.unwrap_or(WAIT)
    }

    /// Waits if the store is in use: most commands are about to close it, or to start a key daemon.
    fn hold(
        &self,
        place: &Path,
        connect: ConnectOptions,
        expires: bool,
        access: Access,
    ) -> Result<Held, Failure> {
        let options = place::vault_options(place, self.anchor.as_deref())?;
        let options = if expires { options } else { options.keep_unused_files() };
        let options = if self.require_fresh { options.require_fresh() } else { options };
        let daemon = connect.anchor(self.anchor.as_deref());
        let wait = self.wait();
        let begin = Instant::now();
        let mut is_silent = io::stderr().is_terminal();
        loop {
            if let Some(client) = daemon.connect(place)? {
                if self.require_fresh {
                    // Over a connection of its own: one that is restricted to tool calls has no status.
                    let status = ConnectOptions::new().as_program().status_only();
                    let Some(status) = status.connect(place)? else { continue };
                    if status.status()?.anchor != AnchorStatus::Known {
                        return Err(naming::at(place, StoreError::FreshnessUnknown));
                    }
                }
                return Ok(Held::Daemon(client));
            }
            match database::open(&options, place) {
                Err(StoreError::InUse(process)) if begin.elapsed() < wait => {
                    if is_silent && begin.elapsed() > SILENCE {
                        is_silent = false;
                        let (holder, most) = (holder::of(process), display::duration(wait));
                        streams::hint(&format!("Waiting up to {most} for {holder}."));
                    }
                    thread::sleep(PAUSE);
                }
                Err(error) if access != Access::Change && sealed_copy::is_needed(&error) => {
                    let opened = options.open(sealed_copy::make(place)?);
                    let opened = opened.map_err(|error| naming::at(place, error))?;
                    return Ok(Held::Here(Box::new(opened)));
                }
                opened => {
                    let opened = opened.map_err(|error| naming::at(place, error))?;
                    return Ok(Held::Here(Box::new(opened)));
                }
            }
        }
    }

    /// Asks for the credential only now, because a missing store or one in use must be reported before the prompt.
    fn unlock(
        &self,
        place: &Path,
        held: Held,
        by: By,
        options: &OpenOptions<'_>,
    ) -> Result<StoreGuard, Failure> {
        match held {
            Held::Daemon(client) => {
                // The daemon does not keep the credential, so the prompt appears only if the command needs it.
                let secret = options
                    .keep_secret
                    .then(|| self.credential.of_store(place, Asking::first(options.input), by));
                let secret = secret.transpose().map_err(|failure| match failure {
                    // The store is unlocked.
                    Failure::Error { exit: Exit::Locked, .. } => passphrase::no_terminal(),
                    failure => failure,
                })?;
                Ok(StoreGuard { store: OpenStore::Daemon(client), secret })
            }
            Held::Here(mut vault) => {
                let (opened, secret) = self.attempt(
                    place,
                    &vault.slot_kinds(),
                    by,
                    options.input,
                    is_wrong,
                    |secret| vault.unlock_with(secret.credential()),
                )?;
                let session = opened.map_err(|error| naming::at(place, error))?;
                self.warn_of_anchor(session.status()?.anchor);
                let store = options.store(&session);
                // Otherwise wiped here: the credential must not stay in memory for as long as the work takes.
                Ok(StoreGuard { store, secret: options.keep_secret.then_some(secret) })
            }
        }
    }

    fn create(
        &self,
        place: &Path,
        new: NewStore<'_>,
        options: &OpenOptions<'_>,
    ) -> Result<StoreGuard, Failure> {
        new.engine.check()?;
        if database::url(place).is_none() {
            place::check_vacant(place)?;
            place::make_parents(place)?;
        }
        let vault = place::vault_options(place, self.anchor.as_deref())?;
        let vault = vault
            .kdf_cost(new.kdf.cost())
            .engine(new.engine.engine())
            .history(new.history)
            .expiry(new.expiry);
        if let Some(anchor) = self.anchor.as_ref().filter(|anchor| anchor.exists()) {
            return Err(Failure::usage(
                format!("The anchor file {} exists already.", anchor.display()),
                "It belongs to another store. Choose another file, or remove this one.",
            ));
        }
        let secret = self.credential.of_new_store(options.input)?;
        let session =
            database::create(&vault, place, secret.credential()).map_err(|error| match error {
                StoreError::Io(_) => naming::creating(place, error),
                error => naming::at(place, error),
            })?;
        let store = options.store(&session);
        Ok(StoreGuard { store, secret: options.keep_secret.then_some(secret) })
    }

    /// Prints a warning if the rollback anchor of a store that was just unlocked does not show that the store is the
    /// newest.
    pub(crate) fn warn_of_anchor(&self, freshness: AnchorStatus) {
        match (freshness, &self.anchor) {
            (AnchorStatus::Failing, Some(anchor)) => {
                let anchor = anchor.display();
                streams::warn(&format!("The anchor file {anchor} cannot be read or written."));
            }
            (AnchorStatus::Failing, None) => {
                streams::warn("The rollback anchor in the folder of the store cannot be written.");
            }
            (AnchorStatus::WasMissing, Some(anchor)) => {
                let anchor = anchor.display();
                streams::warn(&format!(
                    "The anchor file {anchor} had no value for this store, so it was made now. An older copy of the store could not be detected this time."
                ));
            }
            (AnchorStatus::Unknown, _) => streams::warn(
                "It is unknown whether this is the newest state of the store, because its rollback anchor is damaged, incomplete or older, or a repair did not find everything. Check that nothing is missing, then run `inmost accept-rollback`.",
            ),
            _ => {}
        }
    }
}

/// The error of a command that takes no passphrase and finds its store in use.
pub(crate) fn in_use(place: &Path, process: Option<u32>) -> Failure {
    match Client::connect(place) {
        Ok(Some(client)) => lock_first(&client),
        _ => naming::at(place, StoreError::InUse(process)),
    }
}

/// The error of a command that has to hold the store itself.
fn lock_first(daemon: &Client) -> Failure {
    Failure::new(
        Exit::InUse,
        format!("The store is unlocked: the key daemon, process {}, holds it.", daemon.process()),
        "Lock it first, with `inmost lock`.",
    )
}

fn needs_passphrase() -> Failure {
    Failure::usage(
        "A new store needs a passphrase.",
        "Leave out --recovery. `inmost slot add --recovery-key` adds a recovery key later.",
    )
}

/// How long a command waits for a store that another process uses. Most commands end within this time.
const WAIT: Duration = Duration::from_secs(5);

/// After this long, a person at the terminal reads what the command waits for.
const SILENCE: Duration = Duration::from_secs(1);

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(20);
