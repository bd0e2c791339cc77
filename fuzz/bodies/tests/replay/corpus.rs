//! Replays every input of `fuzz/corpus` and `fuzz/regressions` without a fuzzer.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use inmost_fuzz_bodies::{TARGETS, record_kinds_without_body};

/// Runs a target on an input.
fn replay(name: &str, input: &[u8], target: fn(&[u8])) {
    let started = Instant::now();
    if let Err(panic) = std::panic::catch_unwind(|| target(input)) {
        eprintln!("failing input: {name}");
        std::panic::resume_unwind(panic);
    }
    assert!(started.elapsed() < HANG_TIME, "{name} takes too long");
}

/// The inputs of an archive that `fuzz/corpus.sh` has packed, with their names.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let archive = fs::read(fuzz().join("corpus").join(format!("{target}.tar"))).unwrap();
    let mut inputs = Vec::new();
    let mut rest = archive.as_slice();
    // A block of 512 bytes in front of each file has its name and, from byte 124, its size in octal. Two empty blocks are the end.
    while rest[0] != 0 {
        let (header, data) = rest.split_at(512);
        let text =
            |bytes: &[u8]| String::from_utf8(bytes.split(|it| *it == 0).next().unwrap().to_vec());
        let size = text(&header[124..136]).unwrap();
        let size = usize::from_str_radix(size.trim(), 8).unwrap();
        inputs.push((text(&header[..100]).unwrap(), data[..size].to_vec()));
        rest = &data[size.next_multiple_of(512)..];
    }
    assert!(rest.len() >= 1_024 && rest.iter().all(|byte| *byte == 0), "{target}.tar is cut");
    inputs
}

/// The inputs of earlier findings, in the order of their names. A file with the ending `md` is the story of the input next to it.
fn regressions(target: &str) -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir(fuzz().join("regressions").join(target)) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_none_or(|end| end != "md"));
    paths.sort();
    paths
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn replay_of(name: &str) {
    let (name, target) = TARGETS.iter().find(|(target, _)| *target == name).unwrap();
    let corpus = corpus(name);
    assert!(!corpus.is_empty(), "{name} has no corpus");
    for (input, bytes) in corpus {
        replay(&input, &bytes, *target);
    }
    for path in regressions(name) {
        replay(&path.display().to_string(), &fs::read(&path).unwrap(), *target);
    }
}

macro_rules! replays {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                replay_of(stringify!($name));
            }
        )+

        const REPLAYED: &[&str] = &[$(stringify!($name)),+];
    };
}

replays! { anchor call entries frames header journal model objects path record render rope sled tamper tree }

#[cfg(all(unix, feature = "postgres"))]
#[test]
fn rows() {
    replay_of("rows");
}

#[test]
fn every_target_is_replayed_and_all_inputs_have_a_target() {
    let targets = TARGETS.iter().map(|(name, _)| *name).filter(|name| *name != "rows");
    assert_eq!(targets.collect::<Vec<_>>(), REPLAYED);
    for kind in ["corpus", "regressions"] {
        for entry in fs::read_dir(fuzz().join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap();
            let is_known = name == "rows" || REPLAYED.iter().any(|target| name == *target);
            assert!(is_known, "{}", path.display());
        }
    }
}

/// A change of the format can make a body in an input unreadable. Then the input tests nothing any more.
#[test]
fn every_kind_of_record_has_an_input_with_a_body_of_it() {
    let inputs: Vec<_> = corpus("record").into_iter().map(|(_, input)| input).collect();
    assert_eq!(record_kinds_without_body(&inputs), [0; 0]);
}

#[test]
fn every_regression_has_its_story() {
    for folder in fs::read_dir(fuzz().join("regressions")).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        for file in fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            assert!(path.with_extension("md").is_file(), "{} has no story", path.display());
        }
    }
}

/// Far above the time of any input, even in an unoptimised build on a busy machine.
const HANG_TIME: Duration = Duration::from_secs(60);
