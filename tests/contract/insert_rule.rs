//! Tests the byte rule of `insert` at every line of every shape of file, for every shape of text.

use inmost::{MemoryTool, Session};
use serde_json::json;

use crate::store::{done, new_tool, reader, refused, text};

/// The file before, the line, the inserted text, the file after; derived from the rule by hand.
const CASES: &[(&str, usize, &str, &str)] = &[
    // An empty file: h and t are empty and the file does not end in an unclosed line, so the text is closed.
    ("", 0, "", "\n"),
    ("", 0, "x", "x\n"),
    ("", 0, "x\n", "x\n"),
    ("", 0, "\n", "\n"),
    ("", 0, "x\ny", "x\ny\n"),
    // One unclosed line.
    ("a", 0, "", "\na"),
    ("a", 0, "x", "x\na"),
    ("a", 0, "x\n", "x\na"),
    ("a", 0, "\n", "\na"),
    ("a", 1, "", "a\n"),
    ("a", 1, "x", "a\nx"),
    ("a", 1, "x\n", "a\nx\n"),
    ("a", 1, "\n", "a\n\n"),
    ("a", 1, "x\ny", "a\nx\ny"),
    // One closed line.
    ("a\n", 0, "", "\na\n"),
    ("a\n", 0, "x", "x\na\n"),
    ("a\n", 0, "x\n", "x\na\n"),
    ("a\n", 0, "\n", "\na\n"),
    ("a\n", 1, "", "a\n\n"),
    ("a\n", 1, "x", "a\nx\n"),
    ("a\n", 1, "x\n", "a\nx\n"),
    ("a\n", 1, "\n", "a\n\n"),
    // A blank last line.
    ("a\n\n", 0, "", "\na\n\n"),
    ("a\n\n", 0, "x", "x\na\n\n"),
    ("a\n\n", 0, "x\n", "x\na\n\n"),
    ("a\n\n", 0, "\n", "\na\n\n"),
    ("a\n\n", 1, "", "a\n\n\n"),
    ("a\n\n", 1, "x", "a\nx\n\n"),
    ("a\n\n", 1, "x\n", "a\nx\n\n"),
    ("a\n\n", 1, "\n", "a\n\n\n"),
    ("a\n\n", 2, "", "a\n\n\n"),
    ("a\n\n", 2, "x", "a\n\nx\n"),
    ("a\n\n", 2, "x\n", "a\n\nx\n"),
    ("a\n\n", 2, "\n", "a\n\n\n"),
    // Only a blank line.
    ("\n", 0, "", "\n\n"),
    ("\n", 0, "x", "x\n\n"),
    ("\n", 0, "x\n", "x\n\n"),
    ("\n", 0, "\n", "\n\n"),
    ("\n", 1, "", "\n\n"),
    ("\n", 1, "x", "\nx\n"),
    ("\n", 1, "x\n", "\nx\n"),
    ("\n", 1, "\n", "\n\n"),
    // Two lines, the last unclosed: only after it does the rule close anything but the text.
    ("a\nb", 0, "", "\na\nb"),
    ("a\nb", 0, "x", "x\na\nb"),
    ("a\nb", 1, "", "a\n\nb"),
    ("a\nb", 1, "x", "a\nx\nb"),
    ("a\nb", 1, "x\n", "a\nx\nb"),
    ("a\nb", 1, "\n", "a\n\nb"),
    ("a\nb", 2, "", "a\nb\n"),
    ("a\nb", 2, "x", "a\nb\nx"),
    ("a\nb", 2, "x\n", "a\nb\nx\n"),
    ("a\nb", 2, "\n", "a\nb\n\n"),
    // A carriage return closes no line, and none is added.
    ("a\r\nb\r", 1, "x", "a\r\nx\nb\r"),
    ("a\r\nb\r", 2, "x", "a\r\nb\r\nx"),
    ("a\r\n", 1, "x\r", "a\r\nx\r\n"),
    // Characters of several bytes on both sides.
    ("\u{e9}\n\u{1f600}", 1, "\u{20ac}", "\u{e9}\n\u{20ac}\n\u{1f600}"),
];

#[test]
fn every_place_in_every_shape_of_file() {
    for &(before, line, inserted, after) in CASES {
        let session = Session::in_memory().unwrap();
        let tool = MemoryTool::new(session.clone());
        done(&tool, &json!({"command": "create", "path": "/memories/f", "file_text": before}));
        let call = json!({
            "command": "insert", "path": "/memories/f", "insert_line": line, "insert_text": inserted
        });
        assert_eq!(done(&tool, &call), "The file /memories/f has been edited.");
        assert_eq!(
            text(&reader(&session), "f"),
            after,
            "{inserted:?} after line {line} of {before:?}"
        );
    }
}

/// `insert` allows exactly the lines that `view` shows: the first line beyond is refused for each shape.
#[test]
fn one_line_past_the_end_is_refused() {
    for (file, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("\n", 1), ("a\nb", 2)] {
        let tool = new_tool();
        done(&tool, &json!({"command": "create", "path": "/memories/f", "file_text": file}));
        let shown = done(&tool, &json!({"command": "view", "path": "/memories/f"}));
        assert_eq!(shown.matches('\n').count(), lines, "{file:?}");
        let beyond = lines + 1;
        let call = json!({
            "command": "insert", "path": "/memories/f", "insert_line": beyond, "insert_text": "x"
        });
        assert_eq!(
            refused(&tool, &call),
            format!(
                "Error: Invalid `insert_line` parameter: {beyond}. It should be within the range \
                 of lines of the file: [0, {lines}]"
            )
        );
    }
}
