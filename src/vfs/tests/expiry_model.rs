//! Random reads, changes and expiries on random days against a naive model of what was used when.

use std::collections::{BTreeMap, BTreeSet};

use super::expiry::{expire, names, recording};
use super::model::set_day;
use super::versions::MONTH;
use crate::session::{ExpirySettings, HistorySettings};
use inmost_format::record::plain::Random;

/// What a naive observer knows of a file.
#[derive(Clone, Copy, Debug)]
struct Known {
    changed: u64,
    read: Option<u64>,
}

#[test]
fn what_expires_is_what_a_naive_model_says() {
    for seed in 0..6 {
        let (store, mut session) = recording(ExpirySettings::record());
        session.history().set(HistorySettings::keep(3 * MONTH)).unwrap();
        let mut random = Random(seed + 500);
        let mut model: BTreeMap<String, Known> = BTreeMap::new();
        // Readings that no change has followed.
        let mut waiting: BTreeSet<String> = BTreeSet::new();
        let mut day = 0_u64;
        for step in 0..220 {
            day += u64::try_from(random.below(3)).unwrap();
            set_day(day);
            let path = format!("/memories/{}/{}", random.below(3), random.below(6));
            let files = session.files();
            match random.below(10) {
                0..3 => {
                    files.write(&path, "text\n").unwrap();
                    let read = model.get(&path).and_then(|known| known.read);
                    model.insert(path, Known { changed: day, read });
                }
                3..7 => {
                    if files.read(&path).is_ok() {
                        waiting.insert(path);
                    }
                    continue;
                }
                7 => {
                    let other = format!("/memories/moved/{step}");
                    if files.rename(&path, &other).is_err() {
                        continue;
                    }
                    if waiting.remove(&path) {
                        waiting.insert(other.clone());
                    }
                    let known = model.remove(&path).unwrap();
                    model.insert(other, Known { read: Some(day), ..known });
                }
                8 => {
                    if files.remove(&path).is_err() {
                        continue;
                    }
                    model.remove(&path);
                    waiting.remove(&path);
                }
                _ => {
                    session.lock();
                    session = store.unlock().unwrap();
                    waiting.clear();
                    continue;
                }
            }
            for path in std::mem::take(&mut waiting) {
                if let Some(known) = model.get_mut(&path) {
                    known.read = Some(day);
                }
            }
            if step % 4 == 0 {
                let unused_for = 10 + u64::try_from(random.below(20)).unwrap();
                let is_unused = |known: &Known| {
                    known.changed + unused_for <= day
                        // From the end of that day to noon.
                        && known.read.is_none_or(|read| read + 1 + unused_for <= day)
                        && unused_for <= day
                };
                let expected: Vec<String> = model
                    .iter()
                    .filter(|(_, known)| is_unused(known))
                    .map(|(path, _)| path.trim_start_matches("/memories/").to_owned())
                    .collect();
                let dry_run = random.below(2) == 0;
                let report = expire(&session, unused_for, dry_run);
                assert_eq!(names(&report), expected, "seed {seed}, step {step}, day {day}");
                if !dry_run {
                    model.retain(|_, known| !is_unused(known));
                }
            }
        }
        assert!(session.check().unwrap().is_clean());
        let status = session.expiry().status().unwrap();
        assert!(status.readings <= 40, "{}", status.readings);
    }
}
