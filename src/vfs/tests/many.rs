//! Tests of writing many files: it gives what single writes give, in fewer commits, and an interruption leaves the
//! first of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::model::{Model, dump, make_commits, text};
use crate::session::tests::store::{TestStore, options, passphrase, unlock_on};
use crate::session::tests::watched::Seen;
use crate::session::{Session, SessionOptions, StoreError};
use crate::vfs::error::FileError;
use crate::vfs::{EntryKind, NewFile, WriteOutcome};
use inmost_engines::faulty::{Fault, FaultyStorage};
use inmost_format::record::Kind;
use inmost_storage::limits::BATCH_RECORDS;
use inmost_testing::Random;

/// The results of a call as text, which can be compared.
fn shown(results: &[Result<WriteOutcome, FileError>]) -> Vec<String> {
    results.iter().map(|result| format!("{result:?}")).collect()
}

fn time(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(milliseconds)
}

/// The creation time and the time of the last change of a file.
fn times(session: &Session, path: &str) -> (SystemTime, SystemTime) {
    match session.files().metadata(path).unwrap().kind {
        EntryKind::File { created, modified, .. } => (created, modified),
        EntryKind::Folder => panic!("{path} is a folder"),
    }
}

/// Small files in one folder, in the order of their names.
fn small(count: usize) -> Vec<(String, String)> {
    let file = |number| (format!("/memories/d/{number:04}"), format!("text {number}\n"));
    (0..count).map(file).collect()
}

pub(super) fn as_new(files: &[(String, String)]) -> Vec<NewFile<'_>> {
    files.iter().map(|(path, text)| NewFile::new(path, text)).collect()
}

/// A file to write, and whether it is one of the longest that fit one step, or longer.
struct Wanted {
    path: String,
    text: String,
    created: Option<u64>,
    modified: Option<u64>,
    replaces: bool,
}

impl Wanted {
    fn random(random: &mut Random) -> Self {
        let name = random.below(30);
        let path = match random.below(20) {
            0 => "/etc/passwd".to_owned(),
            1 => format!("/memories/a/{name}/below"),
            2 => "/memories/b".to_owned(),
            3..8 => format!("/memories/b/c/{name}"),
            8..11 => format!("/memories/.hidden/{name}"),
            _ => format!("/memories/a/{name}"),
        };
        let bytes = [0, 30, 30, 30, 2_000, 4_000, 9_000, 30_000, 50_000][random.below(9)];
        let text = text(&random.below(3).to_string(), bytes);
        let mut any_time =
            || (random.below(3) > 0).then(|| u64::try_from(random.below(1_000)).unwrap());
        let (created, modified) = (any_time(), any_time());
        Self { path, text, created, modified, replaces: random.below(3) > 0 }
    }

    pub(super) fn as_new(&self) -> NewFile<'_> {
        let mut file = NewFile::new(&self.path, &self.text);
        (file.created, file.modified) = (self.created.map(time), self.modified.map(time));
        if self.replaces { file } else { file.keep_existing() }
    }

    /// Writes the file by a single write, as a caller did that had no other.
    fn write_alone(&self, session: &Session) -> Result<WriteOutcome, FileError> {
        let files = session.files();
        match files.read(&self.path) {
            Ok(existing) if existing.as_str() == self.text => return Ok(WriteOutcome::Unchanged),
            Ok(_) if !self.replaces => return Err(FileError::AlreadyExists),
            _ => files.write(&self.path, &self.text)?,
        }
        Ok(WriteOutcome::Written)
    }
}

#[test]
fn many_files_give_the_same_tree_and_results_as_single_writes() {
    for seed in 1..=12 {
        let mut random = Random(seed);
        let wanted: Vec<_> = (0..150).map(|_| Wanted::random(&mut random)).collect();
        let (one, many) = (TestStore::create(), TestStore::create());
        let (alone, session) = (one.unlock().unwrap(), many.unlock().unwrap());
        // The times that are known: those that were given, or taken over from the replaced file.
        let mut known: BTreeMap<&str, [Option<u64>; 2]> = BTreeMap::new();
        let mut rest = wanted.as_slice();
        while !rest.is_empty() {
            let (part, after) = rest.split_at(random.below(60).min(rest.len()));
            let new: Vec<_> = part.iter().map(Wanted::as_new).collect();
            let results = session.files().write_many(&new).unwrap();
            let expected: Vec<_> = part.iter().map(|file| file.write_alone(&alone)).collect();
            assert_eq!(shown(&results), shown(&expected), "seed {seed}");
            for (file, result) in part.iter().zip(&results) {
                if matches!(result, Ok(WriteOutcome::Written)) {
                    let before = known.get(file.path.as_str());
                    let created = match before {
                        Some(before) => file.created.or(before[0]),
                        None => file.created.or(file.modified),
                    };
                    known.insert(&file.path, [created, file.modified]);
                }
            }
            rest = after;
        }
        let model = dump(&session).unwrap();
        assert_eq!(model, dump(&alone).unwrap(), "seed {seed}");
        assert!(model.len() > 20 && known.len() == model.len());
        for (path, [created, modified]) in known {
            let (found_created, found_modified) = times(&session, path);
            assert!(created.is_none_or(|created| found_created == time(created)), "{path}");
            assert!(modified.is_none_or(|modified| found_modified == time(modified)), "{path}");
        }
        make_commits(&session, 40);
        drop(session);
        many.assert_tidy("after the series");
    }
}

