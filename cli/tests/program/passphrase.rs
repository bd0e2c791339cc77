//! Every source of the passphrase, and their order.

use std::fs;
use std::process::Command;

use crate::inmost::{CHEAP, Ended, PASSPHRASE, Place, run};

/// `ls` of the store with these arguments, without a passphrase.
fn ls(place: &Place, args: &[&str]) -> Command {
    let mut command = place.bare_command(["ls"].iter().chain(args));
    command.arg("--store").arg(place.store());
    command
}

/// The same through a shell, which sets up descriptors.
fn shell(place: &Place, script: &str) -> Ended {
    let mut command = place.bare_command::<&str>([]);
    let program = command.get_program().to_owned();
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).env("INMOST", program).env("STORE", place.store());
    shell.current_dir(place.beside("")).env_remove("INMOST_PASSPHRASE").env_remove("INMOST_STORE");
    command = shell;
    run(&mut command, b"")
}

fn with_file(text: &str) -> Place {
    let place = Place::with_store();
    fs::write(place.beside("file"), text).unwrap();
    place
}

#[test]
fn a_file_gives_it_without_its_line_end_or_byte_order_mark() {
    for end in ["", "\n", "\r\n"] {
        let place = with_file(&format!("{PASSPHRASE}{end}"));
        run(&mut ls(&place, &["--passphrase-file", "file"]), b"").expect(0);
    }
    // Some editors write this at the beginning of a file.
    let place = with_file(&format!("\u{feff}{PASSPHRASE}\r\n"));
    run(&mut ls(&place, &["--passphrase-file", "file"]), b"").expect(0);
    for end in ["\n\n", " ", " \n", "\r"] {
        let place = with_file(&format!("{PASSPHRASE}{end}"));
        run(&mut ls(&place, &["--passphrase-file", "file"]), b"").expect(11);
    }
}

#[test]
fn a_source_that_gives_no_passphrase_is_named() {
    let place = with_file("");
    for (source, named) in [
        (["--passphrase-file", "file"], "from the passphrase file file"),
        (["--passphrase-file", "-"], "from the standard input"),
        (["--passphrase-fd", "0"], "from the passphrase file descriptor"),
        (["--passphrase-command", "echo"], "from the output of the passphrase command"),
    ] {
        run(&mut ls(&place, &source), b"").expect_failure(2, named);
    }
    let mut command = ls(&place, &[]);
    let from_variable = run(command.env("INMOST_PASSPHRASE", "x".repeat(5_000)), b"");
    from_variable.expect_failure(2, "from the variable INMOST_PASSPHRASE");
}

#[test]
fn standard_input_is_a_source_for_other_commands() {
    let place = Place::with_store();
    let dash = ["--passphrase-file", "-"];
    let text = format!("{PASSPHRASE}\n");
    run(&mut ls(&place, &dash), text.as_bytes()).expect(0);
    run(&mut ls(&place, &["--passphrase-fd", "0"]), text.as_bytes()).expect(0);
    let view = r#"{"command": "view", "path": "/memories"}"#;
    let mut call = place.bare_command(["call", view].iter().chain(&dash));
    run(call.arg("--store").arg(place.store()), text.as_bytes()).expect(0);
}

#[test]
fn standard_input_is_not_a_source_for_commands_that_read_it() {
    let place = Place::with_store();
    for command in [&["call"][..], &["write", "/memories/a"]] {
        for source in [["--passphrase-file", "-"], ["--passphrase-fd", "0"]] {
            let mut command = place.bare_command(command.iter().chain(&source));
            command.arg("--store").arg(place.store());
            run(&mut command, b"correct horse\n")
                .expect_failure(2, "cannot be read from standard input");
        }
    }
}

