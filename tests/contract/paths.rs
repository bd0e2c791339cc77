//! Tests that every other command refuses the paths that `view` refuses in the transcripts, with the same
//! message, wherever the command takes a path, and that nothing is created.

use inmost::{MemoryTool, Session};
use serde_json::{Value, json};

use crate::store::{create, dump, reader};
use crate::transcript::{Transcript, matches};

const REFUSED: [(&str, &str); 3] = [
    ("path_prefix.txt", include_str!("../transcripts/path_prefix.txt")),
    ("path_escape.txt", include_str!("../transcripts/path_escape.txt")),
    ("path_invalid.txt", include_str!("../transcripts/path_invalid.txt")),
];

/// Returns the refused paths with their error messages: those of the transcripts, and one past each limit.
fn refused_paths() -> Vec<(String, String)> {
    let too_long = [
        format!("/memories/{}", "n".repeat(256)),
        format!("/memories{}", format!("/{}", "n".repeat(203)).repeat(5)),
        format!("/memories{}", "/n".repeat(21)),
    ];
    let past_limits = too_long.into_iter().map(|path| {
        let content = format!("Error: Invalid path {path}: {{reason}}");
        (path, content)
    });
    let steps = REFUSED.into_iter().flat_map(|(name, text)| Transcript::parse(name, text).steps);
    steps
        .map(|step| {
            let call: Value = serde_json::from_str(&step.call).unwrap();
            assert!(step.is_error && call["command"] == "view", "line {}", step.line);
            (call["path"].as_str().unwrap().to_owned(), step.content)
        })
        .chain(past_limits)
        .collect()
}

/// Returns every call with `path` in each place that takes a path. With a valid path, each would have an
/// effect.
fn calls_with(path: &str) -> Vec<Value> {
    vec![
        json!({"command": "view", "path": path, "view_range": [1, 2]}),
        json!({"command": "create", "path": path, "file_text": "x"}),
        json!({"command": "str_replace", "path": path, "old_str": "one", "new_str": "x"}),
        json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"}),
        json!({"command": "delete", "path": path}),
        json!({"command": "rename", "old_path": path, "new_path": "/memories/new"}),
        json!({"command": "rename", "old_path": "/memories/f", "new_path": path}),
        json!({"command": "rename", "old_path": "/memories/missing", "new_path": path}),
        json!({"command": "rename", "path": path, "new_path": "/memories/new"}),
    ]
}

#[test]
fn every_command_refuses_the_paths_that_view_refuses() {
    let paths = refused_paths();
    assert!(paths.len() > 200, "too few refused paths were found in the transcripts");
    let session = Session::in_memory().unwrap();
    let tool = MemoryTool::new(session.clone());
    create(&tool, "/memories/f", "one\n");
    create(&tool, "/memories/a/b", "one\n");
    let before = dump(&reader(&session), &[]);
    for (path, expected) in &paths {
        for call in calls_with(path) {
            let result = tool.try_run_json(call.to_string()).unwrap();
            assert!(result.is_error(), "{call}");
            assert!(matches(expected, result.content()), "{} for {call}", result.content());
        }
    }
    assert_eq!(dump(&reader(&session), &[]), before);
}

/// An additional final slash does not change the echo: exactly one is removed.
#[test]
fn a_refused_path_with_a_final_slash_is_echoed_without_it() {
    let tool = MemoryTool::new(Session::in_memory().unwrap());
    for (path, expected) in refused_paths() {
        if path.is_empty() || path.ends_with('/') {
            continue;
        }
        let call = json!({"command": "delete", "path": format!("{path}/")});
        let result = tool.try_run_json(call.to_string()).unwrap();
        assert!(matches(&expected, result.content()), "{} for {call}", result.content());
    }
}

/// Tests every character of the classes that the contract refuses and allows, from its rule and not from the
/// samples of the transcripts.
#[test]
fn every_control_character_is_refused_and_the_joiners_are_not() {
    let tool = MemoryTool::new(Session::in_memory().unwrap());
    let refused = ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}').chain("\u{2028}\u{2029}".chars());
    for character in refused {
        let path = format!("/memories/x{character}y");
        let call = json!({"command": "create", "path": path, "file_text": ""});
        let result = tool.try_run_json(call.to_string()).unwrap();
        let expected = format!("Error: Invalid path {path}: {{reason}}");
        assert!(matches(&expected, result.content()), "{character:?}");
    }
    for character in "\u{200c}\u{200d} ~\u{a0}".chars() {
        create(&tool, &format!("/memories/x{character}y"), "");
    }
}
