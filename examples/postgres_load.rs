//! Load on vaults in a PostgreSQL database, for the labs in `tests/postgres`: several threads, each with a session of its own.
//!
//! `postgres_load URL run VAULTS THREADS SECONDS` makes the vaults, then writes numbered texts and prints one line for each call:
//! `ack THREAD NUMBER MICROSECONDS`, or the outcome `unknown`, `unavailable` (not stored), `rolledback`, `failed`.
//! `postgres_load URL check VAULTS THREADS` opens each vault anew and prints what each thread's file holds, and whether the
//! vault is whole. The password comes from PGPASSWORD. The keys are not secret: they are the numbers of the vaults.

use std::error::Error;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use inmost::{
    FileError, Postgres, PostgresConfig, PostgresUrl, RawKey, Session, SessionOptions, StoreError,
    VaultId, VaultOptions,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| -> Result<u64, Box<dyn Error>> {
        Ok(arguments.get(index).ok_or("an argument is missing")?.parse()?)
    };
    let url = PostgresUrl::parse(arguments.first().ok_or("no URL")?)?;
    let (vaults, threads) = (number(2)?, number(3)?);
    let config = PostgresConfig::new(&url).password_from_environment()?;
    let config =
        config.max_connections(usize::try_from(threads)? + 2).call_timeout(Duration::from_secs(8));
    let database = Postgres::new(config)?;
    match arguments.get(1).map(String::as_str) {
        Some("run") => run(&database, vaults, threads, Duration::from_secs(number(4)?)),
        Some("check") => check(&database, vaults, threads),
        _ => Err("run or check".into()),
    }
}

fn id(vault: u64) -> VaultId {
    VaultId((u128::from(vault) + 1).to_be_bytes())
}

fn key(vault: u64) -> RawKey {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&vault.to_be_bytes());
    RawKey::from_bytes(&bytes)
}

fn open(database: &Postgres, vault: u64) -> Result<Session, StoreError> {
    let options =
        VaultOptions::new().session(SessionOptions::new().outcome_timeout(Duration::from_secs(30)));
    options.open_in(database, id(vault))?.unlock_with(&key(vault))
}

fn run(
    database: &Postgres,
    vaults: u64,
    threads: u64,
    time: Duration,
) -> Result<(), Box<dyn Error>> {
    for vault in 0..vaults {
        match VaultOptions::new().create_in(database, id(vault), &key(vault)) {
            Ok(session) => session.lock(),
            Err(StoreError::AlreadyExists) => {}
            Err(error) => return Err(error.into()),
        }
    }
    println!("ready");
    let end = Instant::now() + time;
    let out = Mutex::new(());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let out = &out;
            scope.spawn(move || {
                if let Err(error) = work(database, thread % vaults, thread, end, out) {
                    println!("failed {thread} 0 {error}");
                }
            });
        }
    });
    println!("trips {}", database.round_trips());
    Ok(())
}

/// Writes numbers until the time is over or the store tells that it went back.
fn work(
    database: &Postgres,
    vault: u64,
    thread: u64,
    end: Instant,
    out: &Mutex<()>,
) -> Result<(), StoreError> {
    let session = open(database, vault)?;
    let path = path(thread);
    let mut number = 0_u64;
    while Instant::now() < end {
        number += 1;
        let begin = Instant::now();
        let written = session.files().write(&path, &format!("{number}\n"));
        let outcome = match written {
            Ok(()) => "ack",
            Err(FileError::Store(StoreError::CommitUnknown)) => "unknown",
            Err(FileError::Store(StoreError::Unavailable(_))) => "unavailable",
            Err(FileError::Store(StoreError::RolledBack { .. })) => "rolledback",
            Err(error) => {
                println!("failed {thread} {number} {error}");
                return Ok(());
            }
        };
        let _one = out.lock();
        println!("{outcome} {thread} {number} {}", begin.elapsed().as_micros());
        if outcome == "rolledback" {
            return Ok(());
        }
    }
    Ok(())
}

fn check(database: &Postgres, vaults: u64, threads: u64) -> Result<(), Box<dyn Error>> {
    for vault in 0..vaults {
        let session = open(database, vault)?;
        for thread in (0..threads).filter(|thread| thread % vaults == vault) {
            match session.files().read(&path(thread)) {
                Ok(text) => println!("stored {thread} {}", text.as_str().trim()),
                Err(FileError::NotFound) => println!("stored {thread} 0"),
                Err(error) => return Err(error.into()),
            }
        }
        let report = session.check()?;
        println!(
            "{} {vault} {}",
            if report.is_clean() { "whole" } else { "damaged" },
            report.records
        );
    }
    Ok(())
}

fn path(thread: u64) -> String {
    format!("/memories/thread-{thread}.txt")
}
