//! Tests of a tool that is screened: what the model reads, what is saved, and that pieces are found where they meet.
//! `crates/inmost-screen/tests` measures what that screen finds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use inmost::{
    MemoryTool, Screen, ScreenFind, ScreenInput, ScreenVerdict, Session, SessionOptions,
    ToolOptions,
};
use inmost_screen::SecretScreen;
use serde_json::{Value, json};

use crate::store::{create, done, dump, reader, refused};

const CARD: &str = "4111 1111 1111 1111";
const NOT_SAVED: &str =
    "Error: Not saved: the text contains card number. Leave it out and try again.";

fn screened(session: &Session, screen: SecretScreen) -> MemoryTool {
    MemoryTool::with_options(session.clone(), ToolOptions::new().screen(screen))
}

fn read(session: &Session, path: &str) -> String {
    session.files().read(path).unwrap().as_str().to_owned()
}

fn create_call(path: &str, text: &str) -> Value {
    json!({"command": "create", "path": path, "file_text": text})
}

fn insert_call(path: &str, line: i64, text: &str) -> Value {
    json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text})
}

fn replace_call(path: &str, old: &str, new: &str) -> Value {
    json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
}

/// A token, put together at run time: the hosts of repositories block files that hold one.
fn token() -> String {
    ["npm", "_", "q7Zb3Lx9Rk2Wf8Tn5Vc4Hj6Md1Gs0Pyq7Zb3"].concat()
}

#[test]
fn a_refused_call_changes_nothing() {
    let session = Session::in_memory().unwrap();
    let tool = screened(&session, SecretScreen::refusing());
    create(&tool, "/memories/a", "one\ntwo\n");
    let before = (dump(&reader(&session), &[]), session.status().unwrap().commit);
    for call in [
        create_call("/memories/b/c", &format!("pays with {CARD}\n")),
        create_call(&format!("/memories/{CARD}.md"), "harmless\n"),
        insert_call("/memories/a", 1, CARD),
        replace_call("/memories/a", "two", &format!("with {CARD}")),
        json!({"command": "rename", "old_path": "/memories/a", "new_path": format!("/memories/{CARD}")}),
    ] {
        assert_eq!(refused(&tool, &call), NOT_SAVED);
    }
    assert_eq!((dump(&reader(&session), &[]), session.status().unwrap().commit), before);
    let both = create_call("/memories/b", &format!("{CARD} and {} and {CARD}", token()));
    assert_eq!(
        refused(&tool, &both),
        "Error: Not saved: the text contains card number, API key. Leave it out and try again."
    );
}

#[test]
fn a_redacted_call_saves_the_rest_and_says_so() {
    let session = Session::in_memory().unwrap();
    let tool = screened(&session, SecretScreen::redacting());
    let text = format!("a {CARD}\nb {} c\nd {CARD}", token());
    assert_eq!(
        done(&tool, &create_call("/memories/a", &text)),
        "File created successfully at: /memories/a\n[3 redacted: card number, API key]"
    );
    let saved = "a [redacted: card number]\nb [redacted: API key] c\nd [redacted: card number]";
    assert_eq!(read(&session, "/memories/a"), saved);
    assert_eq!(
        done(&tool, &insert_call("/memories/a", 3, &token())),
        "The file /memories/a has been edited.\n[1 redacted: API key]"
    );
    assert_eq!(read(&session, "/memories/a"), format!("{saved}\n[redacted: API key]"));
    assert_eq!(
        done(&tool, &insert_call("/memories/a", 0, "harmless")),
        "The file /memories/a has been edited."
    );
}

#[test]
fn a_snippet_counts_the_lines_that_were_saved() {
    let session = Session::in_memory().unwrap();
    let tool = screened(&session, SecretScreen::redacting());
    create(&tool, "/memories/a", "1\n2\n3\n4\n5\n6\n7\n");
    let label = ["PRIVATE", "KEY"].join(" ");
    let material = ["q7Zb3Lx9Rk2Wf8Tn5Vc4Hj6Md1Gs0Py"; 4].join("\n");
    let key = format!("-----BEGIN {label}-----\n{material}\n-----END {label}-----");
    assert_eq!(
        done(&tool, &replace_call("/memories/a", "4", &format!("four\n{key}\nfive"))),
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     \
         2\t2\n     3\t3\n     4\tfour\n     5\t[redacted: private key]\n     6\tfive\n     7\t5\n     8\t6\n\
         [1 redacted: private key]"
    );
    assert_eq!(
        read(&session, "/memories/a"),
        "1\n2\n3\nfour\n[redacted: private key]\nfive\n5\n6\n7\n"
    );
}

