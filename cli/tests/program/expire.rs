//! Expiry: the settings, what is deleted, and what it says.

use std::time::Instant;

use serde_json::{Value, json};

use crate::inmost::{CHEAP, PATIENCE, Place, create};

fn objects(place: &Place, args: &[&str]) -> Vec<Value> {
    let out = place.run(["expire", "--json"].iter().chain(args), "").expect(0).out;
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A store that keeps versions and records readings, in which two files were unused for a second.
fn unused() -> Place {
    let place = Place::with_store();
    place.run(["expire", "--record", "on"], "").expect(0);
    place.run(["write", "/memories/a.md"], "one\n").expect(0);
    place.run(["write", "/memories/b/c.md"], "two\n").expect(0);
    let deadline = Instant::now() + PATIENCE;
    while objects(&place, &["--unused-for", "1s", "--dry-run"]).len() < 3 {
        assert!(Instant::now() < deadline, "the second is never over");
    }
    place
}

#[test]
fn unused_files_are_listed_then_deleted_and_come_back() {
    let place = unused();
    let planned = place.run(["expire", "--unused-for", "1s", "--dry-run"], "").expect(0).out;
    let lines: Vec<&str> = planned.lines().collect();
    assert!(lines[0].ends_with("  /memories/a.md") && lines[1].ends_with("  /memories/b/c.md"));
    assert_eq!(lines[2], "2 files would be deleted. Nothing was changed.");
    assert_eq!(place.cat("/memories/a.md"), "one\n");
    // That was a reading, and a key daemon records it along with the next change.
    place.run(["write", "/memories/b/c.md"], "three\n").expect(0);

    let all = objects(&place, &["--unused-for", "36500d"]);
    let total = json!({ "files": 0, "bytes": 0, "dry_run": false, "nothing_because": null });
    assert_eq!(all, [total]);
    let place = unused();
    let all = objects(&place, &["--unused-for", "1s"]);
    assert_eq!(
        (&all[0]["file"], &all[1]["file"]),
        (&json!("/memories/a.md"), &json!("/memories/b/c.md"))
    );
    assert_eq!(all[0]["bytes"], 4);
    assert!(all[0]["last_use"].as_u64() > Some(1_700_000_000_000));
    let total = json!({ "files": 2, "bytes": 8, "dry_run": false, "nothing_because": null });
    assert_eq!(all[2], total);
    place.run(["cat", "/memories/a.md"], "").expect_failure(19, "");
    let log = place.run(["log", "--channel", "expiry", "--kind", "expired"], "").expect(0).out;
    assert_eq!(log.lines().count(), 2, "{log}");
    place.run(["restore", &all[0]["version"].to_string()], "").expect(0);
    assert_eq!(place.cat("/memories/a.md"), "one\n");
    let none = place.run(["expire", "--unused-for", "1d"], "").expect(0).out;
    assert_eq!(none, "No file was unused for so long.\n");
}

#[test]
fn without_a_history_it_asks_first() {
    let place = unused();
    place.run(["history", "--keep", "off", "--yes"], "").expect(0);
    let args = ["expire", "--unused-for", "1s"];
    place.run(args, "").expect_failure(2, "needs a confirmation");
    assert!(place.names("/memories").len() > 1);
    let done = place.run(args.iter().chain(&["--yes"]), "").expect(0).out;
    assert!(done.ends_with("Deleted 2 files.\n"), "{done}");
    place.run(["cat", "/memories/a.md"], "").expect_failure(19, "");
    place.run(["cat", "/memories/b/c.md"], "").expect_failure(19, "");
}

#[test]
fn the_settings_are_shown_and_set_and_are_off_at_first() {
    let place = Place::with_store();
    let settings = |args: &[&str]| {
        let object = objects(&place, args).remove(0);
        (object["recording"].clone(), object["unused_seconds"].clone(), object["damaged"].clone())
    };
    let off = (json!(false), json!(null), json!(false));
    assert_eq!(settings(&[]), off);
    let shown = place.run(["expire"], "").expect(0).out;
    assert!(shown.starts_with("expiry      off: no reading is recorded"), "{shown}");
    let nothing = place.run(["expire", "--unused-for", "90d"], "");
    nothing.expect_failure(1, "does not record readings");
    let status = place.run(["status"], "").expect(0).out;
    assert!(!status.contains("expiry"), "{status}");
    // What is not on stays off.
    assert_eq!(settings(&["--at-unlock", "off"]), off);

    assert_eq!(
        settings(&["--at-unlock", "180d"]),
        (json!(true), json!(180 * 86_400), json!(false))
    );
    assert_eq!(settings(&["--record", "on"]).1, json!(180 * 86_400));
    let status = place.run(["status"], "").expect(0).out;
    assert!(status.contains("\nexpiry      at an unlock, of files that were unused for 180 d\n"));
    let status = place.run(["status", "--json"], "").expect(0).out;
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["expiry"]["unused_seconds"], json!(180 * 86_400));
    assert_eq!(settings(&["--at-unlock", "off"]), (json!(true), json!(null), json!(false)));
    assert_eq!(settings(&["--record", "off"]), off);

    for wrong in [
        &["--unused-for", "soon"][..],
        &["--dry-run"],
        &["--unused-for", "1d", "--record", "on"],
        &["--record", "on", "--at-unlock", "9d"],
        // Readings are known to the day.
        &["--at-unlock", "23h"],
    ] {
        place.run(["expire"].iter().chain(wrong), "").expect_failure(2, "");
    }
    let place = Place::vacant();
    let out = place.run(["init", "--expire", "90d"].iter().chain(&CHEAP), "").expect(0).out;
    assert!(out.contains("neither read nor changed for 90 d are deleted"), "{out}");
    assert_eq!(objects(&place, &[])[0]["unused_seconds"], json!(90 * 86_400));
}

#[test]
fn the_deletions_of_an_agent_that_forgets_leave_nothing_in_the_log() {
    let place = Place::with_store();
    let edit = json!({
        "command": "str_replace", "path": "/memories/b.md", "old_str": "two", "new_str": "three"
    });
    let delete = json!({ "command": "delete", "path": "/memories/a.md" });
    let calls = create("/memories/a.md", "one\n") + &create("/memories/b.md", "two\n");
    place.run(["call"], &calls).expect(0);
    let calls = format!("{edit}\n{delete}\n");
    let out = place.run(["call", "--delete-forgets"], &calls).expect(0).out;
    assert!(!out.contains("\"is_error\":true"), "{out}");
    assert_eq!(
        place.run(["log", "/memories/a.md"], "").expect(0).out,
        "No change that matches is kept.\n"
    );
    let log = place.run(["log", "--json", "/memories/b.md"], "").expect(0).out;
    let versions: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(versions.len(), 1, "the edit forgets what was before it: {log}");
    let number = versions[0]["version"].to_string();
    assert_eq!(place.run(["show", &number], "").expect(0).out, "three\n");
}
