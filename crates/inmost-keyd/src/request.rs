//! What a request is, and how its reply is sent.
//!
//! A message has a head, which is JSON, and a body: text, secrets and host paths. They are not in the JSON, because its
//! parser unescapes strings in buffers that are never wiped.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use inmost::{
    FileError, FileText, Page, Ranked, SearchMatch, Session, SlotKind, StoreError, ToolOptions,
    ToolResult,
};
use inmost_sync::{Sync, SyncError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::body::{self, Wiped};
use crate::facts::DaemonFacts;
use crate::frame::{self, REPLY};
use crate::protocol::ServerMessage;
use crate::rounds::Rounds;
use crate::secret::Secret;
use crate::stream::Stream;

/// A request, the type of its reply, and how it is executed.
pub(crate) trait Request {
    type Reply: Reply;

    fn kind(&self) -> Kind;

    /// Executes the request, in the process that holds the store.
    fn execute(self, context: &mut Context<'_>) -> Result<Self::Reply, FileError>;
}

/// What a request does with the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Reads the status. It does not restart the daemon's idle time, and is allowed on a connection for the status alone.
    Status,
    /// Looks at names and metadata. It restarts the idle time, unless the client has said that its look-ups are no use.
    Look,
    Read,
    /// May change the store, so that the outcome is unknown if the connection is lost before the reply.
    Change,
    /// A tool call, which a restricted connection allows.
    Tool {
        is_change: bool,
    },
    /// Uses the place of a circle, which may never answer. So the end of the daemon does not wait for it, and only its progress counts
    /// as use. A crash at any moment loses nothing.
    Round,
}

impl Kind {
    pub(crate) fn is_change(self) -> bool {
        matches!(self, Self::Change | Self::Tool { is_change: true })
    }
}

/// What a request needs to be executed.
pub(crate) struct Context<'a> {
    pub(crate) session: &'a Session,
    pub(crate) body: &'a [u8],
    /// The options of every tool call, if the connection has fixed them.
    pub(crate) tool: Option<&'a ToolOptions>,
    pub(crate) facts: &'a dyn Fn() -> DaemonFacts,
    pub(crate) rounds: &'a Rounds,
    /// Gets the number of records that a long request has read or written.
    pub(crate) progress: &'a mut dyn FnMut(u64),
}

impl Context<'_> {
    /// The body as text. This client sends only `str`s, so it fails only for other clients.
    pub(crate) fn text(&self) -> Result<&str, StoreError> {
        std::str::from_utf8(self.body)
            .map_err(|_| StoreError::KeyDaemon("The text is not UTF-8.".to_owned()))
    }

    /// The body as an absolute path of the host.
    pub(crate) fn place(&self) -> PathBuf {
        body::decode_path(self.body)
    }

    /// The part of the store in a circle of devices.
    pub(crate) fn circle(&self) -> Sync<'_> {
        self.rounds.circle(self.session)
    }

    /// The body as the location of a place and an invitation.
    pub(crate) fn invited(&self) -> Result<(&str, &str), FileError> {
        let mut rest = self.body;
        let (place, invitation) = (body::take(&mut rest), body::take(&mut rest));
        let parts = place.zip(invitation).ok_or_else(|| body::malformed("half an invitation"));
        Ok(parts?)
    }

    /// The body as a credential.
    pub(crate) fn secret(&self, kind: SlotKind) -> Result<Secret, StoreError> {
        Ok(Secret::from_bytes(kind, self.body)?)
    }

    /// The options of a tool call: those of the connection, if it has fixed them.
    pub(crate) fn tool_options(&self, sent: ToolOptions) -> ToolOptions {
        self.tool.cloned().unwrap_or_else(|| sent.find_screen(inmost_screen::by_name))
    }
}

/// Sends the reply to a request, or its error.
pub(crate) fn send<R: Reply>(mut stream: &Stream, reply: Result<R, FileError>) -> io::Result<()> {
    match reply {
        Ok(reply) => {
            let (head, body) = reply.into_parts();
            frame::write(&mut stream, &ServerMessage::Reply(head), body.as_slice(), REPLY)
        }
        Err(error) => frame::write(&mut stream, &ServerMessage::<()>::Failed(error), &[], REPLY),
    }
}

/// The reply to a request, as a head and a body.
pub(crate) trait Reply: Sized {
    type Head: Serialize + DeserializeOwned;

    fn into_parts(self) -> (Self::Head, Wiped);

    /// The reply of these parts; `None` if they do not fit together.
    fn from_parts(head: Self::Head, body: Wiped) -> Option<Self>;
}

/// Replies with an empty body.
macro_rules! heads {
    ($($reply:ty),* $(,)?) => { $(
        impl Reply for $reply {
            type Head = Self;

            fn into_parts(self) -> (Self, Wiped) {
                (self, Wiped::default())
            }

            fn from_parts(head: Self, _: Wiped) -> Option<Self> {
                Some(head)
            }
        }
    )* };
}

