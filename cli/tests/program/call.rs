//! `inmost call`: lines in, lines out.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::inmost::{CHEAP, Ended, PATIENCE, Place, create, run};

/// A running `inmost call`, to talk to.
struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Talk {
    fn with(place: &Place) -> Self {
        let mut child = place
            .command(["call"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, answers) = channel();
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        Self { stdin: child.stdin.take(), child, answers }
    }

    /// Sends a line and returns the reply. Standard input stays open.
    fn ask(&mut self, line: &str) -> Value {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        let answer = self.answers.recv_timeout(PATIENCE).expect("no answer came");
        serde_json::from_str(&answer).unwrap()
    }

    fn end(mut self) -> Ended {
        drop(self.stdin.take());
        Ended::of(self.child.wait_with_output().unwrap())
    }
}

fn answers(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const VIEW: &str = r#"{"command": "view", "path": "/memories"}"#;
const EMPTY: &str = "Here're the files and directories up to 2 levels deep in /memories, excluding \
                     hidden items and node_modules:\n0B\t/memories";

#[test]
fn each_line_gets_its_result_before_the_next_is_sent() {
    let place = Place::with_store();
    let mut talk = Talk::with(&place);
    assert_eq!(talk.ask(VIEW), json!({ "content": EMPTY, "is_error": false }));
    let block = json!({
        "type": "tool_use",
        "id": "toolu_7",
        "name": "memory",
        "input": { "command": "delete", "path": "/memories/none" },
    });
    let answer = talk.ask(&block.to_string());
    assert_eq!(
        answer,
        json!({
            "content": "Error: The path /memories/none does not exist",
            "is_error": true,
            "tool_use_id": "toolu_7",
        })
    );
    talk.end().expect(0);
}

#[test]
fn acknowledged_changes_survive_the_process() {
    let place = Place::with_store();
    let mut talk = Talk::with(&place);
    talk.ask(&create("/memories/a", "kept").replace('\n', ""));
    talk.child.kill().unwrap();
    talk.child.wait().unwrap();
    assert_eq!(place.cat("/memories/a"), "kept");
}

#[test]
fn a_store_in_use_is_not_opened_twice() {
    let place = Place::with_store();
    // A command holds the store; a key daemon would serve both.
    place.lock();
    let mut talk = Talk::with(&place);
    talk.ask(VIEW);
    let pid = talk.child.id();
    place.run(["ls", "--wait", "0"], "").expect_failure(13, &format!(", process {pid}"));
    talk.end().expect(0);
    place.run(["ls"], "").expect(0);
}

#[test]
fn one_call_may_be_an_argument() {
    let place = Place::with_store();
    // The command does not read standard input then.
    let out = place.run(["call", VIEW], "not read\n").expect(0).out;
    assert_eq!(answers(&out), [json!({ "content": EMPTY, "is_error": false })]);
    let out = place.run(["call", "--text", VIEW], "").expect(0).out;
    assert_eq!(out, format!("{EMPTY}\n"));
    let out = place.run(["call", "not json"], "").expect(0).out;
    assert!(answers(&out)[0]["is_error"].as_bool().unwrap());
}

#[test]
fn text_output_prints_only_the_content() {
    let place = Place::with_store();
    let input = format!("{}{VIEW}", create("/memories/a", "1"));
    let out = place.run(["call", "--text"], &input).expect(0).out;
    assert!(out.starts_with("File created successfully at: /memories/a\nHere're the files"));
    assert!(out.ends_with("\n1B\t/memories/a\n"), "{out}");
}

#[test]
fn an_invalid_call_gets_an_error_and_later_lines_still_run() {
    let place = Place::with_store();
    let mut input =
        b"\n  \t\r\nnot json\n{\"command\"\n[1]\n{\"command\": \"fly\"}\n\xff\xfe{}\n".to_vec();
    input.extend(format!("{VIEW}\r\n\n{VIEW}").as_bytes());
    let ended = run(&mut place.command(["call"]), &input).expect(0);
    let answers = answers(&ended.out);
    let contents: Vec<_> = answers.iter().map(|a| a["content"].as_str().unwrap()).collect();
    assert_eq!(
        contents,
        [
            "Error: Invalid tool input: it is not a JSON object",
            "Error: Invalid tool input: it is not valid JSON",
            "Error: Invalid tool input: it is not a JSON object",
            "Error: Unknown command: fly. Valid commands: view, create, str_replace, insert, \
             delete, rename",
            "Error: Invalid tool input: it is not valid JSON",
            EMPTY,
            EMPTY,
        ]
    );
    let errors: Vec<_> = answers.iter().map(|a| a["is_error"].as_bool().unwrap()).collect();
    assert_eq!(errors, [true, true, true, true, true, false, false]);
}

#[test]
fn a_line_that_is_too_long_gets_an_error_and_later_lines_still_run() {
    let place = Place::with_store();
    let mut input = create("/memories/long", &"x".repeat(64 << 20)).into_bytes();
    input.extend(VIEW.as_bytes());
    let ended = run(&mut place.command(["call"]), &input).expect(0);
    let answers = answers(&ended.out);
    assert_eq!(answers[0]["content"], "Error: Invalid tool input: it is longer than 64 MiB");
    assert_eq!(answers[1]["content"], EMPTY);
    assert_eq!(answers.len(), 2);
}

#[test]
fn the_longest_file_fits_a_line() {
    let place = Place::with_store();
    let text = "\"\n".repeat(8 << 20);
    let out = place.run(["call"], &create("/memories/long", &text)).expect(0).out;
    assert_eq!(answers(&out)[0]["content"], "File created successfully at: /memories/long");
    assert!(place.cat("/memories/long") == text);
}

#[test]
fn create_makes_the_store_only_if_there_is_none() {
    let place = Place::vacant();
    place.run(["call"], VIEW).expect_failure(10, "There is no store at ");
    let create_first = ["call", "--create"].iter().chain(&CHEAP);
    place.run(create_first.clone(), &create("/memories/a", "1")).expect(0);
    let out = place.run(create_first, VIEW).expect(0).out;
    assert!(out.contains("1B\\t/memories/a"), "{out}");
}

#[test]
fn create_does_not_take_over_a_folder_of_something_else() {
    let place = Place::vacant();
    std::fs::create_dir(place.store()).unwrap();
    std::fs::write(place.store().join("letter"), "mine").unwrap();
    place
        .run(["call", "--create"], VIEW)
        .expect_failure(1, "already exists, and is not an empty folder");
}

#[test]
fn cost_options_need_a_new_store() {
    let place = Place::with_store();
    place.run(["call"].iter().chain(&CHEAP), VIEW).expect_failure(2, "chosen only for a new");
}

#[cfg(unix)]
#[test]
fn a_store_failure_is_reported_to_the_model_and_sets_the_exit_code() {
    let place = Place::with_store();
    place.lock();
    // The limit of 3 MiB per file makes the second call fail.
    let script = "trap '' XFSZ; ulimit -f 6144; exec \"$@\"";
    let inner = place.command(["call"]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, "sh"]).arg(inner.get_program()).args(inner.get_args());
    command.env("INMOST_PASSPHRASE", crate::inmost::PASSPHRASE).env("INMOST_STORE", place.store());
    let long = "x".repeat(8 << 20);
    let block = json!({
        "type": "tool_use",
        "id": "toolu_2",
        "name": "memory",
        "input": { "command": "create", "path": "/memories/b", "file_text": long },
    });
    let input = format!("{}{block}\n{VIEW}\n", create("/memories/a", "1"));
    let ended = run(&mut command, input.as_bytes()).expect_failure(14, "operating system");
    let answers = answers(&ended.out);
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert_eq!(
        answers[1],
        json!({
            "content": "Error: Memory is unavailable.",
            "is_error": true,
            "tool_use_id": "toolu_2",
        })
    );
    assert_eq!(place.cat("/memories/a"), "1");
}

#[test]
fn call_ends_silently_when_its_output_is_closed() {
    let place = Place::with_store();
    let mut child = place
        .command(["call"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{VIEW}\n").as_bytes()).unwrap();
    // The command ends although standard input stays open.
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.err.as_str()), (Some(1), ""));
    drop(stdin);
}

/// Readers such as `splitlines` of Python end a line at characters that JSON need not escape.
#[test]
fn a_result_is_one_line_to_every_reader_and_a_byte_order_mark_is_no_part_of_a_call() {
    let place = Place::with_store();
    let text = "a\u{2028}b\u{2029}c\u{85}d";
    let create = json!({"command": "create", "path": "/memories/a", "file_text": text});
    let view = json!({"command": "view", "path": "/memories/a"});
    for more in [&[][..], &["--keep-going"]] {
        let calls = format!("\u{feff}{create}\n{view}\n");
        let args = ["call"].iter().chain(more);
        let out = run(&mut place.command(args), calls.as_bytes()).expect(0).out;
        let results = answers(&out);
        let [first, second] = results.as_slice() else { panic!("{out}") };
        let content = first["content"].as_str().unwrap();
        assert!(content.ends_with("/memories/a") || content.ends_with("already exists"), "{out}");
        assert!(second["content"].as_str().unwrap().ends_with(text), "{out}");
        assert!(!out.contains(['\u{85}', '\u{2028}', '\u{2029}']), "{out}");
    }
}
