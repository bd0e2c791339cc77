//! Tests of a copy that is damaged after it was written and before it is read back.

use std::fs;
use std::path::PathBuf;

use inmost_storage::{Batch, EngineKind};
use tempfile::TempDir;

use super::super::rewrite::Versions;
use super::*;
use crate::session::Vault;
use crate::session::tests::store::{options, passphrase};

fn filled() -> (TempDir, Session, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let session = options().create(folder.path().join("store"), &passphrase()).unwrap();
    for number in 0..20 {
        session
            .files()
            .write(&format!("/memories/{number}"), &"line\n".repeat(number * 40))
            .unwrap();
    }
    session.files().remove("/memories/7").unwrap();
    let copy = folder.path().join("copy");
    (folder, session, copy)
}

#[test]
fn a_verified_copy_holds_what_the_store_holds_and_is_not_changed_by_it() {
    let (_folder, session, copy) = filled();
    let mut steps = Vec::new();
    let verified =
        session.backup_with_versions_reporting(&copy, &mut |records| steps.push(records)).unwrap();
    let status = session.status().unwrap();
    assert_eq!((verified.files, verified.bytes), (status.files, status.bytes));
    assert!(verified.records > verified.files);
    assert!(steps.iter().any(|records| *records >= verified.records));
    let refused = session.backup_with_versions(&copy);
    assert!(matches!(refused, Err(StoreError::AlreadyExists)), "nothing was written");

    // The session released the copy.
    let restored = options().open(&copy).unwrap().unlock(&passphrase()).unwrap();
    assert_eq!(restored.status().unwrap().commit, status.commit);
    assert_eq!(restored.files().read("/memories/19").unwrap().as_str().len(), 19 * 200);
}

/// Returns the reason why a copy is refused that `damage` has changed.
fn refusal(damage: impl FnOnce(&mut WrittenCopy, &Path)) -> String {
    let (_folder, session, copy) = filled();
    let mut written = session.write_copy(&copy, Versions::Drop, &mut |_| {}).unwrap();
    damage(&mut written, &copy);
    let Err(error) = verified(written, &copy, &mut |_| {}) else { panic!("the copy was verified") };
    let StoreError::CopyNotVerified { copy: named, why } = &error else { panic!("{error}") };
    assert_eq!(Path::new(named), copy);
    assert!(error.to_string().contains(named.as_str()));
    // The store itself is as it was, and the copy is there for a look.
    assert!(session.check().unwrap().is_clean());
    assert!(copy.exists());
    why.clone()
}

#[test]
fn a_damaged_record_is_noticed() {
    let why = refusal(|written, _| {
        let mac = written.next.sealer.journal();
        let engine = written.storage.open_generation_with(FIRST_GENERATION, EngineKind::Sled, mac);
        let engine = engine.unwrap();
        let records = engine.scan(None, 1_000).unwrap();
        let (address, mut value) =
            records.into_iter().max_by_key(|(_, value)| value.len()).unwrap();
        value[100] ^= 1;
        engine.apply(&Batch { puts: vec![(address, value)], ..Batch::default() }).unwrap();
        engine.close().unwrap();
    });
    assert!(why.contains("records that cannot be read"), "{why}");
}

#[test]
fn a_damaged_copy_of_the_header_is_noticed() {
    for name in ["header.a", "header.b"] {
        let why = refusal(|_, copy| {
            let mut bytes = fs::read(copy.join(name)).unwrap();
            bytes[700] ^= 1;
            fs::write(copy.join(name), bytes).unwrap();
        });
        assert!(why.contains("header"), "{why}");
    }
}

#[test]
fn lost_records_and_other_files_are_noticed() {
    let generation = "gen-0000000000000001";
    refusal(|_, copy| fs::remove_dir_all(copy.join(generation)).unwrap());
    refusal(|_, copy| fs::remove_file(copy.join(generation).join("db")).unwrap());
    let why = refusal(|written, _| written.root.bytes += 1);
    assert!(why.contains("other files"), "{why}");
    let why = refusal(|written, _| written.root.commit += 1);
    assert!(why.contains("other files"), "{why}");
}

#[test]
fn a_store_in_memory_has_no_copy() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::in_memory().unwrap();
    let refused = session.backup_with_versions(folder.path().join("copy"));
    assert!(matches!(refused, Err(StoreError::InMemory)));
    assert!(matches!(Vault::open(folder.path().join("copy")), Err(StoreError::NotAStore)));
}
