//! Searches names and texts, a page of each at a time.

use std::mem;

use inmost::{FileError, FileText, RankQuery, SearchMatch, SearchQuery, StorageEngine};

use super::event::{Hits, Problem};
use super::jobs::problem;
use super::names::{NameList, Names, Position, ignores_case};
use super::search::MOST_HITS;
use inmost_console::memory_path::ROOT;
use inmost_keyd::OpenStore;

/// Called before each page, with what was found since the last call if there is any. The search ends if it returns false.
pub(super) type GoOn<'a> = &'a mut dyn FnMut(Option<Result<Hits, Problem>>) -> bool;

/// Searches while a text is typed. A longer text goes on where the shorter one was: what did not contain that does not contain
/// the longer one either.
#[derive(Default)]
pub(super) struct Searcher {
    last: Option<Run>,
    names: NameList,
}

impl Searcher {
    /// Reads the names, then the texts, so that a search that follows has the names at hand, and the store the signatures of
    /// the texts. From a database, reads the names alone, and nothing before a search is opened.
    pub(super) fn prepare(&mut self, store: &OpenStore, is_opened: bool, go_on: GoOn<'_>) {
        // A search that follows reports an error.
        let Ok(status) = store.status() else { return };
        let is_far = status.engine == Some(StorageEngine::Postgres);
        if is_far && !is_opened {
            return;
        }
        self.names.keep(status.commit);
        while go_on(None) && matches!(self.names.read(store), Ok(true)) {}
        // The session keeps no more signatures than that.
        let is_small = status.files <= PREPARED_FILES && status.bytes <= PREPARED_BYTES;
        let reads_texts = is_small && !is_far;
        let mut texts = Lines::new(NOWHERE);
        while reads_texts
            && go_on(None)
            && !texts.position.is_end()
            && texts.page(store, &mut Hits::default()).is_ok()
        {}
    }

    /// Searches the whole store.
    pub(super) fn search(&mut self, store: &OpenStore, text: &str, go_on: GoOn<'_>) {
        if let Err(error) = self.try_search(store, text, go_on) {
            self.last = None;
            go_on(Some(Err(problem(ROOT, error))));
        }
    }

    fn try_search(
        &mut self,
        store: &OpenStore,
        text: &str,
        go_on: GoOn<'_>,
    ) -> Result<(), FileError> {
        let status = store.status()?;
        let commit = status.commit;
        self.names.keep(commit);
        let has_words = text.split_whitespace().nth(1).is_some();
        if has_words && status.bytes <= RANKED_BYTES && !go_on(Some(Ok(ranked(store, text)?))) {
            return Ok(());
        }
        let last = self.last.take().filter(|last| last.leads_to(text, commit));
        let run = match last {
            None => Run::new(text, commit),
            Some(last) => match last.narrowed(store, text, go_on)? {
                Ok(run) => run,
                Err(last) => {
                    self.last = Some(last);
                    return Ok(());
                }
            },
        };
        self.last.insert(run).finish(store, &mut self.names, go_on)
    }
}

/// The best lines of the files that say most about these words. They come before the lines that contain the text as it is typed.
fn ranked(store: &OpenStore, text: &str) -> Result<Hits, FileError> {
    let mut hits = Hits::default();
    let files = match store.unlocked().rank(ROOT, &RankQuery::new(text).most(RANKED_FILES)) {
        Ok(ranked) => ranked.files,
        // The text is no words.
        Err(FileError::EmptySearch) => Vec::new(),
        Err(error) => return Err(error),
    };
    for file in files {
        if file.lines.is_empty() {
            hits.names.push(file.path.clone());
        }
        let lines = file.lines.into_iter();
        hits.lines.extend(
            lines.map(|(line, text)| SearchMatch::new(file.path.clone(), line, text, Vec::new())),
        );
    }
    Ok(hits)
}

/// A search, and how far it came.
struct Run {
    text: String,
    /// The state of the store at its start.
    commit: u64,
    names: Names,
    lines: Lines,
    found_names: Vec<FileText>,
    /// The files with hits in their texts.
    found_files: Vec<FileText>,
    has_begun: bool,
}

impl Run {
    fn new(text: &str, commit: u64) -> Self {
        Self {
            text: text.to_owned(),
            commit,
            names: Names::new(text),
            lines: Lines::new(text),
            found_names: Vec::new(),
            found_files: Vec::new(),
            has_begun: false,
        }
    }

