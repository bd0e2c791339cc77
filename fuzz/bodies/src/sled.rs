//! Files of sled that were changed: the check before sled opens them, and sled behind it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use inmost_engines::local_engine::{Expected, Frontier};
use inmost_sled::{KIND, forgery};
use inmost_storage::{Address, Batch};
use tempfile::TempDir;

use crate::input::Input;

type Records = BTreeMap<Address, Vec<u8>>;

/// The files of an engine, and what is in them.
struct Base {
    log: Vec<u8>,
    /// Where the parts of the log begin, and their lengths.
    parts: Vec<(usize, usize)>,
    snapshot: (String, Vec<u8>),
    frontier: Frontier,
    records: Records,
}

pub(crate) fn run(data: &[u8]) {
    static BASES: OnceLock<[Base; 2]> = OnceLock::new();
    let bases = BASES.get_or_init(|| [base(false), base(true)]);
    let mut input = Input::new(data);
    let base = &bases[input.below(2)];
    let mut log = base.log.clone();
    let mut snapshot = base.snapshot.1.clone();
    let mut is_forged = false;
    for _ in 0..=input.below(4) {
        is_forged |= change(&mut input, base, &mut log, &mut snapshot);
    }
    let parent = folder();
    let folder = parent.path().join("generation");
    fs::create_dir_all(folder.join("blobs")).unwrap();
    fs::write(folder.join("db"), &log).unwrap();
    if input.below(4) != 3 {
        fs::write(folder.join(&base.snapshot.0), &snapshot).unwrap();
    }
    if input.one_in(16) {
        fs::write(folder.join("conf"), input.bytes(80)).unwrap();
    }
    match open(&folder, base.frontier, base, is_forged) {
        Outcome::Refused => {
            let unchanged = fs::read(folder.join("db")).unwrap() == log;
            assert!(unchanged || is_forged, "a refused log was written to");
        }
        Outcome::Failed => {}
        // What was written to it is there the next time.
        Outcome::Done(frontier) => {
            let again = open(&folder, frontier, base, is_forged);
            assert!(is_forged || matches!(again, Outcome::Done(_)), "what was accepted is refused");
        }
    }
}

/// What has become of an opening.
enum Outcome {
    Refused,
    /// Something failed later.
    Failed,
    /// Everything was read, and a record written.
    Done(Frontier),
}

/// Opens the files, reads everything and writes a record.
fn open(folder: &Path, frontier: Frontier, base: &Base, is_forged: bool) -> Outcome {
    let expected = Expected { frontier, ..Expected::anything() };
    let Ok(engine) = (KIND.open)(folder, &expected) else { return Outcome::Refused };
    let mut found: Records = match engine.scan(None, usize::MAX) {
        Ok(found) => found.into_iter().collect(),
        Err(error) => {
            assert!(is_forged, "{error:?}");
            engine.discard();
            return Outcome::Failed;
        }
    };
    found.remove(&NEW);
    assert!(is_forged || found == base.records, "a record is lost or not what was stored");
    let puts = vec![(NEW, vec![1; 297])];
    let stored = engine.apply(&Batch { puts, ..Batch::default() }).and_then(|()| engine.sync());
    assert!(is_forged || stored.is_ok(), "{stored:?}");
    let frontier = engine.frontier();
    let closed = engine.close();
    assert!(is_forged || closed.is_ok(), "{closed:?}");
    if stored.is_ok() && closed.is_ok() { Outcome::Done(frontier) } else { Outcome::Failed }
}

/// Changes something. Returns whether the checksums fit afterwards.
fn change(input: &mut Input<'_>, base: &Base, log: &mut Vec<u8>, snapshot: &mut Vec<u8>) -> bool {
    let kind = input.below(10);
    let (at, length) = base.parts[input.below(base.parts.len())];
    match kind {
        0 => {
            let length = input.below(log.len() + 1);
            log.truncate(length);
        }
        1 => log.resize(base.log.len() + input.pick(&[1, 4_096, SEGMENT]), 0),
        2 => log.iter_mut().skip(at).take(length).for_each(|byte| *byte = 0),
        3 => {
            let (other, length) = base.parts[input.below(base.parts.len())];
            overwrite(log, at, &base.log[other..][..length]);
            return true;
        }
        4 => {
            let (from, to) = (input.below(4) * SEGMENT, input.below(4) * SEGMENT);
            let end = base.log.len().min(from + SEGMENT);
            overwrite(log, to, base.log.get(from..end).unwrap_or_default());
            return true;
        }
        5 => {
            let at = input.below(snapshot.len() + 1);
            overwrite(snapshot, at, input.bytes(16));
        }
        6 => {
            let body = snapshot.len().saturating_sub(12);
            let mut changed = snapshot[..body].to_vec();
            let at = input.below(body + 1);
            overwrite(&mut changed, at, input.bytes(16));
            changed.truncate(body - input.pick(&[0, 0, 0, 1, 24]).min(body));
            *snapshot = forgery::snapshot(&changed);
            return true;
        }
        _ => {
            let within =
                if input.one_in(4) { input.below(length) } else { input.below(length.min(24)) };
            overwrite(log, at + within, input.bytes(16));
            if kind == 9 {
                forgery::mend(log, at);
                return true;
            }
        }
    }
    false
}

/// Overwrites bytes as far as there are any.
fn overwrite(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes.iter_mut().skip(at).zip(new).for_each(|(to, from)| *to = *from);
}

/// Files after a clean end, or those of a process that was killed when it had filled more than two segments.
fn base(is_killed: bool) -> Base {
    let parent = folder();
    let folder = parent.path().join("generation");
    let mut engine = (KIND.create)(&folder).unwrap();
    let mut records = Records::new();
    for round in 0..if is_killed { 400_u16 } else { 40 } {
        let mut batch = Batch::default();
        for number in 0..3_u16 {
            let number = (round * 3 + number) % 50;
            let address = Address([u8::try_from(number).unwrap() + 1; 32]);
            let length = [297, 1_065, 4_137][usize::from(number % 3)];
            let value: Vec<u8> = (0..length).map(|at: u16| (at ^ round).to_le_bytes()[0]).collect();
            if round % 7 == 3 && number % 3 == 0 {
                records.remove(&address);
                batch.deletes.push(address);
            } else {
                records.insert(address, value.clone());
                batch.puts.push((address, value));
            }
        }
        engine.apply(&batch).unwrap();
        engine.sync().unwrap();
        if round % 150 == 20 {
            let frontier = engine.frontier();
            engine.close().unwrap();
            let expected = Expected { frontier, ..Expected::anything() };
            engine = (KIND.open)(&folder, &expected).unwrap();
        }
    }
    let frontier = engine.frontier();
    let read = || {
        let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.starts_with("snap."));
        let name = names.pop().unwrap();
        (fs::read(folder.join("db")).unwrap(), (name.clone(), fs::read(folder.join(name)).unwrap()))
    };
    let (log, snapshot) = if is_killed {
        let files = read();
        engine.close().unwrap();
        files
    } else {
        engine.close().unwrap();
        read()
    };
    Base { parts: forgery::parts(&log), log, snapshot, frontier, records }
}

/// In memory, if there is such a place.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

const NEW: Address = Address([0xEE; 32]);
const SEGMENT: usize = 2 << 20;
