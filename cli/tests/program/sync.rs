//! `inmost sync`: two stores and a folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::inmost::{Ended, Place, run};

/// A device: its store, and a folder that is shared with the other one.
pub(crate) fn sync(place: &Place, shared: &Place, args: &[&str], input: &str) -> Ended {
    let folder = shared.beside("shared").display().to_string();
    let args = args.iter().map(|arg| if *arg == "PLACE" { folder.as_str() } else { *arg });
    place.run(["sync"].into_iter().chain(args), input)
}

pub(crate) fn pair() -> (Place, Place) {
    let laptop = Place::with_files(&[("/memories/list.md", "milk\nbread\n")]);
    let desk = Place::with_store();
    fs::create_dir(laptop.beside("shared")).unwrap();
    (laptop, desk)
}

#[test]
fn two_stores_have_the_same_files_through_a_folder() {
    let (laptop, desk) = pair();
    sync(&laptop, &laptop, &["init", "--name", "laptop", "PLACE"], "").expect(0);
    let invitation = sync(&laptop, &laptop, &["invite"], "").expect(0).out;
    sync(&desk, &laptop, &["join", "--name", "desk", "PLACE"], &invitation).expect(0);
    assert_eq!(desk.cat("/memories/list.md"), "milk\nbread\n");

    laptop.run(["write", "/memories/list.md"], "milk\nrye bread\n").expect(0);
    desk.run(["write", "/memories/list.md"], "milk\nbread\neggs\n").expect(0);
    for place in [&laptop, &desk, &laptop] {
        sync(place, &laptop, &[], "").expect(0);
    }
    for place in [&laptop, &desk] {
        assert_eq!(place.cat("/memories/list.md"), "milk\nrye bread\neggs\n");
    }
    let quiet = sync(&desk, &laptop, &["--json"], "").expect(0).out;
    let nothing = r#"{"sent":0,"received":0,"changed":0,"waiting":0,"copies":[],"held":[],"unforgotten":0,"kept":[]}"#;
    assert_eq!(quiet.trim(), nothing);
    let status = sync(&desk, &laptop, &["status"], "").expect(0).out;
    assert!(status.contains("member     laptop"), "{status}");

    // Nothing in the folder is readable, and a destroyed store leaves no state.
    for object in objects(&laptop) {
        let name = object.strip_prefix(laptop.beside("shared")).unwrap().display().to_string();
        let seen = [name.as_bytes(), fs::read(&object).unwrap().as_slice()].concat();
        for canary in ["milk", "list.md", "laptop", "desk"] {
            assert!(!seen.windows(canary.len()).any(|part| part == canary.as_bytes()), "{canary}");
        }
    }
    desk.lock();
    desk.run(["destroy", "--yes"], "").expect(0);
    assert!(!desk.store().exists());
}

#[test]
fn a_store_of_a_circle_is_not_taken_out_of_it_unasked() {
    let (laptop, _) = pair();
    sync(&laptop, &laptop, &["init", "--name", "laptop", "PLACE"], "").expect(0);
    laptop.run(["rotate"], "").expect_failure(2, "needs a confirmation");
    laptop.lock();
    let copied = laptop.run(["migrate", "--to", "copy"], "").expect(0).out;
    assert!(copied.contains("The copy is in no circle of devices"), "{copied}");
    laptop.run(["rotate", "--yes"], "").expect(0);
    sync(&laptop, &laptop, &[], "").expect_failure(1, "leave --force");
}

