//! A power cut that tears the last commit, in a store without its anchor. A salvage gives every other file as it was, and of the
//! file that was being written either text, or says that it is lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use inmost::{HistorySettings, RawKey, RecoveryReport, Session, StoreError, Vault, VaultOptions};
use inmost_format::crypto::rng::seeded::dangerous_seed;
use inmost_testing::Random;

use super::golden;
use super::spliced::GENERATION;

const BLOCK: usize = 4096;
/// Files at the beginning, and commits after that: the journal is filled several times, so that it has older lists of the
/// folder beside the newest ones.
const FILES: u64 = 150;
const EDITS: u64 = 600;
const CUTS: usize = 6;

type Texts = BTreeMap<String, String>;

fn write(session: &Session, texts: &mut Texts, file: u64, random: &mut Random) -> String {
    let path = format!("/memories/all/note {file}.md");
    let text = format!("{:x} ", random.next()).repeat(20);
    session.files().write(&path, &text).unwrap();
    texts.insert(path.clone(), text);
    path
}

fn salvage(store: &Path, key: &RawKey) -> (Texts, RecoveryReport) {
    let mut found = Texts::new();
    let report = Vault::open(store)
        .unwrap()
        .salvage(key, |path, text| {
            found.insert(path.to_owned(), text.to_owned());
            Ok::<(), StoreError>(())
        })
        .unwrap();
    (found, report)
}

#[test]
fn a_salvage_without_an_anchor_loses_no_more_than_the_torn_commit() {
    for seed in inmost_testing::seeds(0..1) {
        dangerous_seed(Some(seed));
        torn(seed);
    }
    dangerous_seed(None);
}

fn torn(seed: u64) {
    let place = tempfile::tempdir().unwrap();
    let (store, copy) = (place.path().join("store"), place.path().join("copy"));
    let key = RawKey::from_bytes(&[7; 32]);
    let history = HistorySettings::keep(Duration::from_secs(24 * 60 * 60));
    let session = VaultOptions::new().history(history).create_with(&store, &key).unwrap();
    let (mut texts, mut random) = (Texts::new(), Random(7));
    for file in 0..FILES {
        write(&session, &mut texts, file, &mut random);
    }
    let mut files = FILES;
    for edit in 0..EDITS {
        let file = if edit % 10 == 0 { files } else { random.next() % files };
        files = files.max(file + 1);
        write(&session, &mut texts, file, &mut random);
    }
    let journal = format!("{GENERATION}/journal");
    let mut torn = 0;
    for _ in 0..CUTS {
        let before = fs::read(store.join(&journal)).unwrap();
        let file = random.next() % files;
        let earlier = texts.clone();
        let path = write(&session, &mut texts, file, &mut random);
        let after = fs::read(store.join(&journal)).unwrap();
        let blocks = before.chunks(BLOCK).zip(after.chunks(BLOCK));
        let changed: Vec<usize> =
            blocks.enumerate().filter(|(_, (one, two))| one != two).map(|(at, _)| at).collect();
        assert!(before.len() == after.len() && (2..8).contains(&changed.len()), "{changed:?}");
        golden::copy(&store, &copy);
        fs::remove_file(copy.join("anchor")).unwrap();
        for kept in 0..1_u32 << changed.len() {
            let mut mixed = before.clone();
            for (bit, block) in changed.iter().enumerate() {
                if kept >> bit & 1 == 1 {
                    let range = block * BLOCK..(block + 1) * BLOCK;
                    mixed[range.clone()].copy_from_slice(&after[range]);
                }
            }
            fs::write(copy.join(&journal), &mixed).unwrap();
            let (mut found, report) = salvage(&copy, &key);
            let context = format!("seed {seed}, blocks {kept:b} of {changed:?}: {report:?}");
            let text = found.remove(&path);
            let is_either = [earlier.get(&path), texts.get(&path)].contains(&text.as_ref());
            assert!(is_either || text.is_none() && report.lost.len() == 1, "{context}");
            // The new text, without its name.
            found.retain(|at, text| {
                !at.contains("lost-and-found") || Some(&*text) != texts.get(&path)
            });
            found.insert(path.clone(), texts[&path].clone());
            assert_eq!(found.len(), texts.len(), "{context}");
            assert!(found == texts, "{context}");
            torn += 1;
        }
        fs::remove_dir_all(&copy).unwrap();
    }
    assert!(torn >= 24, "{torn}");
}
