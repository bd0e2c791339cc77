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
    place.run(["cat", "/memories/b"], "").expect(1);
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
