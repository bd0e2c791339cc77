//! Why there is no connection to a key daemon, or no daemon.

use std::io;
use std::path::Path;

use inmost::{KdfCost, StoreError, printable};
use inmost_sync::SyncError;
use serde::{Deserialize, Serialize};

/// Why a program cannot connect to the key daemon of a store, or cannot become one.
///
/// [`Display`](std::fmt::Display) says what happened, with control characters escaped: paths and the reasons of the operating
/// system may hold any. [`advice`](DaemonError::advice) says what to do.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DaemonError {
    /// The socket of the daemon cannot be created.
    #[error(
        "The key daemon cannot create its socket {}: {}.",
        printable(.socket),
        printable(.reason)
    )]
    CannotBind {
        /// The path of the socket.
        socket: String,
        /// The reason that the operating system gives.
        reason: String,
    },
    /// The daemon could not listen for connections.
    #[error("The key daemon cannot listen: {}.", printable(.0))]
    CannotListen(String),
    /// The process of the daemon could not be started.
    #[error("The key daemon could not be started: {}.", printable(.0))]
    CannotStart(String),
    /// The credential arrived malformed at the daemon's process.
    #[error("The key daemon received a malformed credential.")]
    InvalidSecret,
    /// The process of the daemon was killed while it unlocked the store: the system or the container was probably short of memory.
    #[error(
        "The key daemon was killed while it unlocked the store, probably for want of memory. An unlock needs about {} MiB and the memory of its key derivation, {} MiB by default.",
        OTHER_MIB,
        KdfCost::default().memory_kib() / 1_024
    )]
    Killed,
    /// The store is in no circle of devices, so the daemon cannot keep it in step. It is locked.
    #[error(
        "The store is in no circle of devices, so it stays locked and nothing is synchronised."
    )]
    NotAMember,
    /// A process holds the store, but no key daemon of it can be reached: another user's or another folder's sockets, a
    /// store that was moved after it was unlocked, or a program that is no key daemon.
    #[error("{} holds the store, and no key daemon of it can be reached.", holder(*.process))]
    NotFound {
        /// The process that holds the store, if known.
        process: Option<u32>,
    },
    /// This process was not started by [`start`](crate::start).
    #[error("This command is internal: only the program itself runs it.")]
    NotStartedByProgram,
    /// The store was unlocked with another freshness anchor than the client names, or with none.
    #[error("The store was unlocked without this anchor.")]
    OtherAnchor,
    /// The daemon uses another version of the protocol.
    #[error(
        "The key daemon that holds the store has another version of inmost: {}",
        protocols(*.daemon, *.client)
    )]
    OtherVersion {
        /// The version that the daemon uses, if known.
        daemon: Option<u32>,
        /// The version that this client uses.
        client: u32,
    },
    /// The folder for sockets cannot be created.
    #[error("The folder for sockets cannot be created: {}.", printable(.0))]
    SocketFolder(String),
    /// The folder for sockets belongs to another user, or other users can enter it.
    #[error("The folder for sockets, {}, is not private to this user.", printable(.0))]
    SocketFolderNotPrivate(String),
    /// The store could not be opened or unlocked.
    #[error("{}", printable(&.0.to_string()))]
    Store(#[from] StoreError),
    /// The daemon accepts no more connections.
    #[error("Too many processes use the store already.")]
    TooManyClients,
    /// The daemon sent a message that is not a reply to the request.
    #[error("The key daemon of the store in {} sent an unexpected reply.", printable(.store))]
    UnexpectedReply {
        /// The folder of the store.
        store: String,
    },
    /// Sending to the daemon, or receiving from it, failed.
    #[error(
        "Cannot reach the key daemon of the store in {}: {}.",
        printable(.store),
        printable(.reason)
    )]
    Unreachable {
        /// The folder of the store.
        store: String,
        /// The reason that the operating system gives.
        reason: String,
    },
    /// A daemon of this user cannot be reached at its socket, and may hold the keys of a store.
    #[error(
        "Process {process} is a key daemon of this user that cannot be reached, and it may hold keys."
    )]
    Unreached {
        /// The process of the daemon.
        process: u32,
    },
    /// The daemon did not reply in time.
    #[error(
        "The key daemon of the store in {} does not respond{}.",
        printable(.store),
        .process.map_or_else(String::new, |process| format!(": process {process}"))
    )]
    Unresponsive {
        /// The folder of the store.
        store: String,
        /// The process of the daemon, if known.
        process: Option<u32>,
    },
    /// The working folder, which a relative path starts from, cannot be determined.
    #[error("The working folder cannot be determined: {}.", printable(.0))]
    WorkingFolder(String),
}

