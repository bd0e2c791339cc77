//! Prompts and output at a terminal.
#![cfg(target_os = "linux")]

use std::process::Command;

use crate::conversation::{Conversation, bare};
use crate::inmost::{CHEAP, PASSPHRASE, Place};

#[test]
fn a_person_is_asked_without_echo() {
    let place = Place::with_files(&[("/memories/a.md", "12")]);
    let mut talk = Conversation::start(&bare(&place, &["ls"]));
    talk.until("/store: ");
    assert!(!talk.echoes());
    talk.type_in("korrect\u{15}correct horsf\u{7f}e\r");
    talk.until("a.md");
    let screen = talk.expect_end(0);
    assert!(!screen.contains("horse") && !screen.contains("korrect"), "{screen:?}");
}

#[test]
fn a_person_has_three_tries() {
    let place = Place::with_store();
    for command in ["ls", "check", "unlock"] {
        let mut talk = Conversation::start(&bare(&place, &[command]));
        talk.until("/store: ");
        talk.type_in("wrong\r");
        talk.until("Try again.");
        talk.until("/store: ");
        talk.type_in("correct horse\r");
        talk.expect_end(0);
        place.lock();
    }
    let mut talk = Conversation::start(&bare(&place, &["ls"]));
    for _ in 0..3 {
        talk.until("/store: ");
        talk.type_in("wrong\r");
    }
    talk.until("The passphrase is wrong: it does not open");
    let screen = talk.expect_end(11);
    assert_eq!(screen.matches("Passphrase for ").count(), 3, "{screen:?}");
}

#[test]
fn what_destroys_asks_first() {
    let files = [("/memories/old/a", "1"), ("/memories/old/b", "2")];
    let place = Place::with_files(&files);
    let ask = |args: &[&str], question: &str, typed: &str, code| {
        let mut talk = Conversation::start(&bare(&place, args));
        talk.until("/store: ");
        talk.type_in("correct horse\r");
        let shown = talk.until(question);
        talk.type_in(typed);
        talk.expect_end(code);
        shown
    };
    let question = "Type yes to delete everything in it: ";
    let shown = ask(&["rm", "old"], question, "\r", 1);
    assert!(shown.contains("/memories/old is a folder with 2 files."), "{shown:?}");
    place.run(["slot", "add", "--recovery-key", "--label", "paper"], "").expect(0);
    let shown = ask(&["rotate"], "Type yes to replace every key: ", "no\r", 1);
    assert!(shown.contains("paper"), "{shown:?}");
    ask(&["slot", "remove", "0"], "Type yes to remove it: ", "n\r", 1);
    assert_eq!(place.run(["slot", "list"], "").expect(0).out.lines().count(), 2);
    ask(&["rm", "old"], question, "yes\r", 0);
    assert_eq!(place.run(["ls"], "").expect(0).out, "");
}

#[test]
fn giving_up_leaves_the_terminal_as_it_was() {
    let place = Place::with_store();
    for key in ["\u{3}", "\u{1c}", "\u{4}"] {
        let mut talk = Conversation::start(&bare(&place, &["ls"]));
        talk.until("/store: ");
        if key != "\u{4}" {
            talk.type_in("half a pass");
        }
        talk.type_in(key);
        talk.until("The prompt was cancelled.");
        let screen = talk.expect_end(130);
        assert!(!screen.contains("half"), "{screen:?}");
    }
}

#[test]
fn calls_on_standard_input_leave_the_terminal_for_the_passphrase() {
    let place = Place::with_store();
    std::fs::write(place.beside("in"), "{\"command\": \"view\", \"path\": \"/memories\"}\n")
        .unwrap();
    let inner = bare(&place, &["call"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$@\" < \"$0\""]).arg(place.beside("in"));
    shell.arg(inner.get_program()).args(inner.get_args());
    let mut talk = Conversation::start(&shell);
    talk.until("/store: ");
    talk.type_in("correct horse\r");
    talk.until("\"is_error\":false");
    talk.expect_end(0);
}

