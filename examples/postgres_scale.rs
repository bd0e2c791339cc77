//! Makes many vaults in a PostgreSQL database and uses them at random, to measure what they cost; for `tests/postgres/scale.py`.
//!
//! `postgres_scale URL make VAULTS THREADS` makes the vaults that are missing, each with a file.
//! `postgres_scale URL visit VAULTS THREADS SECONDS` opens vaults at random, edits that file, and locks them.
//! `postgres_scale URL edit VAULTS THREADS SECONDS` keeps one open vault a thread, and edits its file again and again.
//! `postgres_scale URL view VAULTS THREADS SECONDS` does so too, and views the file through the memory tool.
//! `postgres_scale URL ask VAULTS THREADS SECONDS` asks the server for its settings, in one round trip.
//! `postgres_scale URL share VAULTS THREADS SECONDS` has each thread open the same vault and edit a file of its own in it.
//!
//! Each prints one line of JSON. The password comes from PGPASSWORD. The keys are not secret: they are the numbers of the vaults.

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use inmost::{
    MemoryTool, Postgres, PostgresConfig, PostgresUrl, RawKey, Session, StoreError, VaultId,
    VaultOptions,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| -> Result<u64, Box<dyn Error>> {
        Ok(arguments.get(index).ok_or("an argument is missing")?.parse()?)
    };
    let url = PostgresUrl::parse(arguments.first().ok_or("no URL")?)?;
    let (vaults, threads) = (number(2)?, number(3)?);
    let config = PostgresConfig::new(&url).password_from_environment()?;
    let database = Postgres::new(config.max_connections(usize::try_from(threads)?))?;
    let load = Load { database, vaults, threads };
    let line = match arguments.get(1).map(String::as_str) {
        Some("make") => load.make()?,
        Some("visit") => load.run(Duration::from_secs(number(4)?), &Load::visit)?,
        Some("edit") => load.run(Duration::from_secs(number(4)?), &Load::edit)?,
        Some("view") => load.run(Duration::from_secs(number(4)?), &Load::view)?,
        Some("ask") => load.run(Duration::from_secs(number(4)?), &Load::ask)?,
        Some("share") => load.run(Duration::from_secs(number(4)?), &Load::share)?,
        _ => return Err("make, visit, edit, view, ask or share".into()),
    };
    println!("{line}");
    Ok(())
}

/// What one thread does until a time.
type Work = dyn Fn(&Load, u64, Instant, &mut Times) -> Result<(), Box<dyn Error>> + Sync;

struct Load {
    database: Postgres,
    vaults: u64,
    threads: u64,
}

/// Microseconds that each opening and each edit took.
#[derive(Default)]
struct Times {
    open: Vec<u128>,
    edit: Vec<u128>,
}

impl Load {
    fn id(vault: u64) -> VaultId {
        VaultId((u128::from(vault) + 1).to_be_bytes())
    }

    fn key(vault: u64) -> RawKey {
        let mut bytes = [7; 32];
        bytes[..8].copy_from_slice(&vault.to_be_bytes());
        RawKey::from_bytes(&bytes)
    }

    fn open(&self, vault: u64) -> Result<Session, StoreError> {
        let closed = VaultOptions::new().open_in(&self.database, Self::id(vault))?;
        { closed }.unlock_with(&Self::key(vault))
    }