#[test]
fn files_of_one_call_share_commits_within_the_bound() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let files = small(1_000);
    session.files().write_many(&as_new(&files)).unwrap();
    let seen = watch.seen();
    assert!(seen.most <= BATCH_RECORDS, "{seen:?}");
    assert_eq!(seen.batches, seen.syncs);
    assert!(seen.batches <= files.len() / 15, "{seen:?}");
    assert_eq!(dump(&session).unwrap(), files.into_iter().collect::<Model>());
}

#[test]
fn files_that_are_there_already_are_not_written_and_keep_their_times() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let long = text("long", 100_000);
    let files = [("/memories/a", "x"), ("/memories/long", &long), ("/memories/d/empty", "")];
    let new = |at: u64| files.map(|(path, text)| NewFile::new(path, text).created(time(at)));
    let results = session.files().write_many(&new(1)).unwrap();
    assert!(results.iter().all(|result| matches!(result, Ok(WriteOutcome::Written))));
    watch.reset();
    let results = session.files().write_many(&new(2)).unwrap();
    assert!(results.iter().all(|result| matches!(result, Ok(WriteOutcome::Unchanged))));
    assert_eq!(watch.seen(), Seen::default());
    assert!(files.iter().all(|(path, _)| times(&session, path).0 == time(1)));
    // A text that begins or ends as the existing one is another text.
    let other = [text("long", 99_000), format!("{long}x"), long.replacen("long", "lang", 1)];
    for text in other {
        let kept = NewFile::new("/memories/long", &text).keep_existing();
        let results = session.files().write_many(&[kept]).unwrap();
        assert!(matches!(results[..], [Err(FileError::AlreadyExists)]));
    }
    assert_eq!(session.files().read("/memories/long").unwrap().as_str(), long);
}

#[test]
fn times_out_of_range_are_stored_as_the_nearest() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let early = NewFile::new("/memories/a", "").modified(UNIX_EPOCH - Duration::from_secs(9));
    session.files().write_many(&[early]).unwrap();
    assert_eq!(times(&session, "/memories/a"), (UNIX_EPOCH, UNIX_EPOCH));
}

#[test]
fn a_refused_file_stops_none_of_the_others() {
    let store = TestStore::create();
    let options = options().session(SessionOptions::new().max_files(4).max_file_bytes(50_000));
    let mut vault = options.open_storage(Arc::new(store.memory.clone())).unwrap();
    let session = vault.unlock(&passphrase()).unwrap();
    let (fits, long) = ("x".repeat(50_000), "x".repeat(50_001));
    let results = session.files().write_many(&[
        NewFile::new("/memories/d/a", "1"),
        NewFile::new("/memories/../etc", "2"),
        NewFile::new("/memories/d", "3"),
        NewFile::new("/memories/d/a/b", "4"),
        NewFile::new("/memories/long", &long),
        NewFile::new("/memories/fits", &fits),
        NewFile::new("/memories/d/c", "5"),
        NewFile::new("/memories/d/d", "6"),
        NewFile::new("/memories/one-too-many", "7"),
        NewFile::new("/memories/d/a", "8"),
    ]);
    let results = results.unwrap();
    assert!(
        matches!(
            &results[..],
            [
                Ok(WriteOutcome::Written),
                Err(FileError::InvalidPath(_)),
                Err(FileError::AlreadyExists),
                Err(FileError::NotAFolder(file)),
                Err(FileError::FileTooLarge(50_000)),
                Ok(WriteOutcome::Written),
                Ok(WriteOutcome::Written),
                Ok(WriteOutcome::Written),
                Err(FileError::TooManyFiles(4)),
                Ok(WriteOutcome::Written),
            ] if file.as_str() == "/memories/d/a"
        ),
        "{results:?}"
    );
    let texts = dump(&session).unwrap();
    let names: Vec<_> = texts.keys().map(String::as_str).collect();
    assert_eq!(names, ["/memories/d/a", "/memories/d/c", "/memories/d/d", "/memories/fits"]);
    assert_eq!(texts["/memories/d/a"], "8");
}

