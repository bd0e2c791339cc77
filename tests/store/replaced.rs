//! What a sync client, a restore or a person does to the files of an open store: replaces, truncates, overwrites, links,
//! moves, removes and restores each of them and the whole folder, between calls and during one. No acknowledged write is lost
//! without an error.
//!
//! Each seed is one case. `INMOST_SEEDS=0..2000 cargo test --test store replaced` runs the long form.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use inmost::{AnchorStatus, FileError, Session, StorageEngine, StoreError, Vault, VaultOptions};
use inmost_testing::{CHEAP, Random, passphrase, seeds};

use super::golden;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// By an older copy, renamed over it.
    Older,
    /// By a copy of what it is now, renamed over it.
    Same,
    /// Its bytes are overwritten by older ones, without another file.
    InPlace,
    Truncate,
    Link,
    Move,
    MoveAndBack,
    Remove,
}

const ACTIONS: [What; 8] = [
    What::Older,
    What::Same,
    What::InPlace,
    What::Truncate,
    What::Link,
    What::Move,
    What::MoveAndBack,
    What::Remove,
];

/// A file or a folder of the store, by its path in the folder; empty for the whole folder.
fn targets(engine: StorageEngine) -> Vec<PathBuf> {
    let db = if engine == StorageEngine::Sled { "db" } else { "redb" };
    let generation = Path::new("gen-0000000000000001");
    let mut targets: Vec<PathBuf> =
        ["", "lock", "header.a", "header.b", "anchor"].map(PathBuf::from).into();
    targets.extend([generation.to_owned(), generation.join("journal"), generation.join(db)]);
    targets
}

/// The places of one case. All are on one disk.
struct Case {
    _folder: tempfile::TempDir,
    store: PathBuf,
    /// A copy from an earlier moment.
    older: PathBuf,
    /// A place for what is moved away or linked.
    away: PathBuf,
    engine: StorageEngine,
    action: What,
    target: PathBuf,
}

impl What {
    /// Whether the next commit must refuse what was done between two calls.
    fn is_noticed_at_once(self) -> bool {
        match self {
            Self::Older | Self::Same | Self::Link | Self::Move | Self::Remove => true,
            Self::InPlace | Self::Truncate | Self::MoveAndBack => false,
        }
    }
}

impl Case {
    /// Does to the store what this case is about. Parts of it fail if a commit has renamed the same file meanwhile.
    fn disturb(&self) -> std::io::Result<()> {
        let (path, older) = (self.store.join(&self.target), self.older.join(&self.target));
        let draft = self.away.join("draft");
        match self.action {
            What::Older | What::Same => {
                let from = if self.action == What::Older { &older } else { &path };
                if from.is_dir() {
                    golden::copy(from, &draft);
                    fs::rename(&path, self.away.join("old"))?;
                } else {
                    fs::copy(from, &draft)?;
                }
                fs::rename(&draft, &path)
            }
            What::InPlace => on_files(&path, &|file| {
                let from = self.older.join(file.strip_prefix(&self.store).unwrap());
                // As `cp` does it.
                if from.is_file() { fs::copy(from, file).map(drop) } else { Ok(()) }
            }),
            What::Truncate => {
                on_files(&path, &|file| fs::File::options().write(true).open(file)?.set_len(0))
            }
            What::Link => on_files(&path, &|file| {
                let name = file.file_name().unwrap().to_string_lossy().into_owned();
                fs::hard_link(file, self.away.join(name))
            }),
            What::Move => fs::rename(&path, self.away.join("moved")),
            What::MoveAndBack => {
                fs::rename(&path, self.away.join("moved"))?;
                fs::rename(self.away.join("moved"), &path)
            }
            What::Remove if path.is_dir() => fs::remove_dir_all(&path),
            What::Remove => fs::remove_file(&path),
        }
    }

