//! Measures what a short use of a store costs, without key derivation: opening it for one read, and opening
//! it for one edit.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use inmost::SessionOptions;

use super::copies;
use super::process::Written;
use crate::bare_sled::BareSled;
use crate::results::Row;
use crate::store;

/// The longest store that is copied twice. The comparison with bare sled needs the second copy.
const COMPARED_FILES: usize = 100_000;

/// Opens a copy of a filled store with the raw key, this many times for one read and as often for one edit.
/// Every time it was locked before. Bare sled opens a copy of the engine's files for one batch.
///
/// # Errors
/// The errors of the library and of sled.
pub fn run(
    store: &Path,
    files: usize,
    times: usize,
    work: &Path,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let (path, bare) = (work.join("opened"), work.join("opened-bare"));
    copies::copy(store, &path)?;
    let is_compared = files <= COMPARED_FILES;
    // The first session after a copy may renew files that a copy does not preserve.
    first_read(&path, files, 0)?;
    if is_compared {
        copies::copy(&copies::generation(&path)?, &bare)?;
        bare_batch(&bare)?;
    }
    copies::settle()?;
    let (mut opens, mut reads, mut wholes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut written, mut handed) = (Vec::new(), Vec::new());
    let (mut edits, mut batches, mut bare_handed) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 1..=times {
        let before = Written::now()?;
        let (open, read) = first_read(&path, files, turn)?;
        let bytes = Written::now()?.since(&before);
        opens.push(open);
        reads.push(read);
        wholes.push(open + read);
        written.push(bytes.pages);
        handed.push(bytes.handed);
        edits.push(one_edit(&path, files, turn)?);
        if is_compared {
            let before = Written::now()?;
            drop(BareSled::begin(&bare)?);
            bare_handed.push(Written::now()?.since(&before).handed);
            batches.push(bare_batch(&bare)?);
        }
    }
    fs::remove_dir_all(&path)?;
    let time =
        |name: &str, times: &[Duration]| Row::of_times(format!("open-{files}/{name}"), times);
    let mut rows = vec![
        time("unlock", &opens),
        time("first-read", &reads),
        time("one-read", &wholes),
        time("one-edit", &edits),
        Row::of_bytes(format!("open-{files}/written"), &written),
        Row::of_bytes(format!("open-{files}/handed"), &handed),
    ];
    if is_compared {
        fs::remove_dir_all(&bare)?;
        rows.push(time("bare-batch", &batches));
        rows.push(Row::of_bytes(format!("open-{files}/bare-handed"), &bare_handed));
    }
    Ok(rows)
}

/// Returns the time until the store is unlocked, and the time of the first read. Locking is not timed.
fn first_read(
    path: &Path,
    files: usize,
    turn: usize,
) -> Result<(Duration, Duration), Box<dyn Error>> {
    let file = some_file(files, turn);
    let start = Instant::now();
    let session = store::open(path, SessionOptions::new())?;
    let unlocked = Instant::now();
    std::hint::black_box(session.files().read(&file)?);
    let end = Instant::now();
    session.lock();
    Ok((unlocked - start, end - unlocked))
}

/// Returns the time of opening, one edit and locking.
fn one_edit(path: &Path, files: usize, turn: usize) -> Result<Duration, Box<dyn Error>> {
    let (file, line) = (some_file(files, turn), format!("- the edit of turn {turn:07}\n"));
    let start = Instant::now();
    let session = store::open(path, SessionOptions::new())?;
    session.files().append(&file, &line)?;
    session.lock();
    drop(session);
    Ok(start.elapsed())
}

/// Returns the time of opening sled, one durable batch of five records and closing it.
fn bare_batch(path: &Path) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    let sled = BareSled::begin(path)?;
    sled.change("/memories/project/notes/today.md", 1_000).map_err(|error| error.to_string())?;
    drop(sled);
    Ok(start.elapsed())
}

/// Returns the path of a file that is not near that of the last turn.
fn some_file(files: usize, turn: usize) -> String {
    store::path_of(turn * 7_919 % files)
}
