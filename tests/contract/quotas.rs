//! Tests of the default file quota, and that a quota refuses a call before anything is written.

use inmost::{MemoryTool, SessionOptions, ToolOptions};
use serde_json::json;

use crate::store::{create, done, dump, new_tool, reader, refused};

const MAXIMUM: usize = 16 << 20;

#[test]
fn a_file_of_16_mib_is_stored_and_one_byte_more_is_not() {
    let tool = new_tool();
    create(&tool, "/memories/full", &"x".repeat(MAXIMUM));
    let over = json!({
        "command": "create", "path": "/memories/over", "file_text": "x".repeat(MAXIMUM + 1)
    });
    assert_eq!(
        refused(&tool, &over),
        "Error: File /memories/over would exceed the maximum size of 16777216 bytes."
    );
    assert_eq!(
        done(&tool, &json!({"command": "view", "path": "/memories"})),
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden \
         items and node_modules:\n16.0M\t/memories\n16.0M\t/memories/full"
    );
}

#[test]
fn an_edit_past_16_mib_is_refused_at_the_exact_byte() {
    let tool = new_tool();
    create(&tool, "/memories/f", &("y".to_owned() + &"x\n".repeat(MAXIMUM / 2 - 1)));
    let told = "Error: File /memories/f would exceed the maximum size of 16777216 bytes.";
    let insert = |text: &str| {
        json!({
            "command": "insert", "path": "/memories/f", "insert_line": 0, "insert_text": text
        })
    };
    let replace = |new: &str| {
        json!({
            "command": "str_replace", "path": "/memories/f", "old_str": "y", "new_str": new
        })
    };
    // One byte is left: a newline fits, but a letter with its newline does not.
    assert_eq!(refused(&tool, &insert("z")), told);
    assert_eq!(refused(&tool, &replace("yyy")), told);
    assert_eq!(
        refused(&tool, &replace("\u{20ac}")),
        told,
        "the quota counts bytes, not characters"
    );
    done(&tool, &insert(""));
    assert_eq!(refused(&tool, &insert("")), told);
    assert_eq!(refused(&tool, &replace("yy")), told);
    done(&tool, &replace("z"));
}

#[test]
fn a_refused_overwrite_keeps_the_old_text() {
    let session = SessionOptions::new().max_file_bytes(8).in_memory().unwrap();
    let tool =
        MemoryTool::with_options(session.clone(), ToolOptions::new().create_overwrites(true));
    create(&tool, "/memories/f", "old\n");
    let before = dump(&reader(&session), &[]);
    let over = json!({"command": "create", "path": "/memories/f", "file_text": "123456789"});
    assert_eq!(
        refused(&tool, &over),
        "Error: File /memories/f would exceed the maximum size of 8 bytes."
    );
    assert_eq!(dump(&reader(&session), &[]), before);
}
