//! Threads of one session under schedules that shuttle chooses: at each lock, another thread may go on.
//!
//! The seeds are fixed. `INMOST_SCHEDULES` runs that many schedules of each kind.

use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner, thread};

use crate::session::tests::store::{TestStore, unlock_on};
use crate::session::{Session, StoreError};
use crate::vfs::{FileError, Precondition};
use inmost_engines::faulty::{Fault, FaultyStorage};
use inmost_storage::StorageError;

const LINES: &str = "/memories/lines.md";
const DRAFT: &str = "/memories/draft.md";
const PLAN: &str = "/memories/plan.md";

/// What a call left, as its thread was told.
#[derive(Debug)]
enum Told {
    Stored,
    NotStored(StoreError),
    Unknown,
}

impl Told {
    fn by<T>(result: Result<T, FileError>) -> Self {
        match result {
            Ok(_) => Self::Stored,
            Err(FileError::Store(error @ (StoreError::DiskFull | StoreError::Locked))) => {
                Self::NotStored(error)
            }
            Err(FileError::Store(_)) => Self::Unknown,
            Err(error) => panic!("{error:?}"),
        }
    }

    fn check(&self, is_there: bool, what: &str) {
        match self {
            Self::Stored => assert!(is_there, "{what} was acknowledged and is lost"),
            Self::NotStored(error) => assert!(!is_there, "{what} is there in spite of {error:?}"),
            Self::Unknown => {}
        }
    }
}

/// Appends two lines of its own. Sees each from then on.
fn append_lines(session: &Session, name: usize) -> Vec<(String, Told)> {
    let append = |number| {
        let line = format!("{name}.{number}\n");
        let result = session.files().append(LINES, &line);
        if result.is_ok() {
            match session.files().read(LINES) {
                Ok(text) => assert!(text.as_str().contains(&line), "{line} is not shown"),
                Err(error) => drop(Told::by::<()>(Err(error))),
            }
        }
        (line, Told::by(result))
    };
    (0..2).map(append).collect()
}

/// Moves one file over the other, as a writer that no other call may interrupt.
fn replace_file(session: &Session, draft: u64, plan: u64) -> Told {
    let (draft, plan) = (Precondition::Version(draft), Precondition::Version(plan));
    Told::by(session.files().replace_if(DRAFT, PLAN, &draft, &plan))
}

/// Two threads that append, one that replaces a file, and in some schedules one that locks the session, with a fault of the storage
/// in most of them. In the end the power fails.
fn threads_share_a_session() {
    let store = TestStore::create();
    let storage = FaultyStorage::new(store.memory.clone());
    let faults = storage.faults();
    let session = unlock_on(storage).unwrap();
    let [draft, plan] = [(DRAFT, "new"), (PLAN, "old")].map(|(path, text)| {
        session.files().write_if(path, text, &Precondition::Absent).unwrap().version
    });
    let mut random = thread_rng();
    let fault = match random.gen_range(0..5) {
        0 => None,
        1 => Some(Fault::Unreported),
        2 => Some(Fault::Stopped),
        3 => Some(Fault::Refused),
        // Nothing of what finds no room is performed.
        _ => {
            faults.set_error(|| StorageError::Full);
            Some(Fault::Refused)
        }
    };
    if let Some(fault) = fault {
        faults.set(faults.operations() + random.gen_range(1..12), fault);
    }
    let appending: Vec<_> = (0..2)
        .map(|name| {
            let session = session.clone();
            thread::spawn(move || append_lines(&session, name))
        })
        .collect();
    let replacing = {
        let session = session.clone();
        thread::spawn(move || replace_file(&session, draft, plan))
    };
    let locking = random.gen_bool(0.25).then(|| {
        let session = session.clone();
        thread::spawn(move || session.lock())
    });
    let lines: Vec<_> = appending.into_iter().flat_map(|it| it.join().unwrap()).collect();
    let replaced = replacing.join().unwrap();
    locking.into_iter().for_each(|it| it.join().unwrap());
    drop(session);

    store.memory.crash();
    let session = store.unlock().unwrap();
    let text = session.files().read(LINES).map_or_else(|_| String::new(), |it| it.as_str().into());
    let mut places = Vec::new();
    for (line, told) in &lines {
        let found: Vec<_> = text.match_indices(line.as_str()).collect();
        assert!(found.len() < 2, "{line} is there twice: {text}");
        told.check(!found.is_empty(), line);
        places.extend(found.first().map(|(at, _)| (line.as_bytes()[0], *at)));
    }
    assert_eq!(places.len(), text.lines().count(), "{text}");
    assert!(places.is_sorted(), "a thread's second line is before its first: {text}");
    let is_replaced = !session.files().exists(DRAFT).unwrap();
    replaced.check(is_replaced, "the new plan");
    let text = session.files().read(PLAN).unwrap();
    assert_eq!(text.as_str(), if is_replaced { "new" } else { "old" });
}

#[test]
fn every_call_is_told_what_was_stored() {
    let count = std::env::var("INMOST_SCHEDULES").map_or(2_000, |it| it.parse().unwrap());
    let mut config = Config::new();
    config.stack_size = 1 << 21;
    let random = RandomScheduler::new_from_seed(1, count);
    Runner::new(random, config.clone()).run(threads_share_a_session);
    let pct = PctScheduler::new_from_seed(1, 3, count);
    Runner::new(pct, config).run(threads_share_a_session);
}
