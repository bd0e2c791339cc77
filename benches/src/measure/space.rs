//! Disk and memory: bytes written for an edit, memory of a session, size of a store.
//!
//! The bytes written come from `/proc/self/io` of this process: `write_bytes`, the file pages that it made
//! dirty, and `wchar`, the bytes that it passed to `write`. If the kernel caches a file in large folios, one
//! dirty byte counts as a whole folio, so neither is the disk's own number. Neither includes the journal of
//! the file system.

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use inmost::{SessionOptions, StorageEngine};
use serde_json::{Value, json};

use crate::peers::Kind;
use crate::results::Row;
use crate::store;
use crate::trace::text_of;

/// Measures the bytes that every peer writes for one durable one-line edit of a 2 KiB file at depth 3, and
/// for an append of 4 KiB. Each has two rows, `written` and `handed`. A sample is the average of `edits`
/// edits.
///
/// # Errors
/// The errors of the peers.
pub fn written(work: &Path, samples: usize, edits: u64) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut log = File::create(work.join("appended"))?;
    let mut rows = counted("append", samples, edits, |_| {
        log.write_all(&[b'x'; 4_096])?;
        Ok(log.sync_data()?)
    })?;
    for kind in Kind::ALL {
        let peer = kind.begin(&work.join(format!("written-{}", kind.name())))?;
        let call = |json: &Value| -> Result<(), Box<dyn Error>> {
            peer.call(&json.to_string()).map_err(|error| format!("{}: {error}", kind.name()))?;
            Ok(())
        };
        let path = "/memories/project/notes/today.md";
        let text = text_of(2_000, 2) + "colour: green\n";
        call(&json!({"command": "create", "path": path, "file_text": text}))?;
        let colours = ["colour: green", "colour: amber"];
        let edit = |[old, new]: [&str; 2]| json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new});
        let [there, back] = [edit(colours), edit([colours[1], colours[0]])];
        rows.extend(counted(kind.name(), samples, edits, |turn| {
            call(if turn % 2 == 0 { &there } else { &back })
        })?);
    }
    Ok(rows)
}

/// Measures the resident memory of a session that has read every file of a filled store, minus the memory of
/// the process before. The process must do nothing else.
///
/// # Errors
/// The errors of the library.
pub fn resident(store: &Path, files: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let before = of_proc("/proc/self/status", "VmRSS:")? * 1_024;
    let session = store::open(store, SessionOptions::new())?;
    let opened = of_proc("/proc/self/status", "VmRSS:")? * 1_024;
    for number in 0..files {
        session.files().read(&store::path_of(number))?;
    }
    let after = of_proc("/proc/self/status", "VmRSS:")? * 1_024;
    session.lock();
    let row = |name: &str, bytes: u64| Row::of_bytes(format!("resident-{files}/{name}"), &[bytes]);
    Ok(vec![
        row("opened", opened.saturating_sub(before)),
        row("read", after.saturating_sub(before)),
    ])
}

/// Measures the resident memory of a process that unlocks many stores of 100 files, and has read every file of each,
/// minus the memory of the process before. The stores are created below `folder` if it does not exist, by a process
/// of their own: what creating leaves behind in memory must not count.
///
/// # Errors
/// The errors of the library.
pub fn vaults(folder: &Path, count: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    if !folder.exists() {
        let measure = std::env::current_exe()?;
        let mut fill = Command::new(measure);
        fill.arg("fill-vaults").arg(folder).arg(count.to_string());
        if !fill.status()?.success() {
            return Err("the stores could not be created".into());
        }
    }
    let before = of_proc("/proc/self/status", "VmRSS:")? * 1_024;
    let open = |number| store::open(&vault(folder, number), SessionOptions::new());
    let sessions: Vec<_> = (0..count).map(open).collect::<Result<_, _>>()?;
    let opened = of_proc("/proc/self/status", "VmRSS:")? * 1_024;
    for session in &sessions {
        for file in 0..VAULT_FILES {
            session.files().read(&store::path_of(file))?;
        }
    }
    let after = of_proc("/proc/self/status", "VmRSS:")? * 1_024;
    let row = |name: &str, bytes: u64| Row::of_bytes(format!("vaults-{count}/{name}"), &[bytes]);
    Ok(vec![
        row("opened", opened.saturating_sub(before)),
        row("read", after.saturating_sub(before)),
    ])
}

/// Creates the stores of [`vaults`].
///
/// # Errors
/// The errors of the library.
pub fn fill_vaults(folder: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    fs::create_dir(folder)?;
    for number in 0..count {
        let session = store::create(&vault(folder, number), StorageEngine::Sled)?;
        store::fill(&session, VAULT_FILES)?;
        session.lock();
    }
    Ok(())
}

fn vault(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("vault-{number:04}"))
}

/// Files of one of many stores.
const VAULT_FILES: usize = 100;

/// Measures the disk space of a store, before and after a rewrite, and the live bytes: keys and values of the
/// records that the rewrite kept.
///
/// # Errors
/// The errors of the library.
pub fn stored(name: &str, store: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let before = size(store)?;
    let session = store::open(store, SessionOptions::new())?;
    let text = session.status()?.bytes;
    session.purge()?;
    session.lock();
    drop(session);
    let after = size(store)?;
    let ballast = fs::metadata(store.join("ballast")).map_or(0, |it| it.blocks() * 512);
    let live = live(store)?;
    let row = |row: &str, bytes: u64| Row::of_bytes(format!("stored-{name}/{row}"), &[bytes]);
    Ok(vec![
        row("text", text),
        row("live", live),
        row("used", before),
        row("rewritten", after),
        row("ballast", ballast),
    ])
}

/// Sums the keys and values in the engine's files, without using the library.
fn live(store: &Path) -> Result<u64, Box<dyn Error>> {
    for entry in fs::read_dir(store)? {
        let path = entry?.path();
        if path.is_dir() {
            let config = sled::Config::new().path(path).segment_size(2 << 20).flush_every_ms(None);
            let mut bytes = 0;
            for record in config.open()?.iter() {
                let (key, value) = record?;
                bytes += key.len() + value.len();
            }
            return Ok(u64::try_from(bytes)?);
        }
    }
    Err("no generation".into())
}

/// Returns the bytes that the files of a store occupy, without the ballast, which is the same for every
/// store.
fn size(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            bytes += size(&entry.path())?;
        } else if entry.file_name() != "ballast" {
            bytes += entry.metadata()?.blocks() * 512;
        }
    }
    Ok(bytes)
}

/// Makes an even number of edits per sample, so that every sample starts with the same file.
fn counted(
    name: &str,
    samples: usize,
    edits: u64,
    mut edit: impl FnMut(u64) -> Result<(), Box<dyn Error>>,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let edits = edits.next_multiple_of(2);
    let counters = ["write_bytes:", "wchar:"];
    let (mut written, mut handed) = (Vec::new(), Vec::new());
    for _ in 0..samples {
        let before = counters.map(|counter| of_proc("/proc/self/io", counter));
        (0..edits).try_for_each(&mut edit)?;
        let after = counters.map(|counter| of_proc("/proc/self/io", counter));
        let [from, from_handed] = before;
        let [to, to_handed] = after;
        written.push((to? - from?) / edits);
        handed.push((to_handed? - from_handed?) / edits);
    }
    let rows = [("written", written), ("handed", handed)];
    Ok(rows.map(|(what, bytes)| Row::of_bytes(format!("{what}/{name}"), &bytes)).into())
}

fn of_proc(file: &str, field: &str) -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or_else(|| format!("{file} has no {field}"))?.parse()?)
}
