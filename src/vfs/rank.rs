//! Ranks the files below a folder by the words of a query.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use inmost_format::record::node::What;
use inmost_format::secret::Wiped;
use inmost_search::Terms;

use super::error::FileError;
use super::file::FileView;
use super::file_text::FileText;
use super::grep::{PAGE_TEXT_BYTES, lines};
use super::path::MemoryPath;
use super::walk;
use crate::session::{Open, ReadAhead, Scope, Session, StoreError, milliseconds, time_of};

/// A search for the files that say most about some words.
///
/// ```
/// use inmost::{RankQuery, Session};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::in_memory()?;
/// session.files().write("/memories/travel.md", "Flights to Lisbon are booked.\nThe hotel is not.\n")?;
/// let ranked = session.files().rank("/memories", &RankQuery::new("booking a flight"))?;
/// assert_eq!(ranked.files[0].path.as_str(), "/memories/travel.md");
/// assert_eq!(ranked.files[0].lines[0].0, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[must_use]
pub struct RankQuery {
    words: Wiped<String>,
    since: Option<u64>,
    skip: usize,
    most: usize,
}

impl RankQuery {
    /// Ranks by these words: 10 files, the best first. Case, accents and endings do not matter; the order of the words neither.
    pub fn new(words: impl Into<String>) -> Self {
        Self { words: Wiped::new(words.into()), since: None, skip: 0, most: 10 }
    }

    /// Returns so many files, at most 100.
    pub fn most(mut self, files: usize) -> Self {
        self.most = files.clamp(1, MOST_FILES);
        self
    }

    /// Leaves out so many of the best files, for the pages after the first.
    pub fn skip(mut self, files: usize) -> Self {
        self.skip = files;
        self
    }

    /// Returns only files whose text has changed since then. The others still count for how rare a word is.
    pub fn since(mut self, time: SystemTime) -> Self {
        self.since = Some(milliseconds(time));
        self
    }
}

impl fmt::Debug for RankQuery {
    /// The words may be as private as the texts, so `Debug` does not show them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankQuery")
            .field("skip", &self.skip)
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

/// The result of a [`RankQuery`].
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Ranked {
    /// The files, the best first. Of equal ones, that whose path is smaller.
    pub files: Vec<RankedFile>,
    /// All files that hold a word of the query.
    pub found: usize,
    /// The paths of files that were not searched, because they are damaged.
    pub damaged: Vec<FileText>,
}

/// A file that holds a word of the query.
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct RankedFile {
    /// Its canonical path.
    pub path: FileText,
    /// The BM25 score, above 0. It compares files of one search only.
    pub score: f64,
    /// The last change of the text.
    pub modified: SystemTime,
    /// Up to three lines that hold the rarest words, in their order: the number from 1, and the first 400 characters. None if
    /// only the path has words of the query.
    pub lines: Vec<(u64, FileText)>,
}

impl fmt::Debug for RankedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankedFile").field("score", &self.score).finish_non_exhaustive()
    }
}

/// Ranks the files below a folder; for a file, that file alone.
///
/// # Errors
/// [`FileError::NotFound`]; [`FileError::EmptySearch`] if the query has no word.
pub(crate) fn rank(
    session: &Session,
    path: &MemoryPath,
    query: &RankQuery,
) -> Result<Ranked, FileError> {
    // Writers wait while a search reads, so the first one is done in parts: what a part has read is noted, and the next goes
    // further. It may read twice as much, so that it ends even if nothing can be noted.
    let mut budget = PAGE_TEXT_BYTES;
    loop {
        if let Some(ranked) = session.read(|open| attempt(open, path, query, budget))? {
            return Ok(ranked);
        }
        budget = budget.saturating_mul(2);
    }
}

/// A file of a ranking.
struct Candidate {
    path: FileText,
    entry: inmost_format::record::node::Entry,
    modified: u64,
    terms: Arc<Terms>,
}

