//! The history: listing, comparing, going back, and forgetting.

use serde_json::{Value, json};

use crate::inmost::{Ended, Place, create};

/// The versions that `log` lists with these arguments, the newest first.
pub(crate) fn log(place: &Place, args: &[&str]) -> Vec<Value> {
    let out = place.run(["log", "--json"].iter().chain(args), "").expect(0).out;
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The number of the newest version that `log` lists with these arguments.
fn newest(place: &Place, args: &[&str]) -> String {
    log(place, args)[0]["version"].to_string()
}

fn replace(path: &str, old: &str, new: &str) -> String {
    let call = json!({ "command": "str_replace", "path": path, "old_str": old, "new_str": new });
    format!("{call}\n")
}

/// Runs calls of the memory tool under this name.
fn call(place: &Place, actor: &str, calls: &str) {
    let out = place.run(["call", "--as", actor], calls).expect(0).out;
    assert!(!out.contains("\"is_error\":true"), "{out}");
}

/// A file that a person wrote, and what an agent did at night.
pub(crate) fn after_a_night() -> Place {
    let place = Place::with_store();
    place.run(["write", "--as", "ada", "/memories/plan.md"], "Dig.\nRest.\n").expect(0);
    place.run(["write", "--as", "ada", "/memories/list.md"], "tea\n").expect(0);
    call(
        &place,
        "night",
        &(replace("/memories/plan.md", "Dig.", "Fill.")
            + &replace("/memories/list.md", "tea", "coffee")
            + &create("/memories/new/idea.md", "wild\n")),
    );
    place
}

fn lines(ended: &Ended) -> Vec<&str> {
    ended.out.lines().collect()
}

#[test]
fn changes_are_listed_with_who_made_them_and_through_what() {
    let place = after_a_night();
    place.run(["mv", "/memories/new/idea.md", "/memories/idea.md"], "").expect(0);
    let out = place.run(["log"], "").expect(0);
    let words: Vec<Vec<_>> =
        lines(&out).iter().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words.len(), 6, "{out:?}");
    let expected = "renamed program - 5B /memories/new/idea.md -> /memories/idea.md";
    assert_eq!(words[0][3..].join(" "), expected);
    assert_eq!(words[1][3..].join(" "), "created tool night 5B /memories/new/idea.md");
    assert_eq!(words[5][3..].join(" "), "created program ada 11B /memories/plan.md");

    let count = |args: &[&str]| log(&place, args).len();
    assert_eq!(count(&["--by", "night"]), 3);
    assert_eq!(count(&["--kind", "modified", "--channel", "tool", "/memories/plan.md"]), 1);
    assert_eq!(count(&["/memories/new"]), 2);
    assert_eq!((count(&["--limit", "2"]), count(&["-n", "3"])), (2, 3));
    assert_eq!((count(&["--since", "1h"]), count(&["--until", "1h"])), (6, 0));
    assert_eq!(count(&["--since", "2001-01-01", "--until", "2001-01-02T00:00:00Z"]), 0);
    assert_eq!(
        place.run(["log", "/memories/none"], "").expect(0).out,
        "No change that matches is kept.\n"
    );
    let newest = &log(&place, &["--limit", "1"])[0];
    assert_eq!(newest["old_path"], "/memories/new/idea.md");
    assert_eq!((&newest["kind"], &newest["bytes"]), (&json!("renamed"), &json!(5)));
    assert!(newest["time"].as_u64().unwrap() > 1_700_000_000_000, "{newest}");
    place.run(["log", "--since", "yesterday"], "").expect_failure(2, "expected 2h or 3d");
    place.run(["log", "--kind", "odd"], "").expect_failure(2, "odd");
    place.run(["log", "/etc"], "").expect_failure(2, "is not valid");
}

