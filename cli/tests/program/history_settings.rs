//! The settings of the history, damage to it, and what the program says of what stays.

use serde_json::{Value, json};

use crate::history::{after_a_night, log};
use crate::inmost::{CHEAP, Ended, Place};

#[test]
fn the_setting_is_shown_and_less_is_kept_only_after_a_question() {
    let place = after_a_night();
    let entries = |ended: &Ended| {
        let object: Value = serde_json::from_str(&ended.out).unwrap();
        let history = object.get("history").unwrap_or(&object).clone();
        (history["keep_seconds"].clone(), history["max_bytes"].clone(), history["entries"].clone())
    };
    let history = |args: &[&str]| place.run(["history", "--json"].iter().chain(args), "");
    let month = json!(30 * 86_400);
    assert_eq!(entries(&history(&[]).expect(0)), (month.clone(), json!(256 << 20), json!(5)));
    assert_eq!(entries(&place.run(["status", "--json"], "").expect(0)).2, json!(5));
    let status = place.run(["status"], "").expect(0).out;
    assert!(status.contains("\nhistory     keeps earlier texts for 30 d\n"), "{status}");
    assert!(status.contains("\n            5 entries, "), "{status}");

    let more = history(&["--keep", "90d", "--max-bytes", "999999999"]).expect(0);
    assert_eq!(entries(&more), (json!(90 * 86_400), json!(999_999_999), json!(5)));
    let wider = history(&["--keep", "91d"]).expect(0);
    assert_eq!(entries(&wider).1, json!(999_999_999), "the room stays");
    for less in [["--keep", "30d"], ["--keep", "off"], ["--max-bytes", "1"]] {
        history(&less).expect_failure(2, "needs a confirmation");
    }
    history(&["--keep", "soon"]).expect_failure(2, "expected off, or a number");
    place.run(["purge"], "").expect_failure(2, "needs a confirmation");
    place.run(["compact"], "").expect(0);
    assert_eq!(log(&place, &[]).len(), 5);
    place.run(["purge", "--yes"], "").expect(0);
    assert!(log(&place, &[]).is_empty());
    assert_eq!(
        entries(&history(&[]).expect(0)),
        (json!(91 * 86_400), json!(999_999_999), json!(0))
    );

    place.run(["write", "/memories/plan.md"], "x").expect(0);
    history(&["--keep", "off", "--yes"]).expect(0);
    let out = place.run(["log"], "").expect(0).out;
    assert!(out.starts_with("The history is off") && out.contains("--keep 30d"), "{out}");
    let off = place.run(["undo", "--since", "1h"], "").expect_failure(1, "The history is off");
    assert!(off.err.contains("--keep 30d"), "{off:?}");
    assert_eq!(place.run(["rm", "/memories/plan.md"], "").expect(0).out, "");
    history(&["--max-bytes", "5"]).expect_failure(2, "The history is off");
    place.run(["purge"], "").expect(0);
}

#[test]
fn a_damaged_history_is_named_and_stops_no_change_of_a_file() {
    let place = after_a_night();
    // The entry of a change between two long paths is the longest record, with others before and after it.
    let [from, to] =
        ["x", "y"].map(|name| format!("/memories{}", ["/", &name.repeat(250)].concat().repeat(4)));
    place.run(["write", &from], "1").expect(0);
    place.run(["mv", &from, &to], "").expect(0);
    for number in 0..3 {
        place.run(["write", "/memories/n"], &number.to_string()).expect(0);
    }
    place.damage_longest_record();
    let check = place.run(["check"], "").expect(12).out;
    assert!(check.starts_with("/memories/(history): "), "{check}");
    let damaged =
        place.run(["log"], "").expect_failure(12, "1 entry of the history cannot be read");
    assert!(damaged.err.contains("`inmost repair` keeps the versions"), "{damaged:?}");
    // The entries on both sides are listed.
    let newest = damaged.out.lines().next().unwrap();
    assert!(newest.ends_with("/memories/n") && damaged.out.contains("/memories/plan.md"));
    let undo = place.run(["undo", "--dry-run", "--by", "night"], "");
    assert_eq!(undo.code, Some(0), "{undo:?}");
    assert!(undo.err.contains("of the history cannot be read"), "{undo:?}");
    place.run(["write", "/memories/n"], "new").expect(0);
    assert_eq!(place.cat("/memories/n"), "new");
    let refused = place.run(["compact"], "");
    let refused = refused.expect_failure(12, "the history does not authenticate");
    assert!(refused.err.contains("`inmost repair`"), "{refused:?}");
    // The engine's files still have an earlier copy of the record.
    let repaired = place.run(["repair", "--yes"], "").expect(0).out;
    assert!(repaired.contains("No problems remain") && !repaired.contains("lost"), "{repaired}");
    let moved = |place: &Place| place.run(["log"], "").expect(0).out.contains("renamed");
    assert!(moved(&place));
    place.damage_longest_record_in_the_files();
    let repaired = place.run(["repair", "--yes"], "").expect(0).out;
    let lost = "lost of the history: 1 entry. Its other versions are kept.\n";
    assert!(repaired.contains(lost), "{repaired}");
    place.run(["check"], "").expect(0);
    assert!(!moved(&place));
    assert_eq!(log(&place, &[]).len(), 10);
    place.run(["compact"], "").expect(0);
    assert_eq!(place.cat("/memories/n"), "new");
}

