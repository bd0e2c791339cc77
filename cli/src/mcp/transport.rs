//! Messages of the protocol, each a line of JSON on standard input or output.
//!
//! The transport of rmcp is not used: it keeps lines in buffers that are never wiped, and sends no reply to a request
//! with invalid Unicode in its strings.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::{RoleServer, transport::Transport};
use serde::Deserialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::lines::{LINE_BYTES, Line, Lines};
use crate::streams;
use crate::wiped::Wiped;

/// Standard input and output.
pub(super) struct Stdio {
    incoming: Receiver<Incoming>,
    /// Held while a line is written, so that lines do not mix.
    writing: Arc<Mutex<()>>,
}

enum Incoming {
    Message(Box<ClientJsonRpcMessage>),
    /// A request of which only the id can be parsed.
    Unreadable(RequestId),
}

impl Stdio {
    /// Starts the thread that reads. It ends with the input or the process.
    pub(super) fn open() -> io::Result<Self> {
        let (send, incoming) = channel(1);
        thread::Builder::new().name("inmost-input".to_owned()).spawn(move || {
            // A failed read counts as the end of the input.
            let _ = read(&send);
        })?;
        Ok(Self { incoming, writing: Arc::default() })
    }

    /// Writes in the background, even if the handle is dropped.
    fn write(&self, message: ServerJsonRpcMessage) -> JoinHandle<io::Result<()>> {
        let writing = self.writing.clone();
        spawn_blocking(move || {
            let mut line = Wiped::default();
            serde_json::to_writer(&mut line, &message)?;
            line.append(b"\n");
            let _guard = writing.lock().unwrap_or_else(PoisonError::into_inner);
            let mut output = streams::output()?;
            output.write_all(line.as_slice())?;
            output.flush()
        })
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let written = self.write(message);
        async { written.await.unwrap_or_else(|error| Err(io::Error::other(error))) }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            match self.incoming.recv().await? {
                Incoming::Message(message) => return Some(*message),
                Incoming::Unreadable(id) => {
                    let error = ErrorData::new(
                        ErrorCode::INVALID_REQUEST,
                        "The request cannot be parsed.",
                        None,
                    );
                    drop(self.write(ServerJsonRpcMessage::error(error, Some(id))));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.incoming.close();
        Ok(())
    }
}

fn read(send: &Sender<Incoming>) -> io::Result<()> {
    let mut lines = Lines::new(streams::input()?, LINE_BYTES);
    while let Some(line) = lines.next()? {
        // A message without an id gets no reply, as the protocol says.
        let Line::Whole(line) = line else { continue };
        let Some(incoming) = parse(line) else { continue };
        if send.blocking_send(incoming).is_err() {
            break;
        }
    }
    Ok(())
}

fn parse(line: &[u8]) -> Option<Incoming> {
    /// Other fields are skipped without decoding their strings.
    #[derive(Deserialize)]
    struct Request {
        id: RequestId,
    }

    match serde_json::from_slice(line) {
        Ok(message) => Some(Incoming::Message(Box::new(message))),
        Err(_) => serde_json::from_slice(line).ok().map(|Request { id }| Incoming::Unreadable(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unparsable_request_with_an_id_gets_an_error_reply() {
        let unreadable = |line: &str| match parse(line.as_bytes()) {
            Some(Incoming::Unreadable(id)) => Some(id.to_string()),
            Some(Incoming::Message(_)) => Some("a message".to_owned()),
            None => None,
        };
        for (line, expected) in [
            (r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#, Some("a message")),
            (r#"{"jsonrpc": "2.0", "id": 7, "method": "m", "params": {"a": "\ud800"}}"#, Some("7")),
            (r#"{"jsonrpc": "2.0", "id": "x", "method": 5}"#, Some("x")),
            (r#"{"method": "textDocument/didOpen", "params": 5}"#, None),
            (r#"{"jsonrpc": "2.0", "id": 1, "method""#, None),
            ("Content-Length: 7", None),
            ("", None),
        ] {
            assert_eq!(unreadable(line).as_deref(), expected, "{line}");
        }
    }
}
