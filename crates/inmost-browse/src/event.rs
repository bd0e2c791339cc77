//! What happens to the browser, and what it asks for in return.

use inmost::{FileText, Metadata, SearchMatch, VersionInfo};

use super::key::Key;
use super::tree::{FolderId, Listing, Ticket, Want};

/// What happens.
pub(super) enum Event {
    Key(Key),
    /// Text that was pasted. It is never taken for commands.
    Paste(FileText),
    /// The terminal has so many columns and rows.
    Resize(u16, u16),
    /// Some time has passed, or the terminal got the focus.
    Tick,
    /// No key was pressed for so long that the store is locked.
    Idle,
    Reply(Box<Reply>),
    /// The editor has ended.
    Edited(Result<String, Problem>),
    /// The store was unlocked again, and whether the key daemon holds it; or the sentences on why it was not.
    Unlocked(Result<bool, String>),
}

/// What the browser asks for.
#[derive(Debug)]
pub(super) enum Effect {
    Ask(Request),
    /// Ends the search before it, and searches names and texts for a text. For an empty text it gets ready.
    Search {
        ticket: Ticket,
        query: Option<FileText>,
    },
    Edit(FileText),
    /// Wipes the keys, or has the key daemon do it.
    Lock,
    Unlock,
    Quit,
}

/// Work for the thread that reads and changes the store.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) ticket: Ticket,
    pub(super) job: Job,
}

#[derive(Debug)]
pub(super) enum Job {
    List(Want),
    /// Reads what the right pane shows of a file or folder. Left out if a newer one waits.
    Show(FileText),
    /// The versions of a path, or all of them, before a number.
    Versions {
        path: Option<FileText>,
        before: Option<u64>,
    },
    /// What a version changed. Left out if a newer one waits.
    Diff(VersionInfo),
    Restore(u64),
    Remove(FileText),
    Forget(FileText),
    /// The facts about the store. Those of the history too, if it says so: asking for them counts as a use of the store.
    Status(bool),
}

/// What became of a request.
pub(super) enum Reply {
    Listed {
        ticket: Ticket,
        folder: FolderId,
        listing: Result<Listing, Problem>,
    },
    Shown {
        ticket: Ticket,
        shown: Result<Shown, Problem>,
    },
    Versions {
        ticket: Ticket,
        page: Result<Versions, Problem>,
    },
    Diff {
        ticket: Ticket,
        diff: Result<FileText, Problem>,
    },
    /// A change was made, or not: the sentence that says so.
    Done(Result<String, Problem>),
    Status(Result<Facts, Problem>),
    Hits {
        ticket: Ticket,
        hits: Result<Hits, Problem>,
    },
}

/// A file or folder as the right pane shows it.
pub(super) struct Shown {
    pub(super) metadata: Metadata,
    /// `None` for a folder.
    pub(super) text: Option<FileText>,
    /// Its last change, while the history is on.
    pub(super) last: Option<VersionInfo>,
}

/// A page of versions, the newest first.
pub(super) struct Versions {
    pub(super) items: Vec<VersionInfo>,
    pub(super) next: Option<u64>,
    /// Whether the store keeps versions.
    pub(super) is_on: bool,
}

/// A part of what a search found.
#[derive(Default)]
pub(super) struct Hits {
    pub(super) names: Vec<FileText>,
    pub(super) lines: Vec<SearchMatch>,
    pub(super) is_last: bool,
}

/// Facts about the whole store.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) commit: u64,
    /// Whether the store keeps versions; `None` if that was not asked.
    pub(super) keeps_versions: Option<bool>,
}

/// Why a request failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// The store is not unlocked any more, for this reason.
    Locked(String),
    /// There is nothing at this path any more.
    Gone,
    /// A sentence on what happened, and one on what to do.
    Other(String, String),
}