#[test]
fn versions_are_named_by_path() {
    let place = Place::with_store();
    for text in ["one\n", "two\n", "three\n"] {
        place.run(["write", "a.md"], text).expect(0);
    }
    let shown = |args: &[&str]| place.run([&["show"], args].concat(), "").expect(0).out;
    assert_eq!(shown(&["a.md"]), "three\n");
    assert_eq!(shown(&["/memories/a.md~2"]), "one\n");
    assert_eq!(shown(&["a.md", "--at", "2100-01-01"]), "three\n");
    let diff = |args: &[&str]| place.run([&["diff"], args].concat(), "").expect(0).out;
    assert!(diff(&["a.md"]).ends_with("-two\n+three\n"));
    assert!(diff(&["a.md~2", "a.md"]).ends_with("-one\n+three\n"));
    place.run(["show", "a.md~3"], "").expect_failure(1, "has no version of /memories/a.md as old");
    place.run(["show", "a.md", "--at", "1h"], "").expect_failure(1, "of that time");
    place.run(["show", "64", "--at", "1h"], "").expect_failure(2, "--at goes with the path");
    place.run(["restore", "none.md"], "").expect_failure(19, "/memories/none.md");

    place.run(["restore", "a.md"], "").expect(0);
    assert_eq!(place.cat("a.md"), "two\n");
    place.run(["mv", "a.md", "b.md"], "").expect(0);
    assert_eq!(shown(&["b.md~4"]), "one\n", "the versions of a file follow it");
    place.run(["rm", "b.md"], "").expect(0);
    place.run(["show", "b.md"], "").expect_failure(1, "which has no text");
    let restored = place.run(["restore", "--json", "b.md"], "").expect(0).out;
    let restored: Value = serde_json::from_str(&restored).unwrap();
    assert_eq!(restored["path"], "/memories/b.md");
    assert_eq!(place.cat("b.md"), "two\n");
    place.run(["rm", "b.md"], "").expect(0);
    place.run(["write", "b.md"], "four\n").expect(0);
    assert_eq!(shown(&["b.md~2"]), "two\n", "and so do those of a file before it at the path");
}

#[test]
fn versions_are_compared_shown_and_brought_back() {
    let place = after_a_night();
    let changed = newest(&place, &["--kind", "modified", "/memories/plan.md"]);
    let first = newest(&place, &["--kind", "created", "/memories/plan.md"]);
    let diff = place.run(["diff", &changed], "").expect(0).out;
    assert!(diff.starts_with(&format!("--- /memories/plan.md (version {first}, ")), "{diff}");
    assert!(diff.ends_with("@@ -1,2 +1,2 @@\n-Dig.\n+Fill.\n Rest.\n"), "{diff}");
    assert!(place.run(["diff", &first], "").expect(0).out.contains("--- nothing\n+++ /memories"));
    let back = place.run(["diff", "--json", &changed, &first], "").expect(0).out;
    let back: Value = serde_json::from_str(&back).unwrap();
    assert_eq!(
        (back["from"].to_string(), back["to"].to_string()),
        (changed.clone(), first.clone())
    );
    assert!(back["diff"].as_str().unwrap().contains("-Fill.\n+Dig.\n"), "{back}");
    assert_eq!(place.run(["show", &first], "").expect(0).out, "Dig.\nRest.\n");

    let out = place.run(["restore", &first], "").expect(0).out;
    assert!(
        out.starts_with(&format!("Restored version {first} to /memories/plan.md, as version "))
    );
    assert_eq!(place.cat("/memories/plan.md"), "Dig.\nRest.\n");
    place.run(["restore", "--as", "ada", &changed, "--to", "/memories/b/copy"], "").expect(0);
    assert_eq!(place.cat("/memories/b/copy"), "Fill.\nRest.\n");
    assert_eq!(log(&place, &["--limit", "1"])[0]["actor"], "ada");
    let same = newest(&place, &["--kind", "restored", "/memories/plan.md"]);
    assert_eq!(place.run(["diff", &first, &same], "").expect(0).out, "The texts are the same.\n");

    let out = place.run(["rm", "-r", "/memories/b"], "").expect(0).out;
    let deletion = newest(&place, &["--kind", "deleted"]);
    assert!(
        out.starts_with(&format!("`inmost restore {deletion}` brings it back until 2")),
        "{out}"
    );
    assert!(out.contains("`inmost forget /memories/b` ends that."), "{out}");
    place.run(["restore", &deletion], "").expect(0);
    assert_eq!(place.cat("/memories/b/copy"), "Fill.\nRest.\n");
}

