//! Damages one store, and looks at everything that the library makes of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use inmost::{EntryKind, RecoveryReport, Session, StoreError, Vault};

use crate::damage::{Damage, KINDS, damage};
use crate::folder::{self, Bytes};
use crate::oracle::{Left, Oracle};
use crate::pasts::{ENGINES, PASTS, key};
use crate::random::Random;
use crate::record::{Fate, Outcome, Record};
use crate::truth::{Digest, Truth, digest};

/// The stores of one past.
pub struct Base {
    pub label: String,
    store: Bytes,
    older: Bytes,
    truth: Truth,
    oracle: Oracle,
}

/// The number of seeds in a row that have the same past, so that a process reads only one: 20, or `LAB_BATCH`.
pub fn batch() -> u64 {
    std::env::var("LAB_BATCH").map_or(20, |batch| batch.parse().expect("a number"))
}

/// The past of a seed.
pub fn label_of(seed: u64) -> String {
    let batch = usize::try_from(seed / batch()).unwrap();
    let (engine, _) = ENGINES[batch % ENGINES.len()];
    format!("{engine}, {}", PASTS[batch / ENGINES.len() % PASTS.len()])
}

impl Base {
    pub fn load(cache: &Path, label: &str) -> Self {
        let at = cache.join(label);
        let (store, older) = (folder::read(&at.join("store")), folder::read(&at.join("older")));
        let truth = Truth::load(&at.join("truth"));
        let oracle = Oracle::of(&store, &key(), truth.now.len());
        Self { label: label.to_owned(), store, older, truth, oracle }
    }
}

/// The texts that a recovery gave, by path.
type Saved = BTreeMap<String, Digest>;

struct Trial<'a> {
    base: &'a Base,
    /// The damaged store.
    at: PathBuf,
    damaged: Bytes,
    failures: Vec<String>,
    /// Files and folders that an open session could not read.
    unreadable: Vec<String>,
}

/// Damages a store as the seed says. The damaged store stays at `at` if something was wrong.
pub fn run(seed: u64, base: &Base, at: &Path) -> Record {
    let mut random = Random(seed);
    let kind = *random.one_of(&KINDS);
    let mut damaged = base.store.clone();
    let done = damage(&mut damaged, &base.older, kind, &mut random);
    folder::write(at, &damaged);
    let mut trial =
        Trial { base, at: at.to_owned(), damaged, failures: Vec::new(), unreadable: Vec::new() };
    let record = trial.run(seed, done, &mut random);
    if record.failures.is_empty() {
        fs::remove_dir_all(at).unwrap();
    } else {
        folder::write(at, &trial.damaged);
    }
    record
}

