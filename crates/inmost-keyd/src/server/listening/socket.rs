//! A Unix socket that only its user can connect to.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::umask;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Event;
use crate::address;
use crate::error::DaemonError;
use crate::protocol::Folder;

/// The socket that the daemon listens on; removed on drop.
pub(in crate::server) struct Listener {
    socket: UnixListener,
    path: PathBuf,
    identity: Folder,
    woken: UnixStream,
}

/// Wakes the daemon; signals that end a process do it too.
pub(in crate::server) struct Waker(UnixStream);

impl Waker {
    /// If this fails, the thread notices when it next reads the clock.
    pub(in crate::server) fn wake(&self) {
        let _ = (&self.0).write(&[0]);
    }

    #[cfg(test)]
    pub(in crate::server) fn of_nobody() -> Self {
        Self(UnixStream::pair().unwrap().0)
    }
}

impl Listener {
    /// Only the user can read what this process creates, whatever umask it was started with.
    pub(in crate::server) fn prepare() {
        umask(Mode::RWXG | Mode::RWXO);
    }

    /// The caller holds the store, so an existing socket is left from a daemon that was killed.
    pub(in crate::server) fn bind(path: PathBuf) -> Result<(Self, Waker), DaemonError> {
        let bound = bind(&path);
        let (socket, identity) = bound.map_err(|error| DaemonError::CannotBind {
            socket: path.display().to_string(),
            reason: error.to_string(),
        })?;
        let (waker, woken) =
            wakers().map_err(|error| DaemonError::CannotListen(error.to_string()))?;
        Ok((Self { socket, path, identity, woken }, Waker(waker)))
    }

    /// Whether the socket is still at its path.
    pub(in crate::server) fn is_reachable(&self) -> bool {
        address::identity(&self.path).is_ok_and(|found| found == self.identity)
    }

    /// Waits at most this long.
    pub(in crate::server) fn wait(&mut self, most: Duration) -> io::Result<Event> {
        if !self.is_ready(most)? {
            return Ok(Event::Nothing);
        }
        if self.woken.read(&mut [0]).is_ok() {
            return Ok(Event::End);
        }
        match self.socket.accept() {
            Ok((stream, _)) if stream.set_nonblocking(false).is_ok() => {
                return Ok(Event::Connection(stream));
            }
            // The client has disconnected already, or no descriptor is left until another client disconnects.
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => thread::sleep(ACCEPT_PAUSE),
            _ => {}
        }
        Ok(Event::Nothing)
    }

    /// Waits for a connection or a signal, at most this long; returns whether there is one.
    fn is_ready(&self, most: Duration) -> io::Result<bool> {
        let timeout = Timespec::try_from(most).map_err(io::Error::other)?;
        let mut sources =
            [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&self.woken, PollFlags::IN)];
        match poll(&mut sources, Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // The socket of another daemon stays: the folder of the store may have been replaced and unlocked again.
        if self.is_reachable() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn bind(path: &Path) -> io::Result<(UnixListener, Folder)> {
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

/// A stream that wakes the daemon, and the end that the daemon reads; signals that end a process write to it too.
fn wakers() -> io::Result<(UnixStream, UnixStream)> {
    let (waker, woken) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    waker.set_nonblocking(true)?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, waker.try_clone()?)?;
    }
    Ok((waker, woken))
}

/// How long to wait for a free descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
