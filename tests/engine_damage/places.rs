//! Damages the engine's files at seeded places.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use inmost_testing::Random;

use crate::copy_folder;

/// The engine's files, sorted by name.
fn engine_files(store: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![generation(store)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

pub(crate) fn generation(store: &Path) -> PathBuf {
    let entries = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let mut generations = entries.filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("gen-"))
    });
    let found = generations.next().unwrap();
    assert!(generations.next().is_none());
    found
}

/// Damages the store and returns the kind of damage.
pub(crate) fn damage(store: &Path, random: &mut Random) -> String {
    let files = engine_files(store);
    // Half of the damage is in the log, a quarter in the journal, and a quarter anywhere else.
    let log = files.iter().find(|path| path.ends_with("db") || path.ends_with("redb")).unwrap();
    let journal = files.iter().find(|path| path.ends_with("journal")).unwrap();
    let others: Vec<_> = files.iter().filter(|path| *path != log).collect();
    let file = match random.below(4) {
        1 => journal,
        0 if !others.is_empty() => others[random.below(others.len())],
        _ => log,
    };
    let length = fs::metadata(file).unwrap().len();
    let at = random.below_u64(length.max(1));
    let name = match file.file_name().unwrap().to_string_lossy() {
        name if name.starts_with("snap") => "snapshot".to_owned(),
        name => name.into_owned(),
    };
    match random.below(12) {
        0..4 => {
            let bit = random.below(8);
            overwrite(file, at, 1, |byte| byte ^ (1 << bit));
            format!("{name}: a bit")
        }
        4 | 5 => {
            overwrite(file, at, 16, |byte| byte.wrapping_mul(3).wrapping_add(41));
            format!("{name}: 16 bytes")
        }
        6 | 7 => {
            overwrite(file, at & !511, 4096, |_| 0);
            format!("{name}: 4 KiB of zeros")
        }
        8 => {
            overwrite(file, at, length - at, |_| 0);
            format!("{name}: zeros to the end")
        }
        9 => {
            OpenOptions::new().write(true).open(file).unwrap().set_len(at).unwrap();
            format!("{name}: cut")
        }
        10 => {
            fs::remove_file(file).unwrap();
            format!("{name}: missing")
        }
        _ => extra(store, random),
    }
}

/// Adds a file or folder that does not belong to the store.
fn extra(store: &Path, random: &mut Random) -> String {
    let generation = generation(store);
    let garbage: Vec<u8> = (0..3_000).flat_map(|_| random.next().to_le_bytes()).collect();
    match random.below(6) {
        0 => {
            let number = random.next();
            fs::write(generation.join(format!("snap.{number:016X}")), garbage).unwrap();
            "extra snapshot".into()
        }
        1 => {
            let number = random.next();
            fs::write(generation.join(format!("snap.{number:016X}.generating")), garbage).unwrap();
            "extra half snapshot".into()
        }
        2 => {
            fs::create_dir_all(generation.join("blobs")).unwrap();
            fs::write(
                generation.join("blobs").join(random.below_u64(1 << 30).to_string()),
                garbage,
            )
            .unwrap();
            "extra blob".into()
        }
        3 => {
            let other = store.join(format!("gen-{:016x}", random.below_u64(1 << 20) + 1_000));
            copy_folder(&generation, &other);
            "extra generation".into()
        }
        4 => {
            fs::create_dir(store.join("gen-0000000000000fff")).unwrap();
            "extra empty generation".into()
        }
        _ => {
            fs::remove_dir_all(&generation).unwrap();
            "generation: missing".into()
        }
    }
}

fn overwrite(path: &Path, at: u64, length: u64, change: impl Fn(u8) -> u8) {
    let mut file = File::options().read(true).write(true).open(path).unwrap();
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at)).unwrap();
    Read::by_ref(&mut file).take(length).read_to_end(&mut bytes).unwrap();
    for byte in &mut bytes {
        *byte = change(*byte);
    }
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&bytes).unwrap();
}
