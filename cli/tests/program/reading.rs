//! `ls`, `cat` and `stats`: output for people and for scripts.

use serde_json::Value;

use crate::inmost::Place;

fn tree() -> Place {
    Place::with_files(&[
        ("/memories/b.md", "12345"),
        ("/memories/a/one", "1"),
        ("/memories/a/deep/two", "22\n22\n"),
        ("/memories/.hidden", ""),
    ])
}

/// Lines of JSON.
fn objects(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn ls_draws_a_tree_with_sizes_and_ages() {
    let place = tree();
    let out = place.run(["ls", "-R"], "").expect(0).out;
    let drawn: Vec<_> = out.lines().map(|line| (line[..7].trim(), &line[15..])).collect();
    assert_eq!(
        drawn,
        [
            ("0B", ".hidden"),
            ("7B", "a/"),
            ("6B", "\u{251c}\u{2500}\u{2500} deep/"),
            ("6B", "\u{2502}   \u{2514}\u{2500}\u{2500} two"),
            ("1B", "\u{2514}\u{2500}\u{2500} one"),
            ("5B", "b.md"),
        ]
    );
    for line in out.lines() {
        let age = line[7..13].trim();
        assert!(age.ends_with('s') || age.ends_with('m'), "made just now: {line:?}");
    }
    assert_eq!(place.names("/memories/a//deep/"), ["two"]);
    assert_eq!(place.names("/memories/a/deep/two"), ["two"]);
}

#[test]
fn ls_stops_at_the_given_depth() {
    let place = tree();
    let out = place.run(["ls"], "").expect(0).out;
    let folder = out.lines().nth(1).unwrap();
    let folder: Vec<_> = folder.split_whitespace().collect();
    assert!(folder[0] == "7B" && folder[1] != "-" && folder[2] == "a/", "{folder:?}");
    assert_eq!(out.lines().count(), 3);
    let out = place.run(["ls", "--depth", "2"], "").expect(0).out;
    assert_eq!(out.lines().count(), 5);
    place.run(["ls", "--depth", "0"], "").expect(2);
    let out = place.run(["ls", "a/deep", "b.md", "a"], "").expect(0).out;
    let lines: Vec<_> = out.lines().map(|line| line.split(' ').next_back().unwrap()).collect();
    assert_eq!(lines, ["/memories/a/deep:", "two", "b.md", "", "/memories/a:", "deep/", "one"]);
    place.run(["ls", "a", "none"], "").expect_failure(19, "/memories/none");
}

#[test]
fn ls_sorts_the_entries_of_each_folder() {
    let place = tree();
    place.run(["write", "a/deep/last"], "3").expect(0);
    let names = |args: &[&str]| -> Vec<String> {
        let lines = objects(&place.run([&["ls", "-R", "--json"], args].concat(), "").expect(0).out);
        let name =
            |line: &Value| line["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        lines.iter().map(name).collect()
    };
    let by_size = [["a", "deep", "two", "last"], ["one", "b.md", ".hidden", ""]].concat();
    assert_eq!(names(&["--sort", "size"]), by_size[..7]);
    assert_eq!(names(&["--sort", "time"])[..3], ["a", "deep", "last"]);
    let out = place.run(["ls", "--sort", "size"], "").expect(0).out;
    let names: Vec<_> = out.lines().map(|line| line.split(' ').next_back().unwrap()).collect();
    assert_eq!(names, ["a/", "b.md", ".hidden"]);
}

#[test]
fn ls_long_has_lines_and_dates() {
    let place = tree();
    let out = place.run(["ls", "-l", "a/deep"], "").expect(0).out;
    let columns: Vec<_> = out.split_whitespace().collect();
    let [size, lines, day, time, name] = columns.as_slice() else { panic!("{out}") };
    assert_eq!((*size, *lines, *name), ("6B", "2", "two"));
    assert!(day.len() == 10 && time.len() == 5, "{out}");
}

#[test]
fn ls_json_is_an_object_a_line() {
    let place = tree();
    let lines = objects(&place.run(["ls", "-R", "--json", "/memories/a"], "").expect(0).out);
    let paths: Vec<_> = lines.iter().map(|line| line["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/memories/a/deep", "/memories/a/deep/two", "/memories/a/one"]);
    assert_eq!(lines[0]["kind"], "folder");
    let newest = lines[1]["modified"].as_u64().max(lines[2]["modified"].as_u64());
    assert_eq!(lines[0]["modified"].as_u64(), newest, "of what is below it");
    assert_eq!((&lines[1]["kind"], &lines[1]["bytes"]), (&"file".into(), &6.into()));
    assert_eq!(lines[1]["lines"], 2);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let age = now.as_millis() - u128::from(lines[1]["modified"].as_u64().unwrap());
    assert!(age < 600_000, "{age}");
    assert!(lines[1]["created"].as_u64() <= lines[1]["modified"].as_u64());
}

/// Listing a file returns the file itself. A folder with one file of the folder's name has the same listing.
#[test]
fn a_folder_that_contains_its_own_name_is_not_taken_for_a_file() {
    let place = Place::with_files(&[("/memories/a/a", "1"), ("/memories/b", "1")]);
    for (path, found) in [("/memories/a", "/memories/a/a"), ("/memories/b", "/memories/b")] {
        let lines = objects(&place.run(["ls", "--json", path], "").expect(0).out);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0]["path"], found);
    }
}