#[test]
fn pieces_of_several_calls_are_refused_where_they_meet() {
    let token = token();
    let (first, last) = token.split_at(20);
    for screen in [SecretScreen::redacting(), SecretScreen::refusing()] {
        let session = Session::in_memory().unwrap();
        let tool = screened(&session, screen);
        let told = "Error: Not saved: the text contains API key. Leave it out and try again.";
        create(&tool, "/memories/a", &format!("the key is {first}"));
        let half = replace_call("/memories/a", first, &format!("{first}{last}"));
        if screen == SecretScreen::refusing() {
            assert_eq!(refused(&tool, &half), told, "new text alone");
        }
        let end = &first[first.len() - 4..];
        assert_eq!(
            refused(&tool, &replace_call("/memories/a", end, &format!("{end}{last}"))),
            told
        );
        let begin = replace_call("/memories/a", "is ", &format!("is {} or ", "words"));
        done(&tool, &begin);

        // Lines of a key, written one after the other.
        let label = ["PRIVATE", "KEY"].join(" ");
        create(&tool, "/memories/b", &format!("-----BEGIN {label}-----\n"));
        let line = "q7Zb3Lx9Rk2Wf8Tn5Vc4Hj6Md1Gs0Pyq7Zb3Lx9Rk2Wf8Tn5Vc4Hj6Md1Gs0Py";
        let key = "Error: Not saved: the text contains private key. Leave it out and try again.";
        assert_eq!(refused(&tool, &insert_call("/memories/b", 1, line)), key);

        // A deletion joins them.
        create(&tool, "/memories/c", &format!("{first}!{last}"));
        assert_eq!(
            refused(
                &tool,
                &json!({"command": "str_replace", "path": "/memories/c", "old_str": "!"})
            ),
            told
        );
    }
}