#[test]
fn a_new_passphrase_is_typed_twice_and_its_strength_shown() {
    let place = Place::vacant();
    let args: Vec<_> = ["init"].into_iter().chain(CHEAP).collect();
    let mut talk = Conversation::start(&bare(&place, &args));
    talk.until("six random words): ");
    talk.type_in("password\r");
    let shown = talk.until("choose another): ");
    assert!(shown.contains("Strength: 0 of 4"), "{shown:?}");
    talk.type_in("\r");
    talk.until("six random words): ");
    talk.type_in("correct horse\r");
    let shown = talk.until("choose another): ");
    assert!(shown.contains("Strength: ") && shown.contains(" guesses"), "{shown:?}");
    talk.type_in("correct house\r");
    talk.until("The two passphrases differ.");
    talk.until("six random words): ");
    talk.type_in("correct horse\r");
    talk.until("choose another): ");
    talk.type_in("correct horse\r");
    talk.until("[y/N] ");
    talk.type_in("\r");
    talk.until("Created a store at");
    let screen = talk.expect_end(0);
    assert!(!screen.contains("horse") && !screen.contains("house"), "{screen:?}");
    assert_eq!(PASSPHRASE, "correct horse");
    place.run(["ls"], "").expect(0);
}

#[test]
fn init_offers_a_recovery_key_that_opens_the_store() {
    let place = Place::vacant();
    let args: Vec<_> = ["init"].into_iter().chain(CHEAP).collect();
    let mut talk = Conversation::start(&bare(&place, &args));
    for _ in 0..2 {
        talk.until("): ");
        talk.type_in("correct horse\r");
    }
    talk.until("[y/N] ");
    talk.type_in("y\r");
    let shown = talk.until("Press Enter when it is on paper: ");
    assert!(shown.contains("\u{1b}[?1049h"), "on a screen of its own: {shown:?}");
    talk.type_in("\r");
    talk.until("\u{1b}[?1049l");
    let next = format!("Next: `inmost unlock --store {}`", place.store().display());
    talk.until(&next);
    let screen = talk.expect_end(0);
    let key = screen.lines().map(str::trim).find(|line| line.len() == 77).unwrap().to_owned();

    let mut talk = Conversation::start(&bare(&place, &["ls", "--recovery"]));
    talk.until("/store: ");
    assert!(!talk.echoes());
    talk.type_in(&format!("{}\r", key.to_lowercase().replace('-', " ")));
    talk.expect_end(0);
    let mut talk = Conversation::start(&bare(&place, &["ls", "--recovery"]));
    talk.until("/store: ");
    talk.type_in(&format!("{}\r", key.replacen('-', "!", 1)));
    talk.until("group 2");
    talk.expect_end(2);
}

#[test]
fn a_recovery_key_that_is_not_confirmed_leaves_the_screen_and_the_store() {
    let place = Place::with_store();
    let mut talk = Conversation::start(&place.command(["slot", "add", "--recovery-key"]));
    talk.until("Press Enter when it is on paper: ");
    talk.type_in("\u{3}");
    talk.until("\u{1b}[?1049l");
    talk.until("the keyslot of the recovery key was removed");
    talk.expect_end(130);
    assert_eq!(place.run(["slot", "list"], "").expect(0).out.lines().count(), 1);
}

#[test]
fn six_random_words_are_shown_once_and_open_the_store() {
    let place = Place::vacant();
    let args: Vec<_> = ["call", "--create"].into_iter().chain(CHEAP).collect();
    let mut talk = Conversation::start(&bare(&place, &args));
    talk.until("six random words): ");
    talk.type_in("\r");
    let shown = talk.until("choose another): ");
    let words = shown.lines().find(|line| line.split_whitespace().count() == 6).unwrap();
    let words = words.trim().to_owned();
    assert!(shown.contains("\u{1b}[?1049h"), "on a screen of its own: {shown:?}");
    talk.type_in(&format!("{words}\r"));
    talk.until("\u{1b}[?1049l");
    talk.type_in("{\"command\": \"view\", \"path\": \"/memories\"}\n");
    talk.until("\"is_error\":false");
    talk.type_in("\u{4}");
    let screen = talk.expect_end(0);
    assert_eq!(screen.matches(&words).count(), 1, "{screen:?}");
    let mut ls = place.command(["ls"]);
    crate::inmost::run(ls.env("INMOST_PASSPHRASE", &words), b"").expect(0);
}

