//! Two hosts take turns on a server that lies.
//!
//! No session returns a text that nobody wrote, a mixture of two, an older text than it has seen, or a change that was made
//! twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::liar::{LIES, Liar, Lie, LyingStorage};
use super::{SharedStore, raw_key};
use crate::session::{Session, SessionOptions, StoreError};
use crate::vfs::FileError;
use inmost_engines::memory::shared::SharedMemory;
use inmost_testing::Random;

/// A host, with the newest text that it has seen.
struct Host {
    liar: Arc<Liar>,
    session: Session,
    seen: u64,
    /// The last lie that the session was told.
    last: Option<Lie>,
}

/// What sessions did about lies.
#[derive(Default)]
struct Outcomes {
    refused: BTreeMap<Lie, u64>,
    read: u64,
    written: BTreeMap<Lie, u64>,
}

const TEXT: &str = "/memories/text.md";
const LOG: &str = "/memories/log.md";

fn store_error(error: FileError) -> StoreError {
    match error {
        FileError::Store(error) => error,
        error => panic!("a wrong state: {error}"),
    }
}

impl Host {
    fn new(store: &SharedStore, seed: u64, foreign: &[Vec<u8>]) -> Self {
        let liar = Liar::new(&store.server, seed, foreign.to_vec());
        let storage = Arc::new(LyingStorage(Arc::clone(&liar)));
        let mut vault = store.options.open_storage(storage).unwrap();
        let session = vault.unlock_with(&raw_key()).unwrap();
        Self { liar, session, seen: 0, last: None }
    }

    fn read(&mut self, written: u64) -> Result<(), StoreError> {
        let text = self.session.files().read(TEXT).map_err(store_error)?;
        let mut lines = text.as_str().lines();
        let first = lines.next().expect("a text that nobody wrote");
        assert!(lines.all(|line| line == first), "a mixture of texts");
        let number: u64 = first.parse().expect("a text that nobody wrote");
        assert!(number <= written, "a text that nobody wrote");
        assert!(number >= self.seen, "{number} after {}", self.seen);
        self.seen = number;
        let log = self.session.files().read(LOG).map_err(store_error)?;
        let mut lines: Vec<&str> = log.as_str().lines().collect();
        let count = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), count, "a change was made twice");
        Ok(())
    }

    fn write(&mut self, number: u64, long: bool) -> Result<(), StoreError> {
        let files = self.session.files();
        files.append(LOG, &format!("{number}\n")).map_err(store_error)?;
        let text = format!("{number}\n").repeat(if long { 4_000 } else { 1 });
        files.write(TEXT, &text).map_err(store_error)?;
        self.seen = number;
        Ok(())
    }
}

/// One run: two hosts take turns, and each is told lies.
fn run(seed: u64, foreign: &[Vec<u8>], outcomes: &mut Outcomes) {
    let mut random = Random(seed);
    let (mut store, first) = SharedStore::create();
    // Every record is read from the server.
    let session = SessionOptions::new().outcome_timeout(Duration::ZERO).max_cache_bytes(0);
    store.options = store.options.session(session);
    first.files().write(TEXT, "0\n").unwrap();
    first.files().write(LOG, "0\n").unwrap();
    let mut hosts = [0, 1].map(|host| Host::new(&store, seed ^ (host << 32), foreign));
    for step in 1..=16 {
        let host = &mut hosts[random.below(2)];
        let lie = (random.below(2) == 0).then(|| LIES[random.below(LIES.len())]);
        if lie == Some(Lie::Forked) {
            let fork = SharedMemory::default();
            let vault = store.server.duplicate();
            fork.with(|server| *server = vault);
            host.liar.connect(&fork);
        } else if random.below(3) == 0 {
            host.liar.connect(&store.server);
        }
        host.liar.tell(lie);
        host.last = lie.or(host.last);
        let writes = random.below(2) == 0;
        let result = if writes { host.write(step, random.below(2) == 0) } else { host.read(step) };
        host.liar.tell(None);
        match (result, host.last) {
            (Ok(()), _) if !writes => outcomes.read += 1,
            (Ok(()), Some(lie)) => *outcomes.written.entry(lie).or_default() += 1,
            (Ok(()), None) => {}
            (Err(error), None) => panic!("seed {seed}: refused without a lie: {error}"),
            (Err(error), Some(lie)) => {
                let is_expected = matches!(
                    error,
                    StoreError::RolledBack { .. }
                        | StoreError::Tampered { .. }
                        | StoreError::CommitUnknown
                        | StoreError::Unavailable(_)
                );
                assert!(is_expected, "seed {seed}: {lie:?}: {error}");
                *outcomes.refused.entry(lie).or_default() += 1;
                if random.below(2) == 0 {
                    *host = Host::new(&store, seed ^ (step << 40), foreign);
                }
            }
        }
    }
    let last = store.unlock();
    assert!(last.check().unwrap().is_clean(), "seed {seed}");
}

#[test]
fn no_lie_of_the_server_gives_a_wrong_text() {
    let (other, session) = SharedStore::create();
    for number in 0..4 {
        session.files().write(TEXT, &format!("other {number}\n").repeat(2_000)).unwrap();
    }
    let foreign = other.server.with(|vault| {
        vault.generations[&1].rows.values().map(|(_, value)| value.clone()).collect::<Vec<_>>()
    });
    let mut outcomes = Outcomes::default();
    for seed in 0..400 {
        run(seed, &foreign, &mut outcomes);
    }
    let Outcomes { refused, read, written } = outcomes;
    println!("read {read}, written {written:?}, refused {refused:?}");
    assert!(read > 500);
    for lie in LIES {
        // What was applied is recognised, so that it is not applied again.
        let count = if lie == Lie::Refused { &written } else { &refused };
        assert!(count.get(&lie).is_some_and(|count| *count > 5), "{lie:?}: {refused:?}");
    }
}
