//! Calls that another parser has already read, such as that of a server for the Model Context Protocol.

use inmost_format::secret::{Wipe, Wiped};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::command::ToolCall;

impl<'de> Deserialize<'de> for ToolCall {
    /// Reads the `input` of a `tool_use` block, or the whole block, from any source of a map. An invalid call is not an
    /// error here: its error goes to the model.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        let mut json: Wiped<Vec<u8>> = Wiped::default();
        let written = serde_json::to_writer(&mut json, &value);
        wipe(&mut value);
        written.map_err(D::Error::custom)?;
        Ok(Self::parse(&json))
    }
}

/// Wipes every string of a value.
fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.wipe(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(map) => map.values_mut().for_each(wipe),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> String {
        let call: ToolCall = serde_json::from_value(value.clone()).unwrap();
        let same = ToolCall::parse(value.to_string().as_bytes());
        let text = |call: &ToolCall| match call.command() {
            Ok(command) => format!("{command:?} {:?}", command.paths()),
            Err(error) => error.to_string(),
        };
        assert_eq!(text(&call), text(&same), "both readers agree");
        assert_eq!(call.tool_use_id(), same.tool_use_id());
        text(&call)
    }

    #[test]
    fn a_map_is_read_as_the_json_it_was_made_of() {
        for value in [
            json!({"command": "view", "path": "/memories/a", "view_range": [1.0, "-1"]}),
            json!({"command": "view", "path": "p", "view_range": "[1, null]"}),
            json!({"command": "view", "path": "p", "view_range": [null, null]}),
            json!({"command": "view", "path": "p", "view_range": [1, 2.5]}),
            json!({"command": "insert", "path": "p", "insert_line": "7", "new_str": "t"}),
            json!({"command": "insert", "path": "p", "insert_line": 1.5, "insert_text": "t"}),
            json!({"command": "insert", "path": "p", "insert_line": u64::MAX, "insert_text": "t"}),
            json!({"command": "rename", "path": "p", "new_path": "q", "note": {"a": [null]}}),
            json!({"command": "create", "path": null}),
            json!({"command": 7}),
            json!({}),
            json!([1]),
            json!("view"),
            json!({"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {"command": "delete", "path": "p"}}),
            json!({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}),
            json!({"type": "tool_use", "name": "memory", "input": 3}),
        ] {
            assert!(!read(&value).is_empty());
        }
    }
}
