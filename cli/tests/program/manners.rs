//! What people type by habit works, and what they mistype is explained.

use crate::inmost::{Ended, Place, run};

fn bare(args: &[&str]) -> Ended {
    run(&mut Place::vacant().bare_command(args), b"")
}

#[test]
fn without_a_command_the_commands_are_listed() {
    let listed = bare(&[]).expect(0).out;
    assert!(listed.contains("\n  grep ") && listed.contains("\n  unlock "), "{listed}");
    let listed = bare(&["slot"]).expect(0).out;
    assert!(listed.contains("\n  remove "), "{listed}");
    // A variable for the store is no command.
    let place = Place::vacant();
    let mut command = place.bare_command::<&str>([]);
    let listed = run(command.env("INMOST_STORE", "x"), b"").expect(0).out;
    assert!(listed.contains("\n  grep "), "{listed}");
}

#[test]
fn help_explains_a_command() {
    let help = bare(&["help", "ls"]).expect(0).out;
    assert_eq!(help, bare(&["ls", "--help"]).expect(0).out);
    assert!(bare(&["help", "slot", "add"]).expect(0).out.contains("--new-keyfile"));
}

#[test]
fn a_slip_of_the_fingers_gets_a_suggestion_and_the_name_of_the_help() {
    for (args, advice) in [
        (&["unlcok"][..], "Did you mean `unlock`, or `lock`? See `inmost --help`."),
        (&["ls", "--stor", "x"], "Did you mean `--store`? See `inmost ls --help`."),
        (&["--stor", "x", "ls"], "Did you mean `--store`? See `inmost ls --help`."),
        (&["slot", "ad"], "Did you mean `add`? See `inmost slot --help`."),
        (&["mcp", "--screen", "refus"], "Did you mean `refuse`? See `inmost mcp --help`."),
        (&["slot", "add", "--no"], "See `inmost slot add --help`."),
        (&["cat"], "See `inmost cat --help`."),
    ] {
        let ended = bare(args).expect(2);
        assert!(ended.err.ends_with(&format!("{advice}\n")), "{ended:?}");
    }
}

#[test]
fn a_missing_argument_is_named() {
    for (args, missing) in [
        (&["mv", "a"][..], "<NEW>."),
        (&["mv"], "<OLD>... <NEW>."),
        (&["grep"], "<PATTERN>."),
        (&["diff"], "<VERSION>."),
    ] {
        let message = format!("The following required arguments were not provided: {missing}\n");
        let ended = bare(args).expect(2);
        assert!(ended.err.contains(&message), "{ended:?}");
    }
}

#[test]
fn an_empty_variable_is_named() {
    for variable in ["INMOST_STORE", "INMOST_ANCHOR"] {
        let place = Place::vacant();
        let mut command = place.bare_command(["ls"]);
        let ended = run(command.env(variable, ""), b"").expect(2);
        assert!(ended.err.contains(&format!("The variable {variable} is empty.\n")), "{ended:?}");
    }
    assert!(bare(&["ls", "--anchor="]).expect(2).err.contains("'--anchor <FILE>'"));
}

#[test]
fn options_of_the_store_can_stand_before_the_command() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    let store = place.store();
    let store = store.to_str().unwrap();
    let passphrase = place.beside("passphrase");
    std::fs::write(&passphrase, crate::inmost::PASSPHRASE).unwrap();
    let file = passphrase.to_str().unwrap();
    let ask = |args: &[&str]| run(&mut place.bare_command(args), b"");
    let before = ["--store", store, "--passphrase-file", file];
    assert_eq!(ask(&[&before[..], &["cat", "a"]].concat()).expect(0).out, "1");
    // A command without these options takes them too, so that one alias serves all.
    ask(&[&before[..], &["lock"]].concat()).expect(0);
    assert_eq!(
        ask(&["--store", "x", "cat", "a", "--store", store, "--passphrase-file", file])
            .expect(0)
            .out,
        "1"
    );
    ask(&["--store", "none", "ls"]).expect(10);
    let mut variable =
        place.bare_command(["--store", store, "--passphrase-file", file, "cat", "a"]);
    assert_eq!(run(variable.env("INMOST_STORE", "none"), b"").expect(0).out, "1");
}

#[test]
fn a_path_of_the_memory_needs_no_leading_slash() {
    let place = Place::with_files(&[("/memories/people/ada.md", "tea\n")]);
    assert_eq!(place.cat("people/ada.md"), "tea\n");
    assert_eq!(place.names("people"), ["ada.md"]);
    place.run(["write", "./people/ben.md"], "coffee").expect(0);
    assert_eq!(place.run(["grep", "-l", "o", "."], "").expect(0).out, "/memories/people/ben.md\n");
    place.run(["mv", "people", "friends"], "").expect(0);
    let call = r#"{"command": "view", "path": "/memories/ben.md"}"#;
    let seen = place.run(["call", "--text", "--subtree", "friends", call], "").expect(0).out;
    assert!(seen.contains("coffee"), "{seen}");
}

