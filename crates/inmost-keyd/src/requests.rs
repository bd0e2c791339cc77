//! The requests that a client can send, one row each: its fields, its reply, its kind, and what the process does that holds
//! the store.

mod run_command;
mod write_many;

use std::io;
use std::time::{Duration, SystemTime};

use inmost::{
    BackupOptions, BackupReport, ExpiryReport, ExpirySettings, ExpiryStore, FileError, FileText,
    FileVersion, FolderEntry, HistorySettings, HistoryStore, LineRange, Page, PageCursor,
    Precondition, RankQuery, Ranked, SearchMatch, SearchQuery, SessionStatus, SetAside, SlotInfo,
    SlotKind, StorageEngine, ToolOptions, ToolResult, UndoStep, UnlockedStore, VerifiedCopy,
    VersionPage, VersionQuery, WalkEntry, WriteOutcome,
};
use inmost_sync::{Report, SyncError};
use serde::{Deserialize, Serialize};

pub(crate) use self::run_command::CommandHead;
#[cfg(feature = "internals")]
pub(crate) use self::write_many::files;
pub(crate) use self::write_many::{FileHead, heads, split};
use crate::body::WipedPath;
use crate::facts::DaemonFacts;
use crate::request::{Context, Kind, Request, send};
use crate::rounds;
use crate::secret::SlotOptions;
use crate::stream::Stream;

/// A row is `Name { fields } -> reply, kind, |at| what to do;`. The kind and what to do can name the fields; the kind by
/// reference.
macro_rules! requests {
    ($(
        $(#[$doc:meta])*
        $name:ident { $($field:ident: $type:ty),* } -> $reply:ty, $kind:expr, |$at:ident| $execute:expr;
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Serialize, Deserialize)]
            pub(crate) struct $name {
                $(pub(crate) $field: $type,)*
            }

            #[allow(unused_variables, reason = "most kinds depend on no field")]
            impl Request for $name {
                type Reply = $reply;

                fn kind(&self) -> Kind {
                    let Self { $($field),* } = self;
                    $kind
                }

                fn execute(self, $at: &mut Context<'_>) -> Result<$reply, FileError> {
                    let Self { $($field),* } = self;
                    $execute
                }
            }

            impl From<$name> for ClientMessage {
                fn from(request: $name) -> Self {
                    Self::$name(request)
                }
            }
        )*

        /// A request; its body follows it.
        #[derive(Serialize, Deserialize)]
        pub(crate) enum ClientMessage {
            $($name($name),)*
        }

        impl ClientMessage {
            pub(crate) fn kind(&self) -> Kind {
                match self {
                    $(Self::$name(request) => request.kind(),)*
                }
            }

            /// Executes the request and sends its reply.
            pub(crate) fn execute(
                self,
                context: &mut Context<'_>,
                stream: &Stream,
            ) -> io::Result<()> {
                match self {
                    $(Self::$name(request) => send(stream, request.execute(context)),)*
                }
            }
        }
    };
}

