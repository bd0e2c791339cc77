//! Untrusted stores whose file names are links, folders or pipes.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use crate::inmost::{CHEAP, Place, run};
use crate::sync::{pair, sync};

const PRECIOUS: &str = "precious";

/// A file of the user that is also hard-linked into the store.
fn link(place: &Place, name: &str) {
    fs::write(place.beside("victim"), PRECIOUS).unwrap();
    let name = place.store().join(name);
    let _ = fs::remove_file(&name);
    fs::hard_link(place.beside("victim"), name).unwrap();
}

fn assert_unharmed(place: &Place) {
    assert_eq!(fs::read_to_string(place.beside("victim")).unwrap(), PRECIOUS);
}

#[test]
fn a_draft_that_is_a_hard_link_is_removed_and_not_overwritten() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    link(&place, "header.a.new");
    assert_eq!(place.cat("/memories/a"), "1");
    assert!(!place.store().join("header.a.new").exists());
    assert_unharmed(&place);
}

#[test]
fn a_lock_that_is_a_hard_link_is_refused_by_check_too() {
    let place = Place::with_store();
    link(&place, "lock");
    for args in [&["check", "--isolated"][..], &["status"], &["destroy", "--yes"]] {
        let ended = place.run(args, "").expect_failure(12, "lock is a hard link");
        assert!(!ended.err.contains(&format!("{}/", place.store().display())), "{ended:?}");
    }
    assert_unharmed(&place);
    assert!(place.store().join("header.a").exists());
}

#[test]
fn an_engines_file_that_is_a_hard_link_is_refused() {
    let place = Place::with_store();
    link(&place, "gen-0000000000000001/db");
    place.run(["check", "--isolated"], "").expect_failure(12, "db is a hard link");
    assert_unharmed(&place);
}

#[test]
fn the_state_of_synchronisation_leads_to_no_other_file() {
    let (place, _) = pair();
    sync(&place, &place, &["init", "--name", "laptop", "PLACE"], "").expect(0);
    fs::write(place.beside("victim"), PRECIOUS).unwrap();
    for draft in ["sync.new", ".sync.new"] {
        std::os::unix::fs::symlink("../victim", place.store().join(draft)).unwrap();
    }
    place.run(["write", "/memories/list.md"], "eggs\n").expect(0);
    sync(&place, &place, &[], "").expect(0);
    for what in ["link", "pipe"] {
        put(what, &place.store().join("sync"));
        let refused = sync(&place, &place, &[], "");
        refused.expect_failure(1, "The state of synchronisation does not open");
    }
    assert_unharmed(&place);
}

fn put(what: &str, path: &Path) {
    fs::remove_file(path).unwrap();
    match what {
        "folder" => fs::create_dir(path).unwrap(),
        "link" => std::os::unix::fs::symlink("victim", path).unwrap(),
        _ => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
    }
}

#[test]
fn a_store_with_one_odd_copy_of_the_header_can_be_read() {
    for name in ["header.a", "header.b"] {
        for what in ["folder", "link", "pipe"] {
            let place = Place::with_files(&[("/memories/a", "1")]);
            let path = place.store().join(name);
            put(what, &path);
            assert_eq!(place.cat("/memories/a"), "1", "{name}, {what}");
            let metadata = fs::symlink_metadata(&path).unwrap();
            assert_eq!(metadata.is_file(), what != "folder", "{name}, {what}");
            let new = place.beside("new");
            fs::write(&new, "another passphrase").unwrap();
            let args = ["passwd", "--new-passphrase-file", new.to_str().unwrap()];
            let passwd = place.run(args.iter().chain(&CHEAP), "");
            if what == "folder" {
                passwd.expect_failure(12, &format!("{name} is a folder"));
                assert_eq!(place.cat("/memories/a"), "1");
            } else {
                passwd.expect(0);
            }
        }
    }
}

