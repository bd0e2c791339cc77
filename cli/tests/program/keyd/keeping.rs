//! A key daemon that keeps its store in step with another one.

use super::*;
use crate::sync::{pair, sync};

/// Two stores in a circle.
fn circle() -> (Place, Place) {
    let (laptop, desk) = pair();
    sync(&laptop, &laptop, &["init", "--name", "laptop", "PLACE"], "").expect(0);
    let invitation = sync(&laptop, &laptop, &["invite"], "").expect(0).out;
    sync(&desk, &laptop, &["join", "--name", "desk", "PLACE"], &invitation).expect(0);
    (laptop, desk)
}

/// What `inmost status --json` says of the rounds.
fn rounds(place: &Place) -> Value {
    let out = place.run(["status", "--json"], "").expect(0).out;
    serde_json::from_str::<Value>(&out).unwrap()["daemon"]["sync"].clone()
}

#[test]
fn an_unlocked_store_sends_and_receives_by_itself() {
    let (laptop, desk) = circle();
    let daemon = laptop.unlock(&["--sync=1s"]);
    laptop.run(["write", "/memories/a"], "from the laptop\n").expect(0);
    wait_until("it sends", || {
        sync(&desk, &laptop, &[], "").expect(0);
        desk.run(["cat", "/memories/a"], "").out == "from the laptop\n"
    });
    desk.run(["write", "/memories/b"], "from the desk\n").expect(0);
    sync(&desk, &laptop, &[], "").expect(0);
    wait_until("it receives", || laptop.run(["cat", "/memories/b"], "").out == "from the desk\n");

    // A round by hand beside its own ones.
    for _ in 0..3 {
        sync(&laptop, &laptop, &[], "").expect(0);
    }
    assert_eq!(rounds(&laptop)["every_seconds"], 1);
    assert!(rounds(&laptop)["last_success"].is_u64() && rounds(&laptop)["last_error"].is_null());
    laptop.run(["unlock", "--sync"], "").expect(0);

    // Once it has left, it says so.
    sync(&laptop, &laptop, &["leave", "--force"], "").expect(0);
    wait_until("it says so", || rounds(&laptop)["last_error"].to_string().contains("no circle"));
    laptop.lock();
    wait_until("it ends", || is_gone(daemon));
}

#[test]
fn an_error_of_a_round_is_shown_in_the_status_alone() {
    let (laptop, _desk) = circle();
    let (shared, away) = (laptop.beside("shared"), laptop.beside("away"));
    laptop.unlock(&["--sync=1s"]);
    fs::rename(&shared, &away).unwrap();
    wait_until("it fails", || rounds(&laptop)["last_error"].is_string());
    for args in [&["status"][..], &["sync", "status"]] {
        let out = laptop.run(args, "").expect(0).out;
        assert!(out.contains("the last one failed: The place of the circle"), "{out}");
    }
    for args in [&["ls"][..], &["cat", "/memories/list.md"]] {
        // Nothing on standard error.
        laptop.run(args, "").expect(0);
    }
    sync(&laptop, &laptop, &[], "").expect_failure(14, "Check that the folder");
    fs::rename(&away, &shared).unwrap();
    wait_until("it goes on", || rounds(&laptop)["last_error"].is_null());
}

#[test]
fn its_rounds_do_not_keep_it_unlocked() {
    let (laptop, _desk) = circle();
    let daemon = laptop.unlock(&["--sync=1s", "--idle", "4s"]);
    wait_until("it locks", || is_gone(daemon));
}

#[test]
fn a_store_in_no_circle_is_not_kept_in_step() {
    let place = Place::with_store();
    place.run(["unlock", "--sync"], "").expect_failure(1, "inmost sync init");
    assert_eq!(place.daemon(), None);
    place.run(["unlock", "--sync=0s"], "").expect_failure(2, "a number with s, m, h or d");
    place.unlock(&[]);
    place.run(["unlock", "--sync"], "").expect_failure(13, "without --sync");
    sync(&place, &place, &["leave", "--force"], "").expect(0);
}
