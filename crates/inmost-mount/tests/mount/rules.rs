//! Each rule of a mount.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use inmost::{EntryKind, Session, SessionOptions};
use inmost_mount::{Mount, MountError, MountOptions};
use rustix::fs::{CWD, RenameFlags, XattrFlags, renameat_with, setxattr, statvfs};
use rustix::io::Errno;

use crate::mounted::{create, errno, mounted, mounted_with, options, session};

/// The number of a file in the store.
fn number(session: &Session, path: &str) -> u64 {
    match session.files().metadata(path).unwrap().kind {
        EntryKind::File { number, .. } => number,
        _ => panic!("a folder"),
    }
}

fn append(path: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(path).unwrap()
}

#[test]
fn a_program_reads_and_writes_the_memory_and_the_history_names_it() {
    let Some(mount) = mounted() else { return };
    mount.session.files().write("/memories/a/b.md", "from the store\n").unwrap();
    assert_eq!(fs::read_to_string(mount.at("a/b.md")).unwrap(), "from the store\n");
    fs::write(mount.at("a/b.md"), "from a program\n").unwrap();
    fs::write(mount.at("new caf\u{e9}.md"), "one\n").unwrap();
    append(&mount.at("new caf\u{e9}.md")).write_all(b"two\n").unwrap();
    assert_eq!(mount.stored("a/b.md").unwrap(), "from a program\n");
    assert_eq!(mount.stored("new caf\u{e9}.md").unwrap(), "one\ntwo\n");
    let names: Vec<_> =
        fs::read_dir(mount.at("")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["a", "new caf\u{e9}.md"]);
    let log = mount.log("a/b.md");
    assert_eq!(log.len(), 2, "{log:?}");
    // The program, and not the thread, which the test runner names after the test.
    let name = fs::read_to_string("/proc/self/comm").unwrap();
    let line = format!("modified mount:{}", name.trim_end());
    assert!(log.iter().any(|found| found.starts_with(&line)), "{line}: {log:?}");
    // What somebody else writes is there at the next opening.
    mount.session.files().write("/memories/a/b.md", "again\n").unwrap();
    assert_eq!(fs::read_to_string(mount.at("a/b.md")).unwrap(), "again\n");
}

#[test]
fn one_save_is_one_change_whatever_the_shell_does() {
    let Some(mount) = mounted() else { return };
    fs::write(mount.at("a.md"), "before\n").unwrap();
    let mut file = create(&mount.at("a.md"));
    drop(file.try_clone().unwrap());
    assert_eq!(mount.stored("a.md").unwrap(), "before\n", "nothing was written yet");
    file.write_all(b"half, ").unwrap();
    file.sync_all().unwrap();
    assert_eq!(mount.stored("a.md").unwrap(), "half, ");
    file.write_all(b"whole\n").unwrap();
    drop(file);
    assert_eq!(mount.stored("a.md").unwrap(), "half, whole\n");
    assert_eq!(mount.log("a.md").len(), 3);
    drop(create(&mount.at("empty")));
    crate::mounted::eventually(|| mount.stored("empty").as_deref() == Some(""));
}

#[test]
fn a_file_that_is_replaced_stays_the_same_file() {
    let Some(mount) = mounted() else { return };
    fs::write(mount.at("plan.md"), "dig\n").unwrap();
    let first = number(&mount.session, "/memories/plan.md");
    for (temporary, text) in [
        ("plan.md.tmp.812.0123456789ab", "fill\n"),
        ("sedAbCdEf", "plant\n"),
        (".plan.md.x1Y2z3", "dig\n"),
    ] {
        let mut file = create(&mount.at(temporary));
        file.write_all(text.as_bytes()).unwrap();
        file.sync_all().unwrap();
        drop(file);
        fs::rename(mount.at(temporary), mount.at("plan.md")).unwrap();
        assert_eq!(mount.stored("plan.md").unwrap(), text, "{temporary}");
        assert_eq!(fs::read_to_string(mount.at("plan.md")).unwrap(), text);
        assert_eq!(number(&mount.session, "/memories/plan.md"), first, "{temporary}");
        assert!(!mount.at(temporary).exists());
    }
    assert_eq!(mount.log("plan.md").len(), 4);
    assert!(mount.log("plan.md.tmp.812.0123456789ab").is_empty(), "a scratch file has no history");
    let inode = fs::metadata(mount.at("plan.md")).unwrap().ino();
    thread::sleep(Duration::from_millis(1_100));
    assert_eq!(fs::metadata(mount.at("plan.md")).unwrap().ino(), inode);
}

