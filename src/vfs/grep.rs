//! Searches every file below a folder for lines that match a pattern, in pages.

use std::fmt;
use std::ops::Range;

use inmost_format::record::node::{Entry, What};
use regex::{Regex, RegexBuilder};

use super::error::FileError;
use super::file::FileView;
use super::file_text::FileText;
use super::page::{Page, PageCursor};
use super::path::MemoryPath;
use super::walk;
use crate::session::{Open, ReadAhead, Scope, SearchNotes, Trigrams};

/// A search for matching lines.
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[must_use]
pub struct SearchQuery {
    pattern: String,
    is_regex: bool,
    ignores_case: bool,
    max_matches_per_file: u64,
}

impl SearchQuery {
    /// Searches for lines that contain this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            pattern: text.into(),
            is_regex: false,
            ignores_case: false,
            max_matches_per_file: u64::MAX,
        }
    }

    /// Searches for lines that match this regular expression, in the syntax of Rust's `regex` crate. Matching takes
    /// time linear in the text, whatever the expression.
    pub fn regex(pattern: impl Into<String>) -> Self {
        Self { is_regex: true, ..Self::text(pattern) }
    }

    /// Ignores the difference between upper and lower case; off by default.
    pub fn ignore_case(mut self, ignores: bool) -> Self {
        self.ignores_case = ignores;
        self
    }

    /// Sets the most matching lines to return from each file. With 1, the search returns which files match. Unlimited
    /// by default.
    pub fn max_matches_per_file(mut self, matches: u64) -> Self {
        self.max_matches_per_file = matches.max(1);
        self
    }

    /// Checks that the pattern is valid, without a store.
    ///
    /// # Errors
    /// [`FileError::EmptySearch`] for an empty text, [`FileError::InvalidPattern`].
    pub fn check(&self) -> Result<(), FileError> {
        self.compile().map(drop)
    }

    /// Compiles the pattern.
    ///
    /// # Errors
    /// [`FileError::EmptySearch`], [`FileError::InvalidPattern`].
    pub(crate) fn compile(&self) -> Result<Regex, FileError> {
        if self.pattern.is_empty() && !self.is_regex {
            return Err(FileError::EmptySearch);
        }
        let escaped = (!self.is_regex).then(|| regex::escape(&self.pattern));
        RegexBuilder::new(escaped.as_ref().unwrap_or(&self.pattern))
            .case_insensitive(self.ignores_case)
            .size_limit(PATTERN_BYTES)
            .build()
            .map_err(|error| {
                // The lines before the last one quote the pattern.
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default();
                let reason = reason.trim_start_matches("error: ").trim_end_matches('.');
                FileError::InvalidPattern(reason.to_owned())
            })
    }

    /// The trigrams of every text that has a match; none for an expression that is more than a text.
    fn trigrams(&self) -> Trigrams {
        if self.is_regex && regex::escape(&self.pattern) != self.pattern {
            return Trigrams::default();
        }
        Trigrams::of(&self.pattern)
    }
}

impl fmt::Debug for SearchQuery {
    /// A pattern may be as private as the text it searches for, so `Debug` does not show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchQuery").finish_non_exhaustive()
    }
}

/// A matching line.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct SearchMatch {
    /// The canonical path of the file.
    pub path: FileText,
    /// The number of the line, from 1.
    pub line: u64,
    /// The line without its line end (LF or CR LF).
    pub text: FileText,
    /// The byte ranges of the matches in the text, in order: the first 1,000 that are not empty, or an empty one if there is no
    /// other. All those of a line of one letter would need more than a hundred times its length.
    pub ranges: Vec<Range<usize>>,
}

impl SearchMatch {
    /// A match for implementations of [`UnlockedStore`](crate::UnlockedStore).
    #[must_use]
    pub fn new(path: FileText, line: u64, text: FileText, ranges: Vec<Range<usize>>) -> Self {
        Self { path, line, text, ranges }
    }
}

impl fmt::Debug for SearchMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchMatch").field("line", &self.line).finish_non_exhaustive()
    }
}

