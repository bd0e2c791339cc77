//! Each command does what its help says.

use std::fs;

use crate::inmost::{CHEAP, PASSPHRASE, Place, assert_private, run};

/// Every command that works on a store, except `slot`, which has subcommands.
pub(crate) const COMMANDS: [&str; 37] = [
    "init",
    "call",
    "ls",
    "cat",
    "write",
    "edit",
    "browse",
    "rm",
    "mv",
    "grep",
    "search",
    "stats",
    "log",
    "diff",
    "show",
    "restore",
    "undo",
    "forget",
    "history",
    "import",
    "export",
    "status",
    "sync",
    "unlock",
    "lock",
    "passwd",
    "rotate",
    "check",
    "repair",
    "salvage",
    "backup",
    "purge",
    "compact",
    "migrate",
    "accept-rollback",
    "discard",
    "destroy",
];

#[test]
fn every_command_has_help_with_an_example() {
    let place = Place::vacant();
    for command in COMMANDS {
        let help = run(&mut place.bare_command([command, "--help"]), b"").expect(0).out;
        assert!(help.contains("Example"), "{help}");
        let example = help.split("Example").last().unwrap();
        assert!(example.contains(&format!("inmost {command} ")), "{help}");
        assert!(help.contains("--store <DIR|URL>") && help.contains("INMOST_STORE"), "{help}");
        if ["destroy", "lock"].contains(&command) {
            assert!(!help.contains("passphrase-file"), "it needs none: {help}");
            continue;
        }
        assert!(help.contains("--anchor <FILE>") && help.contains("INMOST_ANCHOR"), "{help}");
        for source in ["--passphrase-file", "--passphrase-fd", "--passphrase-command"] {
            assert!(help.contains(source), "{source}: {help}");
        }
    }
    let help = run(&mut place.bare_command(["--help"]), b"").expect(0).out;
    assert!(COMMANDS.iter().all(|command| help.contains(&format!("\n  {command} "))), "{help}");
    assert!(help.contains("Example"), "{help}");
}