#[test]
fn a_backup_of_an_editor_does_not_end_the_history_of_a_file() {
    let Some(mount) = mounted() else { return };
    fs::write(mount.at("a.md"), "one\n").unwrap();
    let first = number(&mount.session, "/memories/a.md");
    fs::rename(mount.at("a.md"), mount.at("a.md~")).unwrap();
    assert!(!mount.at("a.md").exists());
    assert_eq!(fs::read_to_string(mount.at("a.md~")).unwrap(), "one\n");
    assert_eq!(mount.stored("a.md").unwrap(), "one\n", "a crash now loses nothing");
    fs::write(mount.at("a.md"), "two\n").unwrap();
    fs::remove_file(mount.at("a.md~")).unwrap();
    assert_eq!(mount.stored("a.md").unwrap(), "two\n");
    assert_eq!(number(&mount.session, "/memories/a.md"), first);
    // Without a new file, it is gone when the backup is.
    fs::rename(mount.at("a.md"), mount.at("a.md~")).unwrap();
    fs::rename(mount.at("a.md~"), mount.at("a.md")).unwrap();
    assert_eq!(number(&mount.session, "/memories/a.md"), first);
    fs::rename(mount.at("a.md"), mount.at("a.md~")).unwrap();
    fs::remove_file(mount.at("a.md~")).unwrap();
    assert_eq!(mount.stored("a.md"), None);
}

#[test]
fn bytes_that_are_no_text_are_refused_at_once() {
    let Some(mount) = mounted() else { return };
    let mut file = create(&mount.at("a.md"));
    assert_eq!(errno(file.write_all(b"caf\xe9\n")), Errno::ILSEQ);
    assert_eq!(errno(file.write_all(b"SQLite format 3\0rest")), Errno::ILSEQ);
    file.write_all(b"caf\xc3").unwrap();
    assert_eq!(errno(file.sync_all()), Errno::ILSEQ);
    file.write_all(b"\xa9\n").unwrap();
    file.sync_all().unwrap();
    assert_eq!(mount.stored("a.md").unwrap(), "caf\u{e9}\n");
    drop(file);
    // A text that cannot be saved at the last close stays, and can be mended.
    let mut file = create(&mount.at("b.md"));
    file.write_all(b"x\xc3").unwrap();
    drop(file);
    assert_eq!(fs::read(mount.at("b.md")).unwrap(), b"x\xc3");
    assert_eq!(mount.stored("b.md"), None);
    fs::write(mount.at("b.md"), "fine").unwrap();
    assert_eq!(mount.stored("b.md").unwrap(), "fine");
    // A scratch file takes any bytes.
    fs::write(mount.at("c.md.tmp.1.2"), b"\xff").unwrap();
    assert_eq!(errno(fs::rename(mount.at("c.md.tmp.1.2"), mount.at("c.md"))), Errno::ILSEQ);
    assert_eq!(fs::read(mount.at("c.md.tmp.1.2")).unwrap(), b"\xff");
    assert_eq!(mount.unmount(), 0);
}

#[test]
fn an_unsaved_text_is_reported_when_the_mount_ends() {
    let Some(mount) = mounted() else { return };
    let mut file = create(&mount.at("b.md"));
    file.write_all(b"x\xc3").unwrap();
    drop(file);
    let refused = inmost_mount::unmount(&mount.at(""), false);
    assert!(matches!(refused, Err(MountError::Unsaved(_))), "{refused:?}");
    assert_eq!(mount.unmount(), 1);
}

#[test]
fn names_that_the_store_refuses_have_their_errors() {
    let Some(mount) = mounted() else { return };
    let long = "x".repeat(256);
    let bad = std::ffi::OsStr::from_bytes(b"caf\xe9");
    for (name, expected) in [
        ("a\\b".as_ref(), Errno::INVAL),
        ("a\u{1}b".as_ref(), Errno::INVAL),
        ("%2f".as_ref(), Errno::INVAL),
        (long.as_str().as_ref(), Errno::NAMETOOLONG),
        (bad, Errno::ILSEQ),
    ] {
        let path = mount.at("").join(name);
        assert_eq!(errno(File::create(&path)), expected, "{}", path.display());
        assert_eq!(errno(fs::create_dir(&path)), expected);
        if expected != Errno::NAMETOOLONG {
            assert_eq!(errno(fs::metadata(&path)), Errno::NOENT);
        }
    }
    // A decomposed name is the composed one.
    fs::write(mount.at("e\u{301}"), "x").unwrap();
    assert_eq!(fs::read_to_string(mount.at("\u{e9}")).unwrap(), "x");
    assert!(!mount.at("\u{c9}").exists());
}