/// Searches the files below a folder, in the order of a walk, and returns up to `most` matching lines; for a file, it
/// searches that file alone. A page ends early after [`PAGE_TEXT_BYTES`] of text, so that writers do not wait for long.
///
/// # Errors
/// [`FileError::NotFound`], [`FileError::EmptySearch`], [`FileError::InvalidPattern`].
pub(crate) fn search(
    open: &Open,
    path: &MemoryPath,
    query: &SearchQuery,
    after: Option<&PageCursor>,
    most: usize,
) -> Result<Page<SearchMatch>, FileError> {
    let pattern = query.compile()?;
    let mut page = Search {
        notes: open.notes(),
        trigrams: query.trigrams(),
        pattern,
        most_in_file: query.max_matches_per_file,
        most,
        text_bytes: 0,
        items: Vec::new(),
        next: None,
    };
    let source = ReadAhead::new(open, Scope::ALL);
    if let Some(PageCursor { path: half_read, line: Some(line) }) = after {
        let rest = MemoryPath::parse(half_read.as_str())
            .map_err(FileError::from)
            .and_then(|file| FileView::open(&source, open.root(), &file));
        match rest {
            Ok(file) => drop(page.file(half_read.as_str(), &file, *line)?),
            // The file was removed between two pages.
            Err(FileError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    if page.next.is_none() {
        let passed = after.map(|after| after.path.as_str());
        walk::visit((open, &source), path, passed, usize::MAX, &mut |step| {
            if matches!(step.entry.what, What::Folder) {
                return Ok(true);
            }
            if page.is_excluded(step.entry) {
                return Ok(page.goes_on_after(step.path, SKIPPED_BYTES));
            }
            page.file(step.path, &FileView::of_entry(&source, step.entry.clone())?, 0)
        })?;
    }
    Ok(Page { items: page.items, next: page.next })
}

struct Search<'a> {
    notes: &'a SearchNotes,
    trigrams: Trigrams,
    pattern: Regex,
    most_in_file: u64,
    most: usize,
    text_bytes: usize,
    items: Vec<SearchMatch>,
    next: Option<PageCursor>,
}

impl Search<'_> {
    /// Whether the text of a file is known to have no match, from a search before.
    fn is_excluded(&self, file: &Entry) -> bool {
        self.notes.exclude(file.id, &file.tag, &self.trigrams)
    }

    /// Searches a file after the line `passed`. Returns whether the page has room for more.
    fn file(
        &mut self,
        path: &str,
        file: &FileView<'_, ReadAhead<'_>>,
        passed: u64,
    ) -> Result<bool, FileError> {
        // Behind the line that an earlier page has reached, only what this page needs is read. If a file has a bound of matches, those
        // before count.
        let is_rest = passed > 0 && self.most_in_file == u64::MAX;
        let piece = |first: u64| file.lines(first, first.saturating_add(PIECE - 1), usize::MAX);
        let mut first = if is_rest { passed.saturating_add(1) } else { 1 };
        let mut text = if is_rest { piece(first)? } else { file.read()? };
        if !is_rest {
            self.notes.note(file.entry().id, file.entry().tag, &text);
        }
        let mut matches = 0_u64;
        loop {
            let mut end = first;
            for (number, line) in (first..).zip(lines(&text)) {
                end = number.saturating_add(1);
                let ranges = self.ranges(line);
                if ranges.is_empty() {
                    continue;
                }
                matches = matches.saturating_add(1);
                if number > passed {
                    let (path, text) = (path.to_owned().into(), line.to_owned().into());
                    self.items.push(SearchMatch { path, line: number, text, ranges });
                }
                if matches >= self.most_in_file {
                    break;
                }
                if self.items.len() >= self.most {
                    self.next = Some(PageCursor::after_line(path, number));
                    return Ok(false);
                }
            }
            let goes_on = self.goes_on_after(path, text.len().max(FILE_BYTES));
            if !is_rest || end.saturating_sub(first) < PIECE {
                return Ok(goes_on);
            }
            first = end;
            if !goes_on {
                self.next = Some(PageCursor::after_line(path, first.saturating_sub(1)));
                return Ok(false);
            }
            text = piece(first)?;
        }
    }

    /// Where a line matches.
    fn ranges(&self, line: &str) -> Vec<Range<usize>> {
        // Each may be looked for to the end of the line, the empty ones too.
        let found = self.pattern.find_iter(line).take(MOST_FINDS).map(|found| found.range());
        let mut ranges: Vec<_> = found.filter(|it| !it.is_empty()).take(MOST_RANGES).collect();
        if ranges.is_empty() {
            ranges.extend(self.pattern.find(line).map(|found| found.range()));
        }
        ranges
    }

    /// Counts what a file has cost. Returns whether the page has room for more.
    fn goes_on_after(&mut self, path: &str, bytes: usize) -> bool {
        self.text_bytes = self.text_bytes.saturating_add(bytes);
        let is_full = self.items.len() >= self.most || self.text_bytes >= PAGE_TEXT_BYTES;
        if is_full {
            self.next = Some(PageCursor::after(path));
        }
        !is_full
    }
}

/// The lines of a text. A final line feed opens no line. Does no I/O.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').map(|line| {
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    })
}

