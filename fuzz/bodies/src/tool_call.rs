//! A tool call as data, and the JSON that a model would send for it.

use serde_json::{Value, json};

use crate::input::Input;

/// A tool call.
#[derive(Clone, Debug)]
pub(crate) enum ToolCall {
    View { path: String, range: Range },
    Create { path: String, text: String },
    StrReplace { path: String, old: String, new: Option<String> },
    Insert { path: String, line: i64, text: String },
    Delete { path: String },
    Rename { old: String, new: String },
}

/// A `view_range`.
#[derive(Clone, Debug)]
pub(crate) enum Range {
    /// No range, in one of the forms in which models leave it out.
    None { json: &'static str },
    /// Two integers, in one of four forms.
    Lines { start: i64, end: i64, form: usize },
    /// An invalid range, as it is sent and as an error quotes it.
    Other { json: &'static str, compact: &'static str },
}

impl ToolCall {
    /// Returns the call as a model would send it.
    pub(crate) fn json(&self) -> String {
        let value = match self {
            Self::View { path, range } => return view_json(path, range),
            Self::Create { path, text } => {
                json!({"command": "create", "path": path, "file_text": text})
            }
            Self::StrReplace { path, old, new } => {
                let new = new.as_ref().map_or(Value::Null, |new| new.as_str().into());
                json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
            }
            Self::Insert { path, line, text } => {
                json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text})
            }
            Self::Delete { path } => json!({"command": "delete", "path": path}),
            Self::Rename { old, new } => {
                json!({"command": "rename", "old_path": old, "new_path": new})
            }
        };
        value.to_string()
    }
}

fn view_json(path: &str, range: &Range) -> String {
    let path = Value::from(path);
    let range = match range {
        Range::Lines { start, end, form: 1 } => format!("[\"{start}\",{end}]"),
        Range::Lines { start, end, form: 2 } => format!("\"[ {start},{end}]\""),
        Range::Lines { start, end: -1, form: 3 } => format!("[{start},null]"),
        Range::Lines { start, end, .. } => format!("[ {start}, {end}]"),
        Range::None { json } | Range::Other { json, .. } => (*json).to_owned(),
    };
    format!("{{\"command\":\"view\",\"path\":{path},\"view_range\":{range}}}")
}

impl Range {
    pub(crate) fn read(input: &mut Input<'_>) -> Self {
        match input.below(8) {
            0 | 1 => Self::None { json: input.pick(&NO_RANGES) },
            2 => {
                let (json, compact) = input.pick(&OTHER_RANGES);
                Self::Other { json, compact }
            }
            _ => {
                let form = if input.one_in(8) { 1 + input.below(3) } else { 0 };
                Self::Lines { start: input.line(), end: input.line(), form }
            }
        }
    }
}

/// Forms of no range.
const NO_RANGES: [&str; 6] = ["null", "[]", "\"\"", "\"null\"", "[null, null]", "\"[ ]\""];

/// Invalid ranges, as they are sent and as an error quotes them.
const OTHER_RANGES: [(&str, &str); 7] = [
    ("[1, 2.5]", "[1,2.5]"),
    ("[ 1 ]", "[1]"),
    ("[1,2,3]", "[1,2,3]"),
    ("\"1, 2\"", "\"1, 2\""),
    ("{ \"start\": 1 }", "{\"start\":1}"),
    ("[true, null]", "[true,null]"),
    ("7", "7"),
];