#[test]
fn what_somebody_else_wrote_is_never_overwritten() {
    let Some(mount) = mounted() else { return };
    let files = mount.session.files();
    files.write("/memories/a.md", "one\n").unwrap();
    let mut file = OpenOptions::new().read(true).write(true).open(mount.at("a.md")).unwrap();
    files.write("/memories/a.md", "theirs\n").unwrap();
    file.write_all(b"own").unwrap();
    assert_eq!(errno(file.sync_all()), Errno::STALE);
    assert_eq!(mount.stored("a.md").unwrap(), "theirs\n");
    let beside = files.list("/memories").unwrap();
    let beside = beside.iter().find(|it| it.name.starts_with("a.md.conflict-")).unwrap();
    assert_eq!(mount.stored(&beside.name).unwrap(), "own\n");
    drop(file);
    // A process that has read a file replaces that version only.
    fs::write(mount.at("a.md.tmp.1.2"), "mine\n").unwrap();
    fs::read(mount.at("a.md")).unwrap();
    files.write("/memories/a.md", "theirs again\n").unwrap();
    assert_eq!(errno(fs::rename(mount.at("a.md.tmp.1.2"), mount.at("a.md"))), Errno::STALE);
    assert_eq!(mount.stored("a.md").unwrap(), "theirs again\n");
    fs::read(mount.at("a.md")).unwrap();
    fs::rename(mount.at("a.md.tmp.1.2"), mount.at("a.md")).unwrap();
    assert_eq!(mount.stored("a.md").unwrap(), "mine\n");
}

#[test]
fn appends_of_several_are_all_kept() {
    let Some(mount) = mounted() else { return };
    let mut file = append(&mount.at("log.md"));
    mount.session.files().append("/memories/log.md", "theirs\n").unwrap();
    file.write_all(b"own\n").unwrap();
    drop(file);
    assert_eq!(mount.stored("log.md").unwrap(), "theirs\nown\n");
    thread::scope(|scope| {
        for writer in 0..3 {
            let path = mount.at("log.md");
            let files = mount.session.files();
            scope.spawn(move || {
                for line in 0..40 {
                    let line = format!("{writer} {line}\n");
                    if writer == 0 {
                        files.append("/memories/log.md", &line).unwrap();
                    } else {
                        append(&path).write_all(line.as_bytes()).unwrap();
                    }
                }
            });
        }
    });
    let text = mount.stored("log.md").unwrap();
    for writer in 0..3 {
        for line in 0..40 {
            assert_eq!(text.matches(&format!("\n{writer} {line}\n")).count(), 1, "{writer} {line}");
        }
    }
}

#[test]
fn a_deleted_file_is_readable_while_it_is_open() {
    let Some(mount) = mounted() else { return };
    fs::write(mount.at("a.md"), "text\n").unwrap();
    let mut file = OpenOptions::new().read(true).write(true).open(mount.at("a.md")).unwrap();
    fs::remove_file(mount.at("a.md")).unwrap();
    assert_eq!(mount.stored("a.md"), None);
    file.write_all(b"TEXT").unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "TEXT\n");
    drop(file);
    assert_eq!(mount.stored("a.md"), None);
}

#[test]
fn empty_folders_last_as_long_as_the_mount() {
    let Some(mount) = mounted() else { return };
    fs::create_dir_all(mount.at("a/b")).unwrap();
    fs::write(mount.at("a/b/c.md"), "x").unwrap();
    assert_eq!(errno(fs::remove_dir(mount.at("a"))), Errno::NOTEMPTY);
    fs::remove_file(mount.at("a/b/c.md")).unwrap();
    assert!(!mount.session.files().exists("/memories/a").unwrap());
    assert_eq!(fs::read_dir(mount.at("a/b")).unwrap().count(), 0);
    fs::rename(mount.at("a/b"), mount.at("d")).unwrap();
    assert!(mount.at("d").is_dir() && mount.at("a").is_dir());
    fs::remove_dir(mount.at("d")).unwrap();
    assert_eq!(errno(fs::metadata(mount.at("d"))), Errno::NOENT);
    // A folder moves with its files.
    fs::write(mount.at("a/x.md"), "x").unwrap();
    fs::rename(mount.at("a"), mount.at("z")).unwrap();
    assert_eq!(mount.stored("z/x.md").unwrap(), "x");
    assert_eq!(errno(fs::rename(mount.at("z"), mount.at("z/below"))), Errno::INVAL);
}

