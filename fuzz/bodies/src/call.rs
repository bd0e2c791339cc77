//! Compares tool calls with a second implementation of the contract, on the values of `serde_json`.

use inmost::{MemoryTool, Session, ToolCall, ToolCommand};
use serde_json::{Map, Value};

pub(crate) fn run(data: &[u8]) {
    let Ok(json) = std::str::from_utf8(data) else { return };
    let call = ToolCall::parse(data);
    let parsed = call.command();
    let found = match parsed {
        Ok(command) => describe(command),
        Err(error) => error.to_string(),
    };
    check_wording(&found, parsed.is_err());
    if let Some(expected) = Expected::of(json) {
        match expected {
            Expected::Exactly(text) => assert_eq!(found, text, "{json}"),
            Expected::InvalidInput => assert!(found.starts_with(INVALID), "{json}: {found}"),
        }
    }

    let tool = MemoryTool::new(Session::in_memory().unwrap());
    let result = tool.try_run_json(json).unwrap();
    if parsed.is_err() {
        assert!(result.is_error() && result.content() == found);
    }
    assert_eq!(result.tool_use_id(), call.tool_use_id());
}

fn check_wording(found: &str, is_error: bool) {
    assert!(!is_error || found.starts_with("Error: "), "{found}");
}

enum Expected {
    Exactly(String),
    InvalidInput,
}

impl Expected {
    /// Returns `None` where this parser knows less than the library: numbers beyond a float, and the inside
    /// of a range.
    fn of(json: &str) -> Option<Self> {
        let value = match serde_json::from_str::<Value>(json) {
            Ok(value) => value,
            // `serde_json` also refuses deep nesting and numbers beyond a float, which a call may contain.
            Err(error) => {
                let error = error.to_string();
                let knows = !error.contains("recursion limit") && !error.contains("out of range");
                return knows.then_some(Self::InvalidInput);
            }
        };
        let Value::Object(fields) = value else { return Some(Self::InvalidInput) };
        if fields.get("type").and_then(Value::as_str) != Some("tool_use") {
            return command(&fields).map(Self::Exactly);
        }
        if fields.get("name").and_then(Value::as_str) != Some("memory") {
            return Some(Self::InvalidInput);
        }
        match fields.get("input") {
            Some(Value::Object(input)) => command(input).map(Self::Exactly),
            _ => Some(Self::InvalidInput),
        }
    }
}

/// Returns the command in these fields in the format of [`describe`], or the refusal.
fn command(fields: &Map<String, Value>) -> Option<String> {
    let name = match field(fields, "command") {
        None => "",
        Some(Value::String(name)) => name,
        Some(_) => return Some(wrong("command", "a string")),
    };
    let call = Fields { fields, command: name };
    let result = match name {
        "view" => call.string(&["path"]).map(|path| {
            let range = field(fields, "view_range").is_some();
            format!("view {path:?} {range}")
        }),
        "create" => both(call.string(&["path"]), || call.string(&["file_text"]))
            .map(|(path, text)| format!("create {path:?} {text:?}")),
        "str_replace" => {
            let texts = both(call.string(&["path"]), || call.string(&["old_str"]));
            both(texts, || match field(fields, "new_str") {
                None => Ok(None),
                Some(_) => call.string(&["new_str"]).map(Some),
            })
            .map(|((path, old), new)| format!("str_replace {path:?} {old:?} {new:?}"))
        }
        "insert" => {
            let line = match both(call.string(&["path"]), || call.integer("insert_line")) {
                Ok((path, Integer::Known(line))) => Ok((path, line)),
                Ok((_, Integer::Unknown)) => return None,
                Err(refusal) => Err(refusal),
            };
            both(line, || call.string(&["insert_text", "new_str"]))
                .map(|((path, line), text)| format!("insert {path:?} {line} {text:?}"))
        }
        "delete" => call.string(&["path"]).map(|path| format!("delete {path:?}")),
        "rename" => both(call.string(&["old_path", "path"]), || call.string(&["new_path"]))
            .map(|(old, new)| format!("rename {old:?} {new:?}")),
        unknown => Err(format!(
            "Error: Unknown command: {unknown}. Valid commands: view, create, str_replace, insert, delete, rename"
        )),
    };
    Some(result.unwrap_or_else(|refusal| refusal))
}

struct Fields<'a> {
    fields: &'a Map<String, Value>,
    command: &'a str,
}

enum Integer {
    Known(i64),
    Unknown,
}

impl<'a> Fields<'a> {
    /// Returns the first of these fields that was sent.
    fn required(&self, names: &[&'static str]) -> Result<(&'static str, &'a Value), String> {
        let sent = names.iter().find_map(|name| Some((*name, field(self.fields, name)?)));
        sent.ok_or_else(|| {
            let (name, command) = (names[0], self.command);
            format!("Error: Missing required parameter `{name}` for command {command}")
        })
    }

    fn string(&self, names: &[&'static str]) -> Result<&'a str, String> {
        let (name, value) = self.required(names)?;
        value.as_str().ok_or_else(|| wrong(name, "a string"))
    }

    fn integer(&self, name: &'static str) -> Result<Integer, String> {
        let refusal = || wrong(name, "an integer");
        match self.required(&[name])?.1 {
            Value::String(text) => {
                let digits = text.strip_prefix('-').unwrap_or(text);
                if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(refusal());
                }
                let beyond = if text.starts_with('-') { i64::MIN } else { i64::MAX };
                Ok(Integer::Known(text.parse().unwrap_or(beyond)))
            }
            Value::Number(number) => {
                if let Some(number) = number.as_i64() {
                    return Ok(Integer::Known(number));
                }
                if number.is_u64() {
                    return Ok(Integer::Known(i64::MAX));
                }
                match number.as_f64() {
                    // Rounding turns fractions into integers, but never the reverse.
                    Some(float) if float.abs() < 1e6 && float.fract() != 0.0 => Err(refusal()),
                    _ => Ok(Integer::Unknown),
                }
            }
            _ => Err(refusal()),
        }
    }
}

fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn both<A, B>(
    one: Result<A, String>,
    other: impl FnOnce() -> Result<B, String>,
) -> Result<(A, B), String> {
    let one = one?;
    Ok((one, other()?))
}

fn wrong(field: &str, expected: &str) -> String {
    format!("Error: Invalid parameter `{field}`: expected {expected}")
}

fn describe(command: &ToolCommand) -> String {
    match command {
        ToolCommand::View { path, view_range } => format!("view {path:?} {}", view_range.is_some()),
        ToolCommand::Create { path, file_text } => format!("create {path:?} {file_text:?}"),
        ToolCommand::StrReplace { path, old_str, new_str } => {
            format!("str_replace {path:?} {old_str:?} {new_str:?}")
        }
        ToolCommand::Insert { path, insert_line, insert_text } => {
            format!("insert {path:?} {insert_line} {insert_text:?}")
        }
        ToolCommand::Delete { path } => format!("delete {path:?}"),
        ToolCommand::Rename { old_path, new_path } => format!("rename {old_path:?} {new_path:?}"),
        other => panic!("no input has this command: {other:?}"),
    }
}

const INVALID: &str = "Error: Invalid tool input: ";
