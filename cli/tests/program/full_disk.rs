//! A disk that is full or read-only: the error names the place, and nothing half-made stays. Needs root and `mount`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::inmost::{CHEAP, PASSPHRASE, Place, run};
use crate::transfer::plain;

/// A file system of a few MiB in memory. It is unmounted when dropped.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount(mebibytes: u32) -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m,mode=700"), "inmost-test"]);
        if !mount.arg(folder.path()).output().is_ok_and(|it| it.status.success()) {
            eprintln!("SKIPPED: a full disk needs root and mount, so nothing was tested");
            return None;
        }
        Some(Self(folder))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_read_only_destination_is_named() {
    let Some(disk) = SmallDisk::mount(1) else { return };
    let mut remount = Command::new("mount");
    remount.args(["-o", "remount,ro"]).arg(disk.0.path());
    assert!(remount.status().unwrap().success());
    let place = Place::with_files(&[("/memories/a", "1")]);
    let to = disk.at("copy");
    let what = format!("{} cannot be created: ", to.display());
    for args in [&["backup"][..], &["migrate", "--to"], &["salvage", "--to"]] {
        let args = args.iter().map(Path::new).chain([to.as_path()]);
        let refused = run(&mut place.command(args), b"").expect_failure(14, &what);
        assert!(refused.err.contains("Choose a folder that can be written"), "{refused:?}");
    }
    let args = ["salvage", "--plain", "--to"].map(Path::new);
    let plain = run(&mut place.command(args.into_iter().chain([to.as_path()])), b"");
    plain.expect_failure(14, &format!("cannot be written to {}", to.display()));
    let mut init = place.bare_command(["init", "--store"]);
    init.arg(&to).args(CHEAP).env("INMOST_PASSPHRASE", PASSPHRASE);
    let refused = run(&mut init, b"").expect_failure(14, &what);
    assert!(refused.err.contains("Choose a folder that can be written"), "{refused:?}");
}

#[test]
fn a_backup_to_a_full_disk_leaves_nothing_behind() {
    let Some(disk) = SmallDisk::mount(3) else { return };
    let place = Place::with_files(&[("/memories/a", &"text\n".repeat(800_000))]);
    let to = disk.at("copy");
    let refused = run(place.command(["backup"]).arg(&to), b"");
    refused.expect_failure(14, &format!("no room for the copy in {}", to.display()));
    assert_eq!(fs::read_dir(disk.0.path()).unwrap().count(), 0);
    place.run(["check"], "").expect(0);
}

#[test]
fn an_import_on_a_full_disk_names_it_and_keeps_what_was_saved() {
    let Some(disk) = SmallDisk::mount(11) else { return };
    let place = Place::vacant();
    let text = "line\n".repeat(60_000);
    let names: Vec<String> = (0..40).map(|number| format!("{number:02}")).collect();
    let files: Vec<(&str, &[u8])> =
        names.iter().map(|name| (name.as_str(), text.as_bytes())).collect();
    plain(&place, "plain", &files);
    let store = disk.at("store");
    let on_disk = |arguments: &[&str]| {
        let mut command = place.bare_command(arguments);
        command.arg("--store").arg(&store).env("INMOST_PASSPHRASE", "invented for this test");
        command
    };
    run(&mut on_disk(&["init", "--kdf-memory-mib", "19", "--kdf-passes", "2"]), b"").expect(0);
    let refused = run(on_disk(&["import"]).arg(place.beside("plain")), b"");
    let refused = refused.expect_failure(14, &format!("{}", store.display()));
    assert!(refused.err.contains("full"), "{refused:?}");
    let first = run(&mut on_disk(&["cat", "00"]), b"").expect(0);
    assert!(first.out == text, "{} bytes", first.out.len());
    run(&mut on_disk(&["cat", "39"]), b"").expect(19);
    run(&mut on_disk(&["check"]), b"").expect(0);
}

#[test]
fn a_rewrite_says_how_much_room_it_needs() {
    let Some(disk) = SmallDisk::mount(40) else { return };
    let (place, store) = (Place::vacant(), disk.at("store"));
    let on_disk = |args: &[&str], input: &str| {
        let mut command = place.bare_command(args);
        let command = command.arg("--store").arg(&store).env("INMOST_PASSPHRASE", PASSPHRASE);
        run(command, input.as_bytes())
    };
    on_disk(&[&["init"], &CHEAP[..]].concat(), "").expect(0);
    for name in ["a", "b"] {
        on_disk(&["write", name], &format!("{name}b").repeat(2 << 20)).expect(0);
    }
    fs::write(disk.at("other"), vec![1; 64 << 20]).unwrap_err();
    let ended = on_disk(&["compact"], "").expect_failure(14, "the store was not compacted");
    assert!(
        ended.err.contains("This needs up to ") && ended.err.contains("M of free"),
        "{ended:?}"
    );
    fs::remove_file(disk.at("other")).unwrap();
    on_disk(&["compact"], "").expect(0);
}

#[test]
fn a_store_on_read_only_media_is_read_from_a_copy_and_not_changed() {
    let Some(disk) = SmallDisk::mount(32) else { return };
    let place = Place::with_files(&[("/memories/a.md", "a bean\n")]);
    let store = disk.at("store");
    let copied = Command::new("cp").arg("-r").arg(place.store()).arg(&store).status();
    assert!(copied.unwrap().success());
    let mut remount = Command::new("mount");
    remount.args(["-o", "remount,ro"]).arg(disk.0.path());
    assert!(remount.status().unwrap().success());
    let scratch = place.beside("scratch");
    fs::create_dir(&scratch).unwrap();
    let (plain, backups) = (place.beside("plain"), place.beside("backups"));
    let run_there = |args: &[&str]| {
        let mut command = place.bare_command(args.iter().copied());
        command.arg("--store").arg(&store).env("INMOST_PASSPHRASE", PASSPHRASE);
        let ended = run(command.env("TMPDIR", &scratch), b"");
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "{args:?} leaves no copy");
        ended
    };
    for (args, expected) in [
        (&["ls"][..], "a.md"),
        (&["cat", "/memories/a.md"], "a bean"),
        (&["grep", "bean"], "a bean"),
        (&["search", "beans"], "a bean"),
        (&["log"], "The history is off"),
        (&["stats"], "1 file"),
        (&["status"], "files       1"),
        (&["check"], "1 file"),
        (&["export", "--yes", plain.to_str().unwrap()], "1 file"),
        (&["backup", backups.to_str().unwrap()], "1 file"),
    ] {
        let ended = run_there(args);
        assert!(ended.code == Some(0) && ended.out.contains(expected), "{args:?}: {ended:?}");
        assert!(ended.err.contains("is on read-only media"), "{args:?}: {ended:?}");
    }
    assert_eq!(fs::read_to_string(plain.join("a.md")).unwrap(), "a bean\n");
    for args in [&["rm", "/memories/a.md"][..], &["mv", "/memories/a.md", "/memories/b.md"]] {
        let ended = run_there(args);
        assert!(ended.err.contains("Read-only file system"), "{args:?}: {ended:?}");
    }
}
