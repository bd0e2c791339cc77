//! Hosts that work on vaults behind a server that lies, and judge every text that they get; for `tests/postgres/liar.py`.
//!
//! `postgres_distrust URL ONE TWO VAULTS SECONDS TIMEOUT` makes vaults at URL, where the server tells the truth. Two hosts then work on
//! each of them: one through the address ONE, one through TWO. They wait TIMEOUT seconds for a reply at most. A host opens its vault
//! with the mark of the newest state that it knows, and opens it again after every failure. It stops the program with a panic if
//!
//! - a text has a line that nobody wrote, or the same line twice, or is a mixture of two texts;
//! - a text is not the one that it saw last, or that text with lines added at its end;
//! - a line is missing that it was told is stored.
//!
//! Prints one line of JSON: how many calls succeeded and how many failed in which way. The password comes from PGPASSWORD.
//! The keys are not secret.
#![allow(clippy::panic, reason = "a wrong text ends the program")]

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use inmost::{
    FileError, FreshnessMark, Postgres, PostgresConfig, PostgresUrl, RawKey, Session, StoreError,
    VaultId, VaultOptions,
};

const LOG: &str = "/memories/log.md";
const TEXT: &str = "/memories/text.md";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [truth, one, two, vaults, seconds, timeout] = arguments[..] else {
        return Err("URL ONE TWO VAULTS SECONDS TIMEOUT".into());
    };
    let timeout = Duration::from_secs(timeout.parse()?);
    let truth = database(truth, timeout.max(Duration::from_secs(8)))?;
    let hosts = [database(one, timeout)?, database(two, timeout)?];
    let vaults: Vec<VaultId> =
        (0..vaults.parse::<usize>()?).map(|_| create(&truth)).collect::<Result<_, _>>()?;
    println!("ready");
    let end = Instant::now() + Duration::from_secs(seconds.parse()?);
    let (tried, counts) = (Tried::default(), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for (place, vault) in vaults.iter().enumerate() {
            for (side, database) in hosts.iter().enumerate() {
                let (tried, counts) = (&tried, &counts);
                let name = format!("{place}.{side}");
                let seed = u64::try_from(2 * place + side).unwrap_or_default() + 1;
                scope.spawn(move || {
                    Host::new(database, *vault, name, tried, seed).work(end, counts);
                });
            }
        }
    });
    let mut counts = counts.into_inner()?;
    // A server can destroy what it holds, and can have a host do it by what it tells. It cannot have one store what nobody wrote.
    for vault in vaults {
        let mut host = Host::new(&truth, vault, String::new(), &tried, 0);
        let outcome = host.open().and_then(|session| host.read(&session));
        count(&mut counts, outcome.err().map_or("whole at the end", |error| error.name()));
    }
    println!("{}", serde_json::to_string(&counts)?);
    Ok(())
}

fn database(url: &str, timeout: Duration) -> Result<Postgres, Box<dyn Error>> {
    let config = PostgresConfig::new(&PostgresUrl::parse(url)?).password_from_environment()?;
    Ok(Postgres::new(config.call_timeout(timeout))?)
}

/// All vaults have the same key, so that a server that exchanges them is not noticed by the key.
fn key() -> RawKey {
    RawKey::from_bytes(&[7; 32])
}

fn create(database: &Postgres) -> Result<VaultId, Box<dyn Error>> {
    let id = Postgres::new_id()?;
    let session = VaultOptions::new().create_in(database, id, &key())?;
    session.files().write(LOG, "")?;
    session.files().write(TEXT, "")?;
    session.lock();
    Ok(id)
}

/// Every line that a host has ever tried to store.
type Tried = Mutex<HashSet<String>>;

fn count(counts: &mut BTreeMap<String, u64>, what: &str) {
    *counts.entry(what.to_owned()).or_default() += 1;
}

/// A host at work on one vault.
struct Host<'a> {
    database: &'a Postgres,
    vault: VaultId,
    name: String,
    tried: &'a Tried,
    mark: Option<FreshnessMark>,
    /// The newest log that it has read.
    log: String,
    /// The lines that it was told are stored.
    stored: Vec<String>,
    state: u64,
    number: u64,
}