#[test]
fn times_are_kept_and_those_of_folders_advance() {
    let Some(mount) = mounted() else { return };
    let day = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let file = create(&mount.at("a.md"));
    (&file).write_all(b"x").unwrap();
    file.set_modified(day).unwrap();
    drop(file);
    fs::write(mount.at("b.md"), "x").unwrap();
    File::open(mount.at("b.md")).unwrap().set_modified(day).unwrap();
    for name in ["a.md", "b.md"] {
        assert_eq!(fs::metadata(mount.at(name)).unwrap().modified().unwrap(), day, "{name}");
        let path = format!("/memories/{name}");
        let EntryKind::File { modified, .. } = mount.session.files().metadata(&path).unwrap().kind
        else {
            panic!("a folder")
        };
        assert_eq!(modified, day, "{name}");
    }
    assert_eq!(mount.log("b.md").len(), 1, "a time is no change");
    let before = fs::metadata(mount.at("")).unwrap().modified().unwrap();
    thread::sleep(Duration::from_millis(20));
    fs::remove_file(mount.at("b.md")).unwrap();
    assert!(fs::metadata(mount.at("")).unwrap().modified().unwrap() > before);
}

#[test]
fn what_a_memory_has_not_is_refused() {
    let Some(mount) = mounted() else { return };
    fs::write(mount.at("a.md"), "x").unwrap();
    assert_eq!(errno(symlink("a.md", mount.at("b"))), Errno::PERM);
    assert_eq!(errno(fs::hard_link(mount.at("a.md"), mount.at("b"))), Errno::PERM);
    let set = setxattr(mount.at("a.md"), "user.x", b"1", XattrFlags::empty());
    assert_eq!(set, Err(Errno::OPNOTSUPP));
    fs::set_permissions(mount.at("a.md"), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(fs::metadata(mount.at("a.md")).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(fs::metadata(mount.at("")).unwrap().mode() & 0o7777, 0o700);
    fs::write(mount.at("b.md"), "y").unwrap();
    let rename = |flags| renameat_with(CWD, mount.at("a.md"), CWD, mount.at("b.md"), flags);
    assert_eq!(rename(RenameFlags::NOREPLACE), Err(Errno::EXIST));
    assert_eq!(rename(RenameFlags::EXCHANGE), Err(Errno::INVAL));
    let options = inmost_mount::unmount(Path::new("/proc"), false);
    assert!(matches!(options, Err(MountError::NotMounted(_))));
}

#[test]
fn quotas_are_errors_of_the_write_itself() {
    let options_of = SessionOptions::new().max_file_bytes(1_000).max_store_bytes(2_500);
    let Some(mount) = mounted_with(options_of.in_memory().unwrap(), &options()) else {
        return;
    };
    let mut file = create(&mount.at("a.md"));
    assert_eq!(errno(file.write_all(&[b'x'; 1_001])), Errno::FBIG);
    file.write_all(&[b'x'; 1_000]).unwrap();
    drop(file);
    fs::write(mount.at("b.md"), [b'x'; 1_000]).unwrap();
    thread::sleep(Duration::from_millis(1_100));
    let mut file = create(&mount.at("c.md"));
    assert_eq!(errno(file.write_all(&[b'x'; 1_000])), Errno::DQUOT);
    assert_eq!(statvfs(mount.at("")).unwrap().f_namemax, 255);
    let mut scratch = create(&mount.at("big.lock"));
    scratch.write_all(&vec![0; 64 << 20]).unwrap();
    assert_eq!(errno(scratch.write_all(&[0])), Errno::NOSPC);
}

#[test]
fn a_subtree_is_mounted_alone_and_for_reading_only() {
    let session = session();
    session.files().write("/memories/work/a.md", "x").unwrap();
    session.files().write("/memories/private.md", "x").unwrap();
    let options =
        MountOptions { subtree: "/memories/work".to_owned(), is_read_only: true, ..options() };
    let Some(mount) = mounted_with(session, &options) else { return };
    assert_eq!(fs::read_to_string(mount.at("a.md")).unwrap(), "x");
    assert_eq!(fs::read_dir(mount.at("")).unwrap().count(), 1);
    assert_eq!(errno(File::create(mount.at("b.md"))), Errno::ROFS);
    assert_eq!(errno(fs::remove_file(mount.at("a.md"))), Errno::ROFS);
}

#[test]
fn the_folder_is_empty_and_closed_below_the_mount() {
    let Some(mount) = mounted() else { return };
    let open = || -> inmost_mount::OpenAs { Box::new(|_: &str| Err(inmost::StoreError::Locked)) };
    let again = Mount::new(&mount.at(""), open(), &options());
    assert!(matches!(again, Err(MountError::Mounted(_))));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plain.md"), "x").unwrap();
    let full = Mount::new(folder.path(), open(), &options());
    assert!(matches!(full, Err(MountError::NotEmpty(_))));
    let (below, path) = (mount.at(""), mount.at("").canonicalize().unwrap());
    drop(mount);
    assert!(!below.exists(), "the test has removed {}", path.display());
    let empty = folder.path().join("empty");
    assert!(matches!(Mount::new(&empty, open(), &options()), Err(MountError::Store(_))));
    assert_eq!(fs::metadata(&empty).unwrap().mode() & 0o777, 0o500);
}
