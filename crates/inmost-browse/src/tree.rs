//! The tree on the left: the folders that are open, each with a window of its entries. Does no I/O.
//!
//! A folder is listed when it is opened, and page by page as the selection comes near the end of its window. A window has a
//! limit, so a folder of a hundred thousand files takes no more memory than one of a few thousand.

mod folder;
mod goal;

use std::collections::HashMap;

use inmost::FileText;

use self::folder::Folder;
pub(crate) use self::folder::{Cursor, Entry, FolderId, Listing, PAGE, Part, Ticket, Want};
use self::goal::Goal;
use super::key::Motion;
use inmost_console::memory_path;

/// The folder `/memories`.
pub(super) const ROOT: FolderId = 0;

/// An entry, by its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spot {
    pub(super) folder: FolderId,
    pub(super) index: usize,
}

/// A line of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line {
    Entry {
        spot: Spot,
        depth: u16,
    },
    /// Entries that are not loaded: those before the window of a folder, or those after it.
    Gap {
        folder: FolderId,
        depth: u16,
        is_end: bool,
    },
}

/// The tree.
pub(super) struct Tree {
    folders: HashMap<FolderId, Folder>,
    last_id: FolderId,
    /// `None` while nothing is loaded.
    pub(super) selected: Option<Spot>,
    /// The first line on the screen.
    pub(super) top: usize,
    goal: Option<Goal>,
}

impl Tree {
    pub(super) fn new() -> Self {
        let root = Folder::new(FileText::from(memory_path::ROOT.to_owned()), 0, None);
        let folders = HashMap::from([(ROOT, root)]);
        Self { folders, last_id: ROOT, selected: None, top: 0, goal: None }
    }

    pub(super) fn entry(&self, spot: Spot) -> Option<&Entry> {
        self.folders.get(&spot.folder)?.entries.get(spot.index)
    }

    pub(super) fn selected(&self) -> Option<&Entry> {
        self.entry(self.selected?)
    }

    /// The path of an entry.
    pub(super) fn path(&self, spot: Spot) -> Option<FileText> {
        let folder = self.folders.get(&spot.folder)?;
        Some(folder.path_of(folder.entries.get(spot.index)?.name.as_str()))
    }

    pub(super) fn selected_path(&self) -> Option<FileText> {
        self.path(self.selected?)
    }

    /// Whether the first page of the whole tree has come.
    pub(super) fn is_known(&self) -> bool {
        self.folders.get(&ROOT).is_some_and(|root| root.is_known)
    }