/// Bytes of text that one page of a search reads, plus at most one file.
pub(super) const PAGE_TEXT_BYTES: usize = 4 << 20;
/// What a short file counts as: opening it takes about as long as searching so much text.
const FILE_BYTES: usize = 4 << 10;
/// Lines that are read at once of the rest of a file.
const PIECE: u64 = 16_384;
/// The most ranges of a line.
const MOST_RANGES: usize = 1_000;
/// The most places of a line that are looked at, the empty ones included.
const MOST_FINDS: usize = 4_096;
/// What a file counts as whose signature excludes it.
const SKIPPED_BYTES: usize = 128;
/// Bytes of a compiled pattern. The default of `regex` is ten times that, and clients of a key daemon choose the
/// pattern.
const PATTERN_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::session::tests::store::{TestStore, options, passphrase};
    use crate::session::tests::watched::{Watch, WatchedStorage};
    use crate::session::{Session, SessionOptions, StoreError};
    use inmost_format::record::Kind;

    /// The paths of the files with a match, in order.
    fn found(session: &Session, pattern: &SearchQuery, folder: &str, most: usize) -> Vec<String> {
        let folder = MemoryPath::parse(folder).unwrap();
        let (mut paths, mut cursor) = (Vec::new(), None);
        loop {
            let page: Page<SearchMatch> =
                session.read(|open| search(open, &folder, pattern, cursor.as_ref(), most)).unwrap();
            paths.extend(page.items.into_iter().map(|it| it.path.as_str().to_owned()));
            match page.next {
                None => return paths,
                next => cursor = next,
            }
        }
    }

    /// Pages of the rest of a file begin in any piece of it, and at its end.
    #[test]
    fn the_pages_of_a_long_file_have_every_line_once() {
        let session = Session::in_memory().unwrap();
        let lines = 2 * PIECE + 3;
        let text: Vec<_> = (1..=lines).map(|line| (line % 10).to_string()).collect();
        let text = text.join("\n");
        session.files().write("/memories/a.md", &text).unwrap();
        session.files().write("/memories/b.md", "7").unwrap();
        for wanted in ["7", "[0-9]", "none"] {
            let query = SearchQuery::regex(wanted);
            let found = session.files().search("/memories", query);
            let found: Vec<_> = found.map(|found| found.unwrap().line).collect();
            let all = (1..=lines).filter(|line| match wanted {
                "7" => line % 10 == 7,
                wanted => wanted == "[0-9]",
            });
            assert!(
                found == all.chain((wanted != "none").then_some(1)).collect::<Vec<_>>(),
                "{wanted}"
            );
        }
    }

    #[test]
    fn a_line_has_no_more_ranges_than_a_thousand() {
        let session = Session::in_memory().unwrap();
        session.files().write("/memories/a.md", &"a".repeat(5_000)).unwrap();
        let found: Result<Vec<_>, _> =
            session.files().search("/memories", SearchQuery::text("a")).collect();
        let [found] = found.unwrap().try_into().unwrap();
        assert_eq!((found.text.as_str().len(), found.ranges.len()), (5_000, MOST_RANGES));
        assert_eq!(found.ranges.last(), Some(&(999..1_000)));
        session.files().write("/memories/a.md", &("a".repeat(4_000) + "42")).unwrap();
        for (pattern, range) in [("[0-9]*", 4_000..4_002), ("x*", 0..0)] {
            let query = SearchQuery::regex(pattern);
            let found = session.files().search("/memories", query).next().unwrap().unwrap();
            assert_eq!(found.ranges, [range], "{pattern}");
        }
        // Without a bound this would look at the whole line from each of its places.
        session.files().write("/memories/a.md", &"a".repeat(100_000)).unwrap();
        let query = SearchQuery::regex("(?:.*z)?");
        assert!(session.files().search("/memories", query).next().unwrap().is_ok());
    }

    #[test]
    fn a_search_that_skips_files_finds_what_all_texts_say() {
        let session = Session::in_memory().unwrap();
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        let words = ["bean", "BEAN pole", "Stra\u{df}e", "quokka", "\u{3a3}\u{3c3}\u{3c2}", "a\tb"];
        for round in 0..60_usize {
            // Some files are new, some get another text, some go or are renamed.
            for step in 0..10 {
                let path = format!("/memories/{}/{}.md", (round + step) % 3, (round * step) % 17);
                let word = words[(round + step * step) % words.len()];
                let text = format!("{}\n{word}{step}\n", "long line ".repeat(step * 300));
                session.files().write(&path, &text).unwrap();
                texts.insert(path, text);
            }
            let (first, _) = texts.pop_first().unwrap();
            session.files().remove(&first).unwrap();
            let (last, text) = texts.pop_last().unwrap();
            let new = format!("/memories/renamed-{}.md", round % 7);
            if texts.insert(new.clone(), text).is_some() {
                session.files().remove(&new).unwrap();
            }
            session.files().rename(&last, &new).unwrap();
            for pattern in ["bean", "pole", "straSSe", "stra\u{df}e", "kka3", "\u{3c3}\u{3c3}", "n"]
            {
                for query in [SearchQuery::text(pattern), SearchQuery::regex(pattern)] {
                    for query in [query.clone().ignore_case(true), query] {
                        let regex = query.compile().unwrap();
                        let matching = texts.iter().filter(|(_, text)| regex.is_match(text));
                        let expected: Vec<&String> = matching.map(|(path, _)| path).collect();
                        let mut paths = found(&session, &query, "/memories", 1 + round % 5);
                        paths.sort();
                        paths.dedup();
                        assert_eq!(paths.iter().collect::<Vec<_>>(), expected, "{pattern}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_later_search_does_not_read_the_files_that_cannot_match() {
        let store = TestStore::create();
        let (inner, watch) = (store.memory.clone(), Watch::default());
        let storage = Arc::new(WatchedStorage { inner, watch: watch.clone() });
        let vault = options().session(SessionOptions::new()).open_storage(storage);
        let session = vault.unwrap().unlock(&passphrase()).unwrap();
        for number in 0..20 {
            let text = format!("beans and leeks {number}\n");
            session.files().write(&format!("/memories/{number}.md"), &text).unwrap();
        }
        assert_eq!(found(&session, &SearchQuery::text("leeks"), "/memories", 100).len(), 20);
        let heads = store.records_of(Kind::File).into_iter().map(|id| store.address(id));
        let heads: Vec<_> = heads.collect();
        watch.make_unreadable(move |address| heads.contains(address));
        let forgotten = |open: &Open| {
            open.forget_nodes();
            Ok::<_, StoreError>(())
        };
        session.read(forgotten).unwrap();
        let root = MemoryPath::parse("/memories").unwrap();
        let search = |text: &str| {
            session.read(|open| search(open, &root, &SearchQuery::text(text), None, 100))
        };
        assert!(search("zanzibar").unwrap().items.is_empty());
        assert!(search("Beans").is_err() && search("x").is_err(), "no record can be read");
    }
}
