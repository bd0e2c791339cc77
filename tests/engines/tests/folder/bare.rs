//! The files of a generation as bare bytes.

use inmost_storage::BareFiles;

use super::*;

fn value(byte: u8) -> Vec<u8> {
    vec![byte; 300]
}

/// Where the value lies: the extent's time and the offset in it.
fn places(bare: &dyn BareFiles, value: &[u8]) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for extent in bare.extents() {
        let mut bytes = vec![0; usize::try_from(extent.length).unwrap()];
        bare.read(extent.file, extent.offset, &mut bytes).unwrap();
        let at = bytes.windows(value.len()).position(|window| window == value);
        found.extend(at.map(|at| (extent.written, u64::try_from(at).unwrap())));
    }
    found
}

fn put(engine: &dyn Engine, address: u8, byte: u8) {
    let puts = vec![(Address([address; 32]), value(byte))];
    engine.apply(&Batch { puts, ..Batch::default() }).unwrap();
    engine.sync().unwrap();
}

#[test]
fn values_are_found_in_the_log_and_in_the_journal_in_the_order_of_their_writing() {
    let folder = tempfile::tempdir().unwrap();
    let storage = LocalStorage::create(&folder.path().join("store"), LOCAL).unwrap();
    let engine = storage.create_generation(1, EngineKind::Sled).unwrap();
    // Goes to the engine directly: no root has been replaced yet.
    put(&*engine, 1, 10);
    let expect = Some((Address([1; 32]), Some(value(10))));
    let puts = vec![(Address([1; 32]), value(20))];
    engine.apply(&Batch { expect, puts, ..Batch::default() }).unwrap();
    engine.sync().unwrap();
    put(&*engine, 2, 30);

    let bare = storage.bare_files(1).unwrap();
    let total: u64 = bare.extents().iter().map(|extent| extent.length).sum();
    let files = ["db", "journal"].map(|name| {
        folder
            .path()
            .join(".store.creating/gen-0000000000000001")
            .join(name)
            .metadata()
            .unwrap()
            .len()
    });
    assert_eq!(total, files.iter().sum::<u64>());
    let order: Vec<_> = [10, 20, 30].map(|byte| places(&*bare, &value(byte))).concat();
    assert_eq!(order.len(), 3, "{order:?}");
    assert!(order.is_sorted() && order.iter().all(|(written, _)| *written > 0), "{order:?}");
    engine.close().unwrap();
}

#[test]
fn missing_files_are_left_out_and_bytes_behind_the_end_are_zero() {
    let (_parent, path) = parent_and_path();
    let storage = published(&path);
    let folder = path.join("gen-0000000000000007");
    fs::create_dir(&folder).unwrap();
    assert!(storage.bare_files(7).unwrap().extents().is_empty());
    // The second one may be of an engine that this build lacks.
    for name in ["db", "unknown"] {
        fs::write(folder.join(name), [7; 10]).unwrap();
        let bare = storage.bare_files(7).unwrap();
        let mut bytes = [1; 20];
        bare.read(0, 5, &mut bytes).unwrap();
        assert_eq!(bytes[..5], [7; 5]);
        assert_eq!(bytes[5..], [0; 15]);
        fs::remove_file(folder.join(name)).unwrap();
    }
}
