//! A store appears at its place whole or not at all, and replaces nothing there.

use super::*;

#[test]
fn a_store_appears_whole_or_not_at_all() {
    let (parent, path) = parent_and_path();
    let storage = LocalStorage::create(&path, LOCAL).unwrap();
    let engine = storage.create_generation(1, EngineKind::Sled).unwrap();
    let root = (Address([1; 32]), b"root".to_vec());
    let batch = Batch { puts: vec![root.clone()], ..Batch::default() };
    engine.apply(&batch).unwrap();
    engine.close().unwrap();
    storage.write_header(HeaderCopy::A, b"header a").unwrap();
    assert_eq!(names_in(parent.path()), [".my.store.creating"]);
    assert!(matches!(LocalStorage::open(&path, LOCAL), Err(StorageError::Missing)));

    let storage = storage.publish().unwrap().publish().unwrap();

    assert_eq!(names_in(parent.path()), ["my.store"]);
    assert_eq!(names_in(&path), ["ballast", "gen-0000000000000001", "header.a", "lock"]);
    assert!(is_in_use(&LocalStorage::open(&path, LOCAL), std::process::id()));
    assert_eq!(storage.read_header(HeaderCopy::A).unwrap().unwrap(), b"header a");
    let engine = storage.open_generation(1, EngineKind::Sled).unwrap();
    assert_eq!(engine.scan(None, 9).unwrap(), [root]);
    engine.close().unwrap();
    drop(storage);
    LocalStorage::open(&path, LOCAL).unwrap();
}

/// The names of the files below a folder that this process has open.
#[cfg(target_os = "linux")]
fn open_below(folder: &Path) -> Vec<PathBuf> {
    let numbers = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let names = numbers.filter_map(|number| fs::read_link(number.path()).ok());
    names.filter(|name| name.starts_with(folder)).collect()
}

/// Windows refuses to rename a folder while any file in it is open, which wine does not imitate.
#[test]
fn a_store_is_moved_to_its_place_while_none_of_its_files_is_open() {
    let (parent, path) = parent_and_path();
    let mut storage = LocalStorage::create(&path, LOCAL).unwrap();
    storage.create_generation(1, EngineKind::Sled).unwrap().close().unwrap();
    storage.write_header(HeaderCopy::A, b"header a").unwrap();
    storage.write_anchor(b"anchor").unwrap();
    storage.let_go();
    #[cfg(target_os = "linux")]
    assert!(open_below(&parent.path().join(".my.store.creating")).is_empty());
    storage.hold().unwrap();

    let storage = storage.publish_with(true).unwrap();

    assert!(is_in_use(&LocalStorage::open(&path, LOCAL), std::process::id()));
    storage.write_anchor(b"another anchor").unwrap();
    storage.open_generation(1, EngineKind::Sled).unwrap().close().unwrap();
    drop(storage);
    let storage = LocalStorage::open(&path, LOCAL).unwrap();
    assert_eq!(storage.read_header(HeaderCopy::A).unwrap().unwrap(), b"header a");
    assert!(storage.read_anchor().unwrap().unwrap().starts_with(b"another anchor"));
    assert_eq!(names_in(parent.path()), ["my.store"]);
}

/// Shows what the system does; the store relies on neither.
#[test]
fn probe_whether_a_folder_with_an_open_file_can_be_renamed() {
    let parent = tempfile::tempdir().unwrap();
    let (from, to) = (parent.path().join("from"), parent.path().join("to"));
    fs::create_dir(&from).unwrap();
    let open = File::create(from.join("open")).unwrap();
    let renamed = fs::rename(&from, &to);
    println!("renamed while a file in it is open: {renamed:?}");
    drop(open);
    if renamed.is_err() {
        fs::rename(&from, &to).unwrap();
    }
    assert_eq!(names_in(&to), ["open"]);
}

#[test]
fn an_abandoned_creation_leaves_nothing() {
    let (parent, path) = parent_and_path();
    let storage = LocalStorage::create(&path, LOCAL).unwrap();
    storage.create_generation(1, EngineKind::Sled).unwrap().close().unwrap();
    drop(storage);
    assert!(names_in(parent.path()).is_empty());
}

#[test]
fn an_interrupted_creation_can_be_repeated() {
    let (parent, path) = parent_and_path();
    let stale = parent.path().join(".my.store.creating");
    fs::create_dir_all(stale.join("gen-0000000000000001/blobs")).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&stale, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(stale.join("header.a"), b"half").unwrap();
    fs::write(stale.join("header.b.new"), b"half").unwrap();
    fs::write(stale.join("lock"), b"1\n").unwrap();
    let storage = LocalStorage::create(&path, LOCAL).unwrap();
    assert_eq!(names_in(&stale), ["ballast", "lock"]);
    assert!(storage.generations().unwrap().is_empty());
    storage.publish().unwrap();
}

#[test]
fn two_creations_of_one_store_exclude_each_other() {
    let (_parent, path) = parent_and_path();
    let first = LocalStorage::create(&path, LOCAL).unwrap();
    first.write_header(HeaderCopy::A, b"mine").unwrap();
    assert!(is_in_use(&LocalStorage::create(&path, LOCAL), std::process::id()));
    let first = first.publish().unwrap();
    assert_eq!(first.read_header(HeaderCopy::A).unwrap().unwrap(), b"mine");
    assert_eq!(error_kind(LocalStorage::create(&path, LOCAL)), io::ErrorKind::AlreadyExists);
}

#[test]
fn an_empty_folder_is_replaced_and_anything_else_refused() {
    let (parent, path) = parent_and_path();
    fs::create_dir(&path).unwrap();
    drop(published(&path));
    LocalStorage::open(&path, LOCAL).unwrap();

    let file = parent.path().join("file");
    fs::write(&file, b"mine").unwrap();
    for occupied in [&path, &file, &parent.path().to_path_buf()] {
        assert_eq!(error_kind(LocalStorage::create(occupied, LOCAL)), io::ErrorKind::AlreadyExists);
    }
    assert_eq!(error_kind(LocalStorage::create(&path.join("x/y"), LOCAL)), io::ErrorKind::NotFound);
    assert_eq!(names_in(parent.path()), ["file", "my.store"]);
    #[cfg(unix)]
    {
        let link = parent.path().join("link");
        symlink(parent.path(), &link).unwrap();
        assert_eq!(error_kind(LocalStorage::create(&link, LOCAL)), io::ErrorKind::AlreadyExists);
        assert_eq!(names_in(parent.path()), ["file", "link", "my.store"]);
    }
}

#[test]
fn publishing_never_replaces_what_has_taken_the_place() {
    let (parent, path) = parent_and_path();
    let storage = LocalStorage::create(&path, LOCAL).unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join("letter.txt"), b"dear").unwrap();
    assert_eq!(error_kind(storage.publish()), io::ErrorKind::AlreadyExists);
    assert_eq!(names_in(&path), ["letter.txt"]);
    assert_eq!(names_in(parent.path()), ["my.store"]);
}