impl DaemonError {
    /// One sentence that says what to do.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::CannotBind { .. } => {
                "Remove what is at that path, or set XDG_RUNTIME_DIR to a folder that only you can access."
            }
            Self::CannotListen(_) | Self::SocketFolder(_) => {
                "Set XDG_RUNTIME_DIR to a folder that only you can access."
            }
            Self::CannotStart(_) => "Try again, or add --foreground.",
            Self::InvalidSecret => "Please report it as an error in inmost.",
            Self::Killed => {
                "Give the container or the machine more memory. A store with a smaller cost (`--kdf-memory-mib`) needs less."
            }
            Self::NotAMember => SyncError::NotAMember.advice(),
            Self::NotFound { .. } => {
                "If that process is a key daemon, use its XDG_RUNTIME_DIR and the path with which the store was unlocked, or end it with SIGTERM. Otherwise wait for it."
            }
            Self::NotStartedByProgram => "Use `inmost unlock`.",
            Self::OtherAnchor => {
                "Lock it with `inmost lock`, then unlock it with the anchor, or leave out the anchor."
            }
            Self::OtherVersion { .. } => "Lock the store with `inmost lock`, then unlock it again.",
            Self::SocketFolderNotPrivate(_) => {
                "Remove it, or set XDG_RUNTIME_DIR to a folder that only you can access."
            }
            Self::Store(error) => error.advice(),
            Self::TooManyClients => "End some of them. `inmost status` lists them.",
            Self::UnexpectedReply { .. } => {
                "Please report it. Every change that the store acknowledged is safe."
            }
            Self::Unreachable { .. } => "Lock the store with `inmost lock`.",
            Self::Unreached { .. } => {
                "End it with `kill` and that number: it locks its store first."
            }
            Self::Unresponsive { .. } => {
                "Try again. If the process was stopped, continue it with `kill -CONT`; otherwise end it with `kill -KILL`, which loses nothing that was saved."
            }
            Self::WorkingFolder(_) => "Change to another folder.",
        }
    }

    /// The failure of a connection.
    pub(crate) fn of_connection(store: &Path, error: &io::Error) -> Self {
        let store = store.display().to_string();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Self::Unresponsive { store, process: None }
            }
            // The message of an invalid frame adds no information to the variant.
            io::ErrorKind::InvalidData => Self::UnexpectedReply { store },
            _ => Self::Unreachable { store, reason: error.to_string() },
        }
    }

    /// Names the process of a daemon that does not respond; 0 if it is not known.
    pub(crate) fn of_process(mut self, number: u32) -> Self {
        if let Self::Unresponsive { process, .. } = &mut self {
            *process = (number > 0).then_some(number);
        }
        self
    }
}

/// The beginning of a sentence on the process that holds a store.
fn holder(process: Option<u32>) -> String {
    process.map_or_else(|| "Another process".to_owned(), |process| format!("Process {process}"))
}

/// The end of a sentence on the protocol of a daemon.
fn protocols(daemon: Option<u32>, client: u32) -> String {
    match daemon {
        Some(daemon) => format!("it uses protocol {daemon}, not protocol {client}."),
        None => format!("it does not use protocol {client}."),
    }
}

/// Once connected, every failure is an error of the store.
impl From<DaemonError> for StoreError {
    fn from(error: DaemonError) -> Self {
        match error {
            DaemonError::Store(error) => error,
            error => Self::KeyDaemon(error.to_string()),
        }
    }
}

/// What a daemon needs besides the memory of the key derivation: its engine, its cache and its program.
const OTHER_MIB: u32 = 40;
