//! Others change the store while a program has its files open: no call succeeds whose bytes are lost, and nothing of others is
//! overwritten.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use inmost::SessionOptions;
use inmost_mount::{Mount, MountError, MountOptions, OpenAs};
use rustix::io::Errno;

use crate::mounted::{Mounted, create, errno, mounted, mounted_with, options, session};

fn open(mount: &Mounted, name: &str) -> File {
    OpenOptions::new().read(true).write(true).open(mount.at(name)).unwrap()
}

fn append(mount: &Mounted, name: &str) -> File {
    OpenOptions::new().append(true).create(true).open(mount.at(name)).unwrap()
}

/// The texts that are saved beside a file.
fn beside(mount: &Mounted, name: &str) -> Vec<String> {
    let listed = mount.session.files().list("/memories").unwrap();
    let names = listed.into_iter().map(|entry| entry.name);
    let names = names.filter(|it| it.starts_with(&format!("{name}.conflict-")));
    names.map(|name| mount.stored(&name).unwrap()).collect()
}

#[test]
fn what_is_written_to_a_file_that_others_delete_is_saved_beside_it() {
    let Some(mount) = mounted() else { return };
    let files = mount.session.files();
    files.write("/memories/a.md", "text\n").unwrap();
    let mut file = open(&mount, "a.md");
    files.remove("/memories/a.md").unwrap();
    crate::mounted::eventually(|| !mount.at("a.md").exists());
    file.write_all(b"TEXT").unwrap();
    assert_eq!(errno(file.sync_all()), Errno::STALE);
    assert_eq!(errno(file.write_all(b"more")), Errno::STALE);
    assert_eq!(errno(file.sync_all()), Errno::STALE);
    drop(file);
    assert_eq!((mount.stored("a.md"), beside(&mount, "a.md")), (None, vec!["TEXT\n".to_owned()]));
    // A new file whose name has become a folder.
    let mut new = create(&mount.at("x"));
    new.write_all(b"new\n").unwrap();
    files.write("/memories/x/y.md", "theirs\n").unwrap();
    assert!(fs::read_dir(mount.at("")).unwrap().count() > 1);
    assert_eq!(errno(new.sync_all()), Errno::STALE);
    drop(new);
    assert_eq!(beside(&mount, "x"), ["new\n"]);
    assert_eq!(mount.unmount(), 0);
}

#[test]
fn unsaved_bytes_outlast_a_rename_by_others() {
    let Some(mount) = mounted() else { return };
    let files = mount.session.files();
    files.write("/memories/a.md", "text\n").unwrap();
    let mut file = open(&mount, "a.md");
    file.write_all(b"TEXT").unwrap();
    files.rename("/memories/a.md", "/memories/b.md").unwrap();
    assert_eq!(fs::metadata(mount.at("b.md")).unwrap().len(), 5);
    assert_eq!(errno(file.sync_all()), Errno::STALE);
    assert_eq!(mount.stored("b.md").unwrap(), "text\n");
    assert_eq!(beside(&mount, "b.md"), ["TEXT\n"]);
}

#[test]
fn a_program_that_writes_in_place_keeps_the_version_that_it_knows() {
    let Some(mount) = mounted() else { return };
    let files = mount.session.files();
    for (name, is_renamed) in [("a.md", false), ("b.md", true)] {
        let path = format!("/memories/{name}");
        files.write(&path, "one\n").unwrap();
        let (file, reader) = (open(&mount, name), File::open(mount.at(name)).unwrap());
        let day = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        file.set_modified(day).unwrap();
        files.write(&path, "theirs, longer\n").unwrap();
        fs::read_dir(mount.at("")).unwrap().for_each(drop);
        assert_eq!(fs::metadata(mount.at(name)).unwrap().len(), 4, "what it has open");
        let now = if is_renamed { "c.md" } else { name };
        if is_renamed {
            fs::rename(mount.at(name), mount.at(now)).unwrap();
        }
        file.write_all_at(b"own\n", 0).unwrap();
        assert_eq!(errno(file.sync_all()), Errno::STALE);
        assert_eq!(mount.stored(now).unwrap(), "theirs, longer\n");
        assert_eq!(beside(&mount, now), ["own\n"]);
        drop(file);
        files.write(&format!("/memories/{now}"), "last\n").unwrap();
        // Only readers are left: they see what is there.
        crate::mounted::eventually(|| {
            let mut bytes = [0; 5];
            fs::metadata(mount.at(now)).is_ok()
                && reader.read_exact_at(&mut bytes, 0).is_ok()
                && &bytes == b"last\n"
        });
    }
    // Its own new time is no change of others.
    let file = open(&mount, "a.md");
    file.set_modified(UNIX_EPOCH).unwrap();
    file.write_all_at(b"LAST", 0).unwrap();
    file.sync_all().unwrap();
    assert_eq!(mount.stored("a.md").unwrap(), "LAST\n");
}