/// The objects in the folder.
fn objects(place: &Place) -> BTreeSet<PathBuf> {
    let logs = fs::read_dir(place.beside("shared")).unwrap();
    let files = logs.flat_map(|log| fs::read_dir(log.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn what_is_forgotten_leaves_the_other_store_and_the_folder() {
    let (laptop, desk) = pair();
    for place in [&laptop, &desk] {
        place.run(["history", "--keep", "30d"], "").expect(0);
    }
    sync(&laptop, &laptop, &["init", "--name", "laptop", "PLACE"], "").expect(0);
    let invitation = sync(&laptop, &laptop, &["invite"], "").expect(0).out;
    sync(&desk, &laptop, &["join", "--name", "desk", "PLACE"], &invitation).expect(0);
    laptop.run(["write", "/memories/plan.md"], "a secret\n").expect(0);
    laptop.run(["write", "/memories/plan.md"], "a plan\n").expect(0);
    laptop.run(["write", "/memories/gone.md"], "another secret\n").expect(0);
    for place in [&laptop, &desk] {
        sync(place, &laptop, &[], "").expect(0);
    }
    laptop.run(["write", "/memories/plan.md"], "a better plan\n").expect(0);
    laptop.run(["rm", "/memories/gone.md"], "").expect(0);
    for place in [&laptop, &desk] {
        sync(place, &laptop, &[], "").expect(0);
    }
    let log = |path: &str| desk.run(["log", "--json", path], "").out;
    assert!(log("/memories/plan.md").lines().count() > 1);
    let before = objects(&laptop);
    for path in ["/memories/plan.md", "/memories/gone.md"] {
        laptop.run(["forget", path, "--yes"], "").expect(0);
    }
    let out = sync(&laptop, &laptop, &[], "").expect(0).out;
    assert!(out.contains("may have forgotten texts"), "{out}");
    for place in [&desk, &laptop, &desk, &laptop] {
        sync(place, &laptop, &[], "").expect(0);
    }
    assert!(objects(&laptop).is_disjoint(&before));
    assert_eq!(desk.cat("/memories/plan.md"), "a better plan\n");
    assert!(log("/memories/plan.md").lines().count() == 1, "{}", log("/memories/plan.md"));
    assert!(log("/memories/gone.md").is_empty(), "{}", log("/memories/gone.md"));
    let quiet = sync(&laptop, &laptop, &["--json"], "").expect(0).out;
    assert!(quiet.contains(r#""sent":0"#) && quiet.contains(r#""unforgotten":0"#), "{quiet}");
}

#[test]
fn what_was_forgotten_for_one_circle_stays_in_the_next_one() {
    let (laptop, desk) = pair();
    for place in [&laptop, &desk] {
        place.run(["history", "--keep", "30d"], "").expect(0);
    }
    sync(&laptop, &laptop, &["init", "--name", "laptop", "PLACE"], "").expect(0);
    for text in ["a draft\n", "a plan\n"] {
        laptop.run(["write", "/memories/plan.md"], text).expect(0);
    }
    laptop.run(["forget", "/memories/plan.md", "--yes"], "").expect(0);
    sync(&laptop, &laptop, &["leave", "--force"], "").expect(0);
    assert!(laptop.store().join("sync-forgets").exists());

    fs::create_dir(desk.beside("shared")).unwrap();
    desk.run(["write", "/memories/plan.md"], "a draft\n").expect(0);
    sync(&desk, &desk, &["init", "--name", "desk", "PLACE"], "").expect(0);
    desk.run(["write", "/memories/plan.md"], "a plan\n").expect(0);
    sync(&desk, &desk, &[], "").expect(0);
    let invitation = sync(&desk, &desk, &["invite"], "").expect(0).out;
    sync(&laptop, &desk, &["join", "--name", "laptop", "PLACE"], &invitation).expect(0);
    for place in [&desk, &laptop, &desk, &laptop] {
        sync(place, &desk, &[], "").expect(0);
    }
    let log = desk.run(["log", "--json", "/memories/plan.md"], "").expect(0).out;
    assert!(log.lines().count() > 1, "{log}");
}

#[test]
fn a_removed_device_reads_nothing_that_is_written_later() {
    let (laptop, desk) = pair();
    let phone = Place::with_store();
    sync(&laptop, &laptop, &["init", "--name", "laptop", "PLACE"], "").expect(0);
    let old = sync(&laptop, &laptop, &["invite"], "").expect(0).out;
    for (place, name) in [(&desk, "desk"), (&phone, "phone")] {
        sync(place, &laptop, &["join", "--name", name, "PLACE"], &old).expect(0);
    }
    desk.run(["write", "/memories/desk.md"], "sent\n").expect(0);
    sync(&desk, &laptop, &[], "").expect(0);
    phone.run(["write", "/memories/early.md"], "early\n").expect(0);
    sync(&phone, &laptop, &[], "").expect(0);
    desk.run(["write", "/memories/late.md"], "not sent\n").expect(0);
    phone.run(["write", "/memories/phone.md"], "not read\n").expect(0);

    let next = laptop.beside("next").display().to_string();
    let to_next = ["remove", "phone", "--to", &next];
    sync(&laptop, &laptop, &to_next, "").expect_failure(14, "cannot be used");
    fs::create_dir(&next).unwrap();
    sync(&laptop, &laptop, &["remove", "tablet", "--to", &next], "")
        .expect_failure(1, "No other device of the circle is called \"tablet\"");
    sync(&laptop, &laptop, &["remove", "phone", "--to", "PLACE"], "")
        .expect_failure(1, "has objects of a circle already");
    let out = sync(&laptop, &laptop, &to_next, "").expect(0).out;
    assert!(out.contains("inmost sync follow"), "{out}");
    let status = sync(&laptop, &laptop, &["status"], "").expect(0).out;
    assert!(status.contains("desk") && !status.contains("phone"), "{status}");
    // As after an attempt whose last round has failed.
    for again in [&to_next[..], &["remove", "--to", &next]] {
        sync(&laptop, &laptop, again, "").expect_failure(1, "in this place already");
    }

    sync(&desk, &laptop, &["follow", &next], &old).expect_failure(1, "does not belong");
    let new = sync(&laptop, &laptop, &["invite"], "").expect(0).out;
    sync(&phone, &laptop, &[], "").expect(0);
    sync(&desk, &laptop, &["follow", &next], &new).expect(0);
    sync(&laptop, &laptop, &[], "").expect(0);
    for place in [&laptop, &desk] {
        assert_eq!(place.cat("/memories/desk.md"), "sent\n");
        assert_eq!(place.cat("/memories/late.md"), "not sent\n");
        assert_eq!(place.cat("/memories/early.md"), "early\n");
        place.run(["cat", "/memories/phone.md"], "").expect_failure(19, "phone.md");
    }
    let status = sync(&desk, &laptop, &["status"], "").expect(0).out;
    assert_eq!(status.matches("member").count(), 1, "{status}");

    // With the new folder and the old invitation, the phone reads nothing.
    sync(&phone, &laptop, &["follow", &next], &old).expect_failure(1, "does not belong");
    sync(&phone, &laptop, &["leave", "--force"], "").expect(0);
    sync(&phone, &laptop, &["join", "--name", "phone", &next], &old)
        .expect_failure(1, "does not belong");
}

/// In `/proc` no user can make a folder, root neither.
#[cfg(target_os = "linux")]
#[test]
fn a_circle_goes_on_after_its_first_round_has_failed() {
    let laptop = Place::with_files(&[("/memories/list.md", "milk\n")]);
    let init = ["init", "--name", "laptop", "/proc"];
    sync(&laptop, &laptop, &init, "").expect_failure(14, "`inmost sync` goes on");
    sync(&laptop, &laptop, &init, "").expect_failure(1, "`inmost sync` goes on with it");
}

#[test]
fn mistakes_are_explained_and_change_nothing() {
    let (laptop, desk) = pair();
    sync(&laptop, &laptop, &[], "").expect_failure(1, "in no circle");
    sync(&laptop, &laptop, &["init", "--name", "a/b", "PLACE"], "")
        .expect_failure(2, "is named by");
    sync(&laptop, &laptop, &["init", "--name", "laptop", "PLACE"], "").expect(0);
    sync(&laptop, &laptop, &["init", "--name", "laptop", "PLACE"], "")
        .expect_failure(1, "has objects of a circle already");
    let invitation = sync(&laptop, &laptop, &["invite"], "").expect(0).out;
    let mistyped = invitation.replacen("-1-", "-1-0", 1);
    sync(&desk, &laptop, &["join", "--name", "desk", "PLACE"], &mistyped)
        .expect_failure(2, "mistyped");

    // The folder that has the store.
    let outer = laptop.store().parent().unwrap().display().to_string();
    sync(&desk, &laptop, &["join", "--name", "desk", "PLACE"], &invitation).expect(0);
    sync(&desk, &laptop, &["leave", "--force"], "").expect(0);
    sync(&laptop, &laptop, &["init", "--name", "laptop", &outer], "")
        .expect_failure(2, "inside one another");

    // A folder of another circle.
    let stranger = Place::with_store();
    fs::create_dir(stranger.beside("shared")).unwrap();
    sync(&stranger, &stranger, &["init", "--name", "other", "PLACE"], "").expect(0);
    stranger.run(["write", "/memories/a"], "a\n").expect(0);
    sync(&stranger, &stranger, &[], "").expect(0);
    sync(&desk, &stranger, &["join", "--name", "desk", "PLACE"], &invitation)
        .expect_failure(1, "does not belong");

    // The folder is gone, and comes back.
    fs::rename(laptop.beside("shared"), laptop.beside("away")).unwrap();
    laptop.run(["write", "/memories/list.md"], "eggs\n").expect(0);
    sync(&laptop, &laptop, &[], "").expect_failure(14, "cannot be used");
    sync(&laptop, &laptop, &["leave"], "").expect_failure(14, "leave --force");
    fs::rename(laptop.beside("away"), laptop.beside("shared")).unwrap();
    let out = sync(&laptop, &laptop, &[], "").expect(0).out;
    assert!(out.starts_with("Sent 1 object"), "{out}");
    sync(&laptop, &laptop, &["leave"], "").expect(0);
    assert_eq!(laptop.cat("/memories/list.md"), "eggs\n");
    assert!(
        run(&mut laptop.bare_command(["sync", "join", "--help"]), b"")
            .expect(0)
            .out
            .contains("Example")
    );
}
