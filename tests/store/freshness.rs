//! Edits of a store's current files that hide its newest commit.
//!
//! Two such edits once opened a store without a word: its freshness was "known". Nothing in them needs an older copy,
//! or the passphrase: the newest entry is cut off the journal, and the anchor's newest slot is blanked, or the other slot
//! is copied over it. With the header from before, that brought a replaced passphrase back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use inmost::{
    AnchorStatus, NewSlot, Passphrase, Session, StorageEngine, StoreError, Vault, VaultOptions,
};
use inmost_testing::CHEAP;

use super::golden;

const BLOCK: usize = 4_096;
/// From a slot of the anchor to the next.
pub(super) const STRIDE: usize = 128;
const NO_BACKGROUND: &str = "INMOST_TEST_NO_BACKGROUND";

/// The files of a store as its last commit left them, and its anchor and header from before that commit.
struct Copied {
    _folder: tempfile::TempDir,
    store: PathBuf,
    header: Vec<u8>,
    /// The slot of the anchor that was written last.
    newest: usize,
}

/// Runs the test of this path once more, in a process whose checkpoints wait until a call needs them: otherwise one of
/// them could move the newest entry out of the journal before it is cut off. Returns whether this is not that process.
pub(super) fn runs_in_a_child(name: &str) -> bool {
    if std::env::var_os(NO_BACKGROUND).is_some() {
        return false;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(NO_BACKGROUND, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
    true
}

fn old() -> Passphrase {
    Passphrase::new("the old one").unwrap()
}

fn new() -> Passphrase {
    Passphrase::new("the new one").unwrap()
}

/// Makes a commit, then those of `last`, and copies the files of the store while it is in use.
fn copied(engine: StorageEngine, last: impl Fn(&Session)) -> Copied {
    let folder = tempfile::tempdir().unwrap();
    let [original, store] = ["original", "store"].map(|name| folder.path().join(name));
    let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine);
    let session = options.create(&original, &old()).unwrap();
    let read = |name: &str| fs::read(original.join(name)).unwrap();
    let commit = || session.status().unwrap().commit;
    let oldest = read("anchor");
    session.files().write("/memories/a", "before").unwrap();
    let (header, anchor, before) = (read("header.a"), read("anchor"), commit());
    let is_new =
        |slot: &usize| oldest[slot * STRIDE..][..STRIDE] != anchor[slot * STRIDE..][..STRIDE];
    let slot = (0..2).find(is_new).unwrap();
    last(&session);
    // The two slots take turns.
    let newest = if (commit() - before).is_multiple_of(2) { slot } else { 1 - slot };
    golden::copy(&original, &store);
    session.lock();
    Copied { _folder: folder, store, header, newest }
}

/// Cuts the newest entry off the journal.
pub(super) fn cut_the_journal(store: &Path) {
    let generations = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let generation = generations.into_iter().find(|path| path.is_dir()).unwrap();
    let path = generation.join("journal");
    let mut journal = fs::read(&path).unwrap();
    let number = |at: usize| u64::from_le_bytes(journal[at + 32..at + 40].try_into().unwrap());
    let entries = (2 * BLOCK..journal.len()).step_by(BLOCK);
    let entries = entries.filter(|at| journal[*at..].starts_with(b"IJE1"));
    let newest = entries.max_by_key(|at| number(*at)).unwrap();
    journal[newest..newest + BLOCK].fill(0);
    fs::write(path, journal).unwrap();
}

/// Blanks the newest slot of the anchor, or copies the other one over it.
fn hide_the_newest_mark(copied: &Copied, is_doubled: bool) {
    let path = copied.store.join("anchor");
    let mut anchor = fs::read(&path).unwrap();
    let [newest, other] = [copied.newest, 1 - copied.newest].map(|slot| slot * STRIDE);
    if is_doubled {
        anchor.copy_within(other..other + STRIDE, newest);
    } else {
        anchor[newest..newest + STRIDE].fill(0);
    }
    fs::write(path, anchor).unwrap();
}

fn unlock(store: &Path, passphrase: &Passphrase) -> Result<Session, StoreError> {
    Vault::open(store).unwrap().unlock(passphrase)
}

fn freshness(session: &Session) -> AnchorStatus {
    session.status().unwrap().anchor
}

fn engines() -> Vec<StorageEngine> {
    if cfg!(feature = "redb") {
        vec![StorageEngine::Sled, StorageEngine::Redb]
    } else {
        vec![StorageEngine::Sled]
    }
}

#[test]
fn a_newest_commit_that_is_hidden_in_the_current_files_is_not_known_to_be_absent() {
    if runs_in_a_child(
        "freshness::a_newest_commit_that_is_hidden_in_the_current_files_is_not_known_to_be_absent",
    ) {
        return;
    }
    for engine in engines() {
        for is_doubled in [false, true] {
            let last = |session: &Session| {
                session.files().write("/memories/a", "after").unwrap();
            };
            let copied = copied(engine, last);
            let store = &copied.store;
            cut_the_journal(store);
            let refused = unlock(store, &old()).err().unwrap();
            assert!(matches!(refused, StoreError::RolledBack { .. }), "{refused}");

            hide_the_newest_mark(&copied, is_doubled);
            for _ in 0..2 {
                let session = unlock(store, &old()).unwrap();
                assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "before");
                assert_eq!(freshness(&session), AnchorStatus::Unknown);
                session.files().write("/memories/b", "a later commit").unwrap();
                session.lock();
            }
            let mut vault = Vault::open(store).unwrap();
            let session = vault.unlock_accepting_rollback(&old()).unwrap();
            assert_eq!(freshness(&session), AnchorStatus::Known);
            session.lock();
            drop(vault);
            let session = unlock(store, &old()).unwrap();
            assert_eq!(freshness(&session), AnchorStatus::Known);
            session.lock();
        }
    }
}

