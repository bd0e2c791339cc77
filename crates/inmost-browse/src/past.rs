//! The versions of a path, or of everything, in the right pane. Does no I/O.

use inmost::{FileText, VersionInfo};

use super::event::Versions;
use super::key::Motion;
use super::reader::Reader;
use super::tree::Ticket;
use inmost_console::version::{OFF, TURN_ON};

/// What changed, the newest first.
pub(super) struct Past {
    /// `None` for everything.
    pub(super) path: Option<FileText>,
    pub(super) versions: Vec<VersionInfo>,
    /// Where the next page starts.
    pub(super) next: Option<u64>,
    /// The page that is awaited.
    pub(super) waits: Option<Ticket>,
    /// Whether it replaces the versions, because the store has changed.
    pub(super) is_again: bool,
    pub(super) selected: usize,
    pub(super) top: usize,
    /// Why no version is listed.
    pub(super) problem: Option<String>,
    /// The differences that a version made, if they are shown.
    pub(super) diff: Option<Diff>,
}

/// The differences that the selected version made.
pub(super) struct Diff {
    pub(super) waits: Option<Ticket>,
    pub(super) text: Option<Reader>,
    pub(super) problem: Option<String>,
}

impl Past {
    pub(super) fn new(path: Option<FileText>, ticket: Ticket) -> Self {
        Self {
            path,
            versions: Vec::new(),
            next: None,
            waits: Some(ticket),
            is_again: false,
            selected: 0,
            top: 0,
            problem: None,
            diff: None,
        }
    }

    pub(super) fn selected(&self) -> Option<&VersionInfo> {
        self.versions.get(self.selected)
    }

    pub(super) fn go(&mut self, motion: Motion, height: usize) {
        self.selected = motion.within(self.selected, self.versions.len(), height.saturating_sub(1));
        self.keep_in_view(height);
    }

    pub(super) fn keep_in_view(&mut self, height: usize) {
        let lowest = self.selected.saturating_add(1).saturating_sub(height.max(1));
        self.top = self.top.clamp(lowest, self.selected.max(lowest));
    }

    /// Takes in a page. After a change of the store the selection stays on its version.
    pub(super) fn add(&mut self, page: Versions) {
        self.waits = None;
        if self.is_again {
            self.is_again = false;
            let number = self.selected().map(|version| version.number);
            let same = page.items.iter().position(|version| Some(version.number) == number);
            if same.is_none() {
                // They belong to a version that is on no page yet.
                self.diff = None;
            }
            self.versions.clear();
            self.selected = same.unwrap_or(0);
        }
        self.versions.extend(page.items);
        self.next = page.next;
        self.problem = (!page.is_on).then(|| format!("{OFF} {TURN_ON}"));
    }

    /// Whether the next page is needed.
    pub(super) fn is_near_end(&self, height: usize) -> bool {
        self.selected.saturating_add(height) >= self.versions.len()
    }
}

/// Versions of a page.
pub(super) const PAGE: usize = 100;