#[test]
fn a_file_that_is_written_anew_follows_from_the_version_that_was_read() {
    let Some(mount) = mounted() else { return };
    let files = mount.session.files();
    for (name, reads) in [("a.md", false), ("b.md", true)] {
        let (path, at) = (format!("/memories/{name}"), mount.at(name));
        files.write(&path, "one\n").unwrap();
        assert_eq!(fs::read_to_string(&at).unwrap(), "one\n");
        files.write(&path, "theirs\n").unwrap();
        // `O_TRUNC`, as most programs write; a second attempt knows no more.
        for _ in 0..2 {
            let mut file =
                OpenOptions::new().read(reads).write(true).truncate(true).open(&at).unwrap();
            file.write_all(b"one, edited\n").unwrap();
            assert_eq!(errno(file.sync_all()), Errno::STALE, "{name}");
            drop(file);
            assert_eq!(mount.stored(name).unwrap(), "theirs\n");
        }
        assert_eq!(beside(&mount, name), ["one, edited\n"; 2]);
        // After reading it again, the program may write it.
        if reads {
            let mut file = open(&mount, name);
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "theirs\n");
            file.set_len(0).unwrap();
            file.write_all_at(b"last\n", 0).unwrap();
            file.sync_all().unwrap();
        } else {
            assert_eq!(fs::read_to_string(&at).unwrap(), "theirs\n");
            fs::write(&at, "last\n").unwrap();
        }
        fs::write(&at, "very last\n").unwrap();
        assert_eq!(mount.stored(name).unwrap(), "very last\n");
    }
}

/// The kernel still knows the old length then.
#[test]
fn a_text_that_others_have_made_longer_is_read_to_its_end() {
    let Some(mount) = mounted() else { return };
    let files = mount.session.files();
    for round in 0..50 {
        let (path, at) = (format!("/memories/{round}.md"), mount.at(&format!("{round}.md")));
        files.write(&path, "one\n").unwrap();
        assert_eq!(fs::metadata(&at).unwrap().len(), 4);
        files.append(&path, "theirs\n").unwrap();
        assert_eq!(fs::read_to_string(&at).unwrap(), "one\ntheirs\n");
    }
}

#[test]
fn a_long_listing_does_not_bring_an_old_length_back() {
    let Some(mount) = mounted() else { return };
    let files = mount.session.files();
    for round in 0..3 {
        let folder = format!("{round}");
        for number in 0..500 {
            files.write(&format!("/memories/{folder}/{number:03}-of-many.md"), "one\n").unwrap();
        }
        let mut listing = fs::read_dir(mount.at(&folder)).unwrap();
        let first = listing.next().unwrap().unwrap();
        let (last, gone) = (format!("{folder}/499-of-many.md"), format!("{folder}/498-of-many.md"));
        append(&mount, &last).write_all(b"more\n").unwrap();
        fs::remove_file(mount.at(&gone)).unwrap();
        fs::metadata(first.path()).unwrap();
        // The kernel asks for attributes with the names where a program looks at files.
        let seen = listing.map(|entry| fs::metadata(entry.unwrap().path()).map(|it| it.len()));
        let seen: Vec<u64> = seen.map(Result::unwrap_or_default).collect();
        assert_eq!(seen.iter().sum::<u64>(), 498 * 4 + 5, "what is gone counts as no length");
        assert_eq!(seen.len(), 498);
        let mut file = open(&mount, &last);
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(b"end\n").unwrap();
        drop(file);
        assert_eq!(mount.stored(&last).unwrap(), "one\nmore\nend\n");
    }
}

#[test]
fn a_text_that_another_program_has_not_saved_yet_is_known_once_it_is_read() {
    let Some(mount) = mounted() else { return };
    let files = mount.session.files();
    for is_changed in [false, true] {
        files.write("/memories/a.md", "one\n").unwrap();
        let script = "read go; read line < a.md; echo $line; read go; echo $line, edited > a.md";
        let mut other = Command::new("sh");
        other.args(["-c", script]).current_dir(mount.at(""));
        let mut other = other.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut go = other.stdin.take().unwrap();
        // A process that starts closes a file that is open here, and so would save it.
        let mut file = OpenOptions::new().write(true).open(mount.at("a.md")).unwrap();
        file.write_all(b"ONE").unwrap();
        go.write_all(b"\n").unwrap();
        let mut line = [0; 4];
        other.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(&line, b"ONE\n");
        drop(file);
        if is_changed {
            files.write("/memories/a.md", "theirs\n").unwrap();
        }
        go.write_all(b"\n").unwrap();
        other.wait().unwrap();
        let text = if is_changed { "theirs\n" } else { "ONE, edited\n" };
        assert_eq!(mount.stored("a.md").unwrap(), text);
    }
    assert_eq!(beside(&mount, "a.md"), ["ONE, edited\n"]);
}

/// As with a lock: a program opens the file, waits for another one, and then reads it and writes it anew.
#[test]
fn a_program_knows_what_another_has_saved_once_it_reads_the_start() {
    let Some(mount) = mounted() else { return };
    mount.session.files().write("/memories/a.md", "1\n").unwrap();
    for number in ["2\n", "3\n"] {
        let mut file = open(&mount, "a.md");
        let script = format!("printf '{number}' > a.md");
        let mut other = Command::new("sh");
        assert!(other.args(["-c", &script]).current_dir(mount.at("")).status().unwrap().success());
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, number);
        file.set_len(0).unwrap();
        file.write_all_at(b"own\n", 0).unwrap();
        file.sync_all().unwrap();
        assert_eq!(mount.stored("a.md").unwrap(), "own\n");
    }
}