#[test]
fn a_text_that_was_dropped_for_lack_of_room_is_marked_in_the_list() {
    let place = Place::with_store();
    place.run(["history", "--keep", "30d", "--max-bytes", "10K", "--yes"], "").expect(0);
    for number in 0..4 {
        place.run(["write", "/memories/a"], &format!("{number}").repeat(6_000)).expect(0);
    }
    place.run(["rm", "/memories/a"], "").expect(0);
    // The next change drops the texts that are too many.
    place.run(["write", "/memories/b"], "x").expect(0);
    let texts = |place: &Place| -> Vec<String> {
        log(place, &[]).iter().map(|it| it["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts(&place), ["kept", "none", "kept", "gone", "gone", "gone"]);
    let out = place.run(["log"], "").expect(0).out;
    assert_eq!(out.matches("  /memories/a  (text gone)\n").count(), 3, "{out}");
    let gone = log(&place, &[])[3]["version"].to_string();
    place.run(["restore", &gone], "").expect_failure(1, "is not kept");
}

#[test]
fn a_deleted_text_that_the_history_has_no_room_for_is_not_promised() {
    let place = Place::with_store();
    place.run(["history", "--max-bytes", "1K", "--yes"], "").expect(0);
    place.run(["write", "/memories/a"], &"a".repeat(3_000)).expect(0);
    let out = place.run(["rm", "/memories/a"], "").expect(0).out;
    assert_eq!(
        out,
        "The next change drops its text, which has 3000 bytes: `inmost history` keeps 1024 in all.\n"
    );
    let deletion = log(&place, &["--limit", "1"])[0]["version"].to_string();
    place.run(["write", "/memories/b"], "x").expect(0);
    let refused = place.run(["restore", &deletion], "");
    let what = format!("What version {deletion} deleted is not kept any more");
    let refused = refused.expect_failure(1, &what);
    assert!(!refused.err.contains("inmost restore"), "{refused:?}");
}

#[test]
fn a_folder_that_came_back_already_is_not_called_gone() {
    let place = Place::with_store();
    place.run(["write", "/memories/f/a"], "x").expect(0);
    place.run(["rm", "-r", "/memories/f"], "").expect(0);
    let deletion = log(&place, &["--limit", "1"])[0]["version"].to_string();
    place.run(["restore", &deletion], "").expect(0);
    let restored = log(&place, &["--limit", "1"])[0]["version"].to_string();
    let what = format!("was already brought back, as version {restored}");
    place.run(["restore", &deletion], "").expect_failure(1, &what);
}

#[test]
fn a_new_store_says_what_stays_and_for_how_long() {
    for (option, stays) in [
        (&[][..], "stays in it, encrypted, for 30 d: "),
        (&["--history", "36h"], "stays in it, encrypted, for 1 d 12 h: "),
        (&["--history", "off"], "the history is off."),
    ] {
        let place = Place::vacant();
        let out = place.run(["init"].iter().chain(&CHEAP).chain(option), "").expect(0).out;
        assert!(out.contains(stays), "{out}");
        assert_eq!(out.contains("`inmost forget PATH`"), !option.contains(&"off"), "{out}");
    }
    let place = Place::with_files(&[("/memories/a", "1")]);
    assert!(place.run(["log"], "").expect(0).out.starts_with("The history is off"));
}
