//! The names in a store: read once, and kept for every search.

use inmost::{FileError, FileText, PageCursor};

use super::event::Hits;
use super::search::MOST_HITS;
use inmost_console::memory_path::ROOT;
use inmost_keyd::OpenStore;

/// The paths of all files and folders in the order of a walk, as far as they were read. They are wiped when this is dropped.
#[derive(Default)]
pub(super) struct NameList {
    /// The state of the store that they are of.
    commit: Option<u64>,
    paths: Vec<FileText>,
    next: Position,
}

impl NameList {
    /// Keeps the names if they are of this state of the store. Otherwise they are read anew.
    pub(super) fn keep(&mut self, commit: u64) {
        if self.commit.replace(commit) != Some(commit) {
            (self.paths, self.next) = (Vec::new(), Position::Start);
        }
    }

    /// Reads some more. Returns whether there may be more, and room for them.
    pub(super) fn read(&mut self, store: &OpenStore) -> Result<bool, FileError> {
        if self.paths.len() >= MOST_KEPT || self.next.is_end() {
            return Ok(false);
        }
        let (mut paths, next) = read(store, &self.next)?;
        self.paths.append(&mut paths);
        self.next = next;
        Ok(true)
    }
}

/// A page of paths.
fn read(store: &OpenStore, from: &Position) -> Result<(Vec<FileText>, Position), FileError> {
    let page = store.unlocked().walk(ROOT, usize::MAX, from.cursor(), NAMES)?;
    let paths = page.items.into_iter().map(|entry| entry.path).collect();
    Ok((paths, Position::of(page.next)))
}

/// A search for the files and folders whose name contains a text.
pub(super) struct Names {
    text: String,
    ignores_case: bool,
    /// Paths of the list that were searched.
    passed: usize,
    /// Where it goes on behind a list that is full.
    rest: Position,
    is_end: bool,
    /// Hits so far.
    pub(super) found: usize,
}

impl Names {
    pub(super) fn new(text: &str) -> Self {
        let (text, ignores_case) = (text.to_owned(), ignores_case(text));
        Self { text, ignores_case, passed: 0, rest: Position::Start, is_end: false, found: 0 }
    }

    pub(super) fn is_end(&self) -> bool {
        self.is_end
    }

    /// Goes on where the search for a shorter text was.
    pub(super) fn go_on_from(&mut self, shorter: Self) {
        (self.passed, self.rest, self.is_end) = (shorter.passed, shorter.rest, shorter.is_end);
    }

    /// Searches the names that were read and not searched yet. After the last of them, reads some more.
    pub(super) fn page(
        &mut self,
        store: &OpenStore,
        list: &mut NameList,
        hits: &mut Hits,
    ) -> Result<(), FileError> {
        if self.is_end {
            return Ok(());
        }
        let goes_on = self.passed < list.paths.len() || list.read(store)?;
        if goes_on {
            let new = list.paths.get(self.passed..).unwrap_or_default();
            let new = new.get(..SEARCHED).unwrap_or(new);
            self.passed = self.passed.saturating_add(new.len());
            self.search(new, hits);
        } else if list.next.is_end() {
            self.is_end = true;
        } else {
            let from = if matches!(self.rest, Position::Start) { &list.next } else { &self.rest };
            let (paths, next) = read(store, from)?;
            self.search(&paths, hits);
            self.is_end |= next.is_end();
            self.rest = next;
        }
        Ok(())
    }

    fn search(&mut self, paths: &[FileText], hits: &mut Hits) {
        hits.names.extend(paths.iter().filter(|path| self.is_match(path)).cloned());
        self.found = self.found.saturating_add(hits.names.len());
        self.is_end |= self.found >= MOST_HITS;
    }

    pub(super) fn is_match(&self, path: &FileText) -> bool {
        let name = path.as_str().rsplit('/').next().unwrap_or_default();
        if !self.ignores_case {
            return name.contains(&self.text);
        }
        // The text has no capital letters. Most names have none either.
        name.contains(&self.text)
            || name.chars().any(char::is_uppercase)
                && FileText::from(name.to_lowercase()).as_str().contains(&self.text)
    }
}

/// As in ripgrep: a capital letter is meant.
pub(super) fn ignores_case(text: &str) -> bool {
    !text.chars().any(char::is_uppercase)
}

/// A position in the order of a walk.
#[derive(Default)]
pub(super) enum Position {
    #[default]
    Start,
    After(PageCursor),
    End,
}

impl Position {
    pub(super) fn cursor(&self) -> Option<&PageCursor> {
        match self {
            Self::After(cursor) => Some(cursor),
            Self::Start | Self::End => None,
        }
    }

    pub(super) fn is_end(&self) -> bool {
        matches!(self, Self::End)
    }

    pub(super) fn of(next: Option<PageCursor>) -> Self {
        next.map_or(Self::End, Self::After)
    }
}

/// Names of a page.
const NAMES: usize = 2_000;
/// Names of the list that one page searches: some milliseconds.
const SEARCHED: usize = 50_000;
/// Names that are kept: about 20 MiB. Those behind them are read again by each search.
const MOST_KEPT: usize = 250_000;
