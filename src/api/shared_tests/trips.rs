//! How many round trips calls make. Every operation of a host on the model of a server is one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::SharedStore;
use crate::api::MemoryTool;
use crate::session::Session;
use crate::tool::{Screen, ScreenInput, ScreenVerdict, ToolOptions};
use crate::vfs::{NewFile, SearchQuery, WriteOutcome};
use inmost_engines::memory::shared::{Network, Operation, Verdict};

/// Counts the operations of a host.
#[derive(Default)]
struct Trips(AtomicU64);

impl Network for Trips {
    fn before(&self, _host: u64, _operation: Operation) -> Verdict {
        self.0.fetch_add(1, Ordering::SeqCst);
        Verdict::Perform
    }
}

impl Trips {
    /// The round trips of some work.
    fn of<T>(&self, work: impl FnOnce() -> T) -> (u64, T) {
        let before = self.0.load(Ordering::SeqCst);
        let result = work();
        (self.0.load(Ordering::SeqCst) - before, result)
    }
}

/// A session of another host, and its trips.
fn counted(store: &SharedStore) -> (Session, Arc<Trips>) {
    let trips = Arc::new(Trips::default());
    (store.try_unlock(store.server.host_over(trips.clone())).unwrap(), trips)
}

#[test]
fn a_tool_call_on_a_warm_session_makes_one_round_trip() {
    let (store, first) = SharedStore::create();
    first.files().write("/memories/a.md", "first\n").unwrap();
    let (session, trips) = counted(&store);
    let tool = MemoryTool::new(session);
    let run = |call: &str| {
        let (trips, result) = trips.of(|| tool.try_run_json(call).unwrap());
        assert!(!result.is_error(), "{call}: {}", result.content());
        trips
    };
    run(r#"{"command":"view","path":"/memories/a.md"}"#);
    let calls = [
        r#"{"command":"view","path":"/memories"}"#,
        r#"{"command":"view","path":"/memories/a.md"}"#,
        r#"{"command":"create","path":"/memories/new.md","file_text":"one\n"}"#,
        r#"{"command":"str_replace","path":"/memories/new.md","old_str":"one","new_str":"two"}"#,
        r#"{"command":"insert","path":"/memories/new.md","insert_line":1,"insert_text":"three\n"}"#,
        r#"{"command":"rename","old_path":"/memories/new.md","new_path":"/memories/old.md"}"#,
        r#"{"command":"delete","path":"/memories/old.md"}"#,
    ];
    assert_eq!(calls.map(run), [1; 7]);
}

/// A store with 1,000 files in 20 folders, written by a host that is gone.
fn filled() -> SharedStore {
    let (store, first) = SharedStore::create();
    let texts: Vec<(String, String)> = (0..1_000)
        .map(|number| {
            let path = format!("/memories/folder {}/note {number}.md", number % 20);
            (path, format!("note {number}\n"))
        })
        .collect();
    let files: Vec<NewFile<'_>> =
        texts.iter().map(|(path, text)| NewFile::new(path, text)).collect();
    let written = first.files().write_many(&files).unwrap();
    assert!(written.iter().all(Result::is_ok));
    first.lock();
    store
}

#[test]
fn a_first_search_of_1000_files_makes_tens_of_round_trips() {
    let (session, trips) = counted(&filled());
    let search = || session.files().search("/memories", SearchQuery::text("note"));
    let (made, found) = trips.of(|| search().map(Result::unwrap).count());
    assert_eq!(found, 1_000);
    assert!(made <= 30, "{made} round trips");
    let (again, _) = trips.of(|| search().map(Result::unwrap).count());
    assert!(again <= 12, "one a page, not {again}");
}

#[test]
fn work_on_everything_reads_in_pages() {
    let store = filled();
    let (session, trips) = counted(&store);
    let (walked, found) =
        trips.of(|| session.files().walk("/memories").map(Result::unwrap).count());
    assert_eq!(found, 1_020);
    let (session, trips) = counted(&store);
    let (listed, found) = trips.of(|| session.files().list("/memories/folder 3").unwrap().len());
    assert_eq!(found, 50);
    let tool = MemoryTool::new(session);
    let (viewed, _) =
        trips.of(|| tool.try_run_json(r#"{"command":"view","path":"/memories"}"#).unwrap());
    let (session, trips) = counted(&store);
    let (checked, report) = trips.of(|| session.check().unwrap());
    assert!(report.is_clean() && report.files == 1_000);
    let folder = tempfile::tempdir().unwrap();
    let (copied, copy) =
        trips.of(|| session.backup_with_versions(folder.path().join("copy.inmost")).unwrap());
    assert_eq!(copy.files, 1_000);
    let (purged, ()) = trips.of(|| session.purge().unwrap());
    assert!(walked <= 10, "walk: {walked}");
    assert!(listed <= 4, "list: {listed}");
    assert!(viewed <= 10, "view: {viewed}");
    assert!(checked <= 60, "check: {checked}");
    assert!(copied <= 20, "backup: {copied}");
    // It writes each record twice, in batches, and reads it back. In tests the first time is on the server too.
    assert!(purged <= 160, "purge: {purged}");
}

#[test]
fn many_files_are_read_in_pages() {
    let store = filled();
    let (session, trips) = counted(&store);
    let walk = session.files().walk("/memories").map(Result::unwrap);
    let files: Vec<_> = walk.filter(|entry| !entry.metadata.is_folder()).collect();
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let (made, texts) = trips.of(|| session.files().read_many(&paths).unwrap());
    assert_eq!(texts.len(), 1_000);
    assert!(
        texts.iter().all(|text| text.as_ref().is_ok_and(|text| text.as_str().starts_with("note")))
    );
    assert!(made <= 20, "{made} round trips");
}

#[test]
fn a_long_text_is_read_in_pages() {
    let (store, first) = SharedStore::create();
    let text = "a line of a long text\n".repeat(40_000);
    first.files().write("/memories/long.md", &text).unwrap();
    let (session, trips) = counted(&store);
    let (made, read) = trips.of(|| session.files().read("/memories/long.md").unwrap());
    assert_eq!(read.as_str(), text);
    assert!(made <= 10, "{made} round trips");
    let first_lines = crate::vfs::LineRange::new(1, 3);
    let (session, trips) = counted(&store);
    let (made, _) =
        trips.of(|| session.files().read_lines("/memories/long.md", first_lines).unwrap());
    assert!(made <= 3, "{made} round trips");
}

#[test]
fn many_files_are_written_in_few_commits() {
    let (store, first) = SharedStore::create();
    let (session, trips) = counted(&store);
    let texts: Vec<(String, String)> = (0..200)
        .map(|number| (format!("/memories/{}/{number}.md", number % 5), format!("{number}\n")))
        .collect();
    let files: Vec<NewFile<'_>> =
        texts.iter().map(|(path, text)| NewFile::new(path, text)).collect();
    let (made, written) = trips.of(|| session.files().write_many(&files).unwrap());
    assert!(written.iter().all(|result| matches!(result, Ok(WriteOutcome::Written))));
    assert!(made <= 20, "{made} round trips");
    // The session does not know of this change, and there is nothing else to write.
    first.files().write("/memories/3/8.md", "another\n").unwrap();
    let files: Vec<_> = files.into_iter().map(|file| NewFile { replaces: false, ..file }).collect();
    let (made, again) = trips.of(|| session.files().write_many(&files).unwrap());
    for (number, result) in again.iter().enumerate() {
        let expected = if number == 8 { None } else { Some(WriteOutcome::Unchanged) };
        assert_eq!(result.as_ref().ok().copied(), expected, "file {number}");
    }
    assert!(made <= 10, "{made} round trips");
    assert_eq!(first.files().read("/memories/3/8.md").unwrap().as_str(), "another\n");
}

#[test]
fn a_run_of_files_that_other_hosts_overtake_is_whole() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    let texts = |host: u32| -> Vec<(String, String)> {
        let of = |number| (format!("/memories/{host}/{number}.md"), format!("{host}.{number}\n"));
        (0..150).map(of).collect()
    };
    let write = |session: &Session, host: u32| {
        let texts = texts(host);
        for texts in texts.chunks(30) {
            let files: Vec<NewFile<'_>> =
                texts.iter().map(|(path, text)| NewFile::new(path, text)).collect();
            let written = session.files().write_many(&files).unwrap();
            assert!(written.iter().all(|result| matches!(result, Ok(WriteOutcome::Written))));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| write(&one, 1));
        scope.spawn(|| write(&two, 2));
    });
    for (path, text) in texts(1).into_iter().chain(texts(2)) {
        assert_eq!(one.files().read(&path).unwrap().as_str(), text);
    }
    assert!(one.check().unwrap().is_clean());
}

/// Counts the locks that a host takes.
#[derive(Default)]
struct Locks(AtomicU64);

impl Network for Locks {
    fn before(&self, _host: u64, operation: Operation) -> Verdict {
        self.0.fetch_add(u64::from(operation == Operation::Begin), Ordering::SeqCst);
        Verdict::Perform
    }
}

#[test]
fn a_busy_process_that_no_host_overtakes_takes_no_lock() {
    let (store, first) = SharedStore::create();
    first.lock();
    let locks = Arc::new(Locks::default());
    let session = store.try_unlock(store.server.host_over(locks.clone())).unwrap();
    let text = "line\n".repeat(6_000);
    std::thread::scope(|scope| {
        for thread in 0..12 {
            let (session, text) = (&session, &text);
            scope.spawn(move || {
                for round in 0..10 {
                    // Two of them do not fit one commit.
                    let path = format!("/memories/{thread}/{round}.md");
                    session.files().write(&path, text).unwrap();
                    assert!(session.files().exists(&path).unwrap());
                    // Refused, on a state that the other threads change.
                    let absent = crate::vfs::Precondition::Absent;
                    assert!(session.files().write_if(&path, text, &absent).is_err());
                }
            });
        }
    });
    assert_eq!(locks.0.load(Ordering::SeqCst), 0);
}

/// Refuses a text with a certain word.
struct Word;

impl Screen for Word {
    fn screen(&self, input: &ScreenInput<'_>) -> ScreenVerdict {
        let is_there = input.text().contains("forbidden");
        if is_there { ScreenVerdict::Refuse(vec!["a word"]) } else { ScreenVerdict::Allow }
    }
}

#[test]
fn a_screen_refuses_by_the_newest_state() {
    let (store, first) = SharedStore::create();
    first.files().write("/memories/a.md", "one\n").unwrap();
    let (session, trips) = counted(&store);
    let tool = MemoryTool::with_options(session, ToolOptions::new().screen(Word));
    let insert = |text: &str| {
        let call = format!(
            r#"{{"command":"insert","path":"/memories/a.md","insert_line":0,"insert_text":"{text}"}}"#
        );
        let (made, result) = trips.of(|| tool.try_run_json(&call).unwrap());
        (made, result.is_error())
    };
    insert("warm");
    assert_eq!(insert("two"), (1, false));
    assert_eq!(insert("forbidden"), (1, true));
    // The change is overtaken, and there is the word. Then another host removes it.
    first.files().write("/memories/a.md", "forbidden\n").unwrap();
    assert_eq!(insert("three"), (3, true));
    first.files().write("/memories/a.md", "allowed\n").unwrap();
    assert_eq!(insert("three"), (3, false));
    assert_eq!(first.files().read("/memories/a.md").unwrap().as_str(), "three\nallowed\n");
}
