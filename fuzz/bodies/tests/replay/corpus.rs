//! Replays every input of `fuzz/corpus` and `fuzz/regressions` without a fuzzer.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use inmost_fuzz_bodies::{TARGETS, record_kinds_without_body};

/// Runs a target on every file of a folder, if the folder exists, and returns the number of files.
fn replay(folder: &Path, target: fn(&[u8])) -> usize {
    let Ok(files) = fs::read_dir(folder) else { return 0 };
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    // A file with this suffix is the story of the input next to it.
    paths.retain(|path| path.extension().is_none_or(|end| end != "md"));
    paths.sort();
    for path in &paths {
        let input = fs::read(path).unwrap();
        let started = Instant::now();
        if let Err(panic) = std::panic::catch_unwind(|| target(&input)) {
            eprintln!("failing input: {}", path.display());
            std::panic::resume_unwind(panic);
        }
        assert!(started.elapsed() < HANG_TIME, "{} takes too long", path.display());
    }
    paths.len()
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn replay_of(name: &str) {
    let (name, target) = TARGETS.into_iter().find(|(target, _)| *target == name).unwrap();
    assert!(replay(&fuzz().join("corpus").join(name), target) > 0, "{name} has no corpus");
    replay(&fuzz().join("regressions").join(name), target);
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

replays! { call entries header journal model path record render rope tamper tree }

#[test]
fn every_target_is_replayed_and_every_folder_has_a_target() {
    assert_eq!(TARGETS.map(|(name, _)| name).as_slice(), REPLAYED);
    for kind in ["corpus", "regressions"] {
        for folder in fs::read_dir(fuzz().join(kind)).unwrap() {
            let folder = folder.unwrap();
            if folder.file_type().unwrap().is_dir() {
                let name = folder.file_name();
                assert!(REPLAYED.iter().any(|target| name == *target), "{kind}/{}", name.display());
            }
        }
    }
}

/// A change of the format can make a body in an input unreadable. Then the input tests nothing any more.
#[test]
fn every_kind_of_record_has_an_input_with_a_body_of_it() {
    let files = fs::read_dir(fuzz().join("corpus/record")).unwrap();
    let inputs: Vec<_> = files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect();
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