#[test]
fn an_undo_takes_back_what_one_actor_did_and_leaves_what_was_changed_since() {
    let place = after_a_night();
    place.run(["write", "--as", "ada", "/memories/list.md"], "coffee and tea\n").expect(0);
    let first = newest(&place, &["--kind", "created", "/memories/plan.md"]);
    let plan = place.run(["undo", "--by", "night", "--dry-run"], "").expect(0);
    let since = newest(&place, &["/memories/list.md"]);
    assert_eq!(
        lines(&plan)[..2],
        [
            "/memories/new/idea.md: is deleted, because it did not exist before",
            &format!("/memories/plan.md: goes back to version {first}"),
        ]
    );
    let left = lines(&plan)[2];
    assert!(
        left.starts_with("/memories/list.md: left, because it was modified by ada on "),
        "{left}"
    );
    assert!(left.ends_with(&format!(", as version {since}")), "{left}");
    assert_eq!(lines(&plan)[3..], ["Nothing was changed."]);
    assert_eq!(place.cat("/memories/plan.md"), "Fill.\nRest.\n");

    let json = place.run(["undo", "--by", "night", "--dry-run", "--json"], "").expect(0);
    let json: Vec<Value> =
        lines(&json).iter().map(|it| serde_json::from_str(it).unwrap()).collect();
    let plans: Vec<_> = json.iter().map(|it| [&it["path"], &it["plan"]]).collect();
    let (idea, plan, list) = ("/memories/new/idea.md", "/memories/plan.md", "/memories/list.md");
    assert_eq!(plans, [[idea, "delete"], [plan, "restore"], [list, "leave"]]);
    assert_eq!((json[1]["to"].to_string(), json[2]["version"].to_string()), (first, since));

    let undo = ["undo", "--by", "night", "--as", "ada"];
    let asked = place.run(undo, "").expect_failure(2, "needs a confirmation");
    assert!(asked.out.contains("goes back to version"), "{asked:?}");
    let out = place.run(undo.iter().chain(&["--yes"]), "").expect(0).out;
    assert!(out.ends_with("\nUndid the changes of 2 files and folders.\n"), "{out}");
    assert_eq!(place.cat("/memories/plan.md"), "Dig.\nRest.\n");
    assert_eq!(place.cat("/memories/list.md"), "coffee and tea\n");
    place.run(["cat", "/memories/new/idea.md"], "").expect_failure(19, "no file or folder");
    assert_eq!(log(&place, &["--limit", "1"])[0]["actor"], "ada");

    let again = place.run(["undo", "--by", "night", "--yes"], "");
    again.expect_failure(1, "nothing to undo: every file listed is left as it is");
    place.run(["undo", "--by", "nobody"], "").expect_failure(1, "there is nothing to undo");
    place.run(["undo", "--since", "2001-01-01", "/memories/list.md", "--yes"], "").expect(0);
    place.run(["cat", "/memories/list.md"], "").expect_failure(19, "no file or folder");
    place.run(["undo", "--yes"], "").expect_failure(2, "required");
}

