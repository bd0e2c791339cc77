//! Frames and messages for this workspace's own fuzz target. Not for users; semver does not cover them.
//!
//! Each function reads a frame as its receiver does, and encodes what it says again. `None` if the connection has ended instead.
#![allow(clippy::missing_errors_doc, reason = "the only caller is the fuzz target")]

use std::io::{self, Read};

use inmost::{
    FileText, FolderEntry, Metadata, Page, Ranked, SearchMatch, SessionStatus, ToolResult,
    VersionPage,
};
use inmost_sync::{Report, Status, SyncError};
use serde::Serialize;

use crate::body::Wiped;
use crate::facts::DaemonFacts;
use crate::frame::{self, Bounds, HELLO, REPLY, REQUEST};
use crate::protocol::{Greeting, Hello, ServerMessage};
use crate::request::Reply;
use crate::requests::{AddSlot, ClientMessage, CommandHead, RunCommand, WriteMany, files, heads};
use crate::secret::Secret;

/// A frame, encoded again.
pub type Recoded = io::Result<Option<Vec<u8>>>;

/// The first message of a client.
pub fn hello(mut from: &mut dyn Read) -> Recoded {
    let Some((hello, body)) = frame::read::<Hello>(&mut from, HELLO)? else { return Ok(None) };
    encode(&hello, &body, HELLO)
}

/// The daemon's reply to it.
pub fn greeting(mut from: &mut dyn Read) -> Recoded {
    let Some((greeting, body)) = frame::read::<Greeting>(&mut from, HELLO)? else {
        return Ok(None);
    };
    encode(&greeting, &body, HELLO)
}

/// A request. Its body is decoded too, and stays as it is if it does not fit the head.
pub fn request(mut from: &mut dyn Read) -> Recoded {
    let Some((message, sent)) = frame::read(&mut from, REQUEST)? else { return Ok(None) };
    let head = serde_json::to_value(&message)?;
    let bytes = sent.as_slice();
    let body = match message {
        ClientMessage::RunCommand(RunCommand { command, .. }) => {
            let command = command.with_texts(bytes).ok();
            command.and_then(|command| Some(CommandHead::new(&command)?.1))
        }
        ClientMessage::WriteMany(WriteMany { files: sent }) => {
            files(sent, bytes).ok().and_then(|files| Some(heads(&files)?.1))
        }
        ClientMessage::AddSlot(AddSlot { kind, .. }) => {
            Secret::from_bytes(kind, bytes).ok().map(|secret| secret.to_bytes())
        }
        _ => None,
    };
    encode(&head, body.as_ref().unwrap_or(&sent), REQUEST)
}

/// The replies to requests, one function for each form that a body can have, and for some heads.
pub const REPLIES: [fn(&mut dyn Read) -> Recoded; 12] = [
    reply::<FileText>,
    reply::<(FileText, Metadata)>,
    reply::<ToolResult>,
    reply::<Page<SearchMatch>>,
    reply::<Ranked>,
    reply::<Result<FileText, SyncError>>,
    reply::<Result<Report, SyncError>>,
    reply::<Result<Status, SyncError>>,
    reply::<Page<FolderEntry>>,
    reply::<VersionPage>,
    reply::<DaemonFacts>,
    reply::<SessionStatus>,
];

fn reply<R: Reply>(mut from: &mut dyn Read) -> Recoded {
    let read = frame::read::<ServerMessage<R::Head>>(&mut from, REPLY)?;
    let Some((message, body)) = read else { return Ok(None) };
    match message {
        ServerMessage::Reply(head) => {
            let reply = R::from_parts(head, body).ok_or(io::ErrorKind::InvalidData)?;
            let (head, body) = reply.into_parts();
            encode(&ServerMessage::Reply(head), &body, REPLY)
        }
        other => encode(&other, &body, REPLY),
    }
}

fn encode(head: &impl Serialize, body: &Wiped, bounds: Bounds) -> Recoded {
    let mut frame = Vec::new();
    frame::write(&mut frame, head, body.as_slice(), bounds)?;
    Ok(Some(frame))
}
