//! Disk and memory: bytes written for an edit, memory of sessions, sizes of stores.
//!
//! Neither of the two counters of [`Written`] is the disk's own number, and neither includes the journal of
//! the file system.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use inmost::{Session, SessionOptions};

use super::copies;
use super::process::{Written, resident as memory};
use crate::calls::{create_edited, edits};
use crate::peers::Kind;
use crate::results::Row;
use crate::store;

/// Measures the bytes that every peer writes for one durable one-line edit of a 2 KiB file at depth 3, and
/// for an append of 4 KiB. Each has two rows, `written` and `handed`. A sample is the average of `edits`
/// edits.
///
/// # Errors
/// The errors of the peers.
pub fn written(work: &Path, samples: usize, edits_each: u64) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut log = File::create(work.join("appended"))?;
    let mut rows = counted("append", samples, edits_each, || {
        log.write_all(&[b'x'; 4_096])?;
        Ok(log.sync_data()?)
    })?;
    for kind in Kind::ALL {
        let peer = kind.begin(&work.join(format!("written-{}", kind.name())))?;
        let path = "/memories/project/notes/today.md";
        create_edited(&*peer, path)?;
        let edits = edits(path);
        let mut next = edits.iter().cycle();
        rows.extend(counted(kind.name(), samples, edits_each, || {
            let edit = next.next().ok_or("a cycle never ends")?;
            peer.call(edit).map_err(|error| format!("{}: {error}", kind.name()))?;
            Ok(())
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
    let before = memory()?;
    let session = store::open(store, SessionOptions::new())?;
    let opened = memory()?;
    read_all(&session, files)?;
    let after = memory()?;
    session.lock();
    let row = |name: &str, bytes: u64| Row::of_bytes(format!("resident-{files}/{name}"), &[bytes]);
    Ok(vec![
        row("opened", opened.saturating_sub(before)),
        row("read", after.saturating_sub(before)),
    ])
}

/// Measures the resident memory of this many sessions in one process, each on its own copy of a filled store,
/// after each has read every file. The process must do nothing else. The environment must set the allocator as it should for a
/// process with many stores: glibc reads that only when a process starts.
///
/// # Errors
/// The errors of the library, and if the environment lacks the setting.
pub fn vaults(
    store: &Path,
    files: usize,
    count: usize,
    work: &Path,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let (name, size) = THRESHOLD;
    if env::var(name).as_deref() != Ok(size) {
        return Err(format!("set {name}={size} in the environment").into());
    }
    let folder = work.join("vaults");
    fs::create_dir(&folder)?;
    for number in 0..count {
        copies::copy(store, &folder.join(number.to_string()))?;
    }
    copies::settle()?;
    let before = memory()?;
    let mut sessions = Vec::new();
    for number in 0..count {
        sessions.push(store::open(&folder.join(number.to_string()), SessionOptions::new())?);
    }
    let opened = memory()?;
    for session in &sessions {
        read_all(session, files)?;
    }
    let after = memory()?;
    sessions.iter().for_each(Session::lock);
    drop(sessions);
    fs::remove_dir_all(&folder)?;
    let row = |name: &str, bytes: u64| Row::of_bytes(format!("vaults-{count}/{name}"), &[bytes]);
    Ok(vec![
        row("opened", opened.saturating_sub(before)),
        row("read", after.saturating_sub(before)),
    ])
}

/// The variable of glibc, and the size in bytes from which it takes a buffer from the system.
const THRESHOLD: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "262144");

fn read_all(session: &Session, files: usize) -> Result<(), Box<dyn Error>> {
    for number in 0..files {
        std::hint::black_box(session.files().read(&store::path_of(number))?);
    }
    Ok(())
}

/// Measures the disk space of a store, before and after a rewrite, and the live bytes: keys and values of the
/// records that the rewrite kept. A store that does not exist is created empty.
///
/// # Errors
/// The errors of the library.
pub fn stored(name: &str, store: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    if !store.exists() {
        let session = store::create(store, inmost::StorageEngine::Sled)?;
        session.lock();
    }
    let used = Sizes::of(store)?;
    let session = store::open(store, SessionOptions::new())?;
    let text = session.status()?.bytes;
    session.purge()?;
    session.lock();
    drop(session);
    let rewritten = Sizes::of(store)?;
    let live = live(store)?;
    let row = |row: &str, bytes: u64| Row::of_bytes(format!("stored-{name}/{row}"), &[bytes]);
    let mut rows = vec![row("text", text), row("live", live)];
    for (when, sizes) in [("used", used), ("rewritten", rewritten)] {
        let Sizes { engine, journal, ballast, rest } = sizes;
        rows.push(row(when, engine + journal + ballast + rest));
        for (part, bytes) in
            [("engine", engine), ("journal", journal), ("ballast", ballast), ("rest", rest)]
        {
            rows.push(row(&format!("{when}-{part}"), bytes));
        }
    }
    Ok(rows)
}

/// Sums the keys and values in the engine's files, without using the library.
fn live(store: &Path) -> Result<u64, Box<dyn Error>> {
    let config = sled::Config::new().path(copies::generation(store)?);
    let mut bytes = 0;
    for record in config.segment_size(2 << 20).flush_every_ms(None).open()?.iter() {
        let (key, value) = record?;
        bytes += key.len() + value.len();
    }
    Ok(u64::try_from(bytes)?)
}

/// The bytes that the files of a store occupy on the disk.
#[derive(Default)]
struct Sizes {
    /// The folders of generations, without the journal.
    engine: u64,
    /// The file `journal` of a generation, if there is one.
    journal: u64,
    /// The space reserved for a full disk.
    ballast: u64,
    /// Headers, anchor and lock file.
    rest: u64,
}

impl Sizes {
    fn of(store: &Path) -> Result<Self, Box<dyn Error>> {
        let mut sizes = Self::default();
        for entry in fs::read_dir(store)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                let journal = fs::metadata(entry.path().join("journal")).map_or(0, on_disk);
                sizes.engine += occupied(&entry.path())? - journal;
                sizes.journal += journal;
            } else if entry.file_name() == "ballast" {
                sizes.ballast += on_disk(entry.metadata()?);
            } else {
                sizes.rest += on_disk(entry.metadata()?);
            }
        }
        Ok(sizes)
    }
}

fn occupied(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_folder = entry.file_type()?.is_dir();
        bytes += if is_folder { occupied(&entry.path())? } else { on_disk(entry.metadata()?) };
    }
    Ok(bytes)
}

fn on_disk(metadata: fs::Metadata) -> u64 {
    metadata.blocks() * 512
}

/// Makes an even number of edits per sample, so that every sample starts with the same file.
fn counted(
    name: &str,
    samples: usize,
    edits: u64,
    mut edit: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let edits = edits.next_multiple_of(2);
    let (mut written, mut handed) = (Vec::new(), Vec::new());
    for _ in 0..samples {
        let before = Written::now()?;
        for _ in 0..edits {
            edit()?;
        }
        let bytes = Written::now()?.since(&before);
        written.push(bytes.pages / edits);
        handed.push(bytes.handed / edits);
    }
    let rows = [("written", written), ("handed", handed)];
    Ok(rows.map(|(what, bytes)| Row::of_bytes(format!("{what}/{name}"), &bytes)).into())
}