#[test]
fn version_prints_the_version() {
    let version = run(&mut Place::vacant().bare_command(["--version"]), b"").expect(0).out;
    assert_eq!(version, format!("inmost {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn only_the_owner_can_access_a_new_store() {
    let place = Place::vacant();
    let out = place.run(["init"].iter().chain(&CHEAP), "").expect(0).out;
    assert!(out.contains(&place.store().display().to_string()), "{out}");
    assert!(out.contains("recovery key"), "{out}");
    assert_private(&place.store());
    place.run(["ls"], "").expect(0);
}

#[test]
fn init_does_not_change_existing_files() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    place.run(["init"].iter().chain(&CHEAP), "").expect_failure(1, "There is a store at");
    assert_eq!(place.cat("/memories/a"), "kept");

    let place = Place::vacant();
    fs::create_dir(place.store()).unwrap();
    fs::write(place.store().join("letter"), "mine").unwrap();
    place
        .run(["init"].iter().chain(&CHEAP), "")
        .expect_failure(1, "already exists, and is not an empty folder");
    assert_eq!(fs::read_dir(place.store()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(place.beside("")).unwrap().count(), 1);
}

#[test]
fn text_is_kept_byte_for_byte() {
    let place = Place::with_store();
    for text in ["", "one line", "two\r\nlines\n\n", "\u{feff}tab\tnul\0 é 😀"] {
        place.run(["write", "/memories/a/text"], text).expect(0);
        assert_eq!(place.cat("/memories/a/text"), text);
    }
    let long = "0123456789abcdef".repeat(1 << 16);
    place.run(["write", "/memories/long"], &long).expect(0);
    assert_eq!(place.cat("/memories/long"), long);
}

#[test]
fn text_that_is_not_utf_8_is_not_written() {
    let place = Place::with_store();
    let mut write = place.command(["write", "/memories/a"]);
    run(&mut write, b"caf\xe9").expect_failure(1, "not UTF-8");
    place.run(["cat", "/memories/a"], "").expect_failure(19, "no file or folder");
}

#[test]
fn a_text_beyond_the_limit_is_not_written() {
    let place = Place::with_store();
    let long = "x".repeat((16 << 20) + 1);
    place.run(["write", "/memories/a"], &long).expect_failure(1, "16777216 bytes");
    place.run(["ls", "/memories/a"], "").expect_failure(19, "no file or folder");
}

#[test]
fn rm_and_mv_work_on_files_and_folders() {
    let place = Place::with_files(&[("/memories/a/one", "1"), ("/memories/a/two", "2")]);
    place.run(["mv", "/memories/a", "/memories/b/c"], "").expect(0);
    assert_eq!(place.cat("/memories/b/c/two"), "2");
    place.run(["rm", "/memories/b/c/one"], "").expect(0);
    place.run(["mv", "/memories/b/c/two", "/memories/two"], "").expect(0);
    assert_eq!(place.names("/memories"), ["two"]);
    place.run(["write", "/memories/x/y"], "").expect(0);
    place.run(["rm", "-r", "/memories/x"], "").expect(0);
    assert_eq!(place.names("/memories"), ["two"]);
}

#[test]
fn file_commands_refuse_impossible_changes() {
    let place = Place::with_files(&[("/memories/a", "1"), ("/memories/b/c", "2")]);
    for (args, code, what) in [
        (&["cat", "/memories/none"][..], 19, "no file or folder at /memories/none."),
        (&["cat", "--lines", "1..2", "/memories/none"], 19, "no file or folder at /memories/none."),
        (&["cat", "/memories/b"], 1, "/memories/b is a folder"),
        (&["cat", "/etc/passwd"], 2, "must start with /memories"),
        (&["cat", "/memories/../a"], 2, "would escape"),
        (&["ls", "/memories/none"], 19, "no file or folder at /memories/none."),
        (&["grep", "x", "/memories", "/memories/none"], 19, "no file or folder at /memories/none."),
        (
            &["export", "--yes", "--from", "/memories/none", "out"],
            19,
            "no file or folder at /memories/none.",
        ),
        (&["rm", "/memories"], 1, "root folder"),
        (&["rm", "/memories/none"], 19, "no file or folder at /memories/none."),
        (&["rm", "/memories/no\u{7}ne"], 2, "The path /memories/no\\u{7}ne is not valid"),
        (&["mv", "/memories/a", "/memories/b/c"], 1, "already a file or folder at /memories/b/c."),
        (&["mv", "/memories/b", "/memories/b/d"], 1, "into itself"),
        (&["mv", "/memories/b", "/memories/a/b"], 1, "/memories/a is a file"),
        (&["mv", "/memories/none", "/memories/d"], 19, "no file or folder at /memories/none."),
        (
            &["write", "/memories/b"],
            1,
            "/memories/b is a folder, not a file.\nList it with `inmost ls`, or name a file in it.",
        ),
        (&["write", "/memories"], 1, "/memories is a folder, not a file."),
        (&["write", "/memories/a/b"], 1, "/memories/a is a file"),
    ] {
        place.run(args, "").expect_failure(code, what);
    }
    assert_eq!(place.cat("/memories/a"), "1");
    assert_eq!(place.cat("/memories/b/c"), "2");
}

#[test]
fn status_counts() {
    let place = Place::with_files(&[("/memories/a", "12345"), ("/memories/b", "é")]);
    let out = place.run(["status"], "").expect(0).out;
    assert!(out.contains("engine      sled\n"), "{out}");
    let value = |name: &str| {
        let line = out.lines().find(|line| line.starts_with(name)).unwrap();
        line[12..].to_owned()
    };
    assert_eq!(value("store"), place.store().display().to_string());
    assert_eq!(value("files"), "2");
    assert_eq!(value("text"), "7B");
    assert_eq!(value("commits"), "3"); // the making of the store is the first
    assert_eq!(value("passphrase"), "Argon2id, 19 MiB, 2 passes, 4 lanes");
    assert!(value("on disk").ends_with('M'), "{out}");
    assert_eq!(
        value("state"),
        if crate::WITH_DAEMON { "unlocked" } else { "locked; opened for this command" }
    );
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let place = Place::with_files(&[("/memories/a", &"x".repeat(1 << 20))]);
    let mut child = place
        .command(["cat", "/memories/a"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    crate::inmost::Ended::of(child.wait_with_output().unwrap()).expect(0);
}

#[test]
fn the_store_is_the_one_given_or_the_variables_or_the_platforms() {
    let place = Place::vacant();
    let init = |option: Option<&str>, variable: Option<&str>| {
        let mut command = place.bare_command(["init"].iter().chain(&CHEAP));
        command.env("INMOST_PASSPHRASE", PASSPHRASE);
        command.args(option.iter().flat_map(|name| ["--store", name]));
        command.envs(variable.map(|name| ("INMOST_STORE", name)));
        run(&mut command, b"").expect(0);
    };
    // Windows asks the system for the folder of the user, and no variable leads elsewhere.
    if cfg!(unix) {
        init(None, None);
        assert!(place.beside("data/inmost/memory/header.a").exists());
        assert_private(&place.beside("data/inmost"));
    }
    init(None, Some("from-variable"));
    assert!(place.beside("from-variable/header.a").exists());
    init(Some("given"), Some("not-this"));
    assert!(place.beside("given/header.a").exists() && !place.beside("not-this").exists());
}

#[test]
fn what_changes_or_reports_has_json() {
    let place = Place::with_store();
    let json = |args: &[&str], input: &str| -> Vec<serde_json::Value> {
        let out = place.run([args, &["--json"]].concat(), input).expect(0).out;
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let is = |value: &serde_json::Value, expected: &str| assert_eq!(value.to_string(), expected);
    is(&json(&["write", "a.md"], "x\n")[0], r#"{"bytes":2,"path":"/memories/a.md"}"#);
    is(&json(&["cat", "a.md"], "")[0], r#"{"path":"/memories/a.md","text":"x\n"}"#);
    let shown = &json(&["show", "a.md"], "")[0];
    assert_eq!((&shown["path"], &shown["text"]), (&"/memories/a.md".into(), &"x\n".into()));
    is(
        &json(&["mv", "a.md", "b.md"], "")[0],
        r#"{"new_path":"/memories/b.md","old_path":"/memories/a.md"}"#,
    );
    assert!(json(&["rm", "b.md"], "")[0]["version"].is_u64());
    assert_eq!(json(&["restore", "b.md"], "")[0]["path"], "/memories/b.md");
    assert!(json(&["forget", "--yes", "b.md"], "")[0]["versions"].as_u64() > Some(1));
}

/// A folder with a store is called that, and folders above a new one are made.
#[test]
fn a_new_store_needs_no_folder_and_replaces_no_store() {
    let place = Place::with_store();
    let init = ["init"].iter().chain(&CHEAP);
    let ended = place.run(init.clone(), "").expect_failure(1, "There is a store at");
    assert!(ended.err.contains("It has not changed"), "{ended:?}");
    let mut deep = place.bare_command(init.copied().chain(["--store", "new/deep/store"]));
    run(deep.env("INMOST_PASSPHRASE", PASSPHRASE), b"").expect(0);
    assert_private(&place.beside("new"));
    fs::create_dir_all(place.beside("junk/x")).unwrap();
    let mut junk = place.bare_command(["init", "--store", "junk"]);
    run(junk.env("INMOST_PASSPHRASE", PASSPHRASE), b"").expect_failure(1, "not an empty folder");
}
