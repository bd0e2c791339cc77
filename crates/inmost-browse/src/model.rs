//! The state of the browser: everything that the screen shows. Does no I/O.

use std::time::SystemTime;

use inmost::{FileText, Metadata, VersionInfo};

use super::event::{Effect, Facts, Job, Request};
use super::key::Key;
use super::past::Past;
use super::reader::Reader;
use super::search::Search;
use super::tree::Ticket;
use super::tree::Tree;

/// The browser.
pub(super) struct Model {
    /// Columns and rows of the terminal.
    pub(super) size: (u16, u16),
    /// The store, as the person named it.
    pub(super) store: String,
    /// Whether the key daemon holds the store.
    pub(super) by_daemon: bool,
    /// The time, for ages.
    pub(super) now: SystemTime,
    /// Why the store is locked; `None` while it is unlocked.
    pub(super) locked: Option<String>,
    pub(super) tree: Tree,
    /// Keys that wait for entries of the tree, so that typing ahead of the store loses none.
    pub(super) ahead: Vec<Key>,
    pub(super) search: Option<Search>,
    pub(super) right: Right,
    pub(super) focus: Focus,
    pub(super) dialog: Option<Dialog>,
    /// A sentence at the bottom, until the next key.
    pub(super) note: Option<String>,
    pub(super) facts: Option<Facts>,
    tickets: Ticket,
}

/// The pane that gets the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Focus {
    Left,
    Right,
}

/// The right pane.
pub(super) enum Right {
    /// Nothing is selected.
    Empty,
    Item(Item),
    Past(Past),
}

/// The selected file or folder.
pub(super) struct Item {
    pub(super) path: FileText,
    /// The reply that is awaited.
    pub(super) waits: Option<Ticket>,
    pub(super) content: Content,
    /// Where a search found it.
    pub(super) found: Option<Found>,
}

/// What a search found in a file.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) line: u64,
    pub(super) ranges: Vec<std::ops::Range<usize>>,
}

/// What is at a path.
pub(super) enum Content {
    Unknown,
    Folder(Metadata, Option<VersionInfo>),
    File(Metadata, Option<VersionInfo>, Reader),
    Problem(String),
}

/// What lies over the panes and gets every key.
pub(super) enum Dialog {
    /// The keys, from this row on.
    Help(u16),
    /// Something that a person has to read.
    Message(String, String),
    /// A question with yes or no.
    Ask { question: String, detail: String, action: Action },
    /// A question that is confirmed with a typed word.
    Confirm { question: String, detail: String, typed: String, action: Action },
}

/// What a question is about.
pub(super) enum Action {
    Remove(FileText),
    Forget(FileText),
    Restore(u64),
}

impl Model {
    pub(super) fn new(store: String, by_daemon: bool, size: (u16, u16)) -> Self {
        Self {
            size,
            store,
            by_daemon,
            now: SystemTime::UNIX_EPOCH,
            locked: None,
            tree: Tree::new(),
            ahead: Vec::new(),
            search: None,
            right: Right::Empty,
            focus: Focus::Left,
            dialog: None,
            note: None,
            facts: None,
            tickets: 0,
        }
    }

    pub(super) fn ticket(&mut self) -> Ticket {
        self.tickets = self.tickets.saturating_add(1);
        self.tickets
    }

    /// Asks for a job under a new ticket.
    pub(super) fn ask(&mut self, job: Job, effects: &mut Vec<Effect>) -> Ticket {
        let ticket = self.ticket();
        effects.push(Effect::Ask(Request { ticket, job }));
        ticket
    }

    /// Drops everything that came out of the store. Texts and names are wiped as they are dropped.
    pub(super) fn forget_content(&mut self) {
        self.tree = Tree::new();
        self.ahead.clear();
        self.search = None;
        self.right = Right::Empty;
        self.focus = Focus::Left;
        self.dialog = None;
        self.note = None;
        self.facts = None;
    }

    /// Rows of the panes, below their heads.
    pub(super) fn pane_height(&self) -> usize {
        usize::from(super::layout::Areas::of(self.size).left.height)
    }

    /// The path that a command works on.
    pub(super) fn current_path(&self) -> Option<FileText> {
        match &self.search {
            Some(search) => search.selected_path(),
            None => self.tree.selected_path(),
        }
    }
}
