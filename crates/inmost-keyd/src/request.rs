//! The traits of requests and replies.
//!
//! A message has a head, which is JSON, and a body: text, secrets and host paths. They are not in the JSON, because its
//! parser unescapes strings in buffers that are never wiped.

use inmost::{FileError, FileText, Session, ToolOptions, ToolResult};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::facts::DaemonFacts;
use crate::wiped::Wiped;

/// A request, the type of its reply, and how it is executed.
pub(crate) trait Request {
    type Reply: Reply;

    /// Whether it is a tool call, which a restricted connection allows.
    const IS_TOOL_CALL: bool = false;

    /// Whether it counts as use of the store, which restarts the daemon's idle time. A request that does not reads the
    /// status, and is allowed on a connection for the status alone.
    const IS_USE: bool = true;

    /// Whether it may change the store, so that the outcome is unknown if the connection is lost before the reply.
    fn is_change(&self) -> bool;

    /// Executes the request, in the process that holds the store.
    fn execute(self, body: &[u8], context: &mut Context<'_>) -> Result<Self::Reply, FileError>;
}

/// What a request needs to be executed.
pub(crate) struct Context<'a> {
    pub(crate) session: &'a Session,
    /// The options of every tool call, if the connection has fixed them.
    pub(crate) tool: Option<&'a ToolOptions>,
    pub(crate) facts: &'a dyn Fn() -> DaemonFacts,
    /// Gets the number of records that a long request has read or written.
    pub(crate) progress: &'a mut dyn FnMut(u64),
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
