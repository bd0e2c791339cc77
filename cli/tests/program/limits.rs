//! The restrictions of an agent that uses `inmost call`.

use serde_json::{Value, json};

use crate::inmost::{Place, create};

const LISTING: &str = "Here're the files and directories up to 2 levels deep in /memories, \
                       excluding hidden items and node_modules:\n";

fn contents(out: &str) -> Vec<String> {
    let answers = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers.map(|answer| answer["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_reader_changes_nothing() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    let view = json!({ "command": "view", "path": "/memories/a" });
    let input = format!("{}{view}\n", create("/memories/b", "1"));
    let out = place.run(["call", "--read-only"], &input).expect(0).out;
    assert_eq!(
        contents(&out),
        [
            "Error: Memory is read-only.",
            "Here's the content of /memories/a with line numbers:\n     1\tkept"
        ]
    );
    place.run(["cat", "/memories/b"], "").expect(19);
}

#[test]
fn an_agent_sees_only_its_subtree() {
    let place = Place::with_files(&[("/memories/mine", "outside"), ("/memories/x/a", "1")]);
    let view = json!({ "command": "view", "path": "/memories" });
    let other = json!({ "command": "view", "path": "/memories/../mine" });
    let input = format!("{}{view}\n{other}\n", create("/memories/b", "22"));
    let out = place.run(["call", "--subtree", "/memories/x"], &input).expect(0).out;
    assert_eq!(
        contents(&out),
        [
            "File created successfully at: /memories/b".to_owned(),
            format!("{LISTING}3B\t/memories\n1B\t/memories/a\n2B\t/memories/b"),
            "Error: Path /memories/../mine would escape /memories directory".to_owned(),
        ]
    );
    assert_eq!(place.cat("/memories/x/b"), "22");
}

#[test]
fn an_invalid_subtree_is_reported_before_the_store_is_opened() {
    let place = Place::vacant();
    for command in ["call", "mcp"] {
        place
            .run([command, "--subtree", "/project"], "")
            .expect_failure(2, "it must start with /memories");
    }
}

#[test]
fn a_file_in_place_of_the_subtree_ends_the_command() {
    let place = Place::with_files(&[("/memories/x", "a file")]);
    let view = json!({ "command": "view", "path": "/memories" });
    let ended = place.run(["call", "--subtree", "/memories/x"], &view.to_string());
    let ended = ended.expect_failure(1, "confined to is a file");
    assert_eq!(contents(&ended.out), ["Error: Memory is unavailable."]);
}

#[test]
fn create_replaces_a_file_only_if_allowed() {
    let place = Place::with_files(&[("/memories/a", "old")]);
    let call = create("/memories/a", "new");
    let out = place.run(["call"], &call).expect(0).out;
    assert_eq!(contents(&out), ["Error: File /memories/a already exists"]);
    let out = place.run(["call", "--create-overwrites"], &call).expect(0).out;
    assert_eq!(contents(&out), ["File created successfully at: /memories/a"]);
    assert_eq!(place.cat("/memories/a"), "new");
}

/// A card number that Visa publishes for tests.
const CARD: &str = "4111 1111 1111 1111";

#[test]
fn a_screened_agent_saves_no_card_number() {
    let place = Place::with_files(&[("/memories/mine", CARD)]);
    let call = create("/memories/a", &format!("pays with {CARD}\n"));
    let out = place.run(["call", "--screen", "refuse"], &call).expect(0).out;
    let refused = "Error: Not saved: the text contains card number. Leave it out and try again.";
    assert_eq!(contents(&out), [refused]);
    place.run(["cat", "/memories/a"], "").expect(19);
    let ran = place.run(["call", "--screen", "redact"], &call).expect(0);
    let told = "File created successfully at: /memories/a\n[1 redacted: card number]";
    assert_eq!(contents(&ran.out), [told]);
    assert!(ran.err.is_empty(), "nothing is logged: {}", ran.err);
    assert_eq!(place.cat("/memories/a"), "pays with [redacted: card number]\n");
    // It is off by default, and does not concern what is there.
    let out = place.run(["call"], &create("/memories/b", CARD)).expect(0).out;
    assert_eq!(contents(&out), ["File created successfully at: /memories/b"]);
    assert_eq!(place.cat("/memories/mine"), CARD);
    place.run(["call", "--screen", "warn"], &call).expect(2);
}

#[test]
fn quotas_and_limits_of_views_hold_for_calls() {
    let place = Place::with_files(&[("/memories/a", "12345678901234567890")]);
    for through_daemon in [false, true] {
        if through_daemon {
            place.lock();
            place.unlock(&[]);
        }
        let call = |args: &[&str], json: String| {
            place.run([&["call", "--text"], args, &[&json]].concat(), "").expect(0).out
        };
        let new = |text: &str| create("/memories/b", text);
        assert!(call(&["--max-file-bytes", "4"], new("12345")).contains("maximum size of 4 bytes"));
        assert!(call(&["--max-files", "1"], new("1")).contains("at most 1 files"));
        assert!(call(&["--max-store-bytes", "21"], new("12")).contains("at most 21 bytes of text"));
        let view = r#"{"command": "view", "path": "/memories/a"}"#;
        let cut = call(&["--max-view-characters", "5"], view.to_owned());
        assert!(cut.contains("12345") && !cut.contains("123456"), "{cut}");
        place.run(["cat", "/memories/b"], "").expect(19);
    }
}
