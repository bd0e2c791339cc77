//! Searches names and texts, a page of each at a time.

use inmost::{FileError, FileText, PageCursor, SearchQuery};

use super::event::{Hits, Problem};
use super::jobs::problem;
use super::search::MOST_HITS;
use crate::store::OpenStore;

/// Searches the whole store. Before each page `go_on` is called, with what was found since the last call if there is any;
/// the search ends if it returns false.
pub(super) fn search(
    store: &OpenStore,
    text: &str,
    go_on: &mut dyn FnMut(Option<Result<Hits, Problem>>) -> bool,
) {
    let mut names = Names::new(text);
    // As in ripgrep: a capital letter is meant.
    let ignores_case = !text.chars().any(char::is_uppercase);
    let query = SearchQuery::text(text).ignore_case(ignores_case).max_matches_per_file(IN_A_FILE);
    let mut lines = Lines { query, position: Position::Start, found: 0 };
    let mut has_begun = false;
    loop {
        if !go_on(None) {
            return;
        }
        let mut hits = Hits::default();
        // The first page of texts finds common words at once. Then names, which are read much faster than texts.
        let is_for_lines = !has_begun || names.position.is_end();
        let mut read = names.page(store, &mut hits);
        if is_for_lines && read.is_ok() {
            read = lines.page(store, &mut hits);
        }
        has_begun = true;
        if let Err(error) = read {
            go_on(Some(Err(problem(ROOT, error))));
            return;
        }
        hits.is_last = names.position.is_end() && lines.position.is_end();
        let is_last = hits.is_last;
        let has_any = !hits.names.is_empty() || !hits.lines.is_empty();
        let goes_on = !(has_any || is_last) || go_on(Some(Ok(hits)));
        if is_last || !goes_on {
            return;
        }
    }
}

enum Position {
    Start,
    After(PageCursor),
    End,
}

impl Position {
    fn cursor(&self) -> Option<&PageCursor> {
        match self {
            Self::After(cursor) => Some(cursor),
            Self::Start | Self::End => None,
        }
    }

    fn is_end(&self) -> bool {
        matches!(self, Self::End)
    }

    fn of(next: Option<PageCursor>) -> Self {
        next.map_or(Self::End, Self::After)
    }
}

/// The files and folders whose name contains the text.
struct Names {
    text: String,
    ignores_case: bool,
    position: Position,
    found: usize,
}

impl Names {
    fn new(text: &str) -> Self {
        let ignores_case = !text.chars().any(char::is_uppercase);
        Self { text: text.to_owned(), ignores_case, position: Position::Start, found: 0 }
    }

    fn page(&mut self, store: &OpenStore, hits: &mut Hits) -> Result<(), FileError> {
        if self.position.is_end() {
            return Ok(());
        }
        let page = store.unlocked().walk(ROOT, usize::MAX, self.position.cursor(), NAMES)?;
        for entry in page.items {
            if self.is_match(entry.name()) {
                hits.names.push(entry.path);
            }
        }
        self.found = self.found.saturating_add(hits.names.len());
        let is_full = self.found >= MOST_HITS;
        self.position = if is_full { Position::End } else { Position::of(page.next) };
        Ok(())
    }

    fn is_match(&self, name: &str) -> bool {
        if !self.ignores_case {
            return name.contains(&self.text);
        }
        // The text has no capital letters. Most names have none either.
        name.contains(&self.text)
            || name.chars().any(char::is_uppercase)
                && FileText::from(name.to_lowercase()).as_str().contains(&self.text)
    }
}

/// The lines that contain the text.
struct Lines {
    query: SearchQuery,
    position: Position,
    found: usize,
}

impl Lines {
    fn page(&mut self, store: &OpenStore, hits: &mut Hits) -> Result<(), FileError> {
        if self.position.is_end() {
            return Ok(());
        }
        let cursor = self.position.cursor();
        let page = store.unlocked().search(ROOT, &self.query, cursor, LINES)?;
        hits.lines = page.items;
        self.found = self.found.saturating_add(hits.lines.len());
        let is_full = self.found >= MOST_HITS;
        self.position = if is_full { Position::End } else { Position::of(page.next) };
        Ok(())
    }
}

const ROOT: &str = "/memories";

/// Names of a page. They are read much faster than texts.
const NAMES: usize = 2_000;

/// Lines of a page.
const LINES: usize = 100;

/// Lines of one file, so that a long one does not take all the room.
const IN_A_FILE: u64 = 20;