    /// Every line, from the first to the last loaded one.
    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        self.append_lines(ROOT, 0, &mut lines);
        lines
    }

    fn append_lines(&self, id: FolderId, depth: u16, to: &mut Vec<Line>) {
        let Some(folder) = self.folders.get(&id) else { return };
        if !folder.before.is_empty() {
            to.push(Line::Gap { folder: id, depth, is_end: false });
        }
        for (index, entry) in folder.entries.iter().enumerate() {
            to.push(Line::Entry { spot: Spot { folder: id, index }, depth });
            if let Some(child) = entry.child {
                self.append_lines(child, depth.saturating_add(1), to);
            }
        }
        if folder.next.is_some() || !folder.is_known {
            to.push(Line::Gap { folder: id, depth, is_end: true });
        }
    }

    /// Moves the selection. It stops at entries that are not loaded yet; returns whether they kept it from moving at all.
    pub(super) fn go(&mut self, motion: Motion, height: usize) -> bool {
        self.goal = match motion {
            Motion::Start => Some(Goal::Start),
            Motion::End => Some(Goal::End),
            _ => None,
        };
        let lines = self.lines();
        let at = lines.iter().position(|line| self.is_selected(line)).unwrap_or(0);
        let to = motion.within(at, lines.len(), height.saturating_sub(1));
        let spot = |line: &Line| match line {
            Line::Entry { spot, .. } => Some(*spot),
            Line::Gap { .. } => None,
        };
        // The last entry on the way. A gap on the way ends it, as the entries in it come next.
        let found = if to >= at {
            let way = lines.iter().take(to.saturating_add(1)).skip(at);
            way.map_while(spot).last()
        } else {
            let way = lines.iter().take(at.saturating_add(1)).skip(to).rev();
            way.map_while(spot).last()
        };
        let has_moved = found.is_some() && found != self.selected;
        self.selected = found.or(self.selected);
        self.keep_in_view(height);
        let next = if to >= at { at.saturating_add(1) } else { at.saturating_sub(1) };
        let is_gap = |number: usize| matches!(lines.get(number), Some(Line::Gap { .. }));
        !has_moved && (is_gap(next) || is_gap(at)) && to != at
    }

    fn is_selected(&self, line: &Line) -> bool {
        matches!(line, Line::Entry { spot, .. } if Some(*spot) == self.selected)
    }

    /// Scrolls so that the selection is on the screen.
    pub(super) fn keep_in_view(&mut self, height: usize) {
        let lines = self.lines();
        let at = lines.iter().position(|line| self.is_selected(line)).unwrap_or(0);
        let lowest = at.saturating_add(1).saturating_sub(height.max(1));
        self.top = self.top.clamp(lowest, at.max(lowest));
        self.top = self.top.min(lines.len().saturating_sub(1));
    }

    /// Opens the selected folder. Returns whether it was closed before.
    pub(super) fn open(&mut self) -> bool {
        self.goal = None;
        self.selected.is_some_and(|spot| self.open_at(spot))
    }

    fn open_at(&mut self, spot: Spot) -> bool {
        let Some(folder) = self.folders.get_mut(&spot.folder) else { return false };
        let Some(entry) = folder.entries.get(spot.index) else { return false };
        if !entry.metadata.is_folder() || entry.child.is_some() {
            return false;
        }
        let path = folder.path_of(entry.name.as_str());
        let depth = folder.depth.saturating_add(1);
        self.last_id = self.last_id.saturating_add(1);
        if let Some(entry) = folder.entries.get_mut(spot.index) {
            entry.child = Some(self.last_id);
        }
        self.folders.insert(self.last_id, Folder::new(path, depth, Some(spot.folder)));
        true
    }

    /// Closes the selected folder, or selects the folder that the selection is in.
    pub(super) fn close(&mut self, height: usize) {
        self.goal = None;
        let Some(spot) = self.selected else { return };
        match self.entry(spot).and_then(|entry| entry.child) {
            Some(child) => self.close_child(child),
            None => self.selected = self.entry_of(spot.folder).or(self.selected),
        }
        self.keep_in_view(height);
    }

    fn close_child(&mut self, child: FolderId) {
        if let Some(spot) = self.entry_of(child)
            && let Some(folder) = self.folders.get_mut(&spot.folder)
            && let Some(entry) = folder.entries.get_mut(spot.index)
        {
            entry.child = None;
        }
        self.drop_folder(child);
    }

    /// The entry of an open folder in the folder above it.
    fn entry_of(&self, id: FolderId) -> Option<Spot> {
        let above = self.folders.get(&id)?.above?;
        let entries = &self.folders.get(&above)?.entries;
        let index = entries.iter().position(|entry| entry.child == Some(id))?;
        Some(Spot { folder: above, index })
    }

    /// Drops an open folder and those below it.
    fn drop_folder(&mut self, id: FolderId) {
        let Some(folder) = self.folders.remove(&id) else { return };
        for entry in folder.entries {
            if let Some(child) = entry.child {
                self.drop_folder(child);
            }
        }
    }

    /// The pages that are needed: those that the goal leads to, and those near the screen.
    pub(super) fn wants(&mut self, height: usize, ticket: Ticket) -> Vec<Want> {
        let mut wants: Vec<Want> = self.pursue().into_iter().collect();
        self.keep_in_view(height);
        let lines = self.lines();
        let near = lines.iter().take(self.top.saturating_add(height.saturating_mul(2)));
        for line in near.skip(self.top.saturating_sub(height)) {
            let Line::Gap { folder: id, is_end, .. } = line else { continue };
            let Some(folder) = self.folders.get(id).filter(|folder| !folder.is_waiting()) else {
                continue;
            };
            if wants.iter().all(|want| want.folder != *id) {
                let part = if *is_end { folder.after() } else { folder.ahead() };
                wants.push(Want { folder: *id, path: folder.path.clone(), part });
            }
        }
        self.expect(&wants, ticket);
        wants
    }

    /// Every window again, after the store has changed.
    pub(super) fn again(&mut self, ticket: Ticket) -> Vec<Want> {
        let want = |(id, folder): (&FolderId, &Folder)| Want {
            folder: *id,
            path: folder.path.clone(),
            part: folder.again(),
        };
        let mut wants: Vec<Want> = self.folders.iter().map(want).collect();
        // Folders before those in them.
        wants.sort_by_key(|want| want.folder);
        self.expect(&wants, ticket);
        wants
    }

    fn expect(&mut self, wants: &[Want], ticket: Ticket) {
        for want in wants {
            if let Some(folder) = self.folders.get_mut(&want.folder) {
                folder.waits = Some(ticket);
            }
        }
    }

    /// Takes in a page. Returns whether the tree has changed.
    pub(super) fn listed(&mut self, id: FolderId, ticket: Ticket, page: Listing) -> bool {
        let selected = self.selected.filter(|spot| spot.folder == id);
        let Some(folder) = self.folders.get_mut(&id).filter(|it| it.waits == Some(ticket)) else {
            return false;
        };
        let change = folder.take(page, selected.map(|spot| spot.index));
        for orphan in change.orphans {
            self.drop_folder(orphan);
        }
        if id == ROOT || selected.is_some() {
            self.top = self.top.saturating_add(change.added).saturating_sub(change.dropped);
        }
        if selected.is_some() {
            self.selected = change.selected.map(|index| Spot { folder: id, index });
        }
        self.settle(self.entry_of(id));
        true
    }

    /// An open folder is not there any more.
    pub(super) fn gone(&mut self, id: FolderId) {
        if id == ROOT {
            return;
        }
        let above = self.entry_of(id);
        self.close_child(id);
        self.settle(above);
    }

    /// A page did not come. It is not asked for again before the next refresh.
    pub(super) fn failed(&mut self, id: FolderId, ticket: Ticket) {
        if let Some(folder) = self.folders.get_mut(&id).filter(|it| it.waits == Some(ticket)) {
            folder.fail();
        }
    }

    /// Selects another entry if the selected one is gone.
    fn settle(&mut self, fallback: Option<Spot>) {
        if self.selected.is_some_and(|spot| self.entry(spot).is_some()) {
            return;
        }
        let first = Spot { folder: ROOT, index: 0 };
        let spots = [fallback, Some(first)];
        self.selected = spots.into_iter().flatten().find(|spot| self.entry(*spot).is_some());
    }
}

#[cfg(test)]
mod tests;