impl<'a> Host<'a> {
    fn new(
        database: &'a Postgres,
        vault: VaultId,
        name: String,
        tried: &'a Tried,
        seed: u64,
    ) -> Self {
        let (mark, log, stored) = (None, String::new(), Vec::new());
        Self { database, vault, name, tried, mark, log, stored, state: seed, number: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        // The generator of Knuth's MMIX.
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % bound
    }

    fn work(mut self, end: Instant, counts: &Mutex<BTreeMap<String, u64>>) {
        let note =
            |what: &str| count(&mut counts.lock().unwrap_or_else(PoisonError::into_inner), what);
        while Instant::now() < end {
            let session = match self.open() {
                Ok(session) => session,
                Err(error) => {
                    note(error.name());
                    thread::sleep(Duration::from_millis(10));
                    continue;
                }
            };
            for _ in 0..self.below(30) {
                match self.step(&session) {
                    Ok(what) => note(what),
                    Err(error) => {
                        eprintln!("{error}");
                        note(error.name());
                        break;
                    }
                }
            }
        }
    }

    fn open(&self) -> Result<Session, StoreError> {
        let mut options = VaultOptions::new();
        if let Some(mark) = &self.mark {
            options = options.at_least(mark.clone());
        }
        options.open_in(self.database, self.vault)?.unlock_with(&key())
    }

    /// Makes one call at random, and returns what it was.
    fn step(&mut self, session: &Session) -> Result<&'static str, StoreError> {
        let done = match self.below(100) {
            0..40 => self.read(session).map(|()| "read")?,
            40..80 => self.append(session).map(|()| "appended")?,
            80..96 => self.replace(session).map(|()| "replaced")?,
            96..98 => session.check().map(|_| "checked")?,
            98 => session.purge().map(|()| "purged")?,
            _ => session.compact().map(|()| "compacted")?,
        };
        self.mark = Some(session.mark()?);
        Ok(done)
    }

    /// Reads both texts and judges them.
    fn read(&mut self, session: &Session) -> Result<(), StoreError> {
        let log = session.files().read(LOG).map_err(store_error)?;
        let log = log.as_str();
        assert!(
            log.starts_with(&self.log),
            "{}: a log that does not go on: {log:?} after {:?}",
            self.name,
            self.log
        );
        let lines: Vec<&str> = log.lines().collect();
        let different: HashSet<&str> = lines.iter().copied().collect();
        assert_eq!(different.len(), lines.len(), "{}: a line twice: {log:?}", self.name);
        for line in &self.stored {
            assert!(different.contains(line.as_str()), "{}: {line} is not in {log:?}", self.name);
        }
        let text = session.files().read(TEXT).map_err(store_error)?;
        let mut repeated = text.as_str().lines();
        let first = repeated.next();
        assert!(repeated.all(|line| Some(line) == first), "{}: a mixture of texts", self.name);
        let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines.into_iter().chain(first) {
            assert!(tried.contains(line), "{}: nobody wrote {line:?}", self.name);
        }
        self.log.replace_range(.., log);
        Ok(())
    }

    /// A line that nobody else writes.
    fn line(&mut self) -> String {
        self.number += 1;
        let line = format!("{} {}", self.name, self.number);
        self.tried.lock().unwrap_or_else(PoisonError::into_inner).insert(line.clone());
        line
    }

    fn append(&mut self, session: &Session) -> Result<(), StoreError> {
        let line = self.line();
        session.files().append(LOG, &format!("{line}\n")).map_err(store_error)?;
        self.stored.push(line);
        Ok(())
    }

    fn replace(&mut self, session: &Session) -> Result<(), StoreError> {
        let times = if self.below(4) == 0 { 4_000 } else { 1 };
        let text = format!("{}\n", self.line()).repeat(times);
        session.files().write(TEXT, &text).map_err(store_error)
    }
}

fn store_error(error: FileError) -> StoreError {
    match error {
        FileError::Store(error) => error,
        error => panic!("a state that nobody made: {error}"),
    }
}