/// Returns `None` once so many bytes of text have been read.
fn attempt(
    open: &Open,
    path: &MemoryPath,
    query: &RankQuery,
    budget: usize,
) -> Result<Option<Ranked>, FileError> {
    let words = open.notes().words();
    let wanted = words.query(&query.words);
    if wanted.is_empty() {
        return Err(FileError::EmptySearch);
    }
    let source = ReadAhead::new(open, Scope::ALL);
    let (mut files, mut damaged, mut bytes) = (Vec::new(), Vec::new(), 0_usize);
    walk::visit((open, &source), path, None, usize::MAX, &mut |step| {
        let What::File(info) = &step.entry.what else { return Ok(true) };
        let terms = open.notes().terms((step.entry.id, step.entry.tag), step.path, || {
            let text = FileView::of_entry(&source, step.entry.clone())?.read()?;
            bytes = bytes.saturating_add(text.len());
            Ok(text)
        });
        match terms {
            Ok(terms) => files.push(Candidate {
                path: step.path.to_owned().into(),
                entry: step.entry.clone(),
                modified: info.modified,
                terms,
            }),
            Err(error) => note_damage(error, step.path, &mut damaged)?,
        }
        Ok(bytes < budget)
    })?;
    if bytes >= budget {
        return Ok(None);
    }
    let scores = inmost_search::rank(&wanted, files.iter().map(|file| &*file.terms));
    let since = query.since.unwrap_or(0);
    let mut found: Vec<(f64, &Candidate)> = scores
        .into_iter()
        .zip(&files)
        .filter(|(score, file)| *score > 0.0 && file.modified >= since)
        .collect();
    found.sort_by(|(one, one_file), (other, other_file)| {
        other.total_cmp(one).then_with(|| one_file.path.as_str().cmp(other_file.path.as_str()))
    });
    let mut ranked = Ranked { files: Vec::new(), found: found.len(), damaged };
    for (score, file) in found.into_iter().skip(query.skip).take(query.most) {
        let text =
            FileView::of_entry(&source, file.entry.clone()).and_then(|view| Ok(view.read()?));
        let text = match text {
            Ok(text) => text,
            // Its terms are from an earlier search.
            Err(error) => {
                note_damage(error, file.path.as_str(), &mut ranked.damaged)?;
                continue;
            }
        };
        let best = words.best_lines(&wanted, &text, BEST_LINES);
        let best_lines = (1..)
            .zip(lines(&text))
            .enumerate()
            .filter(|(at, _)| best.contains(at))
            .map(|(_, (number, line))| (number, start_of(line).to_owned().into()))
            .collect();
        ranked.files.push(RankedFile {
            path: file.path.clone(),
            score,
            modified: time_of(file.modified),
            lines: best_lines,
        });
    }
    Ok(Some(ranked))
}

/// Names a damaged file, and passes on any other failure.
fn note_damage(error: FileError, path: &str, damaged: &mut Vec<FileText>) -> Result<(), FileError> {
    if !matches!(error, FileError::Store(StoreError::Tampered { .. })) {
        return Err(error);
    }
    damaged.push(path.to_owned().into());
    Ok(())
}

/// The first characters of a line.
fn start_of(line: &str) -> &str {
    line.char_indices()
        .nth(LINE_CHARACTERS)
        .map_or(line, |(end, _)| line.get(..end).unwrap_or(line))
}

