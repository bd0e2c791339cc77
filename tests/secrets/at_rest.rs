//! Tests of the files on disk: they contain no word of the stored texts, records have one of five lengths,
//! two stores share nothing, and only their owner can open them.
//!
//! A child process uses a store in every way, with its own folders for temporary files, home and work.

mod calls;
mod program;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::host::child::Order;
use crate::host::{self, Run, WAYS};
use crate::traces::{Needle, Search, of_text, of_words, word};
use program::Through;

/// Uses a store in every way, and returns everything that must not be found.
fn use_everything(run: &mut Run) -> Vec<Needle> {
    let mut needles = of_text("label", "first passphrase");
    needles.extend(run.secrets());
    for (_, way) in WAYS {
        needles.extend(of_words(&way(run)));
    }
    assert_eq!(run.tell(Order::Upkeep, ""), "done");
    needles.extend(run.secrets());
    let wrong = format!("{} and more", word("wrong"));
    assert_eq!(run.tell(Order::Lock, ""), "locked");
    run.tell(Order::Drop, "");
    assert_eq!(run.tell(Order::Unlock, &wrong), "The passphrase is wrong.");
    assert_eq!(run.tell(Order::Unlock, &run.passphrase.clone()), "unlocked");
    needles.extend(of_words(&host::files(run)));
    // The journal of a session that was only dropped may still hold commits that the engine lacks.
    assert_eq!(run.tell(Order::Lock, ""), "locked");
    run.tell(Order::Drop, "");
    needles.extend(of_text("wrong passphrase", &wrong));
    needles
}

/// All files and folders below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(below(&path));
        }
        all.push(path);
    }
    all
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    below(folder).into_iter().filter(|path| path.is_file()).collect()
}

#[test]
fn nothing_that_was_stored_is_on_disk_in_any_form() {
    let mut run = Run::start();
    let search = Search::new(use_everything(&mut run));
    let files = files_below(run.folder());
    assert!(files.len() > 8, "store and backup: {files:?}");
    for file in &files {
        assert_eq!(search.traces(&fs::read(file).unwrap()), [], "{}", file.display());
        assert_eq!(search.traces(file.to_str().unwrap().as_bytes()), [], "{}", file.display());
    }
    for folder in ["tmp", "home", "work"] {
        assert_eq!(below(&run.folder().join(folder)), [] as [PathBuf; 0]);
    }
    // A control: the search finds a form that is present.
    let base64 = Needle::form(of_words(&["name".into()]), "base64");
    fs::write(run.folder().join("planted"), base64).unwrap();
    let planted = fs::read(run.folder().join("planted")).unwrap();
    assert_eq!(search.traces(&planted).len(), 1);
}

/// The records of a store as stored by its engine.
fn records(store: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let generations: Vec<_> = fs::read_dir(store)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("gen-"))
        .collect();
    let [generation] = generations.as_slice() else { panic!("{generations:?}") };
    let db = sled::Config::new()
        .segment_size(2 << 20)
        .path(generation)
        .flush_every_ms(None)
        .open()
        .unwrap();
    assert_eq!(db.tree_names().len(), 1, "everything is in one tree");
    let records = db.iter().map(|record| record.unwrap());
    let records = records.map(|(address, value)| (address.to_vec(), value.to_vec()));
    // The mark of the journal is not a record: it has a fixed address, and holds counters and a random name.
    records.filter(|(address, value)| *address != [0; 32] || value.len() != 40).collect()
}

#[test]
fn records_have_one_of_five_lengths() {
    let mut run = Run::start();
    use_everything(&mut run);
    let mut lengths = BTreeMap::new();
    for (address, value) in records(&run.store()) {
        assert_eq!(address.len(), 32);
        *lengths.entry(value.len()).or_insert(0) += 1;
    }
    let five = BTreeSet::from([297, 553, 1_065, 2_089, 4_137]);
    assert!(lengths.keys().all(|length| five.contains(length)), "{lengths:?}");
    assert!(lengths.len() >= 4, "too few to tell: {lengths:?}");
    // The engine stores values that are too long for its log in separate files.
    for file in files_below(&run.store()) {
        assert!(!file.to_str().unwrap().contains("blobs"), "{}", file.display());
    }
}

