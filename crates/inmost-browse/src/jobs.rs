//! Does the requests of the browser on a store.

use inmost::{FileError, FileText, PageCursor, StoreError, VersionInfo, VersionQuery};

use super::event::{Facts, Job, Problem, Reply, Shown, Versions};
use super::past;
use super::tree::{Cursor, Ticket};
use super::tree::{Listing, PAGE, Part, Want};
use inmost_console::display::{self, count};
use inmost_console::exit::Failure;
use inmost_console::memory_path::ROOT;
use inmost_console::version::{self, CIPHERTEXT_STAYS, Deletion};
use inmost_console::version_diff;
use inmost_keyd::OpenStore;

/// Does a request.
pub(super) fn run(store: &OpenStore, ticket: Ticket, job: Job) -> Reply {
    match job {
        Job::List(want) => {
            let folder = want.folder;
            let path = want.path.clone();
            let listing = list(store, want).map_err(|error| problem(path.as_str(), error));
            Reply::Listed { ticket, folder, listing }
        }
        Job::Show(path) => {
            let shown = show(store, path.as_str()).map_err(|error| problem(path.as_str(), error));
            Reply::Shown { ticket, shown }
        }
        Job::Versions { path, before } => {
            let path = path.as_ref().map(FileText::as_str);
            let page = versions(store, path, before);
            Reply::Versions { ticket, page: page.map_err(|error| problem(ROOT, error)) }
        }
        Job::Diff(version) => Reply::Diff { ticket, diff: difference(store, &version) },
        Job::Restore(number) => Reply::Done(restore(store, number)),
        Job::Remove(path) => {
            Reply::Done(remove(store, path.as_str()).map_err(|it| problem(path.as_str(), it)))
        }
        Job::Forget(path) => {
            Reply::Done(forget(store, path.as_str()).map_err(|it| problem(path.as_str(), it)))
        }
        Job::Status(with_history) => Reply::Status(
            status(store, with_history).map_err(|error| problem(ROOT, FileError::Store(error))),
        ),
    }
}

/// What a failure means for the browser.
#[must_use]
pub fn problem(path: &str, error: FileError) -> Problem {
    match error {
        FileError::Store(StoreError::Locked) => {
            Problem::Locked("Its idle time or its total time is over, or someone locked it.".into())
        }
        // The daemon that has ended does not come back.
        FileError::Store(StoreError::KeyDaemon(why)) => Problem::Locked(why),
        FileError::NotFound => Problem::Gone,
        error => of_failure(Failure::at(path, error)),
    }
}

/// The sentences of a failure.
#[must_use]
pub fn of_failure(failure: Failure) -> Problem {
    match failure {
        Failure::Error { message, advice, .. } => {
            Problem::Other(message.into_owned(), advice.into_owned())
        }
        _ => Problem::Other("The work was interrupted.".to_owned(), "Try again.".to_owned()),
    }
}

fn list(store: &OpenStore, want: Want) -> Result<Listing, FileError> {
    let path = want.path.as_str();
    let (start, most) = match &want.part {
        Part::After(cursor) => (cursor.clone(), PAGE),
        Part::Before(cursor, length) => (cursor.clone(), (*length).max(1)),
        Part::Again(cursor, length) => (cursor.clone(), *length),
        Part::First => (None, PAGE),
        Part::With(name) => return page_with(store, path, name.clone()),
    };
    let page = store.unlocked().list(path, start.as_ref(), most)?;
    let (entries, next) = (page.items, page.next);
    Ok(Listing { part: want.part, passed: Vec::new(), start, entries, next })
}

/// The page with the entry of this name, or the page in which it would be.
fn page_with(store: &OpenStore, path: &str, name: FileText) -> Result<Listing, FileError> {
    let mut passed: Vec<(Cursor, usize)> = Vec::new();
    let mut start: Option<PageCursor> = None;
    loop {
        let page = store.unlocked().list(path, start.as_ref(), PAGE)?;
        let is_past = page.items.last().is_none_or(|last| last.name.as_str() >= name.as_str());
        if is_past || page.next.is_none() {
            let (entries, next) = (page.items, page.next);
            return Ok(Listing { part: Part::With(name), passed, start, entries, next });
        }
        passed.push((start, page.items.len()));
        start = page.next;
    }
}

