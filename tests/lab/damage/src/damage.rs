//! Seeded damage to the files of a store.

use std::path::{Path, PathBuf};

use crate::folder::{Bytes, is_of_generation};
use crate::random::Random;

pub const KINDS: [&str; 10] = [
    "a bit",
    "a byte",
    "zeroed block",
    "swapped blocks",
    "cut file",
    "two places",
    "lost file",
    "older file",
    "header copy",
    "anchor",
];

/// The damage that was done.
pub struct Damage {
    pub kind: &'static str,
    /// The kind of the file, such as `db`.
    pub file: String,
    /// Offsets, for the report.
    pub places: Vec<usize>,
}

/// Damages a store. `older` is an older copy of it.
pub fn damage(store: &mut Bytes, older: &Bytes, kind: &'static str, random: &mut Random) -> Damage {
    let name = match kind {
        "header copy" => PathBuf::from(*random.one_of(&["header.a", "header.b"])),
        "anchor" => PathBuf::from("anchor"),
        _ => file_of_generation(store, random),
    };
    let (places, did) = match kind {
        "a bit" => (vec![bit(store, &name, random)], ""),
        "a byte" => (vec![byte(store, &name, random)], ""),
        "zeroed block" => (vec![zero(store, &name, random)], ""),
        "swapped blocks" => (swap(store, &name, random), ""),
        "cut file" => (vec![cut(store, &name, random)], ""),
        "two places" => {
            let other = file_of_generation(store, random);
            let second = if random.below(2) == 0 {
                bit(store, &other, random)
            } else {
                zero(store, &other, random)
            };
            (vec![byte(store, &name, random), second], "")
        }
        "lost file" => {
            store.remove(&name);
            (Vec::new(), "")
        }
        "older file" => {
            match older.get(&name) {
                Some(bytes) => drop(store.insert(name.clone(), bytes.clone())),
                None => drop(store.remove(&name)),
            }
            (Vec::new(), "")
        }
        // One copy of the header, or the anchor.
        _ => match random.below(5) {
            0 => (vec![bit(store, &name, random)], " bit"),
            1 => (vec![zero(store, &name, random)], " zeroed"),
            2 => (vec![cut(store, &name, random)], " cut"),
            3 => {
                store.remove(&name);
                (Vec::new(), " lost")
            }
            _ => {
                let bytes = older.get(&name).cloned().unwrap_or_default();
                store.insert(name.clone(), bytes);
                (Vec::new(), " older")
            }
        },
    };
    Damage { kind, file: describe(&name) + did, places }
}

/// A file that holds something: in half of the cases the log or database, which has nearly all records.
fn file_of_generation(store: &Bytes, random: &mut Random) -> PathBuf {
    let names = store.iter().filter(|(name, bytes)| is_of_generation(name) && !bytes.is_empty());
    let names: Vec<&PathBuf> = names.map(|(name, _)| name).collect();
    let ending = |end: &str| names.iter().find(|name| name.ends_with(end)).copied();
    let log = ending("db").or_else(|| ending("redb"));
    match (log, ending("journal"), random.below(6)) {
        (Some(log), _, 0..4) => log.clone(),
        (_, Some(journal), 4) => journal.clone(),
        _ => (*random.one_of(&names)).clone(),
    }
}

fn describe(name: &Path) -> String {
    let name = name.file_name().unwrap().to_string_lossy();
    if name.starts_with("snap") { "snapshot".into() } else { name.into_owned() }
}

/// The beginning of a 4 KiB block that holds something other than zeros.
fn block(bytes: &[u8], random: &mut Random) -> usize {
    let blocks: Vec<usize> = (0..bytes.len())
        .step_by(BLOCK)
        .filter(|at| bytes[*at..bytes.len().min(at + BLOCK)].iter().any(|byte| *byte != 0))
        .collect();
    if blocks.is_empty() { 0 } else { *random.one_of(&blocks) }
}

fn place(bytes: &[u8], random: &mut Random) -> usize {
    let start = block(bytes, random);
    start + random.below(BLOCK.min(bytes.len() - start))
}

fn bit(store: &mut Bytes, name: &Path, random: &mut Random) -> usize {
    let bytes = store.get_mut(name).unwrap();
    let at = place(bytes, random);
    bytes[at] ^= 1 << random.below(8);
    at
}

fn byte(store: &mut Bytes, name: &Path, random: &mut Random) -> usize {
    let bytes = store.get_mut(name).unwrap();
    let at = place(bytes, random);
    bytes[at] = bytes[at].wrapping_add(u8::try_from(1 + random.below(255)).unwrap());
    at
}

fn zero(store: &mut Bytes, name: &Path, random: &mut Random) -> usize {
    let bytes = store.get_mut(name).unwrap();
    let at = block(bytes, random);
    let end = bytes.len().min(at + BLOCK);
    bytes[at..end].fill(0);
    at
}

fn swap(store: &mut Bytes, name: &Path, random: &mut Random) -> Vec<usize> {
    let bytes = store.get_mut(name).unwrap();
    let (one, other) = (block(bytes, random), block(bytes, random));
    let length = BLOCK.min(bytes.len() - one.max(other));
    for offset in 0..length {
        bytes.swap(one + offset, other + offset);
    }
    vec![one, other]
}

fn cut(store: &mut Bytes, name: &Path, random: &mut Random) -> usize {
    let bytes = store.get_mut(name).unwrap();
    let at = place(bytes, random);
    bytes.truncate(at);
    at
}

const BLOCK: usize = 4096;
