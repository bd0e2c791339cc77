//! Stores crafted by an attacker: the names of a store's files are links to foreign files, pipes and folders.

use std::os::unix::fs::chown;

use super::*;

/// A file outside the store, and the content that it must keep.
struct Victim {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Victim {
    fn new(parent: &TempDir) -> Self {
        Self::with(parent, b"precious ".repeat(20_000))
    }

    fn with(parent: &TempDir, bytes: Vec<u8>) -> Self {
        let path = parent.path().join("victim");
        fs::write(&path, &bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        Self { path, bytes }
    }

    /// Creates a hard link to it with this name in the store.
    fn link_as(&self, name: &Path) {
        let _ = fs::remove_file(name);
        fs::hard_link(&self.path, name).unwrap();
    }

    #[track_caller]
    fn assert_unharmed(&self) {
        assert!(fs::read(&self.path).unwrap() == self.bytes, "its content changed");
        let mode = fs::metadata(&self.path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o644, "its mode changed");
    }
}

#[track_caller]
fn odd<T>(result: Result<T, StorageError>) -> String {
    match result {
        Err(StorageError::UntrustedFile(odd)) => odd.to_string(),
        Err(error) => panic!("unexpected error: {error}"),
        Ok(_) => panic!("expected an error"),
    }
}

/// Performs every kind of operation on the files of a store.
fn use_store(path: &Path) -> Result<(), StorageError> {
    let storage = LocalStorage::open(path, LOCAL)?;
    for copy in [HeaderCopy::A, HeaderCopy::B] {
        storage.write_header(copy, b"a new header")?;
    }
    let _ = storage.write_anchor(b"a new anchor");
    let engine = storage.open_generation(1, EngineKind::Sled)?;
    storage.spend_ballast();
    engine.apply(&Batch { puts: vec![(Address([1; 32]), vec![1])], ..Batch::default() })?;
    engine.sync()?;
    engine.close()
}

/// Headers and their drafts are created anew next to the link; the store works without the ballast. An anchor that is never
/// written would hide a rollback, so it is refused.
#[test]
fn a_hard_link_to_a_foreign_file_is_never_written_to() {
    for name in ["header.a", "header.b", "header.a.new", "header.b.new", "anchor", "ballast"] {
        let (parent, path) = parent_and_path();
        drop(published(&path));
        let victim = Victim::new(&parent);
        victim.link_as(&path.join(name));
        match use_store(&path) {
            Err(StorageError::UntrustedFile(_)) if name == "anchor" => {}
            used => used.unwrap_or_else(|error| panic!("{name}: {error}")),
        }
        victim.assert_unharmed();
    }
}

#[test]
fn a_lock_that_is_a_hard_link_is_refused_before_anything_else() {
    let (parent, path) = parent_and_path();
    drop(published(&path));
    let victim = Victim::new(&parent);
    victim.link_as(&path.join("lock"));
    let what = odd(LocalStorage::open(&path, LOCAL));
    assert_eq!(what, "lock is a hard link, and the file has other names");
    victim.assert_unharmed();
}

/// The victim has the same bytes as the engine's file, so that the hard link is the only fault.
#[test]
fn hard_links_among_the_engines_files_are_refused_before_the_engine_sees_them() {
    for engine in kinds() {
        let (parent, path) = parent_and_path();
        let storage = LocalStorage::create(&path, LOCAL).unwrap();
        storage.create_generation(1, engine).unwrap().close().unwrap();
        let storage = storage.publish().unwrap();
        let generation = path.join("gen-0000000000000001");
        // Opened and closed once more to write a snapshot.
        storage.open_generation(1, engine).unwrap().close().unwrap();
        let unfinished = generation.join("snap.FFFFFFFFFFFFFFFF.generating");
        let names = names_in(&generation);
        let names = names.into_iter().filter(|name| name != "blobs");
        let mut tried = 0;
        for name in names {
            let file = generation.join(name);
            let victim = Victim::with(&parent, fs::read(&file).unwrap());
            victim.link_as(&file);
            odd(storage.open_generation(1, engine).map(drop));
            victim.assert_unharmed();
            fs::remove_file(&file).unwrap();
            fs::rename(&victim.path, &file).unwrap();
            tried += 1;
        }
        assert!(tried >= if engine == EngineKind::Sled { 3 } else { 1 });
        if engine == EngineKind::Sled {
            let victim = Victim::new(&parent);
            victim.link_as(&unfinished);
            odd(storage.open_generation(1, engine).map(drop));
            victim.assert_unharmed();
            fs::remove_file(unfinished).unwrap();
        }
        storage.open_generation(1, engine).unwrap().close().unwrap();
    }
}

/// Replaces a file by a link, pipe or folder.
fn put(what: &str, file: &Path, victim: &Victim) {
    let _ = fs::remove_file(file);
    match what {
        "folder" => fs::create_dir(file).unwrap(),
        "link" => symlink(&victim.path, file).unwrap(),
        "pipe" => assert!(Command::new("mkfifo").arg(file).status().unwrap().success()),
        _ => victim.link_as(file),
    }
}

#[test]
fn an_untrusted_header_copy_counts_as_damaged() {
    for what in ["link", "pipe"] {
        let (parent, path) = parent_and_path();
        let storage = published(&path);
        let victim = Victim::new(&parent);
        put(what, &path.join("header.b"), &victim);
        assert_eq!(storage.read_header(HeaderCopy::B).unwrap().unwrap(), b"");
        assert_eq!(storage.read_header(HeaderCopy::A).unwrap().unwrap(), b"header a");
        storage.write_header(HeaderCopy::B, b"header b").unwrap();
        assert_eq!(storage.read_header(HeaderCopy::B).unwrap().unwrap(), b"header b");
        victim.assert_unharmed();
    }
}

#[test]
fn a_folder_in_place_of_a_header_copy_stops_writes_but_not_reads() {
    let (_parent, path) = parent_and_path();
    let storage = published(&path);
    fs::create_dir(path.join("header.b")).unwrap();
    fs::write(path.join("header.b/letter"), b"dear").unwrap();
    assert_eq!(storage.read_header(HeaderCopy::B).unwrap().unwrap(), b"");
    for copy in [HeaderCopy::A, HeaderCopy::B] {
        assert_eq!(odd(storage.write_header(copy, b"another")), "header.b is a folder");
    }
    assert_eq!(storage.read_header(HeaderCopy::A).unwrap().unwrap(), b"header a");
    assert_eq!(fs::read(path.join("header.b/letter")).unwrap(), b"dear");
}

#[test]
fn destroying_a_store_leaves_foreign_files_alone() {
    for (name, what, fails) in [
        ("header.a", "folder", true),
        ("header.a", "link", false),
        ("header.a", "pipe", false),
        ("header.a", "hard link", true),
        ("anchor", "folder", true),
        ("ballast", "folder", true),
        ("anchor", "hard link", false),
    ] {
        let (parent, path) = parent_and_path();
        let storage = published(&path);
        storage.write_header(HeaderCopy::B, b"header b").unwrap();
        let victim = Victim::new(&parent);
        put(what, &path.join(name), &victim);
        let header = fs::File::open(path.join("header.b")).unwrap();

        let destroyed = storage.destroy();

        assert_eq!(destroyed.is_err(), fails, "{name}, {what}: {destroyed:?}");
        if fails {
            assert!(odd(destroyed).starts_with(name));
        }
        assert_eq!(io::read_to_string(header).unwrap(), "\0".repeat(8), "{name}, {what}");
        let left = if what == "folder" { vec![name] } else { Vec::new() };
        let found = if path.exists() { names_in(&path) } else { Vec::default() };
        assert_eq!(found, left);
        assert!(matches!(LocalStorage::open(&path, LOCAL), Err(StorageError::Missing)));
        victim.assert_unharmed();
    }
}

/// The hidden folder of a creation, made by another user.
fn found_folder(parent: &TempDir) -> PathBuf {
    let folder = parent.path().join(".my.store.creating");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    folder
}

#[test]
fn a_folder_with_foreign_files_is_not_taken_for_an_interrupted_creation() {
    for name in ["letter", "header.c", "header.a/letter", "gen-1/letter"] {
        let (parent, path) = parent_and_path();
        let folder = found_folder(&parent);
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, b"dear").unwrap();
        let what = odd(LocalStorage::create(&path, LOCAL));
        assert_eq!(what, ".my.store.creating contains files that do not belong to a store");
        assert_eq!(fs::read(&file).unwrap(), b"dear");
        assert!(!folder.join("lock").exists());
    }
}

#[test]
fn a_folder_that_others_can_write_to_is_not_taken_for_an_interrupted_creation() {
    let (parent, path) = parent_and_path();
    let folder = found_folder(&parent);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    odd(LocalStorage::create(&path, LOCAL));
    assert!(names_in(&folder).is_empty());
}

#[test]
fn a_folder_of_another_user_is_not_taken_for_an_interrupted_creation() {
    const NOBODY: u32 = 65_534;
    let (parent, path) = parent_and_path();
    let folder = found_folder(&parent);
    if chown(&folder, Some(NOBODY), None).is_err() {
        println!("SKIPPED: only root can give a folder away");
        return;
    }
    odd(LocalStorage::create(&path, LOCAL));
    assert!(names_in(&folder).is_empty());
}

/// The owner of a link's target would control who can read the store.
#[test]
fn only_a_folder_is_taken_for_an_interrupted_creation() {
    for (what, how) in [
        ("link", "is a symbolic link"),
        ("pipe", "is a pipe, socket or device"),
        ("hard link", "is a file and not a folder"),
    ] {
        let (parent, path) = parent_and_path();
        let victim = Victim::new(&parent);
        put(what, &parent.path().join(".my.store.creating"), &victim);
        assert_eq!(odd(LocalStorage::create(&path, LOCAL)), format!(".my.store.creating {how}"));
        victim.assert_unharmed();
        assert!(!path.exists());
    }
    let (parent, path) = parent_and_path();
    let elsewhere = parent.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, parent.path().join(".my.store.creating")).unwrap();
    assert_eq!(odd(LocalStorage::create(&path, LOCAL)), ".my.store.creating is a symbolic link");
    assert!(names_in(&elsewhere).is_empty());
}