#[test]
fn two_stores_made_by_the_same_calls_share_nothing() {
    let mut runs = [Run::start(), Run::start()];
    for run in &mut runs {
        for (_, way) in WAYS {
            way(run);
        }
        // The journal of a session that was only dropped may still hold commits that the engine lacks.
        assert_eq!(run.tell(Order::Lock, ""), "locked");
        run.tell(Order::Drop, "");
    }
    let [one, other] = &runs;

    // The data that we pass to the engine must share nothing.
    let sealed = |run: &Run| records(&run.store()).into_iter().flat_map(|(a, v)| [a, v]).collect();
    let (first, second): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (sealed(one), sealed(other));
    assert!(first.len() > 100, "{}", first.len());
    let seen: HashSet<&[u8]> = first.iter().flat_map(|bytes| bytes.windows(16)).collect();
    let shared = second.iter().flat_map(|bytes| bytes.windows(16)).filter(|w| seen.contains(w));
    assert_eq!(shared.count(), 0);

    // All files, byte by byte.
    let all = |run: &Run| -> Vec<(PathBuf, Vec<u8>)> {
        let files = files_below(&run.store());
        files.into_iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect()
    };
    let (first, second) = (all(one), all(other));
    let seen: HashSet<&[u8]> = first.iter().flat_map(|(_, bytes)| bytes.windows(16)).collect();
    let mut shared = Vec::new();
    for (file, bytes) in &second {
        let name = file.strip_prefix(other.store()).unwrap();
        for (at, window) in bytes.windows(16).enumerate() {
            if seen.contains(window) && !may_be_shared(name, at, window) {
                shared.push(format!("{} at {at}: {window:02x?}", name.display()));
            }
        }
    }
    assert!(shared.is_empty(), "{} of them:\n{}", shared.len(), shared.join("\n"));
}

/// Returns whether two stores may share this run, because it has at most a few sealed bytes.
fn may_be_shared(file: &Path, at: usize, window: &[u8]) -> bool {
    // Unused space is zeros or ones, and so is most of the frame that the engine writes around a batch.
    // Sealed bytes look like that once in 500 million windows.
    if window.iter().filter(|byte| matches!(byte, 0 | 0xff)).count() >= 6 {
        return true;
    }
    match file.to_str().unwrap() {
        // The fields in clear text: magic, version, engine and flags; revision and generation; kind and cost
        // of a slot.
        "header.a" | "header.b" => {
            at == 0 || (32 - 8..48).contains(&at) || (113..144).contains(&at)
        }
        // The engine's first frames before any record, with the name of its only tree.
        name if name.ends_with("/db") => at < 96,
        // The engine's configuration.
        name => name.ends_with("/conf"),
    }
}

#[test]
fn only_the_owner_can_open_anything_whatever_the_umask() {
    for umask in ["000", "022", "777"] {
        let launcher = format!("umask {umask}; exec \"$0\" \"$@\"");
        let mut run = Run::start_with(&["sh", "-c", &launcher]);
        host::files(&mut run);
        assert_eq!(run.tell(Order::Upkeep, ""), "done");
        for store in [run.store(), run.folder().join("store.backup")] {
            let all = below(&store);
            assert!(all.len() > 4, "{all:?}");
            for path in all.iter().chain([&store]) {
                let mode = fs::metadata(path).unwrap().permissions().mode() & 0o7777;
                let expected = if path.is_dir() { 0o700 } else { 0o600 };
                assert_eq!(mode, expected, "umask {umask}: {mode:o} {}", path.display());
            }
        }
    }
}