#[test]
fn a_file_that_is_to_be_written_has_no_slash_at_its_end() {
    let place = Place::with_store();
    place.run(["write", "/memories/dir/"], "x").expect_failure(2, "'/memories/dir/'");
    assert_eq!(place.run(["ls"], "").expect(0).out, "");
}

#[test]
fn cat_prints_several_files_or_nothing() {
    let place = Place::with_files(&[("/memories/a", "1\n"), ("/memories/b", "2\n")]);
    assert_eq!(place.run(["cat", "-n", "b", "a"], "").expect(0).out, "     1\t2\n     1\t1\n");
    let ended = place.run(["cat", "a", "none"], "").expect_failure(19, "at /memories/none.");
    assert_eq!(ended.out, "");
}

#[test]
fn mv_moves_into_a_folder() {
    let place = Place::with_files(&[
        ("/memories/a", "1"),
        ("/memories/b", "2"),
        ("/memories/people/c", "3"),
    ]);
    place.run(["mv", "a", "people/"], "").expect(0);
    place.run(["mv", "b", "people"], "").expect(0);
    place.run(["mv", "people/a", "people/b", "new/deep/"], "").expect(0);
    assert_eq!(place.cat("new/deep/a") + &place.cat("new/deep/b"), "12");
    place.run(["mv", "new/deep", "people"], "").expect(0);
    assert_eq!(place.cat("people/deep/a"), "1");
    let refused = place.run(["mv", "people/c", "people/deep/a", "none"], "");
    refused.expect_failure(2, "/memories/none is not a folder");
    place
        .run(["mv", "people/c", "people/deep/a", "people/deep/b"], "")
        .expect_failure(2, "b is not");
    assert_eq!(place.cat("people/c"), "3");
    place.run(["write", "taken/deep"], "4").expect(0);
    let stopped = place.run(["mv", "people/c", "people/deep", "taken"], "");
    stopped.expect_failure(1, "Nothing was moved.");
    assert_eq!(place.cat("people/c") + &place.cat("people/deep/a"), "31");
}

#[test]
fn rm_deletes_several_files_and_folders_only_on_demand() {
    let files = [("/memories/a", "1"), ("/memories/b", "2"), ("/memories/people/c", "3")];
    let place = Place::with_files(&files);
    place.run(["rm", "a", "none"], "").expect_failure(19, "at /memories/none.");
    place.run(["rm", "a", "people"], "").expect_failure(2, "needs a confirmation");
    assert_eq!(place.cat("a"), "1");
    place.run(["rm", "--yes", "a", "."], "").expect_failure(1, "root folder");
    assert_eq!(place.cat("a"), "1");
    place.run(["history", "--keep", "30d"], "").expect(0);
    let notes = place.run(["rm", "a", "./a", "b"], "").expect(0).out;
    assert_eq!(notes.matches("inmost restore").count(), 2, "{notes}");
    // Two names of one option.
    place.run(["rm", "-r", "--yes", "people", "people/c"], "").expect(0);
    assert_eq!(place.run(["ls"], "").expect(0).out, "");
}

#[test]
fn a_keyfile_that_was_made_or_is_missing_is_called_that() {
    let place = Place::vacant();
    let init = [&["init", "--keyfile", "key"], &crate::inmost::CHEAP[..]].concat();
    let out = place.run(init, "").expect(0).out;
    assert!(out.contains("Created the keyfile key. Without it the passphrase does not"), "{out}");
    assert!(out.contains(" --keyfile key` unlocks it"), "{out}");
    place.run(["ls"], "").expect_failure(11, "needs its keyfile, and none was given");
    place.run(["unlock"], "").expect_failure(11, "needs its keyfile, and none was given");
    place.run(["ls", "--keyfile", "key"], "").expect(0);
    place.run(["ls", "--recovery"], "").expect_failure(11, "no keyslot for a recovery key");

    let place = Place::with_store();
    std::fs::write(place.beside("key"), [7; 64]).unwrap();
    place.run(["ls", "--keyfile", "key"], "").expect_failure(11, "no keyslot for a keyfile");
}