#[test]
fn a_header_that_cannot_be_written_stays_as_it_was() {
    let (_parent, path) = parent_and_path();
    let storage = published(&path);
    fs::create_dir(path.join("header.a.new")).unwrap();
    let written = storage.write_header(HeaderCopy::A, b"another");
    assert_eq!(error_kind(written), io::ErrorKind::AlreadyExists);
    assert_eq!(storage.read_header(HeaderCopy::A).unwrap().unwrap(), b"header a");
    storage.write_header(HeaderCopy::B, b"header b").unwrap();
}

#[test]
fn a_generation_that_is_not_a_folder_is_missing() {
    let (parent, path) = parent_and_path();
    let storage = published(&path);
    let generation = path.join("gen-0000000000000001");
    let elsewhere = parent.path().join("elsewhere");
    fs::rename(&generation, &elsewhere).unwrap();
    symlink(&elsewhere, &generation).unwrap();
    let opened = storage.open_generation(1, EngineKind::Sled).map(drop);
    assert!(matches!(opened, Err(StorageError::Missing)), "{opened:?}");
    assert!(storage.generations().unwrap().is_empty());
}

#[test]
fn a_folder_cannot_hold_a_memory_engine() {
    let (_parent, path) = parent_and_path();
    let storage = published(&path);
    for made in [
        storage.open_generation(1, EngineKind::Memory).map(drop),
        storage.create_generation(2, EngineKind::Memory).map(drop),
    ] {
        assert!(matches!(made, Err(StorageError::NotBuilt)), "{made:?}");
    }
    assert_eq!(storage.generations().unwrap(), [1]);
}
