//! Tests of a locked store, and of a read-only tool next to a writing one.

use inmost::{MemoryTool, Session, ToolOptions, ToolResult};
use serde_json::json;

use crate::store::{create, done, dump, reader, refused};
use crate::transcript::matches;

const CALLS: [&str; 7] = [
    r#"{"command":"view","path":"/memories"}"#,
    r#"{"command":"view","path":"/memories/f","view_range":[9,1]}"#,
    r#"{"command":"create","path":"/memories/g","file_text":"x"}"#,
    r#"{"command":"str_replace","path":"/memories/f","old_str":"","new_str":"x"}"#,
    r#"{"command":"insert","path":"/memories/f","insert_line":99,"insert_text":"x"}"#,
    r#"{"command":"delete","path":"/memories"}"#,
    r#"{"command":"rename","old_path":"/memories","new_path":"/memories"}"#,
];

/// Returns the result for the model of a locked tool. The application's error must not be a result.
fn for_model_when_locked(tool: &MemoryTool, call: &str) -> ToolResult {
    match tool.try_run_json(call) {
        Err(error) => error.for_model(),
        Ok(result) => panic!("{} for {call}", result.content()),
    }
}

/// Each call would also fail a later check: the root rule, a missing path, a line number.
#[test]
fn a_locked_store_is_locked_to_every_command() {
    let session = Session::in_memory().unwrap();
    let tool = MemoryTool::new(session.clone());
    create(&tool, "/memories/f", "text\n");
    session.lock();
    for call in CALLS {
        let told = for_model_when_locked(&tool, call);
        assert_eq!(told.content(), "Error: Memory is locked.", "{call}");
        assert!(told.is_error(), "{call}");
    }
}

#[test]
fn a_locked_store_comes_before_read_only() {
    let session = Session::in_memory().unwrap();
    let tool = MemoryTool::with_options(session.clone(), ToolOptions::new().read_only(true));
    session.lock();
    for call in CALLS {
        let told = for_model_when_locked(&tool, call);
        assert_eq!(told.content(), "Error: Memory is locked.", "{call}");
    }
}

#[test]
fn a_tool_made_after_the_lock_is_locked_too() {
    let session = Session::in_memory().unwrap();
    session.lock();
    let tool = MemoryTool::new(session.clone());
    assert!(tool.try_run_json(CALLS[0]).is_err());
}

/// Input and paths are checked before the store is used.
#[test]
fn input_and_path_errors_come_before_a_locked_store() {
    let session = Session::in_memory().unwrap();
    let tool = MemoryTool::new(session.clone());
    session.lock();
    for (call, expected) in [
        ("no json", "Error: Invalid tool input: {reason}"),
        (
            r#"{"command":"look"}"#,
            "Error: Unknown command: look. Valid commands: view, create, str_replace, insert, \
             delete, rename",
        ),
        (r#"{"command":"view"}"#, "Error: Missing required parameter `path` for command view"),
        (r#"{"command":"delete","path":5}"#, "Error: Invalid parameter `path`: expected a string"),
        (
            r#"{"command":"delete","path":"/etc"}"#,
            "Error: Path must start with /memories, got: /etc",
        ),
        (
            r#"{"command":"delete","path":"/memories/.."}"#,
            "Error: Path /memories/.. would escape /memories directory",
        ),
        (
            r#"{"command":"rename","old_path":"/memories/a","new_path":"/memories/%00"}"#,
            "Error: Invalid path /memories/%00: {reason}",
        ),
    ] {
        let result = tool.try_run_json(call).unwrap();
        assert!(result.is_error(), "{call}");
        assert!(matches(expected, result.content()), "{} for {call}", result.content());
    }
}

#[test]
fn a_read_only_tool_reads_what_another_wrote_and_changes_nothing() {
    let session = Session::in_memory().unwrap();
    let writing = MemoryTool::new(session.clone());
    let reading = MemoryTool::with_options(session.clone(), ToolOptions::new().read_only(true));
    create(&writing, "/memories/d/f", "one\ntwo\n");
    let before = dump(&reader(&session), &[]);

    for call in [
        json!({"command": "create", "path": "/memories/g", "file_text": "x"}),
        json!({"command": "create", "path": "/memories/d/f", "file_text": "x"}),
        json!({"command": "str_replace", "path": "/memories/d/f", "old_str": "one", "new_str": "1"}),
        json!({"command": "insert", "path": "/memories/d/f", "insert_line": 0, "insert_text": "x"}),
        json!({"command": "delete", "path": "/memories/d/f"}),
        json!({"command": "delete", "path": "/memories"}),
        json!({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/e"}),
        json!({"command": "rename", "old_path": "/memories", "new_path": "/memories/e"}),
    ] {
        assert_eq!(refused(&reading, &call), "Error: Memory is read-only.", "{call}");
        assert_eq!(dump(&reader(&session), &[]), before, "{call}");
    }

    assert_eq!(
        done(&reading, &json!({"command": "view", "path": "/memories/d/f"})),
        "Here's the content of /memories/d/f with line numbers:\n     1\tone\n     2\ttwo"
    );
}
