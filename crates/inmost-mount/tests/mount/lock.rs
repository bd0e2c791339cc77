//! What a lock leaves of a mount.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;

use inmost::StoreError;
use rustix::io::Errno;

use crate::mounted::{create, errno, eventually, mounted};

#[test]
fn a_lock_ends_every_access_and_an_unlock_brings_it_back() {
    let Some(mount) = mounted() else { return };
    fs::write(mount.at("a.md"), "text\n").unwrap();
    fs::rename(mount.at("a.md"), mount.at("a.md~")).unwrap();
    fs::write(mount.at("x.lock"), b"\xff").unwrap();
    let mut open = create(&mount.at("b.md"));
    open.write_all(b"saved\n").unwrap();
    open.sync_all().unwrap();
    assert_eq!(fs::read_to_string(mount.at("b.md")).unwrap(), "saved\n");
    // A lock of a store in memory would end it, so another that is locked takes its place.
    let locked = inmost::Session::in_memory().unwrap();
    locked.lock();
    assert!(matches!(locked.status(), Err(StoreError::Locked)));
    let session = mount.session.clone();
    let copy = mount.session.files().read("/memories/b.md").unwrap();
    *mount.place.lock().unwrap() = None;
    session.lock();
    eventually(|| fs::read_dir(mount.at("")).is_err());
    assert_eq!(errno(fs::read_dir(mount.at(""))), Errno::NOKEY);
    assert_eq!(errno(fs::metadata(mount.at("b.md"))), Errno::NOKEY);
    eventually(|| open.read(&mut [0; 8]).is_err());
    assert_eq!(errno(open.write_all(b"more")), Errno::NOKEY);
    assert_eq!(errno(open.sync_all()), Errno::NOKEY);
    let again = crate::mounted::session();
    again.files().write("/memories/b.md", copy.as_str()).unwrap();
    *mount.place.lock().unwrap() = Some(again.clone());
    eventually(|| fs::read_dir(mount.at("")).is_ok());
    assert_eq!(fs::read_to_string(mount.at("b.md")).unwrap(), "saved\n");
    assert!(!mount.at("x.lock").exists() && !mount.at("a.md~").exists());
    fs::write(mount.at("c.md"), "new\n").unwrap();
    assert_eq!(again.files().read("/memories/c.md").unwrap().as_str(), "new\n");
}

#[test]
fn a_write_that_a_lock_has_dropped_is_not_continued_after_an_unlock() {
    let Some(mount) = mounted() else { return };
    let text = "0123456789\n";
    mount.session.files().write("/memories/a.md", text).unwrap();
    mount.session.files().write("/memories/b.md", text).unwrap();
    let open = |name: &str| OpenOptions::new().read(true).write(true).open(mount.at(name)).unwrap();
    let (changed, known) = (open("a.md"), open("b.md"));
    changed.write_all_at(b"ABC", 0).unwrap();
    *mount.place.lock().unwrap() = None;
    mount.session.lock();
    eventually(|| fs::read_dir(mount.at("")).is_err());
    // The same files; somebody else has changed one.
    let again = crate::mounted::session();
    again.files().write("/memories/a.md", text).unwrap();
    again.files().write("/memories/b.md", text).unwrap();
    again.files().write("/memories/b.md", "theirs\n").unwrap();
    *mount.place.lock().unwrap() = Some(again.clone());
    eventually(|| fs::read_dir(mount.at("")).is_ok());
    assert_eq!(errno(changed.write_all_at(b"DEF", 3)), Errno::STALE);
    assert_eq!(errno(changed.sync_all()), Errno::STALE);
    assert_eq!(errno(known.write_all_at(b"DEF", 3)), Errno::STALE);
    assert_eq!(again.files().read("/memories/a.md").unwrap().as_str(), text);
    assert_eq!(again.files().read("/memories/b.md").unwrap().as_str(), "theirs\n");
    // This process has read an older text before the lock, so it does not overwrite theirs.
    fs::write(mount.at("b.md"), "0123456789, edited\n").unwrap();
    assert_eq!(again.files().read("/memories/b.md").unwrap().as_str(), "theirs\n");
    // Who reads a file now may write to it, while those handles are open and after that.
    for text in ["again\n", "and again\n"] {
        for name in ["a.md", "b.md"] {
            fs::read(mount.at(name)).unwrap();
            fs::write(mount.at(name), text).unwrap();
            let path = format!("/memories/{name}");
            assert_eq!(again.files().read(&path).unwrap().as_str(), text);
        }
        assert_eq!(errno(changed.write_all_at(b"DEF", 3)), Errno::STALE);
    }
    drop((changed, known));
    fs::write(mount.at("a.md"), "at last\n").unwrap();
    assert_eq!(again.files().read("/memories/a.md").unwrap().as_str(), "at last\n");
}
