//! Messages of the protocol, each a line of JSON on standard input or output.
//!
//! The transport of rmcp is not used: it keeps lines in buffers that are never wiped, parses the arguments of a call, and
//! sends no reply to an invalid message.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::{RoleServer, transport::Transport};
use serde::Serialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinHandle, spawn_blocking};

use super::message::{self, Refusal};
use crate::json_line;
use crate::lines::{LINE_BYTES, Line, Lines};
use crate::streams;
use inmost_console::Wiped;

/// Standard input and output.
pub(super) struct Stdio {
    /// `None` once the program that started this one has ended.
    incoming: Receiver<Option<Box<ClientJsonRpcMessage>>>,
    /// Held while a line is written, so that lines do not mix.
    writing: Arc<Mutex<()>>,
    /// The requests that were neither answered nor cancelled.
    unanswered: HashSet<RequestId>,
}

impl Stdio {
    /// Starts the thread that reads. It ends with the input or the process.
    pub(super) fn open() -> io::Result<Self> {
        let (send, incoming) = channel(1);
        watch_parent(&send)?;
        let writing = Arc::default();
        let refusals = Arc::clone(&writing);
        thread::Builder::new().name("inmost-input".to_owned()).spawn(move || {
            // A failed read counts as the end of the input.
            let _ = read(&send, &refusals);
        })?;
        Ok(Self { incoming, writing, unanswered: HashSet::new() })
    }

    /// Writes in the background, even if the handle is dropped.
    fn write(&self, message: ServerJsonRpcMessage) -> JoinHandle<io::Result<()>> {
        let writing = self.writing.clone();
        spawn_blocking(move || write_line(&writing, &message))
    }
}

fn write_line(writing: &Mutex<()>, message: &impl Serialize) -> io::Result<()> {
    let mut line = Wiped::default();
    json_line::write(message, &mut line)?;
    let _guard = writing.lock().unwrap_or_else(PoisonError::into_inner);
    let mut output = streams::output()?;
    output.write_all(line.as_slice())?;
    output.flush()
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        match &message {
            JsonRpcMessage::Response(reply) => _ = self.unanswered.remove(&reply.id),
            JsonRpcMessage::Error(reply) => {
                self.unanswered.retain(|id| reply.id.as_ref() != Some(id));
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        let written = self.write(message);
        async { written.await.unwrap_or_else(|error| Err(io::Error::other(error))) }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let Some(received) = self.incoming.recv().await else {
            // rmcp gives the calls that run a few seconds from here on. It asks again after each reply.
            if !self.unanswered.is_empty() {
                std::future::pending::<()>().await;
            }
            return None;
        };
        let message = *received?;
        match &message {
            JsonRpcMessage::Request(request) => _ = self.unanswered.insert(request.id.clone()),
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(it) = &notification.notification
                    && let Some(id) = &it.params.request_id
                {
                    self.unanswered.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Some(message)
    }

    async fn close(&mut self) -> io::Result<()> {
        self.incoming.close();
        Ok(())
    }
}

/// Passes on messages, and replies to invalid lines itself: while the client reads no replies, no more lines are read.
fn read(send: &Sender<Option<Box<ClientJsonRpcMessage>>>, writing: &Mutex<()>) -> io::Result<()> {
    let mut lines = Lines::new(streams::input()?, LINE_BYTES);
    while let Some(line) = lines.next()? {
        let message = match line {
            Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Line::Whole(line) => message::parse(line),
            Line::TooLong => Err(Refusal::too_long()),
        };
        match message {
            Ok(None) => {}
            Ok(Some(message)) => {
                if send.blocking_send(Some(Box::new(message))).is_err() {
                    break;
                }
            }
            Err(refusal) => {
                // The client may have closed its end, and its last requests are still executed.
                let _ = write_line(writing, &refusal);
            }
        }
    }
    Ok(())
}

/// Ends the input when the program that started this one has ended: a child of it may still hold the pipe, and the store would
/// stay in use.
#[cfg(unix)]
fn watch_parent(send: &Sender<Option<Box<ClientJsonRpcMessage>>>) -> io::Result<()> {
    let (send, parent) = (send.downgrade(), rustix::process::getppid());
    let watch = move || {
        while rustix::process::getppid() == parent {
            thread::sleep(PAUSE);
        }
        if let Some(send) = send.upgrade() {
            let _ = send.blocking_send(None);
        }
    };
    thread::Builder::new().name("inmost-parent".to_owned()).spawn(watch).map(drop)
}

/// Windows keeps no process as the parent whose end could be seen.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it fails on Unix")]
fn watch_parent(_: &Sender<Option<Box<ClientJsonRpcMessage>>>) -> io::Result<()> {
    Ok(())
}

/// Between two looks at the parent.
#[cfg(unix)]
const PAUSE: std::time::Duration = std::time::Duration::from_secs(1);
