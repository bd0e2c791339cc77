//! `--prompt pinentry` and `--prompt askpass`, with programs that follow a script.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::inmost::{Ended, PASSPHRASE, Place, run};

/// A shell script that a prompt runs.
fn script(place: &Place, text: &str) -> PathBuf {
    let path = place.beside("prompt program");
    fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path
}

/// A pinentry that replies to GETPIN with these lines, and logs what it was sent.
fn pinentry(place: &Place, replies: &str) -> PathBuf {
    let log = place.beside("log");
    let log = log.display();
    script(
        place,
        &format!(
            "echo 'OK Pleased to meet you'\n\
             while read -r line; do\n\
             printf '%s\\n' \"$line\" >> '{log}'\n\
             case $line in\n\
             GETPIN) printf '%b' '{replies}';;\n\
             OPTION*) echo 'ERR 83886254 Unknown option <Pinentry>';;\n\
             *) echo OK;;\n\
             esac\n\
             done\n"
        ),
    )
}

fn cat(place: &Place, prompt: &str, variable: &str, program: &PathBuf) -> Ended {
    let mut command =
        place.bare_command(["cat", "/memories/a", "--store", "store", "--prompt", prompt]);
    command.env(variable, program);
    run(&mut command, b"")
}

#[test]
fn a_pinentry_asks_for_the_passphrase() {
    let place = Place::with_files(&[("/memories/a", "one")]);
    let escaped = PASSPHRASE.replace(' ', "%20");
    let program = pinentry(&place, &format!("S STATUS\\n# note\\nD {escaped}\\nOK\\n"));
    let out = cat(&place, "pinentry", "PINENTRY_PROGRAM", &program).expect(0).out;
    assert_eq!(out, "one");
    let log = fs::read_to_string(place.beside("log")).unwrap();
    assert!(log.contains("SETTITLE Inmost\nSETDESC Unlock the memory in "), "{log}");
    assert!(log.contains("SETPROMPT Passphrase:\nGETPIN\n"), "{log}");
    assert!(!log.contains(PASSPHRASE), "{log}");
}

#[test]
fn a_key_daemon_starts_after_a_desktop_prompt() {
    let place = Place::with_files(&[("/memories/a", "one")]);
    let program = script(&place, &format!("printf '%s\\n' '{PASSPHRASE}'\n"));
    let mut unlock = place.bare_command(["unlock", "--store", "store", "--prompt", "askpass"]);
    unlock.env("SSH_ASKPASS", &program);
    assert!(run(&mut unlock, b"").expect(0).out.starts_with("Unlocked."));
    let mut cat = place.bare_command(["cat", "/memories/a", "--store", "store"]);
    assert_eq!(run(&mut cat, b"").expect(0).out, "one");
    run(&mut place.bare_command(["lock", "--store", "store"]), b"").expect(0);
}

#[test]
fn a_new_store_takes_no_desktop_prompt() {
    let place = Place::vacant();
    let mut init = place.bare_command(["init", "--store", "store", "--prompt", "pinentry"]);
    let ended = run(&mut init, b"");
    ended.expect_failure(2, "--prompt");
    assert!(!place.store().exists());
}

#[test]
fn an_askpass_program_gets_the_question_as_its_argument() {
    let place = Place::with_files(&[("/memories/a", "one")]);
    let log = place.beside("log");
    let text = format!("printf '%s' \"$1\" > '{}'\nprintf '%s\\n' '{PASSPHRASE}'\n", log.display());
    let program = script(&place, &text);
    assert_eq!(cat(&place, "askpass", "SSH_ASKPASS", &program).expect(0).out, "one");
    let question = fs::read_to_string(log).unwrap();
    assert!(question.starts_with("Passphrase for ") && question.ends_with(": "), "{question}");
}

#[test]
fn a_closed_prompt_and_a_failing_program_are_errors() {
    let place = Place::with_files(&[("/memories/a", "one")]);
    let cancelled = pinentry(&place, "ERR 83886179 Operation cancelled <Pinentry>\\n");
    cat(&place, "pinentry", "PINENTRY_PROGRAM", &cancelled)
        .expect_failure(1, "No passphrase was typed.");
    let failed = pinentry(&place, "ERR 83918950 No display\\n");
    cat(&place, "pinentry", "PINENTRY_PROGRAM", &failed).expect_failure(1, "No display");
    let silent = script(&place, "exit 0\n");
    cat(&place, "pinentry", "PINENTRY_PROGRAM", &silent)
        .expect_failure(1, "it ended before it replied");
    let chatty = script(&place, "echo hello\n");
    cat(&place, "pinentry", "PINENTRY_PROGRAM", &chatty)
        .expect_failure(1, "does not speak the pinentry protocol");
    let endless = script(&place, "printf 'OK %20000s' x; cat >/dev/null\n");
    cat(&place, "pinentry", "PINENTRY_PROGRAM", &endless)
        .expect_failure(1, "its reply is too long");
    let none = place.beside("none");
    cat(&place, "pinentry", "PINENTRY_PROGRAM", &none)
        .expect_failure(1, "Install a pinentry program");
    cat(&place, "askpass", "SSH_ASKPASS", &none).expect_failure(1, "Install an askpass program");
    let refused = script(&place, "exit 1\n");
    cat(&place, "askpass", "SSH_ASKPASS", &refused).expect_failure(1, "No passphrase was typed.");
}

#[test]
fn an_empty_answer_is_asked_for_again() {
    let place = Place::with_files(&[("/memories/a", "one")]);
    let program = pinentry(&place, "OK\\n");
    cat(&place, "pinentry", "PINENTRY_PROGRAM", &program).expect_failure(2, "Invalid passphrase");
    let log = fs::read_to_string(place.beside("log")).unwrap();
    assert_eq!(log.matches("GETPIN").count(), 3, "{log}");
    assert_eq!(log.matches("SETERROR").count(), 2, "{log}");
}

#[test]
fn a_wrong_passphrase_is_asked_for_three_times() {
    let place = Place::with_files(&[("/memories/a", "one")]);
    let program = pinentry(&place, "D wrong\\nOK\\n");
    cat(&place, "pinentry", "PINENTRY_PROGRAM", &program).expect_failure(11, "wrong");
    let log = fs::read_to_string(place.beside("log")).unwrap();
    assert_eq!(log.matches("GETPIN").count(), 3, "{log}");
    let told = "SETERROR That does not open the store. Try again.";
    assert_eq!(log.matches(told).count(), 2, "{log}");
}