impl Trial<'_> {
    fn run(&mut self, seed: u64, done: Damage, random: &mut Random) -> Record {
        let saved = self.salvage();
        let fates = self.fates(&saved);
        let intact = self.compare_with_what_is_left(&fates, &done);
        if random.below(4) == 0 {
            self.check_locked();
        }
        self.expect_unchanged("salvage");
        let outcome = self.unlock(&saved, &fates, done.kind);
        if random.below(10) == 0 {
            self.repair(&saved);
        }
        let mut record = Record::new(seed, &self.base.label, done, outcome);
        record.count(fates.values().copied());
        let folders = self.folders_with(&fates, Fate::Found);
        record.folders_unnamed = folders.len();
        record.intact = intact;
        if record.at_place + record.found + record.older == 0 && can_lose_all(&record) {
            self.fail("everything is lost".into());
        }
        record.failures = std::mem::take(&mut self.failures);
        record
    }

    fn fail(&mut self, what: String) {
        if self.failures.len() < 5 {
            self.failures.push(what.replace(['\t', '\n'], " "));
        }
    }

    fn vault(&mut self) -> Option<Vault> {
        let opened = Vault::open(&self.at);
        opened.inspect_err(|error| self.fail(format!("the vault does not open: {error:?}"))).ok()
    }

    /// Saves what is left, and verifies each text.
    fn salvage(&mut self) -> Saved {
        let mut saved = Saved::new();
        let Some(vault) = self.vault() else { return saved };
        let mut twice = Vec::new();
        let report = vault.salvage(&key(), |path, text| {
            if saved.insert(path.to_owned(), digest(text)).is_some() {
                twice.push(path.to_owned());
            }
            Ok::<(), StoreError>(())
        });
        for path in twice {
            self.fail(format!("salvage gives {path} twice"));
        }
        match report {
            Err(error) => self.fail(format!("salvage: {error:?}")),
            Ok(report) => self.verify_saved(&saved, &report),
        }
        saved
    }

    fn verify_saved(&mut self, saved: &Saved, report: &RecoveryReport) {
        let truth = &self.base.truth;
        let mut wrong = Vec::new();
        for (path, digest) in saved {
            match truth.files.get(digest) {
                None => wrong.push(format!("a text that never was, at {path}")),
                Some(_) if path.starts_with(LOST_AND_FOUND) => {}
                Some(file) if !truth.had_path(*file, path) => {
                    wrong.push(format!("the text of another file at {path}"));
                }
                Some(_) => {}
            }
        }
        let is_right = truth.now.iter().all(|(path, digest)| saved.get(path) == Some(digest))
            && truth.now.len() == saved.len();
        if !is_right && report.is_complete() {
            wrong.push("salvage reports nothing, and does not give what was there".into());
        }
        if report.files != u64::try_from(saved.len()).unwrap() {
            wrong.push(format!("salvage reports {} files and gives {}", report.files, saved.len()));
        }
        for what in wrong {
            self.fail(what);
        }
    }

    /// What became of each file that the store had.
    fn fates(&self, saved: &Saved) -> HashMap<String, Fate> {
        let truth = &self.base.truth;
        let mut best: HashMap<u64, Fate> = HashMap::new();
        for (path, digest) in saved {
            let Some(file) = truth.files.get(digest) else { continue };
            let is_newest = truth.now.get(path) == Some(digest);
            let fate = if is_newest {
                Fate::AtPlace
            } else if truth.now.values().any(|now| now == digest) {
                // In the folder of what was found, or where an older list of names has it.
                Fate::Found
            } else {
                Fate::Older
            };
            let known = best.entry(*file).or_insert(fate);
            *known = (*known).min(fate);
        }
        let now = truth.now.iter();
        now.map(|(path, digest)| {
            (path.clone(), best.get(&truth.files[digest]).copied().unwrap_or(Fate::Lost))
        })
        .collect()
    }

    /// A file whose records are all there must be saved, and with its name if those that lead to it are there, too. Some
    /// are excused: where the order of two versions is lost, the older one may be taken, and a file that was moved into a
    /// list that is gone cannot be told from a deleted one. Returns their number.
    fn compare_with_what_is_left(&mut self, fates: &HashMap<String, Fate>, done: &Damage) -> usize {
        let left = self.base.oracle.left(&self.damaged);
        let mut wrong = Vec::new();
        for (path, Left { text, path: way }) in &left {
            let fate = fates[*path];
            if *text && *way && fate != Fate::AtPlace {
                wrong.push(format!("{path} and its names are intact, but it is {fate:?}"));
            } else if *text && fate > Fate::Found {
                wrong.push(format!("the text of {path} is intact, but it is {fate:?}"));
            }
        }
        let count = wrong.len();
        let is_small = !["cut file", "lost file", "older file"].contains(&done.kind);
        if is_small && count * 100 > left.len() {
            for what in wrong.into_iter().take(2) {
                self.fail(format!("{what} ({count} such)"));
            }
        }
        count
    }

    /// The folders of the files with this fate.
    fn folders_with(&self, fates: &HashMap<String, Fate>, wanted: Fate) -> BTreeSet<String> {
        let those = fates.iter().filter(|(_, fate)| **fate == wanted);
        those.filter_map(|(path, _)| Some(path.rsplit_once('/')?.0.to_owned())).collect()
    }

    fn check_locked(&mut self) {
        let Some(vault) = self.vault() else { return };
        if let Err(error) = vault.check(&key(), |_| {}) {
            self.fail(format!("check: {error:?}"));
        }
        if let Err(error) = vault.plan_repair(&key(), |_| {}) {
            self.fail(format!("plan_repair: {error:?}"));
        }
    }

    fn expect_unchanged(&mut self, after: &str) {
        if let Some(name) = folder::difference(&self.damaged, &folder::read(&self.at)) {
            self.fail(format!("{after} changed {name}"));
        }
    }

    fn unlock(&mut self, saved: &Saved, fates: &HashMap<String, Fate>, kind: &str) -> Outcome {
        let Some(mut vault) = self.vault() else { return Outcome::Other("no vault".into()) };
        let outcome = match vault.unlock_with(&key()) {
            Ok(session) => {
                let is_right = self.read(&session);
                session.lock();
                if is_right { Outcome::Right } else { Outcome::Partly }
            }
            Err(StoreError::Damaged(_)) => Outcome::Refused,
            Err(StoreError::RolledBack { .. }) => Outcome::RolledBack,
            Err(error) => {
                let words = format!("{error:?}");
                Outcome::Other(words.split('(').next().unwrap().trim().chars().take(60).collect())
            }
        };
        drop(vault);
        if outcome == Outcome::Refused {
            self.expect_unchanged("a refused unlock");
            return outcome;
        }
        if folder::difference(&self.damaged, &folder::read(&self.at)).is_none() {
            return outcome;
        }
        // The engine was there. Nothing that a recovery found before may be gone.
        let after = {
            let failures = self.failures.len();
            let after = self.salvage();
            for failure in self.failures.iter_mut().skip(failures) {
                *failure = format!("after the unlock ({outcome:?}): {failure}");
            }
            after
        };
        if &after != saved {
            let fates_after = self.fates(&after);
            let worse = fates.iter().filter(|(path, fate)| fates_after[*path] > **fate);
            let worse: Vec<_> = worse.map(|(path, fate)| (path.clone(), *fate)).collect();
            // Records that were swapped into a place that the engine takes for free, or for its own, may be overwritten there.
            if kind == "swapped blocks" && worse.len() * 50 < fates.len() {
                return outcome;
            }
            // What lies before the engine's last snapshot is verified when it is read, so such damage does not keep a store
            // from opening. If the store was in use, opening writes to free places, and a salvage may have found an older
            // copy of the damaged record there. No other file may get worse.
            let is_unreadable =
                |path: &str| self.unreadable.iter().any(|it| is_at_or_below(path, it));
            if outcome == Outcome::Partly
                && worse.len() * 100 < fates.len()
                && worse.iter().all(|(path, _)| is_unreadable(path))
            {
                return if worse.is_empty() { outcome } else { Outcome::Overwrote };
            }
            let first = worse.first().map(|(path, fate)| (path, fate, fates_after[path]));
            if let Some((path, fate, now)) = first {
                self.fail(format!(
                    "unlock ({outcome:?}) destroyed: {path} was {fate:?}, then {now:?} ({} such)",
                    worse.len()
                ));
            }
        }
        outcome
    }

    /// Reads everything in an open session. Returns whether it is right; anything but the truth and errors is a failure.
    fn read(&mut self, session: &Session) -> bool {
        let mut seen = Seen::default();
        seen.read(session, "/memories");
        let truth = &self.base.truth.now;
        let mut wrong = Vec::new();
        for (path, digest) in &seen.texts {
            if truth.get(path) != Some(digest) {
                let is_known = self.base.truth.files.contains_key(digest);
                let what = if is_known { "an older text" } else { "a text that never was" };
                wrong.push(format!("an open session gives {what} at {path}"));
            }
        }
        for path in truth.keys() {
            let has_failed = seen.failed.iter().any(|failed| is_at_or_below(path, failed));
            if !seen.texts.contains_key(path) && !has_failed {
                wrong.push(format!("an open session lacks {path} without an error"));
            }
        }
        let count = wrong.len();
        for what in wrong.into_iter().take(2) {
            let anchor = session.status().map(|status| status.anchor);
            self.fail(format!("{what} ({count} such, anchor {anchor:?})"));
        }
        let is_right = seen.failed.is_empty() && seen.texts == *truth;
        match session.check() {
            Ok(report) if report.is_clean() && !is_right => {
                self.fail("the check of a session is clean, and its texts are not".into());
            }
            _ => {}
        }
        self.unreadable = seen.failed;
        is_right
    }

    /// Repairs the damaged store, and compares the result with what a salvage gave.
    fn repair(&mut self, saved: &Saved) {
        folder::write(&self.at, &self.damaged);
        let Some(vault) = self.vault() else { return };
        if let Err(error) = vault.repair(&key(), |_| {}) {
            return self.fail(format!("repair: {error:?}"));
        }
        drop(vault);
        let files = folder::read(&self.at);
        let mut missing = Vec::new();
        for (name, bytes) in self.damaged.iter().filter(|(name, _)| folder::is_of_generation(name))
        {
            let mut parts = name.iter();
            let generation = parts.next().unwrap().to_string_lossy().replace("gen-", "set-aside-");
            let aside = Path::new(&generation).join(parts.as_path());
            if files.get(&aside) != Some(bytes) {
                missing.push(format!(
                    "repair did not keep {} as {}",
                    name.display(),
                    aside.display()
                ));
            }
        }
        for what in missing {
            self.fail(what);
        }
        let Some(mut vault) = self.vault() else { return };
        let session = match vault.unlock_with(&key()) {
            Ok(session) => session,
            Err(error) => return self.fail(format!("unlock after repair: {error:?}")),
        };
        let mut seen = Seen::default();
        seen.read(&session, "/memories");
        if !seen.failed.is_empty() {
            self.fail(format!("after repair: error at {:?}", seen.failed.first()));
        }
        let names = |texts: &Saved| -> Vec<(Option<String>, Digest)> {
            let mut all: Vec<_> = texts
                .iter()
                .map(|(path, digest)| {
                    ((!path.starts_with(LOST_AND_FOUND)).then(|| path.clone()), *digest)
                })
                .collect();
            all.sort();
            all
        };
        if names(&seen.texts) != names(saved) {
            let (repaired, saved) = (seen.texts.len(), saved.len());
            self.fail(format!("repair kept {repaired} texts, salvage {saved}, or at other places"));
        }
        match session.check() {
            Ok(report) if report.is_clean() => {}
            other => self.fail(format!("check after repair: {other:?}")),
        }
        session.lock();
    }
}

/// What an open session shows.
#[derive(Default)]
struct Seen {
    texts: Saved,
    /// Files and folders that returned an error.
    failed: Vec<String>,
}

impl Seen {
    fn read(&mut self, session: &Session, folder: &str) {
        let Ok(entries) = session.files().list(folder) else {
            return self.failed.push(folder.to_owned());
        };
        for entry in entries {
            let path = format!("{folder}/{}", entry.name);
            if matches!(entry.metadata.kind, EntryKind::Folder) {
                self.read(session, &path);
                continue;
            }
            match session.files().read(&path) {
                Ok(text) => drop(self.texts.insert(path, digest(text.as_str()))),
                Err(_) => self.failed.push(path),
            }
        }
    }
}

fn is_at_or_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether the damage left so much that not everything can be lost.
fn can_lose_all(record: &Record) -> bool {
    let is_log = record.file == "db" || record.file == "redb";
    !(is_log && ["lost file", "older file", "cut file"].contains(&record.kind.as_str()))
}

const LOST_AND_FOUND: &str = "/memories/lost-and-found";
