//! `inmost grep`.

use serde_json::Value;

use crate::inmost::{Ended, Place};

fn notes() -> Place {
    Place::with_files(&[
        ("/memories/crlf.md", "Tea\r\nno\r\nmore tea\r\n"),
        ("/memories/people/ada.md", "Ada\ndrinks tea"),
        ("/memories/people/.bob", "f(x) = tea\n"),
        ("/memories/rest", "nothing\n"),
    ])
}

fn grep(place: &Place, args: &[&str]) -> Ended {
    place.run([&["grep"], args].concat(), "")
}

#[test]
fn lines_are_found_with_path_and_number_in_all_files() {
    let place = notes();
    assert_eq!(
        grep(&place, &["tea"]).expect(0).out,
        "/memories/crlf.md:3:more tea\n\
         /memories/people/.bob:1:f(x) = tea\n\
         /memories/people/ada.md:2:drinks tea\n"
    );
}

#[test]
fn line_ends_are_not_matched_and_the_last_line_needs_none() {
    let place = notes();
    assert_eq!(
        grep(&place, &["tea$"]).expect(0).out.lines().count(),
        3,
        "before CR LF, before LF and at the end of the file"
    );
    assert_eq!(grep(&place, &["-i", "^tea$"]).expect(0).out, "/memories/crlf.md:1:Tea\n");
    // Files of three, two, one and one lines: there is no empty line after the last line feed.
    assert_eq!(grep(&place, &["^"]).expect(0).out.lines().count(), 7);
}

#[test]
fn options_are_those_of_grep() {
    let place = notes();
    assert_eq!(
        grep(&place, &["-ci", "TEA", "/memories/crlf.md"]).expect(0).out,
        "/memories/crlf.md:2\n"
    );
    assert_eq!(
        grep(&place, &["-l", "tea"]).expect(0).out,
        "/memories/crlf.md\n/memories/people/.bob\n/memories/people/ada.md\n"
    );
    assert_eq!(grep(&place, &["-F", "f(x)"]).expect(0).out, "/memories/people/.bob:1:f(x) = tea\n");
    assert_eq!(
        grep(&place, &["Ada|nothing", "/memories/rest", "/memories/people"])
            .expect(0)
            .out
            .lines()
            .count(),
        2
    );
    grep(&place, &["-lc", "tea"]).expect(2);
}

#[test]
fn patterns_lines_and_colours_are_chosen_as_in_ripgrep() {
    let long = format!("{}tea{}\n", "x".repeat(3_000_000), "y".repeat(500));
    let place = Place::with_files(&[("/memories/a", "Tea\ntea tea\nno\n"), ("/memories/b", &long)]);
    let found = |args: &[&str]| grep(&place, args).expect(0).out;
    assert_eq!(found(&["-o", "t.a", "a"]), "/memories/a:2:tea\n/memories/a:2:tea\n");
    assert_eq!(found(&["-e", "^Te", "-e", "no", "a"]), "/memories/a:1:Tea\n/memories/a:3:no\n");
    assert_eq!(found(&["-F", "-e", "^", "-e", "n", "a"]), "/memories/a:3:no\n");
    assert_eq!(
        (found(&["-Sc", "tea", "a"]), found(&["-Sc", "Tea", "a"])),
        ("/memories/a:2\n".to_owned(), "/memories/a:1\n".to_owned())
    );
    assert_eq!(found(&["-q", "tea"]), "");
    assert_eq!(grep(&place, &["-q", "none"]).code, Some(1));
    assert_eq!(
        found(&["--max-columns", "12", "tea", "b"]),
        "/memories/b:1:\u{2026}xxxxteayyyyy\u{2026} [3000503 characters]\n"
    );
    assert!(found(&["tea", "b"]).len() > 3_000_000, "only a terminal cuts lines by itself");
    assert!(found(&["--color=always", "no", "a"]).contains("\x1b[1;31mno\x1b[0m"));
    grep(&place, &["-o", "-l", "tea"]).expect(2);
}

