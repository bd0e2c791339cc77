//! Functions for the programmatic tests: calls from values, results as text, and a dump of the whole tree,
//! all through the tool.

use std::collections::BTreeMap;
use std::fmt::Write;

use inmost::{MemoryTool, Session, ToolOptions};
use serde_json::{Value, json};

pub(crate) fn new_tool() -> MemoryTool {
    MemoryTool::new(Session::in_memory().unwrap())
}

/// Returns a tool that truncates nothing, to read what another tool on the same session wrote.
pub(crate) fn reader(session: &Session) -> MemoryTool {
    MemoryTool::with_options(
        session.clone(),
        ToolOptions::new()
            .max_view_characters(1_000_000_000)
            .max_range_characters(1_000_000_000)
            .max_listing_entries(1_000_000),
    )
}

/// Makes a call that must succeed, and returns its content.
pub(crate) fn done(tool: &MemoryTool, call: &Value) -> String {
    let result = tool.try_run_json(call.to_string()).unwrap();
    assert!(!result.is_error(), "{} for {}", result.content(), start_of(call));
    result.content().to_owned()
}

/// Makes a call that must fail, and returns its content.
pub(crate) fn refused(tool: &MemoryTool, call: &Value) -> String {
    let result = tool.try_run_json(call.to_string()).unwrap();
    assert!(result.is_error(), "{} for {}", result.content(), start_of(call));
    result.content().to_owned()
}

fn start_of(call: &Value) -> String {
    call.to_string().chars().take(300).collect()
}

pub(crate) fn create(tool: &MemoryTool, path: &str, text: &str) {
    let content = done(tool, &json!({"command": "create", "path": path, "file_text": text}));
    assert_eq!(content, format!("File created successfully at: {path}"));
}

/// Returns the lines of a successful file view, without header, numbers or notice.
pub(crate) fn lines(tool: &MemoryTool, path: &str) -> Vec<String> {
    let content = done(tool, &json!({"command": "view", "path": path}));
    let mut shown = content.split('\n');
    let header = format!("Here's the content of {path} with line numbers:");
    assert_eq!(shown.next(), Some(header.as_str()));
    shown.map(|line| line.split_once('\t').unwrap().1.to_owned()).collect()
}

/// Returns the exact text of a file below the root, from its lines and the size in the listing of its folder,
/// because a view does not show whether the last line is closed. Only for files below 1,024 bytes.
pub(crate) fn text(tool: &MemoryTool, name: &str) -> String {
    let path = format!("/memories/{name}");
    let mut text = lines(tool, &path).join("\n");
    let listing = done(tool, &json!({"command": "view", "path": "/memories"}));
    let entry = listing.lines().find_map(|line| line.strip_suffix(&format!("\t{path}")));
    let bytes: usize = entry.unwrap().strip_suffix('B').unwrap().parse().unwrap();
    // An empty file and a file with one empty line differ in their number of lines, so the sum below lacks at
    // most the final newline.
    if text.len() < bytes {
        text.push('\n');
    }
    assert_eq!(text.len(), bytes, "bytes of {path}");
    text
}

/// Returns everything that the tool shows of the tree: every listing and every file view, from the root and
/// from each path in `hidden`, which listings omit.
pub(crate) fn dump(tool: &MemoryTool, hidden: &[&str]) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    for path in [&["/memories"], hidden].concat() {
        dump_below(tool, path, &mut seen);
    }
    seen
}

fn dump_below(tool: &MemoryTool, path: &str, seen: &mut BTreeMap<String, String>) {
    let result = tool.try_run_json(json!({"command": "view", "path": path}).to_string()).unwrap();
    let content = result.content().to_owned();
    if content.starts_with("Here're the files") {
        for line in content.lines().skip(2) {
            dump_below(tool, line.split_once('\t').unwrap().1.trim_end_matches('/'), seen);
        }
    }
    seen.insert(path.to_owned(), content);
}

/// Returns `n` lines, each with its own number.
pub(crate) fn numbered(n: usize) -> String {
    let mut text = String::new();
    for line in 1..=n {
        writeln!(text, "{line}").unwrap();
    }
    text
}
