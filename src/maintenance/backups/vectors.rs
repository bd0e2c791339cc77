//! The backup of tests/vectors, which is computed from docs/FORMAT.md without this code.

use std::collections::BTreeMap;

use inmost_format::crypto::unhex;
use inmost_storage::{Address, Engine};
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Vectors {
    number: u64,
    time: u64,
    header: String,
    files: BTreeMap<String, String>,
    records: Vec<Record>,
    opens: Vec<Case>,
    refused: Vec<Case>,
    damaged: Vec<Case>,
}

#[derive(Deserialize)]
struct Record {
    pack: u64,
    ordinal: u32,
    address: String,
    value: String,
}

/// The backup with one file changed.
#[derive(Deserialize)]
struct Case {
    name: String,
    file: String,
    length: usize,
    patches: Vec<(usize, String)>,
    time: Option<u64>,
    #[serde(default)]
    records: Vec<usize>,
    error: Option<String>,
}

impl Vectors {
    fn read() -> Self {
        serde_json::from_str(include_str!("../../../tests/vectors/backups.json")).unwrap()
    }

    /// Writes the backup with the change of a case.
    fn write(&self, folder: &Path, case: &Case) {
        for (name, bytes) in &self.files {
            let mut bytes = unhex(bytes);
            if *name == case.file {
                bytes.resize(case.length, 0);
                for (at, patch) in &case.patches {
                    let patch = unhex(patch);
                    bytes[*at..at + patch.len()].copy_from_slice(&patch);
                }
            }
            fs::write(folder.join(name), bytes).unwrap();
        }
    }

    /// The places of the records that a backup has as they should be, and how many it has.
    fn found(&self, folder: &Path, manifest: &Manifest) -> (Vec<usize>, usize) {
        let found = Records::of(folder, manifest).scan(None, usize::MAX).unwrap();
        let is_found = |record: &Record| {
            let address = Address(unhex(&record.address).try_into().unwrap());
            found.contains(&(address, unhex(&record.value)))
        };
        let places = (0..self.records.len()).filter(|place| is_found(&self.records[*place]));
        (places.collect(), found.len())
    }
}

#[test]
fn the_backup_of_the_vectors_is_read_and_written_as_it_is() {
    let vectors = Vectors::read();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    vectors.write(folder, &vectors.opens[0]);
    let manifest = read_manifest(folder, vectors.number).unwrap();
    assert_eq!((manifest.number, manifest.time), (vectors.number, vectors.time));
    assert_eq!(manifest.header, unhex(&vectors.header));
    let written = fs::read(manifest_path(folder, vectors.number)).unwrap();
    assert_eq!(manifest.encode(), written);
    assert_eq!(manifest.used.len(), 2);
    for used in &manifest.used {
        let path = pack_path(folder, used.pack);
        let pack = Pack::open(&path).unwrap();
        let records = vectors.records.iter().filter(|record| record.pack == used.pack);
        let listed = records.map(|record| (record.ordinal, unhex(&record.address)));
        let found = pack.entries.iter().map(|entry| (entry.ordinal, entry.address.0.to_vec()));
        assert_eq!(found.collect::<Vec<_>>(), listed.collect::<Vec<_>>());
        let again = folder.join("again");
        let reversed = pack.entries.iter().rev().copied().collect();
        Pack::write(&again, pack.total, reversed, |entry| pack.value(entry)).unwrap();
        assert_eq!(fs::read(&again).unwrap(), fs::read(&path).unwrap());
    }
}

#[test]
fn changed_backups_are_read_or_refused_as_the_vectors_say() {
    let vectors = Vectors::read();
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    let counts = [&vectors.opens, &vectors.refused, &vectors.damaged].map(Vec::len);
    assert_eq!(counts, [29, 73, 21]);
    for case in vectors.opens.iter().chain(&vectors.damaged) {
        vectors.write(folder, case);
        let manifest = read_manifest(folder, vectors.number).expect(&case.name);
        let (places, count) = vectors.found(folder, &manifest);
        assert_eq!(places, case.records, "{}", case.name);
        if let Some(time) = case.time {
            assert_eq!((manifest.time, count), (time, places.len()), "{}", case.name);
        }
    }
    for case in &vectors.refused {
        vectors.write(folder, case);
        let error = match read_manifest(folder, vectors.number) {
            Err(StoreError::UnknownFormat { .. }) => "UnknownFormat",
            Err(StoreError::HeaderDamaged) => "Damaged",
            Ok(_) if Pack::open(&folder.join(&case.file)).is_err() => "Damaged",
            other => panic!("{}: {:?}", case.name, other.err()),
        };
        assert_eq!(Some(error), case.error.as_deref(), "{}", case.name);
    }
}