#[test]
fn destroy_overwrites_the_keys_despite_untrusted_files() {
    let place = Place::with_store();
    put("pipe", &place.store().join("header.a"));
    place.run(["destroy", "--yes"], "").expect(0);
    assert!(!place.store().exists());

    for name in ["header.a", "anchor"] {
        let place = Place::with_store();
        put("folder", &place.store().join(name));
        let mut header = File::open(place.store().join("header.b")).unwrap();
        let ended = place.run(["destroy", "--yes"], "");
        let ended = ended.expect_failure(12, &format!("{name} is a folder"));
        assert!(ended.err.contains("All other files"), "{ended:?}");
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut header, &mut bytes).unwrap();
        assert!(bytes == [0; 4_096], "{name}");
        let left: Vec<_> =
            fs::read_dir(place.store()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, [name]);
        place.run(["destroy", "--yes"], "").expect_failure(10, "There is no store at ");
    }
}

#[test]
fn init_does_not_take_a_folder_of_other_files_for_its_own() {
    let place = Place::vacant();
    let folder = place.beside(".store.creating");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("letter"), "dear").unwrap();
    let init = place.run(["init"].iter().chain(&CHEAP), "");
    init.expect_failure(12, ".store.creating contains files that do not belong to a store");
    assert_eq!(fs::read_to_string(folder.join("letter")).unwrap(), "dear");
}

/// The owners of everything in the store.
#[cfg(unix)]
fn owners(place: &Place) -> Vec<u32> {
    use std::os::unix::fs::MetadataExt;
    let paths = place.files_on_disk();
    let mut owners: Vec<u32> = paths.iter().map(|it| fs::metadata(it).unwrap().uid()).collect();
    owners.dedup();
    owners
}

/// `sudo inmost` on a user's store left files of root, which the user could not open any more.
#[cfg(target_os = "linux")]
#[test]
fn roots_command_does_not_touch_a_store_of_another_user() {
    const USER: &str = "65534";
    let place = Place::with_files(&[("/memories/a", "1")]);
    let folder = place.store().parent().unwrap().to_owned();
    let given = Command::new("chown").args(["-R", USER]).arg(&folder).output();
    if !given.is_ok_and(|it| it.status.success()) {
        eprintln!("SKIPPED: only root can give files to another user, so nothing was tested");
        return;
    }
    let as_user = |args: &[&str]| {
        let own = place.command(args);
        let mut command = Command::new("setpriv");
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
        command.arg(own.get_program()).args(args).current_dir(&folder);
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        run(command.env("XDG_RUNTIME_DIR", &folder), b"")
    };
    for args in [&["ls"][..], &["check"], &["compact"], &["rm", "/memories/a"]] {
        let refused = place.run(args, "").expect_failure(14, "65534");
        assert!(refused.err.contains("user"), "{refused:?}");
        assert_eq!(owners(&place), [65_534], "{args:?}");
    }
    // The keys may be in the memory of a process of the user.
    place.run(["lock"], "").expect_failure(14, "65534");
    let refused = place.run(["destroy", "--yes"], "").expect_failure(14, "65534");
    assert!(!refused.err.contains("removed"), "{refused:?}");
    assert_eq!(as_user(&["cat", "/memories/a"]).out, "1");
    // Half of a header that cannot be read costs nothing.
    let header = place.store().join("header.a");
    assert!(Command::new("chmod").arg("0").arg(&header).status().unwrap().success());
    assert_eq!(as_user(&["cat", "/memories/a"]).out, "1");
    assert_eq!(as_user(&["check"]).code, Some(0));
    // What root has left in it otherwise is named, with its owner, and nothing is changed.
    let anchor = place.store().join("anchor");
    assert!(Command::new("chown").arg("0").arg(&anchor).status().unwrap().success());
    let refused = as_user(&["cat", "/memories/a"]);
    refused.expect_failure(14, "The file anchor of the store belongs to another user, number 0");
    assert!(Command::new("chown").arg(USER).arg(&anchor).status().unwrap().success());
    assert_eq!(as_user(&["cat", "/memories/a"]).out, "1");
}