    /// Whether everything that a text is in was found by this search, or comes after it.
    fn leads_to(&self, text: &str, commit: u64) -> bool {
        let is_whole = self.names.found < MOST_HITS && self.lines.found < MOST_HITS;
        // A text in many files is found at once by a new search.
        let is_rare = self.found_files.len() <= MOST_FILES;
        is_whole && is_rare && self.commit == commit && text.starts_with(&self.text)
    }

    /// Goes on with a longer text: searches what was found so far again. Returns this search if it was ended.
    fn narrowed(
        self,
        store: &OpenStore,
        text: &str,
        go_on: GoOn<'_>,
    ) -> Result<Result<Self, Self>, FileError> {
        let mut run = Self::new(text, self.commit);
        run.has_begun = true;
        let names = self.found_names.iter().filter(|path| run.names.is_match(path));
        let mut hits = Hits { names: names.cloned().collect(), ..Hits::default() };
        run.names.found = hits.names.len();
        run.found_names.clone_from(&hits.names);
        for path in &self.found_files {
            if !go_on(None) {
                return Ok(Err(self));
            }
            let found = match store.unlocked().search(path.as_str(), &run.lines.query, None, LINES)
            {
                Ok(page) => page.items,
                // It is not there any more.
                Err(FileError::NotFound) => Vec::new(),
                Err(error) => return Err(error),
            };
            run.note_lines(&found);
            hits.lines.extend(found);
        }
        run.names.go_on_from(self.names);
        run.lines.position = self.lines.position;
        // Further hits are those of the rest.
        go_on(Some(Ok(hits)));
        Ok(Ok(run))
    }

    /// Searches page by page up to the end.
    fn finish(
        &mut self,
        store: &OpenStore,
        list: &mut NameList,
        go_on: GoOn<'_>,
    ) -> Result<(), FileError> {
        loop {
            if !go_on(None) {
                return Ok(());
            }
            let mut hits = Hits::default();
            // The first page of texts finds common words at once. Then names, which are read much faster than texts.
            let is_for_lines = !self.has_begun || self.names.is_end();
            self.has_begun = true;
            self.names.page(store, list, &mut hits)?;
            self.found_names.extend(hits.names.iter().cloned());
            if is_for_lines {
                if !hits.names.is_empty() && !go_on(Some(Ok(mem::take(&mut hits)))) {
                    return Ok(());
                }
                self.lines.page(store, &mut hits)?;
                self.note_lines(&hits.lines);
            }
            hits.is_last = self.names.is_end() && self.lines.position.is_end();
            let is_last = hits.is_last;
            let has_any = !hits.names.is_empty() || !hits.lines.is_empty();
            let goes_on = !(has_any || is_last) || go_on(Some(Ok(hits)));
            if is_last || !goes_on {
                return Ok(());
            }
        }
    }

    fn note_lines(&mut self, lines: &[SearchMatch]) {
        self.lines.found = self.lines.found.saturating_add(lines.len());
        for line in lines {
            if self.found_files.last() != Some(&line.path) {
                self.found_files.push(line.path.clone());
            }
        }
        if self.lines.found >= MOST_HITS {
            self.lines.position = Position::End;
        }
    }
}

/// The lines that contain the text.
struct Lines {
    query: SearchQuery,
    position: Position,
    found: usize,
}

impl Lines {
    fn new(text: &str) -> Self {
        let query = SearchQuery::text(text).ignore_case(ignores_case(text));
        let query = query.max_matches_per_file(IN_A_FILE);
        Self { query, position: Position::Start, found: 0 }
    }

    fn page(&mut self, store: &OpenStore, hits: &mut Hits) -> Result<(), FileError> {
        if self.position.is_end() {
            return Ok(());
        }
        let cursor = self.position.cursor();
        let page = store.unlocked().search(ROOT, &self.query, cursor, LINES)?;
        hits.lines = page.items;
        self.position = Position::of(page.next);
        Ok(())
    }
}

/// A text that no line contains. So a search for it reads every file that has no signature yet.
const NOWHERE: &str = "\n\u{1}\n";