#[test]
fn an_existing_path_is_reported_before_the_passphrase_prompt() {
    let place = Place::with_store();
    let mut talk = Conversation::start(&bare(&place, &["init"]));
    let screen = talk.expect_end(1);
    assert!(!screen.contains("Passphrase"), "{screen:?}");
}

#[test]
fn repair_rebuilds_only_after_a_person_types_yes() {
    let place = Place::with_files(&[("/memories/a", &"long\n".repeat(600)), ("/memories/b", "")]);
    place.damage_longest_record_in_the_files();
    for (typed, code) in [("no\r", 1), ("yes\r", 0)] {
        let mut talk = Conversation::start(&bare(&place, &["repair"]));
        talk.until("/store: ");
        talk.type_in("correct horse\r");
        talk.until("Type yes to rebuild the store from them: ");
        talk.type_in(typed);
        talk.expect_end(code);
    }
    place.run(["accept-rollback", "--yes"], "").expect(0);
    place.run(["check"], "").expect(0);
}

#[test]
fn a_person_types_the_name_of_what_they_destroy() {
    let place = Place::with_store();
    for (typed, code) in [("yes\r", 1), ("\u{4}", 1), ("store\r", 0)] {
        let mut talk = Conversation::start(&bare(&place, &["destroy"]));
        talk.until("Type the name of the folder, store, to destroy it: ");
        talk.type_in(typed);
        talk.expect_end(code);
    }
    assert!(!place.store().exists());
}

#[test]
fn a_person_sees_a_diff_in_colour_and_is_asked_before_an_undo() {
    let place = Place::with_store();
    place.run(["write", "/memories/a"], "Dig.\n").expect(0);
    place.run(["write", "/memories/a"], "Fill \u{1b}[2J.\n").expect(0);
    let log = place.run(["log", "--json", "--limit", "1"], "").expect(0).out;
    let log: serde_json::Value = serde_json::from_str(&log).unwrap();
    let mut diff = bare(&place, &["diff", &log["version"].to_string()]);
    // Ctrl-C is for the pager, which waits for a key at the end.
    let pager = "trap '' INT; sed s/^/:/; head -n 1 < /dev/tty; echo over";
    diff.env("TERM", "xterm").env("PAGER", pager);
    let mut talk = Conversation::start(&diff);
    talk.until("/store: ");
    talk.type_in("correct horse\r");
    talk.until(":\u{1b}[31m-Dig.\u{1b}[0m");
    talk.until(":\u{1b}[32m+Fill \\u{1b}[2J.\u{1b}[0m");
    talk.type_in("\u{3}");
    talk.type_in("q\r");
    talk.until("over");
    talk.expect_end(0);

    for pager in ["no-such-pager -R", "/dev/null"] {
        diff.env("PAGER", pager);
        let mut talk = Conversation::start(&diff);
        talk.until("/store: ");
        talk.type_in("correct horse\r");
        talk.until(&format!("The pager {pager} cannot be run."));
        talk.expect_end(2);
    }

    for (answer, code, files) in [("no", 1, 1), ("yes", 0, 0)] {
        let mut talk =
            Conversation::start(&bare(&place, &["undo", "--since", "1h", "/memories/a"]));
        talk.until("/store: ");
        talk.type_in("correct horse\r");
        talk.until("Type yes to undo the changes of 1 file or folder: ");
        talk.type_in(&format!("{answer}\r"));
        talk.expect_end(code);
        let status = place.run(["status"], "").expect(0).out;
        assert!(status.contains(&format!("\nfiles       {files}\n")), "{status}");
    }
}
