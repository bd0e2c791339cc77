//! Tests of files around the limit of 999,999 lines, which only `view` has.

use inmost::MemoryTool;
use serde_json::{Value, json};

use crate::store::{create, done, new_tool, refused};

const TOO_MANY: &str = "File /memories/f exceeds maximum line limit of 999,999 lines.";

fn tool_with(text: &str) -> MemoryTool {
    let tool = new_tool();
    create(&tool, "/memories/f", text);
    tool
}

fn view(range: &Value) -> Value {
    json!({"command": "view", "path": "/memories/f", "view_range": range})
}

fn insert(line: usize, text: &str) -> Value {
    json!({"command": "insert", "path": "/memories/f", "insert_line": line, "insert_text": text})
}

fn replace(old: &str, new: &str) -> Value {
    json!({"command": "str_replace", "path": "/memories/f", "old_str": old, "new_str": new})
}

/// Returns `count` lines of one letter, closed or not.
fn letters(count: usize, closed: bool) -> String {
    let mut text = "x\n".repeat(count);
    if !closed {
        text.pop();
    }
    text
}

/// A final newline starts no new line, so neither form has a millionth line.
#[test]
fn a_file_of_999_999_lines_is_shown() {
    for closed in [true, false] {
        let tool = tool_with(&letters(999_999, closed));
        assert_eq!(
            done(&tool, &view(&json!([999_998, -1]))),
            "Here's the content of /memories/f with line numbers:\n999998\tx\n999999\tx"
        );
        assert_eq!(
            refused(&tool, &view(&json!([1_000_000, -1]))),
            "Error: Invalid `view_range`: [1000000,-1]. It should be two integers within the \
             lines of the file: [1, 999999]"
        );
    }
}

/// 16,000 characters are 8,000 lines of a letter and a newline.
#[test]
fn an_unranged_view_of_999_999_lines_is_cut_and_says_so() {
    let tool = tool_with(&letters(999_999, true));
    let shown = done(&tool, &view(&Value::Null));
    assert_eq!(shown.lines().count(), 1 + 8_000 + 1);
    assert!(shown.ends_with(
        "\n  8000\tx\n[Showing lines 1-8000 of 999999. Use view_range [8001, 999999] to see more.]"
    ));
}

#[test]
fn a_file_of_1_000_000_lines_is_not_shown_ranged_or_not() {
    for closed in [true, false] {
        let tool = tool_with(&letters(1_000_000, closed));
        for range in [Value::Null, json!([1, 1]), json!([999_999, 1_000_000]), json!([1, -1])] {
            assert_eq!(refused(&tool, &view(&range)), TOO_MANY, "{range}");
        }
    }
}

/// The refusal is not a successful view, so it echoes the path that was sent.
#[test]
fn the_line_limit_echoes_the_path() {
    let tool = tool_with(&letters(1_000_000, true));
    assert_eq!(
        refused(&tool, &json!({"command": "view", "path": "/memories//f/"})),
        "File /memories//f exceeds maximum line limit of 999,999 lines."
    );
}

#[test]
fn the_line_limit_is_checked_before_the_range() {
    let tool = tool_with(&letters(1_000_000, true));
    for range in [json!([2, 1]), json!([0, 0]), json!("all"), json!([1_000_001, -1])] {
        assert_eq!(refused(&tool, &view(&range)), TOO_MANY, "{range}");
    }
}

/// The file grows past the limit and shrinks again by edits, which all succeed.
#[test]
fn other_commands_work_beyond_the_limit_and_numbers_widen() {
    let tool = tool_with(&(letters(999_998, true) + "end"));
    assert_eq!(done(&tool, &insert(999_999, "last")), "The file /memories/f has been edited.");
    assert_eq!(refused(&tool, &view(&Value::Null)), TOO_MANY);
    assert_eq!(
        done(&tool, &replace("end", "END")),
        "The memory file has been edited. Here is the snippet showing the change (with line \
         numbers):\n999997\tx\n999998\tx\n999999\tEND\n1000000\tlast"
    );
    assert_eq!(
        refused(&tool, &insert(1_000_001, "x")),
        "Error: Invalid `insert_line` parameter: 1000001. It should be within the range of lines \
         of the file: [0, 1000000]"
    );
    assert_eq!(
        done(&tool, &replace("END\nlast", "one\ntwo\nthree\n")),
        "The memory file has been edited. Here is the snippet showing the change (with line \
         numbers):\n999997\tx\n999998\tx\n999999\tone\n1000000\ttwo\n1000001\tthree"
    );
    assert_eq!(
        refused(&tool, &replace("o", "0")),
        "No replacement was performed. Multiple occurrences of old_str `o` in lines: 999999, \
         1000000. Please ensure it is unique"
    );
    let moved = json!({"command": "rename", "old_path": "/memories/f", "new_path": "/memories/g"});
    assert_eq!(done(&tool, &moved), "Successfully renamed /memories/f to /memories/g");
    let deleted = json!({"command": "delete", "path": "/memories/g"});
    assert_eq!(done(&tool, &deleted), "Successfully deleted /memories/g");
}

#[test]
fn a_file_edited_back_to_the_limit_is_shown_again() {
    let tool = tool_with(&(letters(999_999, true) + "end\n"));
    assert_eq!(refused(&tool, &view(&json!([1, 1]))), TOO_MANY);
    done(&tool, &replace("end\n", ""));
    assert_eq!(
        done(&tool, &view(&json!([999_999, 999_999]))),
        "Here's the content of /memories/f with line numbers:\n999999\tx"
    );
}

/// The limit counts newlines only: a million carriage returns are one line.
#[test]
fn a_million_carriage_returns_are_one_line() {
    let tool = tool_with(&"\r".repeat(1_000_000));
    let shown = done(&tool, &view(&Value::Null));
    assert!(shown.ends_with("\n[Line 1 has 1000000 characters; showing the first 16000.]"));
}