fn show(store: &OpenStore, path: &str) -> Result<Shown, FileError> {
    let files = store.files();
    let metadata = files.metadata(path)?;
    let text = if metadata.is_folder() { None } else { Some(files.read(path)?) };
    // The text is worth showing even if the history cannot be read.
    let last = store.history().page(&VersionQuery::all().path(path), None, 1);
    let last = last.ok().and_then(|page| page.items.into_iter().next());
    Ok(Shown { metadata, text, last })
}

fn versions(
    store: &OpenStore,
    path: Option<&str>,
    mut before: Option<u64>,
) -> Result<Versions, FileError> {
    let history = store.history();
    let query = path.map_or_else(VersionQuery::all, |path| VersionQuery::all().path(path));
    let is_on = history.status()?.settings.time().is_some();
    // Pages may be empty.
    loop {
        let page = history.page(&query, before, past::PAGE)?;
        if page.items.is_empty() && page.next.is_some() {
            before = page.next;
            continue;
        }
        return Ok(Versions { items: page.items, next: page.next, is_on });
    }
}

fn difference(store: &OpenStore, version: &VersionInfo) -> Result<FileText, Problem> {
    let diff = version_diff::changes(store.history(), version.number).map_err(of_locked_failure)?;
    // The diff of two texts in UTF-8 is UTF-8.
    match diff.into_text() {
        Some(text) if !text.is_empty() => Ok(FileText::from(text)),
        _ => Ok(FileText::from("The texts are the same.\n".to_owned())),
    }
}

/// As [`of_failure`], but tells a locked store.
fn of_locked_failure(failure: Failure) -> Problem {
    match failure {
        Failure::Error { exit: inmost_console::exit::Exit::Locked, .. } => {
            problem(ROOT, FileError::Store(StoreError::Locked))
        }
        failure => of_failure(failure),
    }
}

fn restore(store: &OpenStore, number: u64) -> Result<String, Problem> {
    let new = store.history().restore(number, None).map_err(|error| match error {
        FileError::Store(error) => problem(ROOT, FileError::Store(error)),
        FileError::AlreadyExists => Problem::Other(
            "There is another file or a folder at the path of this version.".to_owned(),
            format!("`inmost restore {number} --to PATH` restores it to another path."),
        ),
        FileError::VersionGone(number) => {
            let version = version::find(store.history(), number).ok().flatten();
            of_failure(version::gone(number, version.as_ref()))
        }
        error => of_failure(version::failure(number, error)),
    })?;
    Ok(format!("Restored version {number}, as version {new}."))
}

fn remove(store: &OpenStore, path: &str) -> Result<String, FileError> {
    store.files().remove(path)?;
    let shown = display::path(path);
    Ok(match version::deletion(store.history(), path) {
        Some(Deletion::Kept(_, until)) => {
            format!("Deleted {shown}. V and r bring it back until {until}.")
        }
        Some(Deletion::TooLarge { .. }) => {
            format!(
                "Deleted {shown}. The history has no room for its text: the next change drops it."
            )
        }
        None => format!("Deleted {shown}."),
    })
}

fn forget(store: &OpenStore, path: &str) -> Result<String, FileError> {
    let removed = store.history().forget(path, None, |_| {})?;
    if removed == 0 {
        return Ok(format!("The history has no version of {}.", display::path(path)));
    }
    let versions = count(removed, "version", "versions");
    Ok(format!("Forgot {versions}. {}", CIPHERTEXT_STAYS.trim_end()))
}

fn status(store: &OpenStore, with_history: bool) -> Result<Facts, StoreError> {
    let status = store.status()?;
    let keeps_versions =
        if with_history { Some(store.history().status()?.settings.time().is_some()) } else { None };
    let (files, bytes, commit) = (status.files, status.bytes, status.commit);
    Ok(Facts { files, bytes, commit, keeps_versions })
}