#[test]
fn a_descriptor_gives_it() {
    let place = with_file("correct horse\n");
    shell(&place, r#""$INMOST" ls --store "$STORE" --passphrase-fd 3 3< file"#).expect(0);
    let pipe =
        r#"printf 'correct horse\r\n' | "$INMOST" ls --store "$STORE" --passphrase-fd 4 4<&0"#;
    shell(&place, pipe).expect(0);
    // Regression: the writer of a named pipe has ended, and the program waited for another writer.
    let named = r#"mkfifo named; printf 'correct horse' > named & exec 5< named; wait
        exec timeout 20 "$INMOST" ls --store "$STORE" --passphrase-fd 5"#;
    shell(&place, named).expect(0);
}

/// Regression: the program opened the descriptor after the store. The lock file had that number by then, so the process id
/// in it was read as the passphrase.
#[test]
fn a_descriptor_that_is_not_open_is_a_usage_error() {
    let place = Place::with_store();
    for number in 3..8 {
        let script =
            format!("\"$INMOST\" ls --store \"$STORE\" --passphrase-fd {number} {number}<&-");
        shell(&place, &script).expect_failure(2, "this descriptor is not open");
    }
    let endless = run(&mut ls(&place, &["--passphrase-file", "/dev/zero"]), b"");
    let endless = endless.expect_failure(14, "too long for a passphrase");
    assert!(!endless.err.contains("exists"), "{endless:?}");
    run(&mut ls(&place, &["--passphrase-fd", "x"]), b"").expect_failure(2, "not a number");
}

#[test]
fn a_command_gives_it() {
    let place = Place::with_store();
    run(&mut ls(&place, &["--passphrase-command", "echo 'correct horse'"]), b"").expect(0);
    run(&mut ls(&place, &["--passphrase-command", "printf 'correct '; printf horse"]), b"")
        .expect(0);
    run(&mut ls(&place, &["--passphrase-command", "cat"]), b"correct horse").expect(0);
}

#[test]
fn the_output_of_a_failed_command_is_not_used() {
    let place = Place::with_store();
    let command = ["--passphrase-command", "echo 'correct horse'; exit 3"];
    let ended = run(&mut ls(&place, &command), b"");
    ended.expect_failure(1, "passphrase command failed: exit status: 3");
    run(&mut ls(&place, &["--passphrase-command", "yes"]), b"").expect_failure(1, "too long");
}

#[test]
fn a_passphrase_command_does_not_read_the_calls() {
    let place = Place::with_store();
    let mut call =
        place.bare_command(["call", "--passphrase-command", "cat; echo 'correct horse'"]);
    call.arg("--store").arg(place.store());
    let ended = run(&mut call, b"{\"command\": \"view\", \"path\": \"/memories\"}\n").expect(0);
    assert_eq!(ended.out.lines().count(), 1);
}

#[test]
fn the_environment_variable_loses_one_line_feed_and_nothing_else() {
    let place = Place::with_store();
    run(ls(&place, &[]).env("INMOST_PASSPHRASE", PASSPHRASE), b"").expect(0);
    run(ls(&place, &[]).env("INMOST_PASSPHRASE", "correct horse\n"), b"").expect(0);
    run(ls(&place, &[]).env("INMOST_PASSPHRASE", "correct horse\n\n"), b"").expect(11);
    let empty = run(ls(&place, &[]).env("INMOST_PASSPHRASE", ""), b"");
    empty.expect_failure(2, "at least one character");
}

#[test]
fn the_first_source_is_used() {
    let place = with_file(PASSPHRASE);
    fs::write(place.beside("wrong"), "wrong").unwrap();
    let command_with = |args: &[&str], variable: &str| {
        let mut command = ls(&place, args);
        command.env("INMOST_PASSPHRASE", variable);
        command
    };
    let (right, wrong) = ("echo 'correct horse'", "echo wrong");
    let fd = |place: &Place, rest: &str, file: &str| {
        let script = format!(
            "INMOST_PASSPHRASE=wrong \"$INMOST\" ls --store \"$STORE\" --passphrase-fd 3 {rest} 3< {file}"
        );
        shell(place, &script)
    };
    // First only the first source is right, then only the others.
    let args = ["--passphrase-file", "file", "--passphrase-fd", "2", "--passphrase-command", wrong];
    run(&mut command_with(&args, "wrong"), b"").expect(0);
    let args = ["--passphrase-command", right, "--passphrase-file", "wrong"];
    run(&mut command_with(&args, PASSPHRASE), b"").expect(11);
    fd(&place, "--passphrase-command 'echo wrong'", "file").expect(0);
    fd(&place, "--passphrase-command 'echo correct horse'", "wrong").expect(11);
    run(&mut command_with(&["--passphrase-command", right], "wrong"), b"").expect(0);
    run(&mut command_with(&["--passphrase-command", wrong], PASSPHRASE), b"").expect(11);
}

#[test]
fn without_a_source_and_a_terminal_the_store_stays_locked() {
    let place = Place::with_store();
    let detached = |command: &Command| {
        let mut detached = Command::new("setsid");
        detached.arg("--wait").arg(command.get_program()).args(command.get_args());
        detached.env_remove("INMOST_PASSPHRASE");
        run(&mut detached, b"")
    };
    let ended = detached(&ls(&place, &[]));
    ended.expect_failure(18, " is locked: no passphrase was given");
    place.run(["slot", "add", "--recovery-key"], "").expect(0);
    detached(&ls(&place, &["--recovery"])).expect_failure(18, " is locked: ");
    // Nothing is locked here.
    let mut init = place.bare_command(["init", "--store"]);
    detached(init.arg(place.beside("new"))).expect_failure(2, "No passphrase was given");
    // The passphrase that is missing here is the new one, and the options for it have other names.
    std::fs::write(place.beside("old"), PASSPHRASE).unwrap();
    let mut passwd = place.bare_command(["passwd", "--store"]);
    passwd.arg(place.store()).arg("--passphrase-file").arg(place.beside("old"));
    let ended = detached(&passwd).expect_failure(2, "No new passphrase was given");
    assert!(ended.err.contains("--new-passphrase-file"), "{ended:?}");
}

#[test]
fn a_passphrase_is_text_of_bounded_length() {
    let place = Place::vacant();
    let init = |text: &[u8]| {
        let mut command =
            place.bare_command(["init", "--passphrase-file", "-"].iter().chain(&CHEAP));
        command.arg("--store").arg(place.store());
        run(&mut command, text)
    };
    init(b"\n").expect_failure(2, "at least one character");
    init(b"caf\xe9").expect_failure(2, "UTF-8");
    init(&[b'a'; 1_025]).expect_failure(2, "at most 1,024 bytes");
    init(&vec![b'a'; 100_000]).expect_failure(14, "too long");
    assert!(!place.store().exists());
    init(&[b'a'; 1_024]).expect(0);
}

#[test]
fn the_passphrase_is_never_an_argument() {
    let place = Place::with_store();
    run(&mut ls(&place, &["--passphrase", PASSPHRASE]), b"").expect(2);
}

/// A password manager may print the name of the user below the password. A person could not type that, and a person who edits the entry
/// could not open the store any more.
#[test]
fn a_new_passphrase_has_one_line() {
    for text in ["correct horse\nada\n", "correct\u{2028}horse", "correct horse\r\n\r\n"] {
        let place = Place::vacant();
        fs::write(place.beside("entry"), text).unwrap();
        let args = ["init", "--passphrase-command", "cat entry"].into_iter().chain(CHEAP);
        let mut command = place.bare_command(args);
        run(command.arg("--store").arg(place.store()), b"")
            .expect_failure(2, "it has more than one line");
        let mut variable = place.bare_command(["init"].into_iter().chain(CHEAP));
        variable.arg("--store").arg(place.store());
        run(variable.env("INMOST_PASSPHRASE", text), b"").expect_failure(2, "more than one line");
    }
    let place = Place::with_store();
    fs::write(place.beside("entry"), "new one\n\0").unwrap();
    place
        .run(["passwd", "--new-passphrase-file", "entry"], "")
        .expect_failure(2, "it has more than one line, or a NUL");
    place.run(["ls"], "").expect(0);
}