#[test]
fn lines_around_a_match_are_printed_once_and_groups_set_apart() {
    let text = "1\n2 tea\n3\n4\n5 tea\n6 tea\n7\n8\n9\n10 tea";
    let place = Place::with_files(&[("/memories/a", text), ("/memories/b", "no\ntea\n")]);
    assert_eq!(
        grep(&place, &["-C1", "tea"]).expect(0).out,
        "/memories/a-1-1\n/memories/a:2:2 tea\n/memories/a-3-3\n\
         /memories/a-4-4\n/memories/a:5:5 tea\n/memories/a:6:6 tea\n/memories/a-7-7\n--\n\
         /memories/a-9-9\n/memories/a:10:10 tea\n--\n\
         /memories/b-1-no\n/memories/b:2:tea\n"
    );
    assert_eq!(
        grep(&place, &["-A1", "2 tea|10"]).expect(0).out,
        "/memories/a:2:2 tea\n/memories/a-3-3\n--\n/memories/a:10:10 tea\n"
    );
    assert_eq!(
        grep(&place, &["-B1", "^tea"]).expect(0).out,
        "/memories/b-1-no\n/memories/b:2:tea\n"
    );
    let lines = grep(&place, &["--json", "-B1", "^tea"]).expect(0).out;
    assert!(lines.starts_with(r#"{"path":"/memories/b","line":1,"text":"no","context":true}"#));
}

#[test]
fn whole_words_and_globs_narrow_the_search() {
    let files = [
        ("/memories/a.md", "steam\ntea.\n"),
        ("/memories/x/b.md", "tea\n"),
        ("/memories/x/c.log", "a tea\nf(x)\n"),
    ];
    let place = Place::with_files(&files);
    let found = |args: &[&str]| grep(&place, &[&["-l"], args].concat()).expect(0).out;
    assert_eq!(grep(&place, &["-nw", "tea", "a.md"]).expect(0).out, "/memories/a.md:2:tea.\n");
    assert_eq!(grep(&place, &["-wF", "f(x)"]).expect(0).out, "/memories/x/c.log:2:f(x)\n");
    assert_eq!(
        grep(&place, &["-wi", "TEA|no", "x/b.md"]).expect(0).out,
        "/memories/x/b.md:1:tea\n"
    );
    grep(&place, &["-w", "a)|(b"]).expect_failure(2, "unopened group");
    assert_eq!(found(&["tea", "-g", "*.md"]), "/memories/a.md\n/memories/x/b.md\n");
    assert_eq!(found(&["tea", "-g", "!*.md"]), "/memories/x/c.log\n");
    assert_eq!(found(&["tea", "x/*.md"]), "/memories/x/b.md\n");
    assert_eq!(
        found(&["tea", "**/*.{md,log}", "-g", "x/*"]),
        "/memories/x/b.md\n/memories/x/c.log\n"
    );
    grep(&place, &["tea", "x/*.txt"]).expect_failure(19, "No file matches /memories/x/*.txt.");
    grep(&place, &["tea", "-g", "[x"]).expect_failure(2, "is not valid");
    let none = grep(&place, &["tea", "a.md", "none"]).expect_failure(19, "at /memories/none.");
    assert_eq!(none.out, "", "nothing is searched");
}

#[test]
fn no_match_exits_with_1_and_prints_nothing() {
    let place = notes();
    for args in [&["absent"][..], &["f(x)"], &["Ada", "/memories/rest"], &["--json", "absent"]] {
        let ended = grep(&place, args);
        assert_eq!((ended.code, &*ended.out, &*ended.err), (Some(1), "", ""), "{args:?}");
    }
}

#[test]
fn a_path_or_pattern_that_cannot_be_searched_is_an_error() {
    let place = notes();
    grep(&place, &["f("]).expect_failure(2, "unclosed group");
    grep(&place, &["a", "/memories/none"])
        .expect_failure(19, "no file or folder at /memories/none.");
    grep(&place, &["a", "/etc"]).expect_failure(2, "must start with /memories");
}

#[test]
fn json_is_an_object_a_line() {
    let place = notes();
    let objects = |args: &[&str]| -> Vec<Value> {
        let out = grep(&place, args).expect(0).out;
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let found = objects(&["--json", "more"]);
    assert_eq!(
        found,
        [serde_json::json!({"path": "/memories/crlf.md", "line": 3, "text": "more tea"})]
    );
    let found = objects(&["--json", "-c", "tea", "/memories/people"]);
    assert_eq!(found[0], serde_json::json!({"path": "/memories/people/.bob", "count": 1}));
    let found = objects(&["--json", "-l", "more"]);
    assert_eq!(found, [serde_json::json!({"path": "/memories/crlf.md"})]);
}

#[test]
fn a_damaged_file_is_an_error_and_not_an_empty_result() {
    let place = Place::with_files(&[("/memories/a", &"long\n".repeat(600))]);
    place.damage_longest_record();
    grep(&place, &["absent"]).expect(12);
}
