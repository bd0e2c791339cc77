//! A search while it is typed, and what it has found. Does no I/O.

use inmost::{FileText, SearchMatch};

use super::event::Hits;
use super::key::Motion;
use super::model::Found;
use super::tree::Ticket;

/// The search in the left pane.
pub(super) struct Search {
    pub(super) query: FileText,
    /// The search that runs; `None` if it has ended.
    pub(super) waits: Option<Ticket>,
    pub(super) names: Vec<FileText>,
    pub(super) lines: Vec<SearchMatch>,
    pub(super) selected: usize,
    pub(super) top: usize,
    pub(super) problem: Option<String>,
}

/// One of the hits.
pub(super) enum Hit<'a> {
    Name(&'a FileText),
    Line(&'a SearchMatch),
}

impl Search {
    pub(super) fn new() -> Self {
        Self {
            query: FileText::from(String::new()),
            waits: None,
            names: Vec::new(),
            lines: Vec::new(),
            selected: 0,
            top: 0,
            problem: None,
        }
    }

    /// Starts over with this text.
    pub(super) fn restart(&mut self, query: FileText, ticket: Ticket) {
        let waits = (!query.as_str().is_empty()).then_some(ticket);
        *self = Self { query, waits, ..Self::new() };
    }

    pub(super) fn len(&self) -> usize {
        self.names.len().saturating_add(self.lines.len())
    }

    pub(super) fn hit(&self, index: usize) -> Option<Hit<'_>> {
        match self.names.get(index) {
            Some(name) => Some(Hit::Name(name)),
            None => self.lines.get(index.checked_sub(self.names.len())?).map(Hit::Line),
        }
    }

    /// Takes in hits, but for those that a ranking has found already. Those in names come before those in texts, and the selection
    /// stays on its hit.
    pub(super) fn add(&mut self, mut hits: Hits) {
        hits.names.retain(|name| !self.names.contains(name));
        let is_same = |one: &SearchMatch, other: &SearchMatch| {
            (one.line, &one.path) == (other.line, &other.path)
        };
        hits.lines.retain(|line| !self.lines.iter().any(|known| is_same(known, line)));
        if self.selected > 0 && self.selected >= self.names.len() {
            self.selected = self.selected.saturating_add(hits.names.len());
            self.top = self.top.saturating_add(hits.names.len());
        }
        self.names.extend(hits.names);
        self.lines.extend(hits.lines);
        if hits.is_last {
            self.waits = None;
        }
    }

    pub(super) fn go(&mut self, motion: Motion, height: usize) {
        self.selected = motion.within(self.selected, self.len(), height.saturating_sub(1));
        self.keep_in_view(height);
    }

    /// Scrolls so that the selection is on the screen.
    pub(super) fn keep_in_view(&mut self, height: usize) {
        let lowest = self.selected.saturating_add(1).saturating_sub(height.max(1));
        self.top = self.top.clamp(lowest, self.selected.max(lowest));
    }

    pub(super) fn selected_path(&self) -> Option<FileText> {
        self.hit(self.selected).map(|hit| match hit {
            Hit::Name(path) => path.clone(),
            Hit::Line(line) => line.path.clone(),
        })
    }

    /// The lines of the selected hit.
    pub(super) fn found(&self) -> Option<Found> {
        match self.hit(self.selected)? {
            Hit::Name(_) => None,
            Hit::Line(it) => Some(Found { line: it.line, ranges: it.ranges.clone() }),
        }
    }
}

/// Characters of a search.
pub(super) const LONGEST_QUERY: usize = 200;

/// Hits that a search returns at most, of each kind.
pub(super) const MOST_HITS: usize = 1_000;
