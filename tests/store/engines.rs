//! Tests of choosing an engine through the public API, and of damage to redb's file.

use inmost::{StorageEngine, VaultOptions};
use inmost_testing::{CHEAP, passphrase};

fn options(engine: StorageEngine) -> VaultOptions {
    VaultOptions::new().kdf_cost(CHEAP).engine(engine)
}

#[cfg(not(feature = "redb"))]
#[test]
fn a_store_on_redb_needs_a_build_with_redb() {
    use inmost::StoreError;

    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let created = options(StorageEngine::Redb).create(&store, &passphrase());
    assert!(matches!(created, Err(StoreError::EngineNotBuilt)));
    assert!(!store.exists());
}

#[cfg(feature = "redb")]
mod redb {
    use std::fs;
    use std::path::{Path, PathBuf};

    use inmost::{FileError, StoreError, Vault};

    use super::*;

    fn text(number: usize) -> String {
        format!("{number:04} ").repeat(300)
    }

    fn path(number: usize) -> String {
        format!("/memories/file{number:04}.txt")
    }

    const FILES: usize = 40;

    fn filled(store: &Path) -> PathBuf {
        let session = options(StorageEngine::Redb).create(store, &passphrase()).unwrap();
        for number in 0..FILES {
            session.files().write(&path(number), &text(number)).unwrap();
        }
        session.lock();
        store.join("gen-0000000000000001/redb")
    }

    #[test]
    fn a_store_on_redb_names_its_engine_itself() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        assert!(filled(&store).is_file());
        let session = Vault::open(&store).unwrap().unlock(&passphrase()).unwrap();
        for number in 0..FILES {
            assert_eq!(session.files().read(&path(number)).unwrap().as_str(), text(number));
        }
    }

    /// redb does not check the pages that it reads. The check before it opens its file notices a flipped bit, or the layer
    /// above does when it reads the value.
    #[test]
    fn a_flipped_bit_is_noticed_or_harmless_and_never_another_text() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let database = filled(&store);
        let whole = fs::read(&database).unwrap();
        let (mut right, mut tampered, mut unopened) = (0, 0, 0);
        // A fixed pseudo-random sequence, so that failures are reproducible. (Knuth's MMIX generator.)
        let mut random = 1_u64;
        for _ in 0..60 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let mut damaged = whole.clone();
            // The pages in use are at the start; most of the rest of the file has never been written.
            let at = usize::try_from(random >> 33).unwrap() % (whole.len() / 4);
            damaged[at] ^= 1 << (random >> 61);
            fs::write(&database, damaged).unwrap();
            let session = match Vault::open(&store).unwrap().unlock(&passphrase()) {
                Ok(session) => session,
                Err(
                    StoreError::Tampered { .. } | StoreError::Storage(_) | StoreError::Damaged(_),
                ) => {
                    unopened += 1;
                    continue;
                }
                Err(error) => panic!("unexpected error: {error}"),
            };
            for number in 0..FILES {
                match session.files().read(&path(number)) {
                    Ok(read) => assert_eq!(read.as_str(), text(number)),
                    Err(FileError::Store(StoreError::Tampered { .. })) => tampered += 1,
                    Err(FileError::Store(StoreError::Storage(_))) => unopened += 1,
                    Err(error) => panic!("unexpected error: {error}"),
                }
                right += 1;
            }
        }
        println!("{right} reads, {tampered} tampered with, {unopened} not opened or read");
        assert!(tampered + unopened > 0, "no flip hit a page in use");
    }
}