requests! {
    // The process and the store.
    Facts {} -> DaemonFacts, Kind::Status, |at| Ok((at.facts)());
    Status {} -> SessionStatus, Kind::Status, |at| Ok(at.session.status()?);
    CompactionDue {} -> bool, Kind::Read, |at| Ok(at.session.compaction_due()?);

    // Files. A text is the body.
    Metadata { path: WipedPath } -> inmost::Metadata, Kind::Look, |at| at.session.metadata(&path);
    Read { path: WipedPath, lines: Option<LineRange> } -> FileText, Kind::Read,
        |at| UnlockedStore::read(at.session, &path, lines);
    ReadWithMetadata { path: WipedPath } -> (FileText, inmost::Metadata), Kind::Read, |at| at.session.read_with_metadata(&path);
    Write { path: WipedPath } -> (), Kind::Change, |at| at.session.write(&path, at.text()?);
    Append { path: WipedPath } -> (), Kind::Change, |at| at.session.append(&path, at.text()?);
    List { path: WipedPath, after: Option<PageCursor>, most: usize } -> Page<FolderEntry>, Kind::Look,
        |at| at.session.list(&path, after.as_ref(), most.min(MAX_PAGE));
    Walk { path: WipedPath, max_depth: usize, after: Option<PageCursor>, most: usize } -> Page<WalkEntry>, Kind::Look,
        |at| at.session.walk(&path, max_depth, after.as_ref(), most.min(MAX_PAGE));
    Search { path: WipedPath, query: SearchQuery, after: Option<PageCursor>, most: usize } -> Page<SearchMatch>, Kind::Read,
        |at| at.session.search(&path, &query, after.as_ref(), most.min(MAX_PAGE));
    Rank { path: WipedPath, query: RankQuery } -> Ranked, Kind::Read, |at| UnlockedStore::rank(at.session, &path, &query);
    Remove { path: WipedPath } -> (), Kind::Change, |at| at.session.remove(&path);
    Rename { old: WipedPath, new: WipedPath } -> (), Kind::Change, |at| at.session.rename(&old, &new);
    Version { path: WipedPath } -> Option<FileVersion>, Kind::Look, |at| at.session.version(&path);
    WriteFileIf { path: WipedPath, file: FileHead, condition: Precondition } -> FileVersion, Kind::Change,
        |at| at.session.write_file_if(&file.with(&path, at.text()?), &condition);
    SetModifiedIf { path: WipedPath, modified: SystemTime, condition: Precondition } -> (), Kind::Change,
        |at| at.session.set_modified_if(&path, modified, &condition);
    ReplaceIf { old: WipedPath, new: WipedPath, moved: Precondition, replaced: Precondition } -> FileVersion, Kind::Change,
        |at| at.session.replace_if(&old, &new, &moved, &replaced);
    RemoveIf { path: WipedPath, condition: Precondition } -> (), Kind::Change,
        |at| at.session.remove_if(&path, &condition);
    RenameIf { old: WipedPath, new: WipedPath, condition: Precondition } -> u64, Kind::Change,
        |at| at.session.rename_if(&old, &new, &condition);
    /// The body is the path and the text of each file.
    WriteMany { files: Vec<FileHead> } -> Vec<Result<WriteOutcome, FileError>>, Kind::Change,
        |at| Ok(at.session.write_many(&write_many::files(files, at.body)?)?);

    // The memory tool.
    /// The body is the paths and texts of the command. The options are ignored if the connection has fixed its own.
    RunCommand { command: CommandHead, options: ToolOptions } -> ToolResult,
        Kind::Tool { is_change: !matches!(command, CommandHead::View { .. } | CommandHead::Search) },
        |at| Ok(at.session.run_command(&command.with_texts(at.body)?, &at.tool_options(options))?);

    // The history.
    Versions { query: VersionQuery, before: Option<u64>, most: usize } -> VersionPage, Kind::Read,
        |at| at.session.versions(&query, before, most.min(MAX_VERSIONS));
    VersionText { number: u64 } -> FileText, Kind::Read, |at| at.session.version_text(number);
    Restore { number: u64, to: Option<WipedPath> } -> u64, Kind::Change,
        |at| at.session.restore(number, to.as_ref().map(|path| path.as_str()));
    Revert { step: UndoStep } -> u64, Kind::Change, |at| at.session.revert(&step);
    RevertTogether { steps: Vec<UndoStep> } -> Vec<u64>, Kind::Change, |at| at.session.revert_together(&steps);
    Forget { path: WipedPath, until: Option<u64> } -> u64, Kind::Change, |at| at.session.forget(&path, until, &mut *at.progress);
    HistoryStatus {} -> inmost::HistoryStatus, Kind::Status, |at| Ok(at.session.history_status()?);
    SetHistory { settings: HistorySettings } -> (), Kind::Change, |at| Ok(at.session.set_history(settings)?);

    // The expiry of unused files.
    Expire { unused_for: Duration, dry_run: bool } -> ExpiryReport,
        if *dry_run { Kind::Read } else { Kind::Change },
        |at| at.session.expire(unused_for, dry_run, &mut *at.progress);
    ExpiryStatus {} -> inmost::ExpiryStatus, Kind::Status, |at| Ok(at.session.expiry_status()?);
    SetExpiry { settings: ExpirySettings } -> (), Kind::Change, |at| Ok(at.session.set_expiry(settings)?);

    // Keyslots. The body is the credential.
    Slots {} -> Vec<SlotInfo>, Kind::Read, |at| Ok(at.session.slots()?);
    AddSlot { kind: SlotKind, options: SlotOptions } -> u8, Kind::Change,
        |at| Ok(at.session.add_slot(&options.slot(&at.secret(kind)?))?);
    ReplaceSlot { number: u8, kind: SlotKind, options: SlotOptions } -> (), Kind::Change,
        |at| Ok(at.session.replace_slot(number, &options.slot(&at.secret(kind)?))?);
    RemoveSlot { number: u8 } -> (), Kind::Change, |at| Ok(at.session.remove_slot(number)?);
    Rotate { keep: SlotKind } -> Vec<SlotInfo>, Kind::Change,
        |at| Ok(at.session.rotate_reporting(at.secret(keep)?.credential(), at.progress)?);

    // Synchronisation.
    /// The body is the location of the place.
    SyncInit { name: String } -> Result<(), SyncError>, Kind::Round, |at| Ok(rounds::init(&at.circle(), at.text()?, &name));
    /// The body is the location and the invitation.
    SyncJoin { name: String } -> Result<(), SyncError>, Kind::Round,
        |at| at.invited().map(|(place, invitation)| rounds::join(&at.circle(), place, invitation, &name));
    /// The body is the location of the new place.
    SyncRemove { names: Vec<String> } -> Result<(), SyncError>, Kind::Round, |at| Ok(rounds::remove(&at.circle(), &names, at.text()?));
    /// The body is the location and the invitation.
    SyncFollow {} -> Result<(), SyncError>, Kind::Round,
        |at| at.invited().map(|(place, invitation)| rounds::follow(&at.circle(), place, invitation));
    SyncInvitation {} -> Result<FileText, SyncError>, Kind::Read, |at| Ok(rounds::invitation(&at.circle()));
    SyncRun {} -> Result<Report, SyncError>, Kind::Round, |at| Ok(at.rounds.run(at.session, at.progress));
    SyncStatus {} -> Result<inmost_sync::Status, SyncError>, Kind::Status, |at| Ok(at.circle().status());
    SyncLeave {} -> Result<(), SyncError>, Kind::Round, |at| Ok(at.circle().leave());

    // Maintenance, which takes long. The body is the place of a copy.
    Check {} -> inmost::CheckReport, Kind::Read, |at| Ok(at.session.check_reporting(at.progress)?);
    Compact {} -> (), Kind::Change, |at| Ok(at.session.compact_reporting(at.progress)?);
    Purge {} -> (), Kind::Change, |at| Ok(at.session.purge_reporting(at.progress)?);
    Migrate { engine: StorageEngine } -> (), Kind::Change,
        |at| Ok(at.session.migrate_reporting(engine, at.progress)?);
    ListSetAside {} -> Vec<SetAside>, Kind::Read, |at| Ok(at.session.set_aside()?);
    DiscardSetAside { number: u64 } -> (), Kind::Change, |at| Ok(at.session.discard_set_aside(number)?);
    Backup { options: BackupOptions } -> BackupReport, Kind::Change,
        |at| Ok(at.session.backup_into(at.place(), &options, at.progress)?);
    BackupWithVersions {} -> VerifiedCopy, Kind::Change,
        |at| Ok(at.session.backup_with_versions_reporting(&at.place(), at.progress)?);
}

/// The maximum number of items on a page. With the longest paths, this many make a head of 64 MB.
const MAX_PAGE: usize = 10_000;

/// The maximum number of versions on a page. A version has two paths and a label, so this is less than for files.
const MAX_VERSIONS: usize = 4_000;