/// The number of files of the sequence that the store has, which must be the first ones.
fn first_files(session: &Session, files: &[(String, String)], context: &str) -> usize {
    let model = dump(session).unwrap();
    let first = &files[..model.len()];
    assert_eq!(model, first.iter().cloned().collect::<Model>(), "{context}");
    model.len()
}

/// A crash, an error of the disk, or an operation that was performed and reported as failed.
#[test]
fn an_interrupted_call_leaves_the_first_files_and_is_completed_by_repeating_it() {
    let mut files = small(60);
    files.insert(30, ("/memories/d/0029-long".to_owned(), text("long", 100_000)));
    let (mut operation, mut counts) = (0, Vec::new());
    loop {
        operation += 1;
        let fault = [Fault::Refused, Fault::Unreported, Fault::Stopped][operation % 3];
        let context = format!("operation {operation}, {fault:?}");
        let store = TestStore::create();
        let storage = FaultyStorage::new(store.memory.clone());
        let faults = storage.faults();
        let session = unlock_on(storage).unwrap();
        let at = faults.operations() + u64::try_from(operation).unwrap();
        faults.set(at, fault);
        let failed = session.files().write_many(&as_new(&files)).is_err();
        let is_past_the_end = faults.operations() < at;
        drop(session);
        store.memory.crash();

        let session = store.unlock().unwrap();
        let count = first_files(&session, &files, &context);
        assert!(failed || count == files.len(), "{context}");
        counts.push(count);
        let results = session.files().write_many(&as_new(&files)).unwrap();
        let unchanged = |result: &Result<_, _>| matches!(result, Ok(WriteOutcome::Unchanged));
        assert!(results.iter().take(count).all(unchanged), "{context}");
        assert!(!results.iter().skip(count).any(unchanged), "{context}");
        assert_eq!(first_files(&session, &files, &context), files.len());
        make_commits(&session, 3);
        drop(session);
        store.assert_tidy(&context);
        if is_past_the_end {
            break;
        }
    }
    counts.dedup();
    // A fault of the anchor keeps no call from being complete.
    assert!(counts.len() > 4 && counts.contains(&0), "{counts:?}");
}

#[test]
fn a_full_disk_leaves_the_first_files_and_the_session_completes_the_call_later() {
    let files = small(60);
    let mut counts = Vec::new();
    for batches in 0.. {
        let context = format!("after {batches} batches");
        let store = TestStore::create();
        let (session, watch) = store.unlock_watched();
        watch.be_full_after(batches);
        match session.files().write_many(&as_new(&files)) {
            Ok(_) => break,
            Err(error) => assert!(matches!(error, StoreError::DiskFull), "{error}: {context}"),
        }
        counts.push(first_files(&session, &files, &context));
        session.files().write_many(&as_new(&files)).unwrap();
        store.memory.crash();
        drop(session);
        let session = store.unlock().unwrap();
        assert_eq!(first_files(&session, &files, &context), files.len());
    }
    assert!(counts.len() > 2 && counts.is_sorted() && counts[0] == 0, "{counts:?}");
}

#[test]
fn an_error_of_the_store_ends_the_call_with_the_files_before_it_durable() {
    let store = TestStore::create();
    store.unlock().unwrap().files().write("/memories/bad/file", "x").unwrap();
    let (session, watch) = store.unlock_watched();
    let root = store.root();
    let mut folders = store.records_of(Kind::Folder);
    folders.retain(|folder| ![root.tree.id, root.system.id].contains(&folder.object));
    let bad = store.address(folders[0]);
    watch.make_unreadable(move |address| *address == bad);
    let results = session.files().write_many(&[
        NewFile::new("/memories/a", "1"),
        NewFile::new("/memories/bad/file", "2"),
        NewFile::new("/memories/b", "3"),
    ]);
    assert!(matches!(results, Err(StoreError::Io(_))), "{results:?}");
    drop(session);
    store.memory.crash();
    let session = store.unlock().unwrap();
    assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "1");
    assert!(!session.files().exists("/memories/b").unwrap());
}
