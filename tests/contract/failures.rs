//! Tests that one call is one atomic step: an error changes nothing.

use inmost::{MemoryTool, Session, SessionOptions};
use serde_json::{Value, json};

use crate::store::{create, dump, numbered, reader};

/// Paths that listings omit, or that a faulty call would create.
const UNLISTED: [&str; 8] = [
    "/memories/.hidden",
    "/memories/node_modules",
    "/memories/d/.x",
    "/memories/new",
    "/memories/new/folder",
    "/memories/foo",
    "/memories/d/new",
    "/memories/f/new",
];

fn filled_store() -> (Session, MemoryTool) {
    let options = SessionOptions::new().max_file_bytes(4_000).max_files(8).max_store_bytes(9_000);
    let session = options.in_memory().unwrap();
    let tool = MemoryTool::new(session.clone());
    create(&tool, "/memories/f", "one\ntwo\ntwo\n");
    create(&tool, "/memories/open", "unclosed");
    create(&tool, "/memories/empty", "");
    create(&tool, "/memories/d/e/g", &numbered(500));
    create(&tool, "/memories/d/.x/y", "hidden\n");
    create(&tool, "/memories/.hidden", "hidden\n");
    create(&tool, "/memories/node_modules/m", "module\n");
    create(&tool, "/memories/deep/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20", "deep\n");
    (session, tool)
}

fn failing_calls() -> Vec<Value> {
    let long = "x".repeat(4_001);
    vec![
        // input
        json!({"command": "remove", "path": "/memories/f"}),
        json!({"command": "delete"}),
        json!({"command": "create", "path": "/memories/new"}),
        json!({"command": "create", "path": "/memories/new", "file_text": 5}),
        json!({"command": "create", "path": "/memories/new/folder/x", "file_text": null}),
        json!({"command": "str_replace", "path": "/memories/f", "new_str": "x"}),
        json!({"command": "str_replace", "path": "/memories/f", "old_str": "one", "new_str": 1}),
        json!({"command": "insert", "path": "/memories/f", "insert_line": true, "insert_text": ""}),
        json!({"command": "insert", "path": "/memories/f", "insert_line": 1}),
        json!({"command": "rename", "old_path": "/memories/f"}),
        json!({"type": "tool_use", "name": "bash",
               "input": {"command": "delete", "path": "/memories/f"}}),
        // paths
        json!({"command": "create", "path": "/memoriesfoo", "file_text": "x"}),
        json!({"command": "create", "path": "/memories/d/../new", "file_text": "x"}),
        json!({"command": "create", "path": "/memories/new/\u{200b}", "file_text": "x"}),
        json!({"command": "delete", "path": "/memories/d/."}),
        json!({"command": "rename", "old_path": "/memories/f", "new_path": "/memories/new/%2e"}),
        json!({"command": "rename", "old_path": "/memories/f",
               "new_path": format!("/memories/new/{}", "n".repeat(256))}),
        // view
        json!({"command": "view", "path": "/memories/new"}),
        json!({"command": "view", "path": "/memories/f", "view_range": [9, 10]}),
        // create
        json!({"command": "create", "path": "/memories/f", "file_text": "x"}),
        json!({"command": "create", "path": "/memories/empty", "file_text": "x"}),
        json!({"command": "create", "path": "/memories/d", "file_text": "x"}),
        json!({"command": "create", "path": "/memories", "file_text": "x"}),
        json!({"command": "create", "path": "/memories/f/new/x", "file_text": "x"}),
        json!({"command": "create", "path": "/memories/new/folder/x", "file_text": long}),
        json!({"command": "create", "path": "/memories/new/folder/x", "file_text": ""}),
        // str_replace
        json!({"command": "str_replace", "path": "/memories/new", "old_str": "one"}),
        json!({"command": "str_replace", "path": "/memories/d", "old_str": "one"}),
        json!({"command": "str_replace", "path": "/memories/f", "old_str": ""}),
        json!({"command": "str_replace", "path": "/memories/f", "old_str": "three"}),
        json!({"command": "str_replace", "path": "/memories/f", "old_str": "two"}),
        json!({"command": "str_replace", "path": "/memories/f", "old_str": "one", "new_str": long}),
        // insert
        json!({"command": "insert", "path": "/memories/new", "insert_line": 0, "insert_text": ""}),
        json!({"command": "insert", "path": "/memories/d", "insert_line": 0, "insert_text": ""}),
        json!({"command": "insert", "path": "/memories/open", "insert_line": 2, "insert_text": ""}),
        json!({"command": "insert", "path": "/memories/open", "insert_line": -1,
               "insert_text": ""}),
        json!({"command": "insert", "path": "/memories/open", "insert_line": 1,
               "insert_text": long}),
        // delete
        json!({"command": "delete", "path": "/memories"}),
        json!({"command": "delete", "path": "/memories//"}),
        json!({"command": "delete", "path": "/memories/new"}),
        json!({"command": "delete", "path": "/memories/f/new"}),
        // rename
        json!({"command": "rename", "old_path": "/memories", "new_path": "/memories/new"}),
        json!({"command": "rename", "old_path": "/memories/x", "new_path": "/memories/new/folder"}),
        json!({"command": "rename", "old_path": "/memories/f", "new_path": "/memories/empty"}),
        json!({"command": "rename", "old_path": "/memories/f", "new_path": "/memories/d"}),
        json!({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/d"}),
        json!({"command": "rename", "old_path": "/memories/d/e/g", "new_path": "/memories/d"}),
        json!({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/d/new/x"}),
        json!({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/f/new"}),
        json!({"command": "rename", "old_path": "/memories/f", "new_path": "/memories/f/new"}),
        json!({"command": "rename", "old_path": "/memories/deep",
               "new_path": "/memories/new/folder/deep"}),
    ]
}

#[test]
fn a_failed_call_changes_nothing() {
    let (session, tool) = filled_store();
    let before = dump(&reader(&session), &UNLISTED);
    for call in failing_calls() {
        let result = tool.try_run_json(call.to_string()).unwrap();
        assert!(result.is_error(), "{} for {call}", result.content());
        assert_eq!(dump(&reader(&session), &UNLISTED), before, "{call}");
    }
}

/// Apart from the arguments that it quotes, an error message contains nothing of the host.
#[test]
fn a_failed_call_names_only_paths_of_the_tree() {
    let (_, tool) = filled_store();
    for call in failing_calls() {
        let result = tool.try_run_json(call.to_string()).unwrap();
        let content = result.content();
        for word in content.split_whitespace().filter(|word| word.starts_with('/')) {
            assert!(word.starts_with("/memories"), "{content}");
        }
        for trace in ["os error", "errno", "Os {", "panicked", "sled", ".rs:"] {
            assert!(!content.contains(trace), "{content}");
        }
    }
}

/// The file quota of a full store is checked last, and refuses only calls that add a file.
#[test]
fn a_full_store_still_edits_moves_and_deletes() {
    let (_, tool) = filled_store();
    for call in [
        json!({"command": "str_replace", "path": "/memories/f", "old_str": "one"}),
        json!({"command": "insert", "path": "/memories/open", "insert_line": 1, "insert_text": ""}),
        json!({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/new/folder"}),
        json!({"command": "delete", "path": "/memories/empty"}),
        json!({"command": "create", "path": "/memories/empty", "file_text": ""}),
    ] {
        let result = tool.try_run_json(call.to_string()).unwrap();
        assert!(!result.is_error(), "{} for {call}", result.content());
    }
}