/// Files that one call returns at most.
const MOST_FILES: usize = 100;
/// Lines of each file.
const BEST_LINES: usize = 3;
/// Characters of such a line.
const LINE_CHARACTERS: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::store::TestStore;
    use crate::vfs::new_file::NewFile;
    use inmost_format::record::Kind;
    use std::time::Duration;

    const ROOT: &str = "/memories";

    fn best(session: &Session, query: &RankQuery) -> Vec<String> {
        let ranked = session.files().rank(ROOT, query).unwrap();
        assert!(ranked.damaged.is_empty());
        ranked.files.into_iter().map(|file| file.path.into_string()).collect()
    }

    #[test]
    fn a_later_search_sees_every_change() {
        let session = Session::in_memory().unwrap();
        let files = session.files();
        let query = RankQuery::new("quokka");
        files.write("/memories/a.md", "A quokka.\nAnother quokka.\n").unwrap();
        files
            .write("/memories/b.md", "Nothing.\nThe other quokka has a line of many words.\n")
            .unwrap();
        files.write("/memories/c.md", "Nothing.\n").unwrap();
        assert_eq!(best(&session, &query), ["/memories/a.md", "/memories/b.md"]);
        let lines = &files.rank(ROOT, &query).unwrap().files[1].lines;
        assert_eq!(
            (lines[0].0, lines[0].1.as_str()),
            (2, "The other quokka has a line of many words.")
        );
        // Edited, renamed (the words of a path count), removed.
        files.write("/memories/a.md", "Nothing.\n").unwrap();
        files.rename("/memories/c.md", "/memories/quokka.md").unwrap();
        assert_eq!(best(&session, &query), ["/memories/quokka.md", "/memories/b.md"]);
        files.remove("/memories/b.md").unwrap();
        files.rename("/memories/quokka.md", "/memories/c.md").unwrap();
        assert!(best(&session, &query).is_empty());
        assert!(matches!(files.rank(ROOT, &RankQuery::new(" -- ")), Err(FileError::EmptySearch)));
        assert!(matches!(files.rank("/memories/x", &query), Err(FileError::NotFound)));
    }

    #[test]
    fn pages_follow_each_other_and_may_leave_out_older_files() {
        let session = Session::in_memory().unwrap();
        let day = SystemTime::UNIX_EPOCH + Duration::from_hours(480_000);
        for number in 0..30_usize {
            let (path, text) = (format!("/memories/{number}.md"), "bean ".repeat(number + 1));
            let file = NewFile::new(&path, &text)
                .modified(day + Duration::from_secs(u64::try_from(number).unwrap()));
            session.files().write_many(&[file]).unwrap();
        }
        let query = RankQuery::new("beans").most(30);
        let all = best(&session, &query);
        assert_eq!(all.len(), 30);
        let second = query.clone().most(7).skip(7);
        assert_eq!(best(&session, &second), all[7..14]);
        let recent = query.since(day + Duration::from_secs(28));
        let mut found = best(&session, &recent);
        found.sort();
        assert_eq!(found, ["/memories/28.md", "/memories/29.md"]);
        assert_eq!(session.files().rank(ROOT, &second).unwrap().found, 30);
    }

    #[test]
    fn a_search_in_parts_finds_the_same() {
        let session = Session::in_memory().unwrap();
        let files = session.files();
        for number in 0..20 {
            files
                .write(&format!("/memories/{number}"), &format!("bean number {number}\n"))
                .unwrap();
        }
        let (path, query) = (MemoryPath::parse(ROOT).unwrap(), RankQuery::new("number 7"));
        let parted = |budget| session.read(|open| attempt(open, &path, &query, budget)).unwrap();
        let attempts = (1..100).take_while(|_| parted(40).is_none()).count();
        assert!((5..20).contains(&attempts), "{attempts}");
        assert_eq!(parted(40), Some(files.rank(ROOT, &query).unwrap()));
        assert_eq!(parted(1), parted(usize::MAX), "all are noted");
    }

    #[test]
    fn eight_threads_rank_and_change_at_once() {
        const WORDS: [&str; 2] = ["quokka", "wombat"];
        let session = Session::in_memory().unwrap();
        for number in 0..40 {
            session.files().write(&format!("/memories/{number}.md"), "one quokka\n").unwrap();
        }
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let session = &session;
                scope.spawn(move || {
                    for number in (thread..40).step_by(4) {
                        let text = "line\n".repeat(number) + "a wombat\n";
                        session.files().write(&format!("/memories/{number}.md"), &text).unwrap();
                    }
                });
                scope.spawn(move || {
                    for _ in 0..10 {
                        // Each file has one of the words at any moment, and a ranking sees one state.
                        let found = WORDS.map(|word| {
                            session.files().rank(ROOT, &RankQuery::new(word).most(40)).unwrap()
                        });
                        for (ranked, word) in found.iter().zip(WORDS) {
                            let lines = ranked.files.iter().flat_map(|file| &file.lines);
                            assert!(lines.clone().all(|(_, line)| line.as_str().contains(word)));
                            assert_eq!(lines.count(), ranked.found);
                        }
                        let both = RankQuery::new("quokka wombat");
                        assert_eq!(session.files().rank(ROOT, &both).unwrap().found, 40);
                    }
                });
            }
        });
        assert_eq!(session.files().rank(ROOT, &RankQuery::new("wombat")).unwrap().found, 40);
        assert!(best(&session, &RankQuery::new("quokka")).is_empty());
    }

    #[test]
    fn a_damaged_file_is_named_and_not_searched() {
        let store = TestStore::create();
        let session = store.unlock().unwrap();
        for name in ["a", "b", "c"] {
            session.files().write(&format!("/memories/{name}"), "bean\n").unwrap();
        }
        let id = *store.reachable().keys().find(|id| id.kind == Kind::File).unwrap();
        let address = store.address(id);
        store.tamper(|records| *records.get_mut(&address).unwrap().last_mut().unwrap() ^= 1);
        let ranked = session.files().rank(ROOT, &RankQuery::new("bean")).unwrap();
        assert_eq!((ranked.files.len(), ranked.damaged.len()), (2, 1));
        assert!(ranked.files.iter().all(|file| file.path != ranked.damaged[0]));
    }
}
