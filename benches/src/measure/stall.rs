//! Measures the longest time that a read waits while another thread writes.
//!
//! The engine does some of its work only now and then, and reads may have to wait for it. The writes go to
//! different files, so that they reach the engine. The reader's cache is small, so that it asks the engine.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use inmost::{Session, SessionOptions};

use super::copies;
use crate::random::Random;
use crate::results::Row;
use crate::store;
use crate::trace::text_of;

/// Makes this many rounds of writes in a copy of a filled store, and returns the longest read of each round
/// and all writes.
///
/// # Errors
/// The errors of the library.
pub fn run(
    store: &Path,
    files: usize,
    rounds: usize,
    writes: usize,
    work: &Path,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let path = work.join("stalled");
    copies::copy(store, &path)?;
    copies::settle()?;
    let session = store::open(&path, SessionOptions::new().max_cache_bytes(64 << 10))?;
    let mut longest = Vec::new();
    for round in 0..rounds {
        longest.push(one_round(&session, files, writes, round)?);
    }
    session.lock();
    drop(session);
    fs::remove_dir_all(&path)?;
    Ok(vec![Row::of_times(format!("stall-{files}/longest-read"), &longest)])
}

fn one_round(
    session: &Session,
    files: usize,
    writes: usize,
    round: usize,
) -> Result<Duration, Box<dyn Error>> {
    let is_over = AtomicBool::new(false);
    let reader = || -> Result<Duration, inmost::FileError> {
        let (mut random, mut longest) = (Random::new(round as u64), Duration::ZERO);
        while !is_over.load(Ordering::Relaxed) {
            let path = store::path_of(random.below(files));
            let start = Instant::now();
            std::hint::black_box(session.files().read(&path)?);
            longest = longest.max(start.elapsed());
        }
        Ok(longest)
    };
    // Differs from round to round, because a write of the same text might be skipped.
    let text = text_of(1_000, 1_000 + round as u64);
    thread::scope(|scope| {
        let reader = scope.spawn(reader);
        let written = (0..writes).try_for_each(|write| {
            session.files().write(&store::path_of(write * 7_919 % files), &text)
        });
        is_over.store(true, Ordering::Relaxed);
        let longest = reader.join().expect("the reader")?;
        written?;
        Ok(longest)
    })
}