#[test]
fn a_replaced_passphrase_does_not_come_back_without_a_word() {
    if runs_in_a_child("freshness::a_replaced_passphrase_does_not_come_back_without_a_word") {
        return;
    }
    for engine in engines() {
        for is_doubled in [false, true] {
            let last = |session: &Session| {
                let passphrase = new();
                let slot = NewSlot::new(&passphrase).kdf_cost(CHEAP);
                session.replace_slot(0, &slot).unwrap();
            };
            let copied = copied(engine, last);
            let store = &copied.store;
            assert!(matches!(unlock(store, &old()), Err(StoreError::WrongPassphrase)));
            cut_the_journal(store);
            for name in ["header.a", "header.b"] {
                fs::write(store.join(name), &copied.header).unwrap();
            }
            let refused = unlock(store, &old()).err().unwrap();
            assert!(matches!(refused, StoreError::RolledBack { .. }), "{refused}");

            hide_the_newest_mark(&copied, is_doubled);
            for _ in 0..2 {
                let session = unlock(store, &old()).unwrap();
                assert_eq!(freshness(&session), AnchorStatus::Unknown);
                session.lock();
            }
        }
    }
}

/// The anchor alone, of an earlier session or of more commits ago than those between two syncs of it, does not hide the newest
/// commit.
#[test]
fn an_older_anchor_does_not_make_an_older_state_known() {
    if runs_in_a_child("freshness::an_older_anchor_does_not_make_an_older_state_known") {
        return;
    }
    for engine in engines() {
        for (commits, is_earlier) in [(3, true), (130, false)] {
            let folder = tempfile::tempdir().unwrap();
            let [original, store] = ["original", "store"].map(|name| folder.path().join(name));
            let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine);
            let mut session = options.create(&original, &old()).unwrap();
            session.files().write("/memories/a", "before").unwrap();
            if is_earlier {
                session.lock();
            }
            let anchor = fs::read(original.join("anchor")).unwrap();
            if is_earlier {
                session = unlock(&original, &old()).unwrap();
            }
            for number in 0..commits {
                session.files().write("/memories/a", &number.to_string()).unwrap();
            }
            golden::copy(&original, &store);
            session.lock();
            cut_the_journal(&store);
            assert!(matches!(unlock(&store, &old()), Err(StoreError::RolledBack { .. })));
            fs::write(store.join("anchor"), anchor).unwrap();
            let session = unlock(&store, &old()).unwrap();
            let newest = session.files().read("/memories/a").unwrap().as_str().to_owned();
            assert_eq!(newest, (commits - 2).to_string());
            assert_eq!(freshness(&session), AnchorStatus::Unknown, "{commits}");
            session.lock();
        }
    }
}

/// A process that was killed leaves its files as they are.
#[test]
fn the_files_of_a_store_in_use_are_known_to_be_the_newest() {
    if runs_in_a_child("freshness::the_files_of_a_store_in_use_are_known_to_be_the_newest") {
        return;
    }
    for engine in engines() {
        let copied = copied(engine, |session| {
            for number in 0..40 {
                session.files().write("/memories/a", &number.to_string()).unwrap();
            }
        });
        let session = unlock(&copied.store, &old()).unwrap();
        assert_eq!(session.files().read("/memories/a").unwrap().as_str(), "39");
        assert_eq!(freshness(&session), AnchorStatus::Known);
        session.lock();
    }
}

/// A copy must not make known what its origin does not know.
#[test]
fn a_backup_of_a_store_of_unknown_freshness_is_unknown_too() {
    let folder = tempfile::tempdir().unwrap();
    let [store, backup, second] =
        ["store", "backup", "second"].map(|name| folder.path().join(name));
    VaultOptions::new().kdf_cost(CHEAP).create(&store, &old()).unwrap().lock();
    fs::write(store.join("anchor"), b"").unwrap();
    let strict = VaultOptions::new().require_fresh();
    let refused = strict.open(&store).unwrap().unlock(&old());
    assert!(matches!(refused, Err(StoreError::FreshnessUnknown)));
    let session = unlock(&store, &old()).unwrap();
    session.backup(&backup).unwrap();
    session.lock();
    let session = unlock(&backup, &old()).unwrap();
    assert_eq!(freshness(&session), AnchorStatus::Unknown);
    session.lock();
    let mut vault = Vault::open(&store).unwrap();
    let session = vault.unlock_accepting_rollback(&old()).unwrap();
    session.backup(&second).unwrap();
    session.lock();
    let session = strict.open(&second).unwrap().unlock(&old()).unwrap();
    assert_eq!(freshness(&session), AnchorStatus::Known);
    session.lock();
}