#[test]
fn an_undo_brings_folders_back_and_moves_none_above_its_path() {
    let place = Place::with_store();
    place.run(["write", "/memories/p/a"], "a1\n").expect(0);
    place.run(["write", "/memories/p/q/c"], "c1\n").expect(0);
    place.run(["mv", "--as", "night", "/memories/p", "/memories/r"], "").expect(0);
    place.run(["rm", "-r", "--as", "night", "/memories/r/q"], "").expect(0);
    let moved = newest(&place, &["--kind", "renamed"]);
    let undo = |args: &[&str]| place.run(["undo", "--yes"].iter().chain(args), "").expect(0).out;
    for command in ["show", "diff", "restore"] {
        let refused = place.run([command, &moved], "");
        refused
            .expect_failure(1, &format!("Version {moved} is a change of the folder /memories/r,"));
    }
    let plan = place.run(["undo", "--dry-run", "--by", "night", "/memories/r/q/c"], "").expect(0);
    assert_eq!(
        lines(&plan),
        ["/memories/r/q: the deleted folder comes back", "Nothing was changed."]
    );
    assert_eq!(
        undo(&["--by", "night"]),
        "/memories/r/q: the deleted folder comes back\n\
         /memories/r -> /memories/p: the folder moves back\n\
         Undid the changes of 2 files and folders.\n"
    );
    assert_eq!(place.cat("/memories/p/q/c"), "c1\n");
    assert_eq!(place.cat("/memories/p/a"), "a1\n");
}

#[test]
fn a_file_that_goes_back_in_two_steps_is_one_file() {
    let place = Place::with_store();
    place.run(["write", "/memories/a"], "a1\n").expect(0);
    let first = newest(&place, &[]);
    place.run(["write", "/memories/d/b"], "b1\n").expect(0);
    let move_by_night = |from: &str, to: &str| {
        place.run(["mv", "--as", "night", from, to], "").expect(0);
    };
    move_by_night("/memories/a", "/memories/d/a");
    move_by_night("/memories/d", "/memories/e");
    move_by_night("/memories/e/a", "/memories/c");
    let out = place.run(["undo", "--by", "night", "--yes"], "").expect(0).out;
    let expected = format!(
        "/memories/c -> /memories/e/a: goes back to version {first}\n\
         /memories/e -> /memories/d: the folder moves back\n\
         /memories/d/a -> /memories/a: goes back to version {first}\n\
         Undid the changes of 2 files and folders.\n"
    );
    assert_eq!(out, expected);
    assert_eq!(place.cat("/memories/a"), "a1\n");
    assert_eq!(place.cat("/memories/d/b"), "b1\n");
}

#[test]
fn what_cannot_be_brought_back_is_refused_by_name() {
    let place = after_a_night();
    let plan = newest(&place, &["/memories/plan.md"]);
    let missing = (plan.parse::<u64>().unwrap() + 64_000).to_string();
    for args in [&["show"][..], &["diff"], &["restore"]] {
        let ended = place.run([args, &[&missing]].concat(), "");
        let ended = ended.expect_failure(1, &format!("The history has no version {missing}."));
        assert!(ended.err.contains("`inmost log`"), "{ended:?}");
        place.run([args, &["new"]].concat(), "").expect(19);
    }
    // The number of another store.
    let other = Place::with_store();
    other.run(["show", &plan], "").expect_failure(1, "The history has no version");

    let to = |path: &str| place.run(["restore", &plan, "--to", path], "");
    to("/memories/list.md").expect_failure(1, "already a file or folder at /memories/list.md");
    to("/memories/new").expect_failure(1, "already a file or folder at /memories/new");
    to("/memories/list.md/x").expect_failure(1, "/memories/list.md is a file, not a folder");
    to("/memories").expect_failure(1, "already a file or folder at /memories");
    to("/etc").expect_failure(2, "is not valid");
    assert_eq!(place.cat("/memories/list.md"), "coffee\n");

    let first = newest(&place, &["--kind", "created", "/memories/plan.md"]);
    let forget = |until: &str| place.run(["forget", "plan.md", "--until", until, "--yes"], "");
    forget(&missing).expect_failure(1, &format!("The history has no version {missing}."));
    forget("7").expect_failure(1, "The history has no version of /memories/plan.md up to 7.");
    forget("new").expect(2);
    assert_eq!(place.run(["show", &first], "").expect(0).out, "Dig.\nRest.\n");

    place.run(["forget", "/memories", "--yes"], "").expect_failure(2, "whole history");
    place.run(["forget", "/memories/", "--yes"], "").expect_failure(2, "whole history");
    place
        .run(["forget", "/memories/none", "--yes"], "")
        .expect_failure(1, "no version of /memories/none");
    place.run(["forget", "/memories/plan.md"], "").expect_failure(2, "needs a confirmation");
    place.run(["forget", "/plan.md", "--yes"], "").expect_failure(2, "is not valid");
}