#[test]
fn a_backup_by_rename_does_not_make_a_newer_text_known() {
    let Some(mount) = mounted() else { return };
    let files = mount.session.files();
    for way in ["new", "scratch", "lasting"] {
        let (name, backup) = (format!("{way}.md"), format!("{way}.md~"));
        let (path, at) = (format!("/memories/{name}"), mount.at(&name));
        files.write(&path, "one\n").unwrap();
        fs::read(&at).unwrap();
        files.write(&path, "theirs\n").unwrap();
        fs::rename(&at, mount.at(&backup)).unwrap();
        let refused = if way == "new" {
            let mut file = create(&at);
            file.write_all(b"own\n").unwrap();
            file.sync_all()
        } else {
            let new = if way == "scratch" { "x.tmp.1" } else { "sedabc" };
            fs::write(mount.at(new), "own\n").unwrap();
            fs::rename(mount.at(new), &at)
        };
        assert_eq!(errno(refused), Errno::STALE, "{way}");
        // It is in its place, and the backup is a copy.
        assert_eq!(fs::read_to_string(&at).unwrap(), "theirs\n");
        fs::remove_file(mount.at(&backup)).unwrap();
        assert_eq!(mount.stored(&name).unwrap(), "theirs\n");
    }
}

#[test]
fn a_reader_sees_a_change_of_others_without_opening_the_file_again() {
    let Some(mount) = mounted() else { return };
    let files = mount.session.files();
    files.write("/memories/a.md", "one\n").unwrap();
    let reader = File::open(mount.at("a.md")).unwrap();
    let text = || {
        let mut bytes = [0; 4];
        reader.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    };
    assert_eq!(&text(), b"one\n");
    // The pages are in the cache of the kernel, and nobody looks at the attributes.
    files.write("/memories/a.md", "two\n").unwrap();
    crate::mounted::eventually(|| &text() == b"two\n");
}

#[test]
fn a_log_that_others_created_first_stays_the_same_file() {
    let Some(mount) = mounted() else { return };
    let mut file = append(&mount, "log.md");
    file.write_all(b"one\n").unwrap();
    mount.session.files().write("/memories/log.md", "theirs\n").unwrap();
    for line in ["two\n", "three\n"] {
        file.write_all(line.as_bytes()).unwrap();
        file.sync_all().unwrap();
        fs::metadata(mount.at("log.md")).unwrap();
    }
    assert_eq!(mount.stored("log.md").unwrap(), "theirs\none\ntwo\nthree\n");
}

#[test]
fn an_append_after_a_failed_save_goes_to_the_end_of_what_is_there_then() {
    let limits = SessionOptions::new().max_file_bytes(4_000).max_store_bytes(4_000);
    let Some(mount) = mounted_with(limits.in_memory().unwrap(), &options()) else { return };
    let files = mount.session.files();
    files.write("/memories/log.md", "base\n").unwrap();
    let mut file = append(&mount, "log.md");
    file.write_all(&[b'x'; 100]).unwrap();
    files.write("/memories/filler", &"f".repeat(3_950)).unwrap();
    assert!(file.sync_all().is_err());
    drop(file);
    let mut file = append(&mount, "log.md");
    files.remove("/memories/filler").unwrap();
    files.append("/memories/log.md", "theirs\n").unwrap();
    file.write_all(b"end\n").unwrap();
    file.sync_all().unwrap();
    let expected = format!("base\ntheirs\n{}end\n", "x".repeat(100));
    assert_eq!(mount.stored("log.md").unwrap(), expected);
}

#[test]
fn many_small_writes_do_not_pass_the_quota() {
    let limits = SessionOptions::new().max_file_bytes(10_000).max_store_bytes(1_500);
    let Some(mount) = mounted_with(limits.in_memory().unwrap(), &options()) else { return };
    let mut file = create(&mount.at("a.md"));
    file.write_all(&[b'x'; 600]).unwrap();
    file.write_all(&[b'x'; 600]).unwrap();
    assert_eq!(errno(file.write_all(&[b'x'; 600])), Errno::DQUOT);
    file.sync_all().unwrap();
    assert_eq!(mount.stored("a.md").unwrap().len(), 1_200);
}

#[test]
fn a_folder_with_a_scratch_name_is_not_mounted() {
    let folder = tempfile::tempdir().unwrap();
    for (subtree, scratch) in
        [("/memories/a.lock", "x"), ("/memories/b/c~", "x"), ("/memories", "memories")]
    {
        let options = MountOptions {
            subtree: subtree.to_owned(),
            scratch: vec![scratch.to_owned()],
            ..options()
        };
        let session = session();
        let open: OpenAs = Box::new(move |actor| Ok(session.acting_as(actor).into()));
        let refused = Mount::new(&folder.path().join("m"), open, &options);
        assert!(matches!(refused, Err(MountError::ScratchRoot(_))), "{subtree}");
    }
}
