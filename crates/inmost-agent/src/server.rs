//! The agent: unlocks a store, serves clients, and locks after its time, on request or at a signal.

mod clock;
mod serving;
mod state;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use inmost::{AnchorStatus, FileAnchor, VaultOptions};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::umask;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::serving::Agent;
use self::state::State;
use crate::error::AgentError;
use crate::facts::AgentOptions;
use crate::protocol::Folder;
use crate::secret::Secret;
use crate::{address, wire_path};

/// Unlocks the store in a folder and serves it until it locks: after the times of the options, when a client requests
/// it, or at a signal that ends a process. `ready` is called when clients can connect.
///
/// # Errors
/// If the store cannot be unlocked, the agent cannot listen, or `ready` fails. It then leaves no socket behind.
///
/// # Security
/// Sets the umask of the process, and handlers for SIGTERM, SIGINT and SIGHUP.
pub fn serve<E: From<AgentError>>(
    store: &Path,
    options: &AgentOptions,
    secret: Secret,
    ready: impl FnOnce(AnchorStatus) -> Result<(), E>,
) -> Result<(), E> {
    let agent = Held::unlock(store, options, secret)?;
    let freshness = agent.agent.session.status().map_err(AgentError::from)?.anchor;
    agent.serve(|| ready(freshness))
}

/// An agent that holds its store and has its socket.
struct Held {
    agent: Arc<Agent>,
    socket: Socket,
    woken: UnixStream,
    /// Kept open, so that its inode is not reused for another folder.
    folder: File,
}

impl Held {
    fn unlock(store: &Path, options: &AgentOptions, secret: Secret) -> Result<Self, AgentError> {
        // Only the user can read what this process creates, whatever umask it was started with.
        umask(Mode::RWXG | Mode::RWXO);
        address::make_private()?;
        let anchor = options.anchor.as_deref();
        let mut vault_options = VaultOptions::new();
        if let Some(anchor) = anchor {
            vault_options = vault_options.freshness_anchor(Arc::new(FileAnchor::new(anchor)));
        }
        let mut vault = vault_options.open(store)?;
        let folder = File::open(store).map_err(|error| cannot_listen(&error))?;
        let identity = address::identity(store).map_err(|error| cannot_listen(&error))?;
        // Before the key is derived: clients that connect in the meantime wait for the agent, instead of finding the store
        // in use.
        let socket = Socket::bind(address::socket(store).map_err(|error| cannot_listen(&error))?)?;
        let (waker, woken) = wakers().map_err(|error| cannot_listen(&error))?;
        let session = vault.unlock_with(secret.credential())?;
        // Only the keys are needed from here on.
        drop(secret);
        let anchor = anchor.map(wire_path::encode).transpose()?.unwrap_or_default();
        let state = Arc::new(State::new(options.limits, waker));
        let agent = Arc::new(Agent { session, folder: identity, anchor, state });
        Ok(Self { agent, socket, woken, folder })
    }

    fn serve<E: From<AgentError>>(
        mut self,
        ready: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let served = ready().and_then(|()| {
            let listened = listen(&self.agent, &self.socket.listener, &mut self.woken);
            listened.map_err(|error| cannot_listen(&error).into())
        });
        self.agent.state.end();
        // From here on clients find no agent, and wait for the store itself.
        drop(self.socket);
        if self.agent.state.wait_for_work(LAST_WORK_TIME) {
            self.agent.session.lock();
        }
        self.agent.state.stop_receiving();
        // Otherwise a request takes too long. The end of the process interrupts it like a crash, which a store survives.
        drop(self.folder);
        served
    }
}

/// Accepts connections until the agent ends.
fn listen(agent: &Arc<Agent>, listener: &UnixListener, woken: &mut UnixStream) -> io::Result<()> {
    while let Some(left) = agent.state.time_left() {
        // During a suspend only the wall clock advances, and no timeout follows it.
        if !wait(listener, woken, left.min(LOOK_TIME))? {
            continue;
        }
        if woken.read(&mut [0]).is_ok() {
            return Ok(());
        }
        match listener.accept() {
            Ok((stream, _)) => serve_client(agent, stream),
            // The client has disconnected already, or no descriptor is left until another client disconnects.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => thread::sleep(ACCEPT_PAUSE),
        }
    }
    Ok(())
}

/// Serves a client on a thread of its own. If no thread can be started, the connection is dropped.
fn serve_client(agent: &Arc<Agent>, stream: UnixStream) {
    if stream.set_nonblocking(false).is_err() {
        return;
    }
    let stream = Arc::new(stream);
    // Registered here, so that the connections are in the order of their arrival.
    let arrival = agent.state.arrive(&stream);
    let agent = Arc::clone(agent);
    let spawned = thread::Builder::new().spawn(move || {
        // An error of the connection concerns only its client, which notices it.
        let _ = serving::serve(&agent, &stream, &arrival);
    });
    drop(spawned);
}

/// Waits for a connection or a signal, at most this long; returns whether there is one.
fn wait(listener: &UnixListener, woken: &UnixStream, most: Duration) -> io::Result<bool> {
    let timeout = Timespec::try_from(most).map_err(io::Error::other)?;
    let mut sources = [PollFd::new(listener, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
    match poll(&mut sources, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A stream that wakes the agent, and the end that the agent reads; signals that end a process write to it too.
fn wakers() -> io::Result<(UnixStream, UnixStream)> {
    let (waker, woken) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    waker.set_nonblocking(true)?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, waker.try_clone()?)?;
    }
    Ok((waker, woken))
}

/// The socket that the agent listens on; removed on drop.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
    identity: Folder,
}

impl Socket {
    /// The caller holds the store, so an existing socket is left from an agent that was killed.
    fn bind(path: PathBuf) -> Result<Self, AgentError> {
        let bound = Self::listen(&path);
        let (listener, identity) = bound.map_err(|error| AgentError::CannotBind {
            socket: path.display().to_string(),
            reason: error.to_string(),
        })?;
        Ok(Self { listener, path, identity })
    }

    fn listen(path: &Path) -> io::Result<(UnixListener, Folder)> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // No other user may ever connect, so the permissions are right from the start.
        let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let bound = UnixListener::bind(path);
        umask(before);
        let listener = bound?;
        listener.set_nonblocking(true)?;
        Ok((listener, address::identity(path)?))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // The socket of another agent stays: the folder of the store may have been replaced and unlocked again.
        if address::identity(&self.path).is_ok_and(|found| found == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn cannot_listen(error: &io::Error) -> AgentError {
    AgentError::CannotListen(error.to_string())
}

/// How often the wall clock is read.
const LOOK_TIME: Duration = Duration::from_secs(2);

/// How long to wait for a free descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The time for requests to finish before the process ends.
const LAST_WORK_TIME: Duration = Duration::from_secs(10);