#[test]
fn cat_numbers_lines_and_cuts_them_out() {
    let place = Place::with_files(&[("/memories/a", "one\r\ntwo\n\nfour")]);
    let cat = |args: &[&str]| place.run([&["cat", "/memories/a"], args].concat(), "");
    assert_eq!(cat(&["-n"]).expect(0).out, "     1\tone\r\n     2\ttwo\n     3\t\n     4\tfour");
    assert_eq!(cat(&["--lines", "2..3"]).expect(0).out, "two\n\n");
    assert_eq!(cat(&["--lines", "..1"]).expect(0).out, "one\r\n");
    assert_eq!(cat(&["--lines", "4..99", "--number"]).expect(0).out, "     4\tfour");
    cat(&["--lines", "5.."]).expect_failure(1, " has 4 lines");
    cat(&["--lines", "0..2"]).expect_failure(2, "the first line is 1");
}

#[test]
fn stats_count_files_folders_and_text() {
    let place = tree();
    let lines = objects(&place.run(["stats", "--json"], "").expect(0).out);
    let [stats] = lines.as_slice() else { panic!("{lines:?}") };
    for (name, value) in [("files", 4), ("folders", 2), ("bytes", 12), ("lines", 4)] {
        assert_eq!(stats[name], value, "{name}");
    }
    assert!(stats["disk_bytes"].as_u64().unwrap() > 0);
    assert_eq!(stats["largest"]["path"], "/memories/a/deep/two");
    assert_eq!(stats["largest"]["bytes"], 6);
    let modified = |name: &str| stats[name]["modified"].as_u64().unwrap();
    assert!(modified("oldest") <= modified("newest"));
    let folders: Vec<_> = stats["by_folder"].as_array().unwrap().iter().collect();
    assert_eq!(folders[0]["path"], "/memories/a");
    assert_eq!(stats["by_age"][0]["files"], 4);
    assert_eq!(stats["by_age"][4]["days_below"], Value::Null);

    let out = place.run(["stats"], "").expect(0).out;
    assert!(out.contains("files       4\nfolders     2\ntext        12B in 4 lines\n"), "{out}");
    assert!(out.contains("largest     6B, /memories/a/deep/two\n"), "{out}");
    assert!(out.contains("\nText by folder\n") && out.contains("  a/\n"), "{out}");
    assert!(out.contains("       4 files  last day\n"), "{out}");

    let empty = objects(&Place::with_store().run(["stats", "--json"], "").expect(0).out);
    assert_eq!((&empty[0]["files"], &empty[0]["newest"]), (&0.into(), &Value::Null));
}

#[cfg(target_os = "linux")]
mod at_a_terminal {
    use super::Place;
    use crate::conversation::{Conversation, bare};
    use crate::inmost::PASSPHRASE;

    fn screen(place: &Place, args: &[&str], variables: &[(&str, &str)]) -> String {
        let mut command = bare(place, args);
        command.env("INMOST_PASSPHRASE", PASSPHRASE).env("TERM", "xterm").env_remove("NO_COLOR");
        command.env("PAGER", "cat");
        command.envs(variables.iter().copied());
        let mut talk = Conversation::start(&command);
        talk.until("end");
        talk.expect_end(0)
    }

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let place = Place::with_files(&[("/memories/a/end", "find me")]);
        for args in [&["ls", "-R"][..], &["grep", "me"]] {
            assert!(screen(&place, args, &[]).contains("\u{1b}["), "{args:?}");
            assert!(screen(&place, args, &[("NO_COLOR", "")]).contains("\u{1b}["), "{args:?}");
            for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
                let screen = screen(&place, args, &[variable]);
                assert!(!screen.contains('\u{1b}'), "{variable:?}: {screen:?}");
            }
            let piped = crate::inmost::run(place.command(args).env("TERM", "xterm"), b"").expect(0);
            assert!(!piped.out.contains('\u{1b}'), "{piped:?}");
        }
    }

    /// A note can contain text that an attacker made an agent write.
    #[test]
    fn texts_cannot_control_the_terminal() {
        let text = "\u{1b}]0;owned\u{7}\ttab\r\nend\n";
        let place = Place::with_files(&[("/memories/a", text)]);
        for args in [&["cat", "/memories/a"][..], &["grep", "owned|end", "/memories/a"]] {
            let shown = screen(&place, args, &[("NO_COLOR", "1")]);
            assert!(shown.contains("\\u{1b}]0;owned\\u{7}\t"), "{shown:?}");
            assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
        }
        assert_eq!(place.cat("/memories/a"), text);
    }
}
