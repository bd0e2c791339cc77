//! Every command that a message offers runs as it stands, for a store of any name at any place.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::inmost::{CHEAP, Ended, PASSPHRASE, Place, run};

/// A name that a shell would split, and that an option could be taken for.
const STORE: &str = "--store=-my store's";
const ANCHOR: &str = "--anchor=-new est";

/// The commands in backquotes of a message, without those that leave a word to the reader.
fn offered(ended: &Ended) -> Vec<String> {
    let text = format!("{}{}", ended.out, ended.err);
    let commands = text.split('`').skip(1).step_by(2).filter(|it| it.starts_with("inmost "));
    let has_gap =
        |it: &&str| it.split(' ').any(|word| ["PATH", "NUMBER", "COMMAND"].contains(&word));
    commands.filter(|it| !has_gap(it)).map(str::to_owned).collect()
}

/// Runs a command as a person would paste it.
fn pasted(place: &Place, line: &str) -> Ended {
    let program = Path::new(env!("CARGO_BIN_EXE_inmost")).parent().unwrap().display();
    let shell: Command = place.shell(&format!("PATH={program}:$PATH; {line}"));
    let mut shell = shell;
    run(shell.env("INMOST_PASSPHRASE", PASSPHRASE), b"")
}

fn given(place: &Place, args: &[&str]) -> Ended {
    let mut command = place.bare_command(args);
    run(command.args([STORE, ANCHOR]).env("INMOST_PASSPHRASE", PASSPHRASE), b"")
}

/// Runs what these arguments offer, which ends with this code or, where several do, at least is valid and finds the store.
fn offers(place: &Place, args: &[&str], expected: &[(&str, i32)]) {
    let ended = given(place, args);
    let offered = offered(&ended);
    assert!(!offered.is_empty(), "{args:?}: {ended:?}");
    for (name, code) in expected {
        let line = offered.iter().find(|line| line.starts_with(&format!("inmost {name} ")));
        assert!(line.is_some(), "{name} in {ended:?}");
        let line = line.unwrap();
        let ran = pasted(place, line);
        assert_eq!(ran.code, Some(*code), "{line}: {ran:?}");
    }
    for line in &offered {
        let ran = pasted(place, line);
        // Some would ask a person.
        let is_asking = ran.err.contains("no terminal to ask");
        assert!(is_asking || !matches!(ran.code, Some(2 | 10) | None), "{line}: {ran:?}");
    }
}

#[test]
fn every_offered_command_runs() {
    let place = Place::vacant();
    let init = [&["init"], &CHEAP[..]].concat();
    // Nothing is there: `inmost init` makes it, at full cost.
    offers(&place, &["ls"], &[("init", 0)]);
    offers(&place, &init, &[("ls", 0)]);
    fs::remove_dir_all(place.beside("-my store's")).unwrap();
    fs::remove_file(place.beside("-new est")).unwrap();

    let made = given(&place, &init).expect(0);
    for line in offered(&made) {
        // Afterwards the key daemon holds the store, and is ended below.
        let ran = pasted(&place, &line);
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
    }
    offers(&place, &["unlock"], &[("lock", 0)]);
    given(&place, &["unlock"]).expect(0);
    offers(&place, &["destroy", "--yes"], &[("lock", 0)]);
    offers(&place, &["status"], &[]);
    given(&place, &["lock"]).expect(0);

    offers(&place, &["cat", "none"], &[("ls", 0)]);
    offers(&place, &["cat", "*.md"], &[("ls", 0)]);
    offers(&place, &["show", "77"], &[("log", 0)]);
    offers(&place, &["diff", "a.md~4"], &[("ls", 0)]);
    offers(&place, &["undo", "--since", "1h", "--yes"], &[("log", 0)]);
    offers(&place, &["forget", "a.md", "--yes"], &[("log", 0)]);
    let mut write = place.bare_command(["write", "a.md", STORE, ANCHOR]);
    run(write.env("INMOST_PASSPHRASE", PASSPHRASE), b"text").expect(0);
    offers(&place, &["rm", "a.md"], &[("restore", 0)]);
    offers(&place, &["forget", "/memories", "--everything", "--yes"], &[("compact", 0)]);
    given(&place, &["history", "--keep", "off", "--yes"]).expect(0);
    offers(&place, &["log"], &[("history", 0)]);
    offers(&place, &["expire"], &[("expire", 0)]);
    offers(&place, &["migrate", "--to", "copy"], &[]);
}

#[test]
fn a_server_that_cannot_open_its_store_offers_what_helps() {
    let place = Place::vacant();
    given(&place, &[&["init"], &CHEAP[..]].concat()).expect(0);
    // The anchor is another store's place for the newest state: the client's log says how to unlock this one.
    let call = r#"{"command": "view", "path": "/memories"}"#;
    let mut locked = place.bare_command(["call", call, STORE, ANCHOR]);
    let ended = run(&mut locked, b"").expect(18);
    let line = offered(&ended).into_iter().find(|line| line.starts_with("inmost unlock")).unwrap();
    assert_eq!(pasted(&place, &line).code, Some(0), "{line}");
    run(place.bare_command(["call", call, STORE, ANCHOR]).env_remove("INMOST_PASSPHRASE"), b"")
        .expect(0);
    given(&place, &["lock"]).expect(0);
}

#[test]
fn what_was_meant_begins_with_the_same_letter() {
    let place = Place::vacant();
    let err = |args: &[&str]| run(&mut place.bare_command(args), b"").expect(2).err;
    assert!(!err(&["log", "--color"]).contains("--anchor"));
    assert!(err(&["ls", "--stor", "x"]).contains("Did you mean `--store`?"));
    assert!(err(&["cat", "-dash.md"]).contains("`inmost cat -- -dash.md`"));
    assert!(err(&["unlcok"]).contains("Did you mean `unlock`"));
    // `init` refuses a folder with something else in it.
    fs::create_dir_all(place.beside("junk/x")).unwrap();
    let ended = run(&mut place.bare_command(["ls", "--store", "junk"]), b"").expect(10);
    assert!(!ended.err.contains("inmost init"), "{ended:?}");
}
