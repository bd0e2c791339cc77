//! The agent itself: it unlocks the store, listens, and ends when it has to.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::umask;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::connection::{self, Agent};
use super::protocol::Folder;
use super::state::State;
use super::{Limits, address};
use crate::exit::Failure;
use crate::secret::Secret;
use crate::store::facts::Freshness;
use crate::store::place::vault_options;
use crate::store::wire_path;

/// Unlocks the store and serves it until it is to be locked. `ready` is told when commands can connect, and how
/// far the freshness of the store is known.
///
/// # Errors
/// If the store cannot be unlocked, or `ready` fails. Then nothing is left behind.
pub(crate) fn start_here(
    store: &Path,
    anchor: Option<&Path>,
    limits: Limits,
    secret: Secret,
    ready: impl FnOnce(Freshness) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // Whatever this process makes is its user's alone, whoever started it.
    umask(Mode::RWXG | Mode::RWXO);
    address::make_private()?;
    let vault = vault_options(store, anchor)?.open(store)?;
    // Held open, so that no other folder gets its inode while it is ours.
    let held = File::open(store).map_err(|error| unusable(&error))?;
    let folder = address::identity(store).map_err(|error| unusable(&error))?;
    // Before the key is derived: whoever comes meanwhile waits for the agent instead of finding the store in use.
    let socket = Socket::bind(store).map_err(|error| unusable(&error))?;
    let (waker, mut woken) = wakers().map_err(|error| unusable(&error))?;
    let session = vault.unlock_with(secret.credential())?;
    // Only the keys are needed from here on.
    drop(secret);
    let agent = Arc::new(Agent {
        session,
        folder,
        anchor: anchor.map(wire_path::encode).transpose()?.unwrap_or_default(),
        state: State::new(limits, waker),
    });
    let freshness = agent.session.status()?.anchor.into();
    let served = ready(freshness).and_then(|()| {
        listen(&agent, &socket.listener, &mut woken).map_err(|error| unusable(&error))
    });
    agent.state.end();
    // From here on whoever comes finds nobody, and waits for the store itself.
    drop(socket);
    if agent.state.wait_for_work(LAST_WORK_TIME) {
        agent.session.lock();
    }
    // Else something takes too long. It is cut off by the end of the process, as by a crash, which a store survives.
    drop(held);
    served
}

/// Accepts connections until the agent is to end.
fn listen(agent: &Arc<Agent>, listener: &UnixListener, woken: &mut UnixStream) -> io::Result<()> {
    while let Some(left) = agent.state.time_left() {
        // Time that is slept through moves the wall clock alone, which nothing but a look at it tells.
        if !wait(listener, woken, left.min(LOOK_TIME))? {
            continue;
        }
        if woken.read(&mut [0]).is_ok() {
            return Ok(());
        }
        match listener.accept() {
            Ok((stream, _)) => serve(agent, stream),
            // A client that has gone again; or no descriptor is left, until some client goes.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => thread::sleep(ACCEPT_PAUSE),
        }
    }
    Ok(())
}

/// On a thread of its own. Where there is no room for one more, the connection is dropped.
fn serve(agent: &Arc<Agent>, stream: UnixStream) {
    if stream.set_nonblocking(false).is_err() {
        return;
    }
    let agent = Arc::clone(agent);
    let spawned = thread::Builder::new().spawn(move || {
        if let Some(_thread) = agent.state.admit() {
            // What goes wrong with a connection concerns its client alone, who notices it.
            let _ = connection::serve(&agent, &stream);
        }
    });
    drop(spawned);
}

/// Whether a connection or a signal is there, after this time at most.
fn wait(listener: &UnixListener, woken: &UnixStream, most: Duration) -> io::Result<bool> {
    let timeout = Timespec::try_from(most).map_err(io::Error::other)?;
    let mut sources = [PollFd::new(listener, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
    match poll(&mut sources, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A stream that wakes the agent, and the end where that is read; signals that ask a process to end write to it too.
fn wakers() -> io::Result<(UnixStream, UnixStream)> {
    let (waker, woken) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    waker.set_nonblocking(true)?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, waker.try_clone()?)?;
    }
    Ok((waker, woken))
}

/// The socket that the agent listens on; gone when this is dropped.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
    identity: Folder,
}

impl Socket {
    /// Only who has hold of the store comes here, so what is there is left from an agent that was killed.
    fn bind(store: &Path) -> io::Result<Self> {
        let path = address::socket(store)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // From the moment it is there nobody else may connect.
        let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let bound = UnixListener::bind(&path);
        umask(before);
        let listener = bound?;
        listener.set_nonblocking(true)?;
        let identity = address::identity(&path)?;
        Ok(Self { listener, path, identity })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Another agent's, if the folder of the store was replaced and unlocked anew, stays.
        if address::identity(&self.path).is_ok_and(|found| found == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn unusable(error: &io::Error) -> Failure {
    Failure::io("The key agent cannot listen", error, "Set XDG_RUNTIME_DIR to a folder of yours.")
}

/// How often the wall clock is looked at.
const LOOK_TIME: Duration = Duration::from_secs(2);

/// Until descriptors may be there again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// For calls under way to end before the process does.
const LAST_WORK_TIME: Duration = Duration::from_secs(10);