#[test]
fn status_needs_no_secret_and_says_whether_the_store_is_locked() {
    let place = Place::with_store();
    let ask = |args: &[&str]| run(place.bare_command(args).arg("--store").arg(place.store()), b"");
    let locked = ask(&["status"]);
    assert_eq!((locked.code, &*locked.err), (Some(18), ""), "{locked:?}");
    assert!(locked.out.contains("\nstate       locked; `inmost unlock --store "), "{locked:?}");
    assert!(locked.out.contains("\nopens with  passphrase\n"), "{locked:?}");
    let locked = ask(&["status", "--json"]);
    assert_eq!(locked.code, Some(18), "{locked:?}");
    let object: serde_json::Value = serde_json::from_str(&locked.out).unwrap();
    assert_eq!(object["state"], "locked");
    assert_eq!(object["opens_with"], serde_json::json!(["passphrase"]));
    #[cfg(unix)]
    {
        let mut du = std::process::Command::new("du");
        let du = du.args(["-sB1"]).arg(place.store()).output().unwrap();
        let du = String::from_utf8(du.stdout).unwrap();
        let du: u64 = du.split_whitespace().next().unwrap().parse().unwrap();
        assert_eq!(object["disk_bytes"], du);
    }

    place.unlock(&[]);
    let unlocked = ask(&["status", "--json"]).expect(0).out;
    assert!(unlocked.contains("\"state\":\"unlocked\""), "{unlocked}");
    place.lock();
    let opened = place.run(["status", "--json"], "").expect(0).out;
    assert!(opened.contains("\"state\":\"opened\""), "{opened}");
    run(&mut place.bare_command(["status", "--store", "none"]), b"").expect_failure(10, "at none.");
}

#[test]
fn an_engine_that_was_not_built_is_not_blamed_on_the_store() {
    let place = Place::with_store();
    if !cfg!(feature = "redb") {
        let refused = place.run(["migrate", "--engine", "redb"], "");
        refused.expect_failure(15, "This build of inmost has no engine redb.");
        let refused =
            run(&mut place.bare_command(["--store", "r", "init", "--engine", "redb"]), b"");
        refused.expect_failure(15, "This build of inmost has no engine redb.");
    }
}

#[test]
fn all_stores_are_locked_at_once() {
    let (place, other) = (Place::with_store(), Place::with_store());
    let unlock = |store: &Place| {
        let mut command = store.command(["unlock"]);
        run(command.env("XDG_RUNTIME_DIR", place.runtime()), b"").expect(0);
    };
    unlock(&place);
    unlock(&other);
    let lock = || run(&mut place.bare_command(["lock", "--all"]), b"").expect(0).out;
    assert_eq!(lock(), "Locked 2 stores.\n");
    assert_eq!(lock(), "Locked 0 stores.\n");
    assert_eq!(place.daemon(), None);
}

#[cfg(unix)]
#[test]
fn a_process_that_does_not_answer_is_not_taken_for_a_locked_store() {
    use std::os::unix::fs::DirBuilderExt;
    use std::os::unix::net::UnixListener;
    use std::{fs, thread};

    let place = Place::with_store();
    let folder = place.runtime().join("inmost");
    fs::DirBuilder::new().mode(0o700).recursive(true).create(&folder).unwrap();
    let lock = || run(&mut place.bare_command(["lock", "--all"]), b"");
    // The socket of a process that was killed.
    drop(UnixListener::bind(folder.join("0".repeat(24))).unwrap());
    assert_eq!(lock().expect(0).out, "Locked 0 stores.\n");
    // Regression: a daemon that was too busy to greet counted as one that had ended.
    let listener = UnixListener::bind(folder.join("1".repeat(24))).unwrap();
    thread::spawn(move || listener.incoming().for_each(drop));
    lock().expect_failure(13, "does not respond");
}

#[test]
fn what_a_name_contains_does_not_reach_the_terminal() {
    let ended = bare(&["ls", "--store", "two\nlines\u{1b}[31m"]);
    // Windows does not allow such a name.
    let code = if cfg!(windows) { 14 } else { 10 };
    let ended = ended.expect_failure(code, "two\\u{a}lines\\u{1b}[31m");
    assert!(!ended.err.contains('\u{1b}'), "{ended:?}");
}

#[cfg(unix)]
#[test]
fn a_path_that_cannot_be_looked_at_is_not_called_an_existing_store() {
    let name = "x".repeat(300);
    for command in ["init", "ls"] {
        let ended = bare(&[command, "--store", &name]).expect_failure(14, &name);
        assert!(!ended.err.contains("already exists"), "{ended:?}");
    }
    bare(&["forget", "a", "--until", "first"]).expect_failure(2, "expected a whole number");
}

#[test]
fn a_cost_is_refused_in_the_unit_of_its_option() {
    let place = Place::vacant();
    let refused = place.run(["init", "--kdf-memory-mib", "5"], "");
    refused.expect_failure(17, "asks for 5 MiB of memory; accepted are 19 to 1024");
    assert!(!place.store().exists());
    let place = Place::with_store();
    let costs = [["--kdf-memory-mib", "4194304"], ["--kdf-passes", "1"], ["--kdf-passes", "33"]];
    for command in [["slot", "add"].as_slice(), &["passwd"], &["salvage", "--to", "out"]] {
        for cost in costs {
            // Without a passphrase: the cost is refused before one is asked for.
            let mut bare = place.command([command, &cost].concat());
            let refused = run(bare.env_remove("INMOST_PASSPHRASE"), b"");
            let refused = refused.expect_failure(17, "The cost of unlocking is out of bounds: ");
            assert!(refused.err.contains("Choose another --kdf-memory-mib"), "{refused:?}");
        }
    }
}