heads!(
    (),
    Vec<u64>,
    bool,
    u8,
    u64,
    DaemonFacts,
    Option<inmost::FileVersion>,
    inmost::FileVersion,
    Vec<inmost::SetAside>,
    Vec<inmost::SlotInfo>,
    Vec<Result<inmost::WriteOutcome, FileError>>,
    inmost::BackupReport,
    inmost::CheckReport,
    inmost::ExpiryReport,
    inmost::ExpiryStatus,
    inmost::HistoryStatus,
    inmost::Metadata,
    inmost::Page<inmost::FolderEntry>,
    inmost::Page<inmost::WalkEntry>,
    inmost::SessionStatus,
    inmost::VerifiedCopy,
    inmost::VersionPage,
    Result<(), SyncError>,
    Result<inmost_sync::Report, SyncError>,
    Result<inmost_sync::Status, SyncError>,
);

impl Reply for FileText {
    type Head = ();

    fn into_parts(self) -> ((), Wiped) {
        ((), Wiped::from(self.into_string().into_bytes()))
    }

    fn from_parts((): (), body: Wiped) -> Option<Self> {
        body.into_text().map(|mut text| Self::from(std::mem::take(&mut *text)))
    }
}

impl Reply for Result<FileText, SyncError> {
    type Head = Result<(), SyncError>;

    fn into_parts(self) -> (Self::Head, Wiped) {
        match self {
            Ok(text) => (Ok(()), text.into_parts().1),
            Err(error) => (Err(error), Wiped::default()),
        }
    }

    fn from_parts(head: Self::Head, body: Wiped) -> Option<Self> {
        match head {
            Ok(()) => FileText::from_parts((), body).map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}

impl Reply for (FileText, inmost::Metadata) {
    type Head = inmost::Metadata;

    fn into_parts(self) -> (Self::Head, Wiped) {
        (self.1, self.0.into_parts().1)
    }

    fn from_parts(metadata: Self::Head, body: Wiped) -> Option<Self> {
        Some((FileText::from_parts((), body)?, metadata))
    }
}

/// The head says whether it is an error.
impl Reply for ToolResult {
    type Head = bool;

    fn into_parts(self) -> (bool, Wiped) {
        (self.is_error(), Wiped::from(self.into_content().into_bytes()))
    }

    fn from_parts(is_error: bool, body: Wiped) -> Option<Self> {
        body.into_text().map(|mut text| Self::new(std::mem::take(&mut *text), is_error))
    }
}

/// A match; its text is in the body, after the texts of the matches before it.
#[derive(Serialize, Deserialize)]
pub(crate) struct MatchHead {
    path: FileText,
    line: u64,
    ranges: Vec<Range<usize>>,
    bytes: usize,
}

/// The texts of the lines are the body: a parser of JSON would keep copies of them. The head has their lengths.
impl Reply for Ranked {
    type Head = (Self, Vec<usize>);

    fn into_parts(mut self) -> (Self::Head, Wiped) {
        let (mut body, mut lengths) = (Wiped::default(), Vec::new());
        for (_, line) in self.files.iter_mut().flat_map(|file| &mut file.lines) {
            let text = std::mem::replace(line, String::new().into());
            body.append(text.as_str().as_bytes());
            lengths.push(text.as_str().len());
        }
        ((self, lengths), body)
    }

    fn from_parts((mut ranked, lengths): Self::Head, body: Wiped) -> Option<Self> {
        let mut rest = std::str::from_utf8(body.as_slice()).ok()?;
        let mut lengths = lengths.into_iter();
        for (_, line) in ranked.files.iter_mut().flat_map(|file| &mut file.lines) {
            let (text, after) = rest.split_at_checked(lengths.next()?)?;
            rest = after;
            *line = text.to_owned().into();
        }
        (rest.is_empty() && lengths.next().is_none()).then_some(ranked)
    }
}

impl Reply for Page<SearchMatch> {
    type Head = Page<MatchHead>;

    fn into_parts(self) -> (Self::Head, Wiped) {
        let mut body = Wiped::default();
        let heads = self.items.into_iter().map(|found| {
            let text = found.text.as_str().as_bytes();
            body.append(text);
            let bytes = text.len();
            MatchHead { path: found.path, line: found.line, ranges: found.ranges, bytes }
        });
        (Page::new(heads.collect(), self.next), body)
    }

    fn from_parts(head: Self::Head, body: Wiped) -> Option<Self> {
        let mut rest = std::str::from_utf8(body.as_slice()).ok()?;
        let mut items = Vec::with_capacity(head.items.len());
        for found in head.items {
            let (text, after) = rest.split_at_checked(found.bytes)?;
            rest = after;
            // The application slices the text with these.
            let are_inside = found.ranges.iter().all(|range| text.get(range.clone()).is_some());
            if !are_inside {
                return None;
            }
            let text = FileText::from(text.to_owned());
            items.push(SearchMatch::new(found.path, found.line, text, found.ranges));
        }
        Some(Page::new(items, head.next))
    }
}