    /// Undoes what keeps a store from opening at all and is an error by itself: gives back what was moved, and removes links.
    fn bring_back(&self) {
        let moved = self.away.join("moved");
        if moved.exists() && !self.store.join(&self.target).exists() {
            fs::rename(moved, self.store.join(&self.target)).unwrap();
        }
        if self.action == What::Link {
            fs::remove_dir_all(&self.away).unwrap();
        }
    }
}

fn on_files(path: &Path, work: &dyn Fn(&Path) -> std::io::Result<()>) -> std::io::Result<()> {
    if !path.is_dir() {
        return work(path);
    }
    for entry in fs::read_dir(path)? {
        on_files(&entry?.path(), work)?;
    }
    Ok(())
}

fn is_replaced<T>(result: &Result<T, FileError>) -> bool {
    matches!(result, Err(FileError::Store(StoreError::FilesReplaced(_))))
}

/// A session, and what it has acknowledged.
struct Writing {
    session: Session,
    random: Random,
    acknowledged: BTreeMap<String, String>,
    calls: usize,
}

impl Writing {
    fn write(&mut self) -> Result<(), FileError> {
        self.calls += 1;
        let path = format!("/memories/{}/{}.txt", self.random.below(3), self.random.below(8));
        let text = format!("{} ", self.calls).repeat(1 + self.random.below(900));
        self.session.files().write(&path, &text)?;
        self.acknowledged.insert(path, text);
        Ok(())
    }

    fn write_many(&mut self, most: usize) -> Result<(), FileError> {
        let calls = self.random.below(most);
        (0..calls).try_for_each(|_| self.write())
    }
}

/// What was lost; `None` if the store is refused or says that its freshness is unknown.
fn lost(case: &Case, acknowledged: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let Ok(session) = Vault::open(&case.store).and_then(|mut it| it.unlock(&passphrase())) else {
        return None;
    };
    let status = session.status();
    let is_known = status.is_ok_and(|status| status.anchor == AnchorStatus::Known);
    let differs = |(path, text): &(&String, &String)| match session.files().read(path) {
        Ok(found) => found.as_str() != text.as_str(),
        // Damage is an error. A missing file is not.
        Err(FileError::Store(_)) => false,
        Err(_) => true,
    };
    let lost = acknowledged.iter().filter(differs).map(|(path, _)| path.clone()).collect();
    session.lock();
    is_known.then_some(lost)
}

/// Returns what was done, if no error told of it and all that was acknowledged was looked for.
fn run(seed: u64, template: &Path, engine: StorageEngine) -> Option<What> {
    let random = Random(seed);
    let folder = tempfile::tempdir().unwrap();
    let [store, older, away] = ["store", "older", "away"].map(|name| folder.path().join(name));
    fs::create_dir(&away).unwrap();
    golden::copy(template, &store);
    let targets = targets(engine);
    // 24 seeds have every action and every target, and 64 every pair.
    let number = usize::try_from(seed % 64).unwrap();
    let action = ACTIONS[number % 8];
    let target = targets[(number / 8 * 3 + number % 8 / 2) % 8].clone();
    let case = Case { _folder: folder, store, older, away, engine, action, target };

    let session = Vault::open(&case.store).unwrap().unlock(&passphrase()).unwrap();
    let mut writing = Writing { session, random, acknowledged: BTreeMap::new(), calls: 0 };
    writing.write_many(20).unwrap();
    golden::copy(&case.store, &case.older);
    writing.write().unwrap();
    writing.write_many(40).unwrap();
    if writing.random.below(16) == 0 {
        // The journal is emptied meanwhile.
        thread::sleep(Duration::from_millis(1_200));
    }
    let context =
        || format!("seed {seed}: {:?} {} on {:?}", case.action, case.target.display(), case.engine);

    let is_during = writing.random.below(2) == 0;
    let mut outcome = Ok(());
    if is_during {
        let wait = Duration::from_micros(writing.random.below_u64(20_000));
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(wait);
                // A race with a header that the session replaces itself is no fault of the store.
                let _ = case.disturb();
            });
            outcome = writing.write_many(60);
        });
    } else {
        case.disturb().unwrap();
        if writing.random.below(16) == 0 {
            thread::sleep(Duration::from_millis(1_200));
        }
        outcome = outcome.and_then(|()| writing.write());
        if case.action.is_noticed_at_once() {
            assert!(is_replaced(&outcome), "{}: {outcome:?}", context());
        }
    }
    let outcome = outcome.and_then(|()| writing.write_many(40));
    if outcome.is_err() {
        // Nothing more is acknowledged, even if the files come back.
        case.bring_back();
        assert!(writing.write().is_err(), "{}", context());
    }
    let Writing { session, acknowledged, .. } = writing;
    let locked = session.lock_checking_files();
    if case.action.is_noticed_at_once() && outcome.is_ok() {
        assert!(matches!(locked, Err(StoreError::FilesReplaced(_))), "{}: {locked:?}", context());
    }
    if outcome.is_err() || locked.is_err() {
        return None;
    }
    case.bring_back();
    let lost = lost(&case, &acknowledged)?;
    assert!(lost.is_empty(), "{}: {lost:?}", context());
    Some(case.action)
}

