//! Every request in one type, which the daemon reads and executes.

use inmost::FileError;
use serde::{Deserialize, Serialize};

use crate::request::{Context, Reply, Request};
use crate::requests::conditional::{RemoveIf, RenameIf, Version, WriteIf};
use crate::requests::expiry::{Expire, ExpiryStatus, SetExpiry};
use crate::requests::file::{Append, List, Metadata, Read, Remove, Rename, Walk, Write};
use crate::requests::history::{
    Forget, HistoryStatus, Redact, Restore, Revert, RevertTogether, SetHistory, VersionText,
    Versions,
};
use crate::requests::keyslot::{AddSlot, RemoveSlot, ReplaceSlot, Rotate, Slots};
use crate::requests::maintenance::{
    Backup, BackupVerified, BackupWithVersions, Check, Compact, CompactionDue, DiscardSetAside,
    Facts, ListSetAside, Migrate, Purge, Status,
};
use crate::requests::search::Search;
use crate::requests::tool::RunCommand;
use crate::requests::write_many::WriteMany;

/// Sends the reply to a request, or its error.
pub(crate) trait Responder {
    type Sent;

    fn respond<R: Reply>(self, reply: Result<R, FileError>) -> Self::Sent;
}

macro_rules! requests {
    ($($name:ident),* $(,)?) => {
        /// A request; its body follows it.
        #[derive(Serialize, Deserialize)]
        pub(crate) enum ClientMessage {
            $($name($name),)*
        }

        $(impl From<$name> for ClientMessage {
            fn from(request: $name) -> Self {
                Self::$name(request)
            }
        })*

        impl ClientMessage {
            /// See [`Request::IS_TOOL_CALL`].
            pub(crate) fn is_tool_call(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$name as Request>::IS_TOOL_CALL,)*
                }
            }

            /// See [`Request::IS_USE`].
            pub(crate) fn is_use(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$name as Request>::IS_USE,)*
                }
            }

            /// Executes the request and hands its reply to `responder`.
            pub(crate) fn execute<S: Responder>(
                self,
                body: &[u8],
                context: &mut Context<'_>,
                responder: S,
            ) -> S::Sent {
                match self {
                    $(Self::$name(request) => responder.respond(request.execute(body, context)),)*
                }
            }
        }
    };
}

requests!(
    AddSlot,
    Append,
    Backup,
    BackupVerified,
    BackupWithVersions,
    Check,
    Compact,
    CompactionDue,
    DiscardSetAside,
    Expire,
    ExpiryStatus,
    Facts,
    Forget,
    HistoryStatus,
    List,
    ListSetAside,
    Metadata,
    Migrate,
    Purge,
    Read,
    Redact,
    Remove,
    RemoveIf,
    RemoveSlot,
    Rename,
    RenameIf,
    ReplaceSlot,
    Restore,
    Revert,
    RevertTogether,
    Rotate,
    RunCommand,
    Search,
    SetExpiry,
    SetHistory,
    Slots,
    Status,
    Version,
    VersionText,
    Versions,
    Walk,
    Write,
    WriteIf,
    WriteMany,
);
