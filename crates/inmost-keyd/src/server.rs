//! The daemon: unlocks a store, serves clients, and locks after its time, on request or at a signal.

mod clock;
mod keeping;
mod listening;
mod serving;
mod state;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use inmost::{AnchorStatus, FileAnchor, VaultOptions};
use inmost_sync::SyncError;

use self::listening::{Event, Listener};
use self::serving::Daemon;
use self::state::State;
use crate::error::DaemonError;
use crate::facts::DaemonOptions;
use crate::rounds::Rounds;
use crate::secret::Secret;
use crate::stream::Stream;
use crate::{address, body};

/// Unlocks the store in a folder and serves it until it locks: after the times of the options, when a client requests
/// it, or at a signal that ends a process. `ready` is called when clients can connect.
///
/// # Errors
/// If the store cannot be unlocked, the daemon cannot listen, or `ready` fails. It then leaves no socket behind.
///
/// # Security
/// On Unix, sets the umask of the process, and handlers for SIGTERM, SIGINT and SIGHUP; on Windows, handlers for Ctrl-C and
/// the end of the user's session.
pub fn serve<E: From<DaemonError>>(
    store: &Path,
    options: &DaemonOptions,
    secret: Secret,
    ready: impl FnOnce(AnchorStatus) -> Result<(), E>,
) -> Result<(), E> {
    let daemon = Held::unlock(store, options, secret)?;
    let freshness = daemon.daemon.session.status().map_err(DaemonError::from)?.anchor;
    daemon.serve(|| ready(freshness))
}

/// A daemon that holds its store and has its socket.
struct Held {
    daemon: Arc<Daemon>,
    listener: Listener,
    /// See [`hold`]. `None` for a store in a database.
    folder: Option<File>,
}

impl Held {
    fn unlock(store: &Path, options: &DaemonOptions, secret: Secret) -> Result<Self, DaemonError> {
        Listener::prepare();
        address::make_private()?;
        let anchor = options.anchor.as_deref();
        let mut vault_options = VaultOptions::new();
        if let Some(anchor) = anchor {
            vault_options = vault_options.freshness_anchor(Arc::new(FileAnchor::new(anchor)));
        }
        if options.requires_fresh {
            vault_options = vault_options.require_fresh();
        }
        let url = store.to_str().filter(|_| address::is_url(store));
        let (mut vault, folder) = if let Some(url) = url {
            (vault_options.open_url(url)?, None)
        } else {
            let vault = vault_options.open(store)?;
            (vault, hold(store).map_err(|error| cannot_listen(&error))?)
        };
        let identity = address::identity(store).map_err(|error| cannot_listen(&error))?;
        // Before the key is derived: clients that connect in the meantime wait for the daemon, instead of finding the store
        // in use.
        let address = address::socket(store).map_err(|error| cannot_listen(&error))?;
        let (listener, waker) = Listener::bind(address)?;
        let session = vault.unlock_with(secret.credential())?;
        // Only the keys are needed from here on.
        drop(secret);
        let rounds = Rounds::new(store.to_owned(), options.sync);
        if options.sync.is_some()
            && matches!(rounds.circle(&session).status(), Err(SyncError::NotAMember))
        {
            return Err(DaemonError::NotAMember);
        }
        let anchor = anchor.map(body::encode_anchor).transpose()?.unwrap_or_default();
        let state = Arc::new(State::new(options.limits, waker));
        let daemon = Arc::new(Daemon { session, folder: identity, anchor, state, rounds });
        Ok(Self { daemon, listener, folder })
    }

    fn serve<E: From<DaemonError>>(
        mut self,
        ready: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let served = ready().and_then(|()| {
            if let Some(every) = self.daemon.rounds.facts().every {
                let started = keeping::start(&self.daemon, every);
                started.map_err(|error| DaemonError::CannotStart(error.to_string()))?;
            }
            let listened = listen(&self.daemon, &mut self.listener);
            listened.map_err(|error| cannot_listen(&error).into())
        });
        self.daemon.state.end();
        // From here on clients find no daemon, and wait for the store itself.
        drop(self.listener);
        if self.daemon.state.wait_for_work(LAST_WORK_TIME) {
            self.daemon.session.lock();
        } else {
            // A request takes too long. The end of the process interrupts it like a crash, which a store survives. In a process
            // that goes on, the session locks between two of its steps.
            let daemon = Arc::clone(&self.daemon);
            drop(thread::Builder::new().spawn(move || daemon.session.lock()));
        }
        self.daemon.state.stop_receiving();
        drop(self.folder);
        served
    }
}

/// Accepts connections until the daemon ends.
fn listen(daemon: &Arc<Daemon>, listener: &mut Listener) -> io::Result<()> {
    // A daemon that no client can find holds keys that nobody can lock.
    while let Some(left) = daemon.state.time_left().filter(|_| listener.is_reachable()) {
        // During a suspend only the wall clock advances, and no timeout follows it.
        match listener.wait(left.min(LOOK_TIME))? {
            Event::Connection(stream) => serve_client(daemon, stream),
            Event::End => return Ok(()),
            Event::Nothing => {}
        }
    }
    Ok(())
}

/// Serves a client on a thread of its own. If no thread can be started, the connection is dropped.
fn serve_client(daemon: &Arc<Daemon>, stream: Stream) {
    let stream = Arc::new(stream);
    // Registered here, so that the connections are in the order of their arrival.
    let arrival = daemon.state.arrive(&stream);
    let daemon = Arc::clone(daemon);
    let spawned = thread::Builder::new().spawn(move || {
        // An error of the connection concerns only its client, which notices it.
        let _ = serving::serve(&daemon, &stream, &arrival);
    });
    drop(spawned);
}

/// Keeps the folder of the store open, so that its inode is not reused for another folder. NTFS does not reuse the number of
/// a folder, and an open one could not be renamed.
fn hold(store: &Path) -> io::Result<Option<File>> {
    if cfg!(unix) { File::open(store).map(Some) } else { Ok(None) }
}

fn cannot_listen(error: &io::Error) -> DaemonError {
    DaemonError::CannotListen(error.to_string())
}

/// How often the wall clock is read, and the socket is looked for.
const LOOK_TIME: Duration = Duration::from_secs(2);

/// The time for requests to finish before the process ends.
const LAST_WORK_TIME: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use inmost_testing::{CHEAP, passphrase};

    use super::*;
    use crate::facts::Limits;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn in_a_process_that_goes_on_no_thread_keeps_the_session() {
        let home = tempfile::tempdir().unwrap();
        let store = home.path().join("store");
        VaultOptions::new().kdf_cost(CHEAP).create(&store, &passphrase()).unwrap().lock();
        let options = DaemonOptions::new(Limits { idle: LONG, total: LONG });
        let held = Held::unlock(&store, &options, Secret::new(passphrase(), None)).unwrap();
        let daemon = Arc::downgrade(&held.daemon);
        // Not joined: the client waits for the end of the daemon's process, which is this process.
        let client = thread::spawn(move || crate::connection::lock(store));
        held.serve::<DaemonError>(|| Ok(())).unwrap();
        let deadline = Instant::now() + LONG / 10;
        while daemon.strong_count() > 0 {
            assert!(Instant::now() < deadline, "a thread keeps the session");
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!client.is_finished(), "the client was told that the process has ended");
    }
}