    fn make(&self) -> Result<serde_json::Value, Box<dyn Error>> {
        let (next, begin) = (AtomicU64::new(0), Instant::now());
        let work = || -> Result<(), Box<dyn Error + Send + Sync>> {
            loop {
                let vault = next.fetch_add(1, Ordering::Relaxed);
                if vault >= self.vaults {
                    return Ok(());
                }
                if vault % 5_000 == 0 {
                    eprintln!("{vault} of {}", self.vaults);
                }
                match VaultOptions::new().create_in(
                    &self.database,
                    Self::id(vault),
                    &Self::key(vault),
                ) {
                    Ok(session) => {
                        session.files().write(FILE, &text(0))?;
                        session.lock();
                    }
                    Err(StoreError::AlreadyExists) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
        })
        .map_err(|error| error.to_string())?;
        Ok(serde_json::json!({ "vaults": self.vaults, "seconds": begin.elapsed().as_secs_f64() }))
    }

    fn run(&self, time: Duration, work: &Work) -> Result<serde_json::Value, Box<dyn Error>> {
        let (begin, all) = (Instant::now(), Mutex::new(Times::default()));
        let failures = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..self.threads {
                let (all, failures) = (&all, &failures);
                scope.spawn(move || {
                    let mut times = Times::default();
                    let done = work(self, thread, begin + time, &mut times);
                    if let (Err(error), Ok(mut failures)) = (done, failures.lock()) {
                        failures.push(error.to_string());
                    }
                    if let Ok(mut all) = all.lock() {
                        all.open.append(&mut times.open);
                        all.edit.append(&mut times.edit);
                    }
                });
            }
        });
        if let Some(failure) = failures.into_inner()?.first() {
            return Err(failure.clone().into());
        }
        let (seconds, mut times) = (begin.elapsed().as_secs_f64(), all.into_inner()?);
        let (open, edit) = (summary(&mut times.open), summary(&mut times.edit));
        let (threads, trips) = (self.threads, self.database.round_trips());
        Ok(serde_json::json!({
            "threads": threads, "seconds": seconds, "trips": trips, "open": open, "edit": edit,
        }))
    }

    fn visit(&self, thread: u64, end: Instant, times: &mut Times) -> Result<(), Box<dyn Error>> {
        let mut state = thread + 1;
        while Instant::now() < end {
            // The generator of Knuth's MMIX.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let begin = Instant::now();
            let session = self.open((state >> 20) % self.vaults)?;
            session.files().read(FILE)?;
            times.open.push(begin.elapsed().as_micros());
            let begin = Instant::now();
            session.files().write(FILE, &text(state))?;
            times.edit.push(begin.elapsed().as_micros());
            session.lock();
        }
        Ok(())
    }

    fn edit(&self, thread: u64, end: Instant, times: &mut Times) -> Result<(), Box<dyn Error>> {
        Self::overwrite(&self.open(thread % self.vaults)?, FILE, end, times)
    }

    fn share(&self, thread: u64, end: Instant, times: &mut Times) -> Result<(), Box<dyn Error>> {
        let file = format!("/memories/{thread}.md");
        Self::overwrite(&self.open(0)?, &file, end, times)
    }

    fn overwrite(
        session: &Session,
        file: &str,
        end: Instant,
        times: &mut Times,
    ) -> Result<(), Box<dyn Error>> {
        let mut number = 0;
        while Instant::now() < end {
            number += 1;
            let begin = Instant::now();
            session.files().write(file, &text(number))?;
            times.edit.push(begin.elapsed().as_micros());
        }
        Ok(())
    }

    fn ask(&self, _thread: u64, end: Instant, times: &mut Times) -> Result<(), Box<dyn Error>> {
        while Instant::now() < end {
            let begin = Instant::now();
            self.database.facts()?;
            times.open.push(begin.elapsed().as_micros());
        }
        Ok(())
    }

    fn view(&self, thread: u64, end: Instant, times: &mut Times) -> Result<(), Box<dyn Error>> {
        let tool = MemoryTool::new(self.open(thread % self.vaults)?);
        let call = format!(r#"{{"command":"view","path":"{FILE}"}}"#);
        while Instant::now() < end {
            let begin = Instant::now();
            tool.try_run_json(&call)?;
            times.open.push(begin.elapsed().as_micros());
        }
        Ok(())
    }
}

/// A text of 1 KiB.
fn text(mark: u64) -> String {
    format!("{mark:020}\n{}", "one of the lines to remember here\n".repeat(29))
}

fn summary(times: &mut [u128]) -> serde_json::Value {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    serde_json::json!({ "count": times.len(), "p50_us": at(50), "p99_us": at(99) })
}

const FILE: &str = "/memories/notes.md";