#[test]
fn no_acknowledged_write_is_lost_silently_when_files_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let engines = [StorageEngine::Sled, StorageEngine::Redb];
    let engines = &engines[..if cfg!(feature = "redb") { 2 } else { 1 }];
    let template = |engine| folder.path().join(format!("{engine:?}"));
    for engine in engines {
        let options = VaultOptions::new().kdf_cost(CHEAP).engine(*engine);
        let session = options.create(template(*engine), &passphrase()).unwrap();
        session.files().write("/memories/0/0.txt", "before").unwrap();
        session.lock();
    }
    let mut compared = Vec::new();
    for seed in seeds(0..24) {
        for engine in engines {
            compared.extend(run(seed, &template(*engine), *engine));
        }
    }
    let is_usual = std::env::var_os("INMOST_SEEDS").is_none();
    for action in ACTIONS.iter().filter(|action| is_usual && !action.is_noticed_at_once()) {
        assert!(compared.contains(action), "{action:?} was never looked at");
    }
}

#[test]
fn the_error_says_which_file_was_replaced_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let session = VaultOptions::new().kdf_cost(CHEAP).create(&store, &passphrase()).unwrap();
    session.files().write("/memories/a", "one").unwrap();
    let (anchor, other) = (store.join("anchor"), store.join("other"));
    fs::copy(&anchor, &other).unwrap();
    fs::rename(&anchor, folder.path().join("kept")).unwrap();
    fs::rename(&other, &anchor).unwrap();
    let error = session.files().write("/memories/a", "two").unwrap_err();
    assert_eq!(
        error.to_string(),
        "Another program has changed the files of the open store: anchor was replaced. Nothing was saved since."
    );
    fs::rename(folder.path().join("kept"), &anchor).unwrap();
    assert!(is_replaced(&session.files().write("/memories/a", "three")));
    assert!(matches!(session.status(), Err(StoreError::FilesReplaced(_))));
    assert!(matches!(session.lock_checking_files(), Err(StoreError::FilesReplaced(_))));
    // The refused change was written before it was refused, to the journal, which is the store's.
    let session = Vault::open(&store).unwrap().unlock(&passphrase()).unwrap();
    assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "two");
    assert_eq!(session.status().unwrap().anchor, AnchorStatus::Known);
}

#[test]
fn a_linked_anchor_is_refused_at_the_unlock() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    VaultOptions::new().kdf_cost(CHEAP).create(&store, &passphrase()).unwrap().lock();
    fs::hard_link(store.join("anchor"), folder.path().join("frozen")).unwrap();
    let refused = Vault::open(&store).unwrap().unlock(&passphrase());
    assert!(matches!(refused, Err(StoreError::UntrustedFile(_))));
}