/// Run by `tests/at_rest_strace.sh`.
#[test]
#[ignore = "needs strace; tests/at_rest_strace.sh installs it"]
fn nothing_that_is_written_shows_what_is_stored_and_nothing_is_written_elsewhere() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let launcher = [&calls::STRACE[..], &["-o", log.path().to_str().unwrap()]].concat();
    let mut run = Run::start_with(&launcher);
    let search = Search::new(use_everything(&mut run));
    run.finish();
    let calls = calls::parse(&fs::read_to_string(log.path()).unwrap());

    let mut opened = BTreeSet::new();
    for path in &calls.opened_for_writing {
        let path =
            if path.is_absolute() { path.clone() } else { run.folder().join("work").join(path) };
        assert!(
            path.starts_with(run.folder()) || path == Path::new("/dev/null"),
            "{}",
            path.display()
        );
        assert_eq!(search.traces(path.to_str().unwrap().as_bytes()), []);
        opened.insert(path);
    }
    assert!(opened.len() > 8, "{opened:?}");
    assert_eq!(calls.shared_mappings, 0, "writes through a shared mapping would not be detected");
    let bytes: usize = calls.written.iter().map(|(_, bytes)| bytes.len()).sum();
    eprintln!("{} files, {} writes, {bytes} bytes", opened.len(), calls.written.len());
    assert!(bytes > 1 << 20, "{bytes}");
    for (file, bytes) in &calls.written {
        // The host sends its parent the requested text through a pipe.
        if !file.starts_with("pipe:") {
            assert_eq!(search.traces(bytes), [], "{file}");
        }
    }
    let told: Vec<u8> = calls
        .written
        .iter()
        .filter(|(file, _)| file.starts_with("pipe:"))
        .flat_map(|(_, bytes)| bytes.clone())
        .collect();
    assert!(!search.traces(&told).is_empty(), "the search finds nothing, or the log is incomplete");
}

/// The same test for the program, command by command. Run by `tests/at_rest_strace.sh`, which builds the
/// program.
#[test]
#[ignore = "needs strace and the program; tests/at_rest_strace.sh provides both"]
fn the_program_writes_nothing_that_shows_what_is_stored_and_nothing_elsewhere() {
    what_the_program_writes(Through::Nobody);
}

/// The same test with a key daemon between the commands and the store.
#[test]
#[ignore = "needs strace and the program; tests/at_rest_strace.sh provides both"]
fn the_key_daemon_writes_nothing_that_shows_what_is_stored_and_nothing_elsewhere() {
    what_the_program_writes(Through::Daemon);
}

fn what_the_program_writes(through: Through) {
    let folder = tempfile::tempdir().unwrap();
    let mut program = program::Program::of(folder.path()).expect(program::PROGRAM);
    let search = Search::new(program.use_everything(through));
    let folder = folder.path();
    // Pipes and sockets lead to other processes, not to a disk.
    let is_told =
        |file: &str| ["pipe:", "socket:", "/dev/"].iter().any(|kind| file.starts_with(kind));
    for path in &program.calls.opened_for_writing {
        let path = if path.is_absolute() { path.clone() } else { folder.join("work").join(path) };
        assert!(path.starts_with(folder) || path.starts_with("/dev"), "{}", path.display());
        assert_eq!(search.traces(path.to_str().unwrap().as_bytes()), []);
    }
    assert_eq!(
        program.calls.shared_mappings, 0,
        "writes through a shared mapping would not be detected"
    );
    let mut told = Vec::new();
    let mut bytes = 0;
    for (file, written) in &program.calls.written {
        if is_told(file) {
            told.extend_from_slice(written);
        } else {
            bytes += written.len();
            assert_eq!(search.traces(written), [], "{file}");
        }
    }
    eprintln!("{} writes, {bytes} bytes in files", program.calls.written.len());
    assert!(bytes > 1 << 20, "{bytes}");
    assert!(!search.traces(&told).is_empty(), "the search finds nothing, or the log is incomplete");
    for file in files_below(folder) {
        assert_eq!(search.traces(&fs::read(&file).unwrap()), [], "{}", file.display());
    }
    for name in ["tmp", "home", "work"] {
        assert_eq!(below(&folder.join(name)), [] as [PathBuf; 0]);
    }
}
