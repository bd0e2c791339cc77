//! A named pipe that only its user can open, also as another instance of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use interprocess::os::windows::named_pipe::PipeListenerOptions;
use interprocess::os::windows::named_pipe::pipe_mode::Bytes;
use interprocess::os::windows::named_pipe::tokio::PipeListener;
use interprocess::os::windows::security_descriptor::SecurityDescriptor;
use tokio::signal::windows;
use tokio::task::JoinHandle;
use widestring::U16CString;

use super::Event;
use crate::error::DaemonError;
use crate::stream::{Stream, reactor};
use crate::{address, peer};

/// The pipe that the daemon listens on. Its entry in the folder of addresses is removed on drop.
pub(in crate::server) struct Listener {
    address: PathBuf,
    events: Receiver<Event>,
    tasks: Vec<JoinHandle<()>>,
}

/// Wakes the daemon; Ctrl-C and the end of the user's session do it too.
pub(in crate::server) struct Waker(Sender<Event>);

impl Waker {
    pub(in crate::server) fn wake(&self) {
        // If the daemon no longer listens, it ends already.
        let _ = self.0.send(Event::End);
    }
}

impl Listener {
    pub(in crate::server) fn prepare() {}

    /// Fails if the pipe exists: another process of this user has it, or one that wants to be taken for it.
    pub(in crate::server) fn bind(address: PathBuf) -> Result<(Self, Waker), DaemonError> {
        let (sender, events) = mpsc::channel();
        let tasks = begin(&address, &sender).map_err(|error| DaemonError::CannotBind {
            socket: address.display().to_string(),
            reason: error.to_string(),
        })?;
        Ok((Self { address, events, tasks }, Waker(sender)))
    }

    /// Whether clients can find it. Nobody can remove a pipe.
    #[expect(clippy::unused_self, reason = "a socket can be removed")]
    pub(in crate::server) fn is_reachable(&self) -> bool {
        true
    }

    /// Waits at most this long.
    #[expect(clippy::unnecessary_wraps, reason = "a socket can fail")]
    pub(in crate::server) fn wait(&mut self, most: Duration) -> io::Result<Event> {
        Ok(match self.events.recv_timeout(most) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => Event::Nothing,
            Err(RecvTimeoutError::Disconnected) => Event::End,
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        let _ = fs::remove_file(&self.address);
    }
}

/// Creates the pipe and the entry of its address, and sends what happens from then on.
fn begin(address: &Path, events: &Sender<Event>) -> io::Result<Vec<JoinHandle<()>>> {
    let runtime = reactor()?;
    let _inside = runtime.enter();
    let listener = listen(address)?;
    fs::write(address, [])?;
    let mut tasks = vec![runtime.spawn(accept(listener, events.clone()))];
    let (mut break_, mut close) = (windows::ctrl_c()?, windows::ctrl_close()?);
    let (mut logoff, mut shutdown) = (windows::ctrl_logoff()?, windows::ctrl_shutdown()?);
    let events = events.clone();
    tasks.push(runtime.spawn(async move {
        tokio::select! {
            _ = break_.recv() => {}
            _ = close.recv() => {}
            _ = logoff.recv() => {}
            _ = shutdown.recv() => {}
        }
        let _ = events.send(Event::End);
    }));
    Ok(tasks)
}

/// Creates the pipe. Its protected access list names this user alone, for reading, writing and new instances.
fn listen(address: &Path) -> io::Result<PipeListener<Bytes, Bytes>> {
    let rules = format!("D:P(A;;GA;;;{})", peer::this_user()?);
    let rules = U16CString::from_str(rules).map_err(io::Error::other)?;
    let name = U16CString::from_str(address::pipe(address)?).map_err(io::Error::other)?;
    let mut options = PipeListenerOptions::new();
    options.path = name.as_ucstr().into();
    options.security_descriptor = Some(SecurityDescriptor::deserialize(&rules)?);
    options.create_tokio_duplex()
}

/// Accepts connections for as long as the daemon listens.
async fn accept(listener: PipeListener<Bytes, Bytes>, events: Sender<Event>) {
    loop {
        match listener.accept().await {
            Ok(pipe) => {
                if events.send(Event::Connection(Stream::new(pipe))).is_err() {
                    return;
                }
            }
            // The client has disconnected already, or the system lacks something until another client disconnects.
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// How long to wait before the next connection after a failure.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
