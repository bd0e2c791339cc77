//! Tests of records that are set aside, on a real folder: an older copy put over a newer store, and a repair.

use std::fs;
use std::path::{Path, PathBuf};

use inmost::{Session, StoreError, Vault, VaultOptions};
use inmost_engines::local_engine::Expected;
use inmost_testing::{CHEAP, passphrase};
use tempfile::TempDir;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn create(&self) -> Session {
        let options = VaultOptions::new().kdf_cost(CHEAP);
        options.create(self.path("store"), &passphrase()).unwrap()
    }

    fn unlock(&self, name: &str) -> Session {
        Vault::open(self.path(name)).unwrap().unlock(&passphrase()).unwrap()
    }
}

fn read(session: &Session, path: &str) -> Option<String> {
    session.files().read(path).ok().map(|text| text.as_str().to_owned())
}

/// Copies a folder over another one, as `cp -r` does: what only the other one has stays.
fn copy_over(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_over(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Regression: the unlock removed the newer records as if an interrupted rewrite had left them.
#[test]
fn an_older_copy_put_over_a_store_does_not_cost_the_newer_records() {
    let place = Place::new();
    let session = place.create();
    session.files().write("/memories/a", "older").unwrap();
    session.lock();
    copy_over(&place.path("store"), &place.path("older"));
    let session = place.unlock("store");
    session.purge().unwrap();
    session.files().write("/memories/a", "newer").unwrap();
    assert_eq!(
        (session.set_aside().unwrap(), session.status().unwrap().set_aside_bytes),
        (vec![], 0)
    );
    session.lock();
    let header = fs::read(place.path("store").join("header.a")).unwrap();
    copy_over(&place.path("older"), &place.path("store"));

    // It stays through every later unlock and rewrite.
    for _ in 0..2 {
        let session = place.unlock("store");
        assert_eq!(read(&session, "/memories/a").as_deref(), Some("older"));
        let [found] = session.set_aside().unwrap().try_into().unwrap();
        assert_eq!((found.number, found.name().as_str()), (2, "set-aside-0000000000000002"));
        assert!(found.bytes > 0);
        assert_eq!(session.status().unwrap().set_aside_bytes, found.bytes);
        session.purge().unwrap();
        session.lock();
    }

    // With the newer header, the newer records open.
    let restored = place.path("restored");
    copy_over(
        &place.path("store/set-aside-0000000000000002"),
        &restored.join("gen-0000000000000002"),
    );
    fs::write(restored.join("header.a"), header).unwrap();
    assert_eq!(read(&place.unlock("restored"), "/memories/a").as_deref(), Some("newer"));

    let session = place.unlock("store");
    session.discard_set_aside(2).unwrap();
    session.discard_set_aside(2).unwrap();
    assert_eq!(session.set_aside().unwrap(), []);
    assert!(!place.path("store/set-aside-0000000000000002").exists());
    session.lock();
    assert!(matches!(session.set_aside(), Err(StoreError::Locked)));
    assert!(matches!(session.discard_set_aside(2), Err(StoreError::Locked)));
}

/// Flips a bit of the longest record, wherever it is in the files.
fn damage_longest_record(store: &Path) {
    // Behind the journal, which needs the keys; a locked store has everything in its engine.
    let generation = store.join("gen-0000000000000001");
    let engine = (inmost_sled::KIND.open)(&generation, &Expected::anything()).unwrap();
    let records = engine.scan(None, 1_000).unwrap();
    let (_, value) = records.into_iter().max_by_key(|(_, value)| value.len()).unwrap();
    engine.close().unwrap();
    let nonce = &value[1..25];
    for entry in fs::read_dir(generation).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let mut bytes = fs::read(&path).unwrap();
            while let Some(at) = bytes.windows(24).position(|window| window == nonce) {
                bytes[at] ^= 1;
            }
            fs::write(&path, bytes).unwrap();
        }
    }
}

#[test]
fn a_repair_keeps_the_damaged_records_with_the_header_that_opens_them() {
    let place = Place::new();
    let session = place.create();
    session.files().write("/memories/kept", "kept").unwrap();
    session.files().write("/memories/damaged", &"long\n".repeat(600)).unwrap();
    session.lock();
    damage_longest_record(&place.path("store"));

    let vault = Vault::open(place.path("store")).unwrap();
    assert_eq!(vault.repair(&passphrase(), |_| {}).unwrap().lost.len(), 1);
    drop(vault);
    let session = place.unlock("store");
    assert!(session.check().unwrap().is_clean());
    let [found] = session.set_aside().unwrap().try_into().unwrap();
    assert_eq!(found.number, 1);
    drop(session);

    let kept = place.path("store").join(found.name());
    let old = place.path("old");
    copy_over(&kept, &old.join("gen-0000000000000001"));
    fs::copy(kept.join("header"), old.join("header.a")).unwrap();
    let mut saved = Vec::new();
    let report = Vault::open(&old).unwrap().salvage(&passphrase(), |path, _| {
        saved.push(path.to_owned());
        Ok::<(), StoreError>(())
    });
    assert_eq!((saved, report.unwrap().lost.len()), (vec!["/memories/kept".to_owned()], 1));
}