/// Files and bytes of a store whose texts are read before the first search.
const PREPARED_FILES: u64 = 200_000;
const PREPARED_BYTES: u64 = 256 << 20;

/// Bytes of a store whose files are ranked: nothing interrupts the first ranking, which reads them all.
const RANKED_BYTES: u64 = 32 << 20;

/// Files that are ranked for several words.
const RANKED_FILES: usize = 20;

/// Lines of a page.
const LINES: usize = 100;

/// Files that are searched again for a longer text.
const MOST_FILES: usize = 40;

/// Lines of one file, so that a long one does not take all the room.
const IN_A_FILE: u64 = 20;

#[cfg(test)]
mod tests {
    use inmost::{NewFile, Session};

    use super::*;

    fn store() -> OpenStore {
        let session = Session::in_memory().unwrap();
        let words = ["bean", "Beans", "beanpole", "pea", "xbe", "soil"];
        let files: Vec<(String, String)> = (0..3_000)
            .map(|number| {
                let word = |at: usize| words[(number * 7 + at * at) % words.len()];
                let mut text: String =
                    (0..number % 5).map(|at| [word(at), "\n"].concat()).collect();
                if number % 100 == 7 {
                    text.push_str(&["the quokka ", &number.to_string(), "\n"].concat());
                }
                (format!("/memories/{}/{}-{number}.md", number % 7, word(number)), text)
            })
            .collect();
        let new: Vec<_> = files.iter().map(|(path, text)| NewFile::new(path, text)).collect();
        assert!(session.files().write_many(&new).unwrap().iter().all(Result::is_ok));
        OpenStore::Here(session)
    }

    /// What a search finds until it was called so often: sorted names and lines, and whether it came to its end.
    fn found(
        searcher: &mut Searcher,
        store: &OpenStore,
        text: &str,
        calls: usize,
    ) -> (Vec<String>, bool) {
        let (mut all, mut left, mut is_done) = (Vec::new(), calls, false);
        searcher.search(store, text, &mut |hits| {
            left = left.saturating_sub(1);
            if let Some(Ok(hits)) = hits {
                is_done |= hits.is_last;
                all.extend(hits.names.iter().map(|name| name.as_str().to_owned()));
                let lines = hits.lines.iter().map(|it| format!("{}:{}", it.path.as_str(), it.line));
                all.extend(lines);
            }
            left > 0
        });
        all.sort();
        (all, is_done)
    }

    #[test]
    fn a_longer_text_finds_the_same_as_a_new_search() {
        let store = store();
        for texts in [
            &["-299", "-2999"][..],
            &["-", "-1", "-12", "-123"],
            &["9.m", "9.md"],
            &["B", "Bea"],
            &["qu", "quokka 1", "quokka 10"],
        ] {
            // Ended by the next key after so many calls, or not at all.
            for calls in [1, 2, 3, 5, usize::MAX] {
                let mut searcher = Searcher::default();
                for text in texts {
                    found(&mut searcher, &store, text, calls);
                }
                let last = texts.last().unwrap();
                let typed = found(&mut searcher, &store, last, usize::MAX);
                let fresh = found(&mut Searcher::default(), &store, last, usize::MAX);
                assert!(fresh.1 && !fresh.0.is_empty());
                assert_eq!(typed, fresh, "{texts:?} {calls}");
            }
        }
    }

    #[test]
    fn several_words_find_what_says_most_about_them() {
        let (store, mut searcher) = (store(), Searcher::default());
        store.files().write("/memories/habits.md", "None.\nIt eats leaves at night.\n").unwrap();
        let (hits, is_done) = found(&mut searcher, &store, "what leaf does it eat", usize::MAX);
        assert!(is_done && hits.contains(&"/memories/habits.md:2".to_owned()), "{hits:?}");
        assert!(found(&mut searcher, &store, "- -", usize::MAX).1, "no words are no error");
    }

    #[test]
    fn a_change_of_the_store_starts_a_search_again() {
        let (store, mut searcher) = (store(), Searcher::default());
        found(&mut searcher, &store, "zanz", usize::MAX);
        store.files().write("/memories/0/a.md", "in zanzibar\n").unwrap();
        let (hits, _) = found(&mut searcher, &store, "zanzibar", usize::MAX);
        assert_eq!(hits, ["/memories/0/a.md:1"]);
    }
}
