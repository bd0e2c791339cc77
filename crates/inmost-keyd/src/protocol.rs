//! The messages that client and daemon exchange.
//!
//! The client begins with a [`Hello`], and the daemon replies with a [`Greeting`]. Then the daemon replies to each
//! [`ClientMessage`](crate::requests::ClientMessage) with any number of [`ServerMessage::Progress`] and one of the others.
//! Increase [`VERSION`] with every change other than a new optional field of `Hello`: a daemon refuses a client of another
//! version, and names its own.

use inmost::{FileError, ToolOptions, Wiped};
use serde::{Deserialize, Serialize};

/// The version of this protocol.
pub(crate) const VERSION: u32 = 13;

/// The first message of a client. Its bytes are the path of the anchor that it was given, if any.
#[derive(Clone, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Hello {
    pub(crate) version: u32,
    #[serde(default)]
    pub(crate) purpose: Purpose,
    /// The folder of the store as the client sees it.
    #[serde(default)]
    pub(crate) folder: Option<Folder>,
    /// The options of every tool call on this connection. If they restrict the tool, all other requests are
    /// refused.
    #[serde(default)]
    pub(crate) tool: Option<ToolOptions>,
    /// Whether the client only asks for the status. It is accepted even if there are too many clients, and all other
    /// requests are refused.
    #[serde(default)]
    pub(crate) status_only: bool,
    /// Who makes the changes of this connection, as the client claims.
    #[serde(default)]
    pub(crate) actor: Option<Wiped<String>>,
    /// Whether the client is the command-line program. Like the label of the actor this is a claim: every process of the
    /// user can connect. The history shows it, and nothing is allowed or refused because of it.
    #[serde(default)]
    pub(crate) is_program: bool,
    /// Whether what the client reads does not count as use of a file.
    #[serde(default)]
    pub(crate) is_unrecorded: bool,
    /// Whether the client looks at names and metadata for programs that watch a folder. That does not restart the idle time.
    #[serde(default)]
    pub(crate) is_watching: bool,
}

impl Default for Hello {
    fn default() -> Self {
        Self {
            version: VERSION,
            purpose: Purpose::default(),
            folder: None,
            tool: None,
            status_only: false,
            actor: None,
            is_program: false,
            is_unrecorded: false,
            is_watching: false,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum Purpose {
    #[default]
    Work,
    /// The daemon locks the store and ends, which ends the connection. Understood in every version.
    Lock,
}

/// Device and inode of a folder, which detect another folder at the same path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Folder {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// The daemon's reply to a [`Hello`].
#[derive(Serialize, Deserialize)]
pub(crate) enum Greeting {
    /// The client may send requests.
    Accepted {
        process: u32,
    },
    /// The daemon is about to end. After that, the store is free.
    Ending,
    Refused(Refusal),
    /// As `Ending`, but another program has changed the files of the store, so what was saved last may not be in it. The text
    /// says which.
    EndingReplaced(String),
}

/// Why the daemon does not accept a client or a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Refusal {
    /// The daemon uses this version of the protocol.
    OtherVersion(u32),
    OtherAnchor,
    TooManyClients,
    /// The message is not one of this protocol.
    InvalidMessage,
    /// The connection is restricted to other requests.
    Restricted,
}

/// A message of the daemon after the greeting; `R` is the head of the reply to the request.
#[derive(Serialize, Deserialize)]
pub(crate) enum ServerMessage<R> {
    /// Records that a long request has read or written so far.
    Progress(u64),
    Reply(R),
    Failed(FileError),
    Refused(Refusal),
}