#[test]
fn an_undo_of_a_file_that_came_and_went_says_that_nothing_is_left() {
    let place = Place::with_store();
    place.run(["write", "/memories/a"], "x").expect(0);
    place.run(["rm", "/memories/a"], "").expect(0);
    let undo = |path: &str| place.run(["undo", path, "--yes"], "");
    undo("/memories/a").expect_failure(1, "already as it was before these changes");
    undo("/memories/b").expect_failure(1, "No change that is kept matches");
}

#[test]
fn forgotten_text_is_gone_and_the_current_text_stays() {
    let place = after_a_night();
    let first = newest(&place, &["--kind", "created", "/memories/plan.md"]);
    let out = place.run(["forget", "plan.md", "--until", &first, "--yes"], "").expect(0).out;
    assert!(out.starts_with("Forgot 1 version. "), "{out}");
    assert!(out.contains("until `inmost compact`") && out.contains("backups"), "{out}");
    place
        .run(["show", &first], "")
        .expect_failure(1, &format!("text of version {first} is not kept"));
    place.run(["restore", &first], "").expect_failure(1, "is not kept");
    let left = log(&place, &["/memories/plan.md"]);
    assert!(!left.is_empty() && left.iter().all(|it| it["version"].as_u64() != first.parse().ok()));

    let out = place.run(["forget", "/memories/plan.md", "--yes"], "").expect(0).out;
    assert!(out.starts_with("Forgot ") && out.contains("until `inmost compact`"), "{out}");
    assert_eq!(place.cat("/memories/plan.md"), "Fill.\nRest.\n");
    assert!(log(&place, &["/memories/plan.md"]).is_empty());
    assert!(!log(&place, &["/memories/list.md"]).is_empty());
    place.run(["forget", "/memories", "--everything", "--yes"], "").expect(0);
    assert!(log(&place, &["/memories/list.md"]).is_empty());
    assert_eq!(place.cat("/memories/list.md"), "coffee\n");
    place.run(["check"], "").expect(0);
}

#[test]
fn a_backup_has_versions_only_if_they_are_asked_for() {
    let place = after_a_night();
    let to = |name: &str| place.beside(name).to_str().unwrap().to_owned();
    place.run(["backup", &to("without")], "").expect(0);
    place.run(["backup", "--with-versions", &to("with")], "").expect(0);
    for (copy, versions) in [("without", 0), ("with", 5)] {
        let restored = format!("{copy}.inmost");
        place.run(["backup", "restore", &to(copy), &to(&restored)], "").expect(0);
        place.put_back(&restored);
        assert_eq!(log(&place, &[]).len(), versions, "{copy}");
        assert_eq!(place.cat("/memories/plan.md"), "Fill.\nRest.\n");
    }
}

#[test]
fn an_import_shows_as_one() {
    let place = Place::with_store();
    let folder = place.beside("plain");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a.md"), "1\n").unwrap();
    place.run(["import", "--as", "ada", folder.to_str().unwrap()], "").expect(0);
    let version = &log(&place, &[])[0];
    assert_eq!((&version["kind"], &version["channel"]), (&json!("imported"), &json!("import")));
    assert_eq!((&version["actor"], &version["path"]), (&json!("ada"), &json!("/memories/a.md")));
}