#[test]
fn a_find_in_old_text_alone_does_not_stop_an_edit_next_to_it() {
    let session = Session::in_memory().unwrap();
    session.files().write("/memories/a", &format!("{CARD}\nand {}", token())).unwrap();
    let tool = screened(&session, SecretScreen::refusing());
    done(&tool, &insert_call("/memories/a", 1, "between"));
    done(&tool, &insert_call("/memories/a", 3, "at the end"));
    done(&tool, &replace_call("/memories/a", "and ", "with "));
    let expected = format!("{CARD}\nbetween\nwith {}\nat the end", token());
    assert_eq!(read(&session, "/memories/a"), expected);
    done(
        &tool,
        &json!({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"}),
    );
    assert_eq!(refused(&tool, &replace_call("/memories/b", "with", CARD)), NOT_SAVED);
}

#[test]
fn checks_of_the_command_come_before_the_screen_and_quotas_after_it() {
    let options = SessionOptions::new().max_file_bytes(30).max_files(2);
    let session = options.in_memory().unwrap();
    let tool = screened(&session, SecretScreen::refusing());
    create(&tool, "/memories/a", "one one");
    create(&tool, "/memories/b", "");
    let long = format!("{CARD} and much more than that");
    for (call, told) in [
        (create_call("/memories/a", &long), "Error: File /memories/a already exists"),
        (create_call("/memories/a/c", &long), "Error: /memories/a is a file, not a directory"),
        (create_call("/memories/c", &long), NOT_SAVED),
        (
            replace_call("/memories/c", "one", CARD),
            "Error: The path /memories/c does not exist. Please provide a valid path.",
        ),
        (
            replace_call("/memories/a", "", CARD),
            "Error: The `old_str` parameter must not be empty.",
        ),
        (
            replace_call("/memories/a", "two", CARD),
            "No replacement was performed, old_str `two` did not appear verbatim in /memories/a.",
        ),
        (
            replace_call("/memories/a", "one", CARD),
            "No replacement was performed. Multiple occurrences of old_str `one` in lines: 1. Please ensure it is unique",
        ),
        (replace_call("/memories/a", "one one", &long), NOT_SAVED),
        (
            replace_call("/memories/a", "one one", "harmless, but more than thirty bytes"),
            "Error: File /memories/a would exceed the maximum size of 30 bytes.",
        ),
        (insert_call("/memories/c", 0, CARD), "Error: The path /memories/c does not exist"),
        (
            insert_call("/memories/a", 2, CARD),
            "Error: Invalid `insert_line` parameter: 2. It should be within the range of lines of the file: [0, 1]",
        ),
        (insert_call("/memories/a", 0, &long), NOT_SAVED),
        (
            json!({"command": "rename", "old_path": "/memories/c", "new_path": format!("/memories/{CARD}")}),
            "Error: The path /memories/c does not exist",
        ),
        (
            json!({"command": "rename", "old_path": "/memories/a", "new_path": format!("/memories/b/{CARD}")}),
            "Error: /memories/b is a file, not a directory",
        ),
    ] {
        assert_eq!(refused(&tool, &call), told);
    }
    let options = ToolOptions::new().read_only(true).screen(SecretScreen::refusing());
    let read_only = MemoryTool::with_options(session, options);
    let told = refused(&read_only, &create_call("/memories/c", CARD));
    assert_eq!(told, "Error: Memory is read-only.");
}

/// An edit that moves more than 32 KiB is made in several steps.
#[test]
fn a_long_edit_is_screened_like_a_short_one() {
    let session = Session::in_memory().unwrap();
    let long = "harmless\n".repeat(10_000);
    let redacting = screened(&session, SecretScreen::redacting());
    let refusing = screened(&session, SecretScreen::refusing());
    create(&redacting, "/memories/a", &long);
    let call = insert_call("/memories/a", 5_000, &format!("{long}{CARD}\n"));
    assert_eq!(refused(&refusing, &call), NOT_SAVED);
    assert_eq!(read(&session, "/memories/a"), long);
    let told = "The file /memories/a has been edited.\n[1 redacted: card number]";
    assert_eq!(done(&redacting, &call), told);
    let half = "harmless\n".repeat(5_000);
    assert_eq!(
        read(&session, "/memories/a"),
        format!("{half}{long}[redacted: card number]\n{half}")
    );
}

/// A screen of these functions.
struct By<F>(F);

impl<F: Fn(&ScreenInput<'_>) -> ScreenVerdict + Send + Sync> Screen for By<F> {
    fn screen(&self, input: &ScreenInput<'_>) -> ScreenVerdict {
        self.0(input)
    }
}

fn custom(
    session: &Session,
    screen: impl Fn(&ScreenInput<'_>) -> ScreenVerdict + Send + Sync + 'static,
) -> MemoryTool {
    MemoryTool::with_options(session.clone(), ToolOptions::new().screen(By(screen)))
}

#[test]
fn a_screen_that_panics_refuses() {
    let session = Session::in_memory().unwrap();
    let tool = custom(&session, |input| {
        assert!(!input.text().contains("bug"), "a bug in the screen");
        ScreenVerdict::Allow
    });
    create(&tool, "/memories/a", "one\n");
    let told = "Error: Not saved: the text contains something that could not be screened. Leave it out and try again.";
    assert_eq!(refused(&tool, &create_call("/memories/b", "a bug")), told);
    assert_eq!(refused(&tool, &insert_call("/memories/a", 0, "a bug")), told);
    assert_eq!(refused(&tool, &replace_call("/memories/a", "one", "a bug")), told);
    assert_eq!(read(&session, "/memories/a"), "one\n");
    done(&tool, &insert_call("/memories/a", 1, "two"));
}

#[test]
fn a_screen_sees_the_new_text_with_4_kib_on_both_sides() {
    let session = Session::in_memory().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let tool = custom(&session, {
        let seen = Arc::clone(&seen);
        move |input| {
            let (new, text) = (input.new_range(), input.text());
            let (before, after) = (text[..new.start].to_owned(), text[new.end..].to_owned());
            let new = text[new].to_owned();
            seen.lock().unwrap().push((
                input.path().to_owned(),
                input.is_new_path(),
                before,
                new,
                after,
            ));
            ScreenVerdict::Allow
        }
    });
    let last = || seen.lock().unwrap().pop().unwrap();
    let path = || "/memories/a".to_owned();
    let none = String::new;
    let (head, tail) = ("\u{20ac}".repeat(20_000) + "\n", "x".repeat(50_000));
    create(&tool, "/memories/a", &format!("{head}here\n{tail}"));
    assert_eq!(last(), (path(), true, none(), format!("{head}here\n{tail}"), none()));

    done(&tool, &replace_call("/memories/a", "here", "there"));
    let before = "\u{20ac}".repeat(1_365);
    let after = |count| "x".repeat(count);
    assert_eq!(
        last(),
        (path(), false, format!("{before}\n"), "there".to_owned(), format!("\n{}", after(4_095)))
    );
    done(&tool, &insert_call("/memories/a", 1, "in"));
    let after_line = format!("\nthere\n{}", after(4_096 - 6));
    assert_eq!(last(), (path(), false, format!("{before}\n"), "in".to_owned(), after_line));
    done(&tool, &insert_call("/memories/a", 4, "end"));
    assert_eq!(last(), (path(), false, after(4_096) + "\n", "end".to_owned(), none()));
    done(
        &tool,
        &json!({"command": "rename", "old_path": "/memories/a", "new_path": "/memories//b/"}),
    );
    assert_eq!(last(), ("/memories/b".to_owned(), true, none(), none(), none()));
    done(&tool, &json!({"command": "delete", "path": "/memories/b"}));
    assert!(seen.lock().unwrap().is_empty(), "each edit was screened once");
}

/// While the screen looks at an edit, another call puts the other half of a secret next to it.
#[test]
fn an_edit_is_screened_again_if_its_surroundings_change_in_between() {
    let session = Session::in_memory().unwrap();
    session.files().write("/memories/a", "").unwrap();
    let looks = Arc::new(AtomicUsize::new(0));
    let tool = custom(&session, {
        let (session, looks) = (session.clone(), Arc::clone(&looks));
        move |input| {
            if looks.fetch_add(1, Ordering::Relaxed) == 0 {
                session.files().write("/memories/a", "other half").unwrap();
            }
            let finds = input.text().match_indices("one half\nother half");
            let finds = finds.map(|(at, it)| ScreenFind::new(at..at + it.len(), "secret"));
            ScreenVerdict::Redact(finds.collect())
        }
    });
    let told = "Error: Not saved: the text contains secret. Leave it out and try again.";
    assert_eq!(refused(&tool, &insert_call("/memories/a", 0, "one half")), told);
    assert_eq!(looks.load(Ordering::Relaxed), 2);
    assert_eq!(read(&session, "/memories/a"), "other half");
}

#[test]
fn an_edit_whose_surroundings_never_rest_is_refused_in_the_end() {
    let session = Session::in_memory().unwrap();
    session.files().write("/memories/a", "").unwrap();
    let looks = Arc::new(AtomicUsize::new(0));
    let tool = custom(&session, {
        let (session, looks) = (session.clone(), Arc::clone(&looks));
        move |_| {
            let look = looks.fetch_add(1, Ordering::Relaxed);
            session.files().write("/memories/a", &look.to_string()).unwrap();
            ScreenVerdict::Allow
        }
    });
    let told = "Error: Not saved: the text contains something that could not be screened. Leave it out and try again.";
    assert_eq!(refused(&tool, &insert_call("/memories/a", 0, "x")), told);
    assert_eq!(looks.load(Ordering::Relaxed), 100);
}

#[test]
fn parallel_screened_inserts_lose_none() {
    let session = Session::in_memory().unwrap();
    let tool = screened(&session, SecretScreen::redacting());
    create(&tool, "/memories/a", "");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let tool = &tool;
            scope.spawn(move || {
                for _ in 0..5 {
                    done(tool, &insert_call("/memories/a", 0, &format!("{thread} {CARD}")));
                }
            });
        }
    });
    let text = read(&session, "/memories/a");
    assert_eq!(text.lines().count(), 40);
    assert!(text.lines().all(|line| line.ends_with(" [redacted: card number]")));
}
