//! The window of an open folder.

use std::collections::VecDeque;

use inmost::{FileText, FolderEntry, Metadata, PageCursor};

/// The number of an open folder.
pub(crate) type FolderId = u64;

/// The number of a request. A reply that nobody waits for any more is dropped.
pub(crate) type Ticket = u64;

/// A position in a folder: before all its entries, or after one of them.
pub(crate) type Cursor = Option<PageCursor>;

/// An entry of a folder.
pub(crate) struct Entry {
    pub(crate) name: FileText,
    pub(crate) metadata: Metadata,
    /// The folder, if it is open.
    pub(crate) child: Option<FolderId>,
}

/// A page that the tree needs.
#[derive(Debug)]
pub(crate) struct Want {
    pub(crate) folder: FolderId,
    pub(crate) path: FileText,
    pub(crate) part: Part,
}

/// Which part of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The page after the window.
    After(Cursor),
    /// The page before the window, of so many entries.
    Before(Cursor, usize),
    /// The window again, of so many entries.
    Again(Cursor, usize),
    /// The first page instead of the window.
    First,
    /// The page with the entry of this name instead of the window.
    With(FileText),
}

/// A page of a folder.
pub(crate) struct Listing {
    pub(crate) part: Part,
    /// The starts and lengths of the pages that were passed over on the way to this one.
    pub(crate) passed: Vec<(Cursor, usize)>,
    /// Where this page starts.
    pub(crate) start: Cursor,
    pub(crate) entries: Vec<FolderEntry>,
    pub(crate) next: Cursor,
}

/// An open folder.
pub(crate) struct Folder {
    pub(crate) path: FileText,
    pub(super) depth: u16,
    pub(super) above: Option<FolderId>,
    pub(crate) entries: VecDeque<Entry>,
    /// The pages of the window: where each starts, and its entries.
    pages: VecDeque<(Cursor, usize)>,
    /// The pages before the window.
    pub(super) before: Vec<(Cursor, usize)>,
    /// The page after the window; `None` after the last page.
    pub(super) next: Cursor,
    pub(super) waits: Option<Ticket>,
    /// Whether it was listed.
    pub(super) is_known: bool,
}

/// What a page did to a window.
pub(super) struct Change {
    /// Entries that came before the window, and entries of it that were dropped from its start.
    pub(super) added: usize,
    pub(super) dropped: usize,
    /// The selected entry, if it was in this folder.
    pub(super) selected: Option<usize>,
    /// Open folders whose entries are gone.
    pub(super) orphans: Vec<FolderId>,
}

impl Folder {
    pub(super) fn new(path: FileText, depth: u16, above: Option<FolderId>) -> Self {
        Self {
            path,
            depth,
            above,
            entries: VecDeque::new(),
            pages: VecDeque::new(),
            before: Vec::new(),
            next: None,
            waits: None,
            is_known: false,
        }
    }

    /// The path of an entry.
    pub(super) fn path_of(&self, name: &str) -> FileText {
        FileText::from([self.path.as_str(), "/", name].concat())
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waits.is_some()
    }

    pub(super) fn after(&self) -> Part {
        if self.is_known { Part::After(self.next.clone()) } else { Part::First }
    }

    pub(super) fn ahead(&self) -> Part {
        let (start, length) = self.before.last().cloned().unwrap_or((None, PAGE));
        Part::Before(start, length)
    }

    pub(super) fn again(&self) -> Part {
        let start = self.pages.front().and_then(|(start, _)| start.clone());
        Part::Again(start, self.entries.len().max(PAGE))
    }

    /// A page did not come: the window ends here.
    pub(super) fn fail(&mut self) {
        self.waits = None;
        self.is_known = true;
        self.next = None;
        self.before.clear();
    }

    /// Takes in a page.
    pub(super) fn take(&mut self, page: Listing, selected: Option<usize>) -> Change {
        self.waits = None;
        self.is_known = true;
        let mut change = Change { added: 0, dropped: 0, selected, orphans: Vec::new() };
        match &page.part {
            Part::After(_) => self.append(page, &mut change),
            Part::Before(..) => self.prepend(page, &mut change),
            Part::Again(..) | Part::First | Part::With(_) => self.replace(page, &mut change),
        }
        change
    }

    fn append(&mut self, page: Listing, change: &mut Change) {
        self.pages.push_back((page.start, page.entries.len()));
        self.entries.extend(page.entries.into_iter().map(Entry::of));
        self.next = page.next;
        while self.entries.len() > WINDOW
            && let Some((_, length)) = self.pages.front()
            && change.selected.is_none_or(|index| index >= *length)
            && self.entries.iter().take(*length).all(|entry| entry.child.is_none())
            && let Some((start, length)) = self.pages.pop_front()
        {
            self.entries.drain(..length.min(self.entries.len()));
            self.before.push((start, length));
            change.dropped = change.dropped.saturating_add(length);
            change.selected = change.selected.map(|index| index.saturating_sub(length));
        }
    }

    fn prepend(&mut self, page: Listing, change: &mut Change) {
        // Entries that were added to the store since may have moved the end of the page.
        let first = self.entries.front().map(|entry| entry.name.clone());
        let is_new = |name: &str| first.as_ref().is_none_or(|first| name < first.as_str());
        let entries: Vec<_> = page.entries.into_iter().filter(|it| is_new(&it.name)).collect();
        change.added = entries.len();
        change.selected = change.selected.map(|index| index.saturating_add(entries.len()));
        self.before.pop();
        self.pages.push_front((page.start, entries.len()));
        for entry in entries.into_iter().rev() {
            self.entries.push_front(Entry::of(entry));
        }
        while self.entries.len() > WINDOW
            && let Some((_, length)) = self.pages.back()
            && let kept = self.entries.len().saturating_sub(*length)
            && change.selected.is_none_or(|index| index < kept)
            && self.entries.iter().skip(kept).all(|entry| entry.child.is_none())
            && let Some((start, _)) = self.pages.pop_back()
        {
            self.entries.truncate(kept);
            self.next = start;
        }
    }

    fn replace(&mut self, page: Listing, change: &mut Change) {
        let name = change.selected.and_then(|index| self.entries.get(index));
        let name = name.map(|entry| entry.name.clone());
        let open = self.entries.drain(..).filter_map(|it| it.child.map(|child| (it.name, child)));
        let mut open: Vec<(FileText, FolderId)> = open.collect();
        if !matches!(page.part, Part::Again(..)) {
            self.before = page.passed;
        }
        self.pages = VecDeque::from([(page.start, page.entries.len())]);
        self.next = page.next;
        self.entries = page.entries.into_iter().map(Entry::of).collect();
        for entry in &mut self.entries {
            let same = open.iter().position(|(name, _)| *name == entry.name);
            if let Some(at) = same.filter(|_| entry.metadata.is_folder()) {
                entry.child = Some(open.swap_remove(at).1);
            }
        }
        change.orphans = open.into_iter().map(|(_, child)| child).collect();
        change.selected = change.selected.and_then(|index| {
            let same = self.entries.iter().position(|entry| Some(&entry.name) == name.as_ref());
            let last = self.entries.len().checked_sub(1)?;
            Some(same.unwrap_or(index.min(last)))
        });
    }
}

impl Entry {
    fn of(entry: inmost::FolderEntry) -> Self {
        Self { name: FileText::from(entry.name), metadata: entry.metadata, child: None }
    }
}

/// Entries of a page.
pub(crate) const PAGE: usize = 500;

/// Entries of a window.
pub(super) const WINDOW: usize = 4 * PAGE;
