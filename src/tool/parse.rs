//! Parses the JSON of a tool call to a [`ToolCommand`], leniently where models are known to make mistakes.
//!
//! Extra fields are ignored, null counts as absent, two aliases are accepted, and integers may be written in other
//! ways. The order of checks is the contract's: the object, the command, then field by field.

use std::mem::take;

use super::command::ToolCall;
use super::command::ToolCommand;
use super::error::ToolError;
use super::fields::Field;
use super::json::{self, Object};
use super::wording::reason;

impl ToolCall {
    /// Parses the JSON of the `input` of a `tool_use` block, or of the whole block. Bytes that are not UTF-8 are not
    /// JSON (RFC 8259, section 8.1). Does no I/O.
    #[must_use]
    pub fn parse(json: &[u8]) -> Self {
        match std::str::from_utf8(json) {
            Ok(json) => parse(json),
            Err(_) => refused(reason::NOT_JSON),
        }
    }
}

fn parse(json: &str) -> ToolCall {
    let object = match json::object(json) {
        Ok(object) => object,
        Err(reason) => return refused(reason),
    };
    let tool_use_id = object.block_id();
    // A text cannot contain an unpaired surrogate, so input with one is refused, even in a field that is not used.
    let command = if json::has_unpaired_surrogate(json) {
        Err(ToolError::InvalidInput { reason: reason::UNPAIRED_SURROGATE })
    } else {
        object.command_of_call()
    };
    ToolCall { tool_use_id, command }
}

/// A call that is refused for this reason.
fn refused(reason: &'static str) -> ToolCall {
    ToolCall { tool_use_id: None, command: Err(ToolError::InvalidInput { reason }) }
}

const PATH: Field = Field::named("path");
const VIEW_RANGE: Field = Field::named("view_range");
const FILE_TEXT: Field = Field::named("file_text");
const OLD_STR: Field = Field::named("old_str");
const NEW_STR: Field = Field::named("new_str");
const INSERT_LINE: Field = Field::named("insert_line");
const INSERT_TEXT: Field = Field::named("insert_text").or("new_str");
const OLD_PATH: Field = Field::named("old_path").or("path");
const NEW_PATH: Field = Field::named("new_path");

impl Object<'_> {
    fn is_block(&self) -> bool {
        self.is("type", "tool_use")
    }

    /// The id of the block, if this is a block and has one.
    fn block_id(&self) -> Option<String> {
        let id = self.is_block().then(|| self.present("id")).flatten();
        id.and_then(json::string).map(|mut id| take(&mut *id))
    }

    /// The command in an input, or in the input of a block that is meant for this tool.
    fn command_of_call(&self) -> Result<ToolCommand, ToolError> {
        if !self.is_block() {
            return self.command();
        }
        if !self.is("name", "memory") {
            return Err(ToolError::InvalidInput { reason: reason::ANOTHER_TOOL });
        }
        let input = self.present("input").and_then(|raw| json::object(raw.get()).ok());
        input.ok_or(ToolError::InvalidInput { reason: reason::NO_INPUT })?.command()
    }

    fn command(&self) -> Result<ToolCommand, ToolError> {
        let name = self.command_name()?;
        match name.as_str() {
            "view" => {
                let call = self.call("view");
                let mut path = call.string(PATH)?;
                let view_range = call.view_range(VIEW_RANGE);
                Ok(ToolCommand::View { path: take(&mut path), view_range })
            }
            "create" => {
                let call = self.call("create");
                let (mut path, mut text) = (call.string(PATH)?, call.string(FILE_TEXT)?);
                Ok(ToolCommand::Create { path: take(&mut path), file_text: take(&mut text) })
            }
            "str_replace" => {
                let call = self.call("str_replace");
                let (mut path, mut old_str) = (call.string(PATH)?, call.string(OLD_STR)?);
                let new_str = call.optional_string(NEW_STR)?.map(|mut text| take(&mut *text));
                let (path, old_str) = (take(&mut *path), take(&mut *old_str));
                Ok(ToolCommand::StrReplace { path, old_str, new_str })
            }
            "insert" => {
                let call = self.call("insert");
                let (mut path, insert_line) = (call.string(PATH)?, call.integer(INSERT_LINE)?);
                let mut text = call.string(INSERT_TEXT)?;
                let (path, insert_text) = (take(&mut *path), take(&mut *text));
                Ok(ToolCommand::Insert { path, insert_line, insert_text })
            }
            "delete" => {
                let mut path = self.call("delete").string(PATH)?;
                Ok(ToolCommand::Delete { path: take(&mut path) })
            }
            "rename" => {
                let call = self.call("rename");
                let (mut old_path, mut new_path) = (call.string(OLD_PATH)?, call.string(NEW_PATH)?);
                let (old_path, new_path) = (take(&mut *old_path), take(&mut *new_path));
                Ok(ToolCommand::Rename { old_path, new_path })
            }
            unknown => Err(ToolError::UnknownCommand { command: unknown.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command and its fields in one line, or the text of the error.
    fn read(json: &str) -> String {
        match parse(json).command {
            Ok(command) => show(&command),
            Err(error) => error.to_string(),
        }
    }

    fn show(command: &ToolCommand) -> String {
        match command {
            ToolCommand::View { path, view_range: None } => format!("view {path:?}"),
            ToolCommand::View { path, view_range: Some(range) } => match range.resolve(100) {
                Ok(lines) => format!("view {path:?} {lines:?}"),
                Err(ToolError::InvalidViewRange { ref sent, .. }) => {
                    format!("view {path:?} ! {sent}")
                }
                Err(other) => panic!("{other}"),
            },
            ToolCommand::Create { path, file_text } => format!("create {path:?} {file_text:?}"),
            ToolCommand::StrReplace { path, old_str, new_str } => {
                format!("str_replace {path:?} {old_str:?} {new_str:?}")
            }
            ToolCommand::Insert { path, insert_line, insert_text } => {
                format!("insert {path:?} {insert_line} {insert_text:?}")
            }
            ToolCommand::Delete { path } => format!("delete {path:?}"),
            ToolCommand::Rename { old_path, new_path } => {
                format!("rename {old_path:?} {new_path:?}")
            }
            ToolCommand::Search { .. } => panic!("no call parses to it"),
        }
    }

    fn expect(table: &[(&str, &str)]) {
        for (json, expected) in table {
            assert_eq!(read(json), *expected, "{json}");
        }
    }

    #[test]
    fn every_command_is_read_with_its_fields() {
        expect(&[
            (r#"{"command":"view","path":"/memories"}"#, r#"view "/memories""#),
            (r#"{"command":"view","path":"p","view_range":[2,3]}"#, r#"view "p" 2..=3"#),
            (r#"{"command":"create","path":"p","file_text":"a\nb"}"#, r#"create "p" "a\nb""#),
            (
                r#"{"command":"str_replace","path":"p","old_str":"a","new_str":"b"}"#,
                r#"str_replace "p" "a" Some("b")"#,
            ),
            (
                r#"{"command":"insert","path":"p","insert_line":2,"insert_text":"t"}"#,
                r#"insert "p" 2 "t""#,
            ),
            (r#"{"command":"delete","path":"p"}"#, r#"delete "p""#),
            (r#"{"command":"rename","old_path":"p","new_path":"q"}"#, r#"rename "p" "q""#),
        ]);
    }

    #[test]
    fn known_slips_are_understood() {
        expect(&[
            (r#" {"x":{"y":[1]},"command":"delete","path":"p","new_str":3} "#, r#"delete "p""#),
            (r#"{"command":"delete","path":1,"path":"p"}"#, r#"delete "p""#),
            (r#"{"command":"view","path":"p","view_range":null}"#, r#"view "p""#),
            (r#"{"command":"view","path":"p","view_range":[]}"#, r#"view "p""#),
            (
                r#"{"command":"str_replace","path":"p","old_str":"a","new_str":null}"#,
                r#"str_replace "p" "a" None"#,
            ),
            (
                r#"{"command":"str_replace","path":"p","old_str":"a"}"#,
                r#"str_replace "p" "a" None"#,
            ),
            (
                r#"{"command":"insert","path":"p","insert_line":"-3","new_str":"t"}"#,
                r#"insert "p" -3 "t""#,
            ),
            (
                r#"{"command":"insert","path":"p","insert_line":2.0,"insert_text":null,"new_str":"t"}"#,
                r#"insert "p" 2 "t""#,
            ),
            (
                r#"{"command":"insert","path":"p","insert_line":1e400,"insert_text":"t","new_str":7}"#,
                r#"insert "p" 9223372036854775807 "t""#,
            ),
            (r#"{"command":"rename","path":"p","new_path":"q"}"#, r#"rename "p" "q""#),
            (r#"{"command":"rename","path":5,"old_path":"p","new_path":"q"}"#, r#"rename "p" "q""#),
        ]);
    }

    #[test]
    fn input_other_than_a_call_is_invalid() {
        let block = |rest: &str| read(&format!(r#"{{"type":"tool_use",{rest}}}"#));
        let invalid = "Error: Invalid tool input: ";
        for json in ["", "[]", "null", "\"view\"", "{", "{\"a\":1}}", "{\"\\ud800\":1}"] {
            assert!(read(json).starts_with(invalid), "{json}");
        }
        for rest in [
            r#""name":"bash","input":{"command":"view","path":"p"}"#,
            r#""input":{"command":"view","path":"p"}"#,
            r#""name":"memory""#,
            r#""name":"memory","input":null"#,
            r#""name":"memory","input":"{}""#,
            r#""name":"memory","input":[]"#,
            r#""name":"memory","command":"view","path":"p""#,
            r#""name":"memory","id":"\ud800","input":{"command":"view","path":"p"}"#,
        ] {
            assert!(block(rest).starts_with(invalid), "{rest}");
        }
    }

    #[test]
    fn an_unpaired_surrogate_counts_before_anything_else_wherever_it_is() {
        let invalid = "Error: Invalid tool input: it holds an unpaired surrogate";
        expect(&[
            (r#"{"command":"\ud800"}"#, invalid),
            (r#"{"command":"view","path":"/memories/\udc00"}"#, invalid),
            (r#"{"command":"create","file_text":"\ud800"}"#, invalid),
            (r#"{"command":"create","path":1,"file_text":"\ud800x"}"#, invalid),
            (r#"{"command":"view","path":"p","view_range":["\ud800"]}"#, invalid),
            (r#"{"command":"insert","path":"p","insert_line":1,"new_str":"\ud800"}"#, invalid),
            (r#"{"command":"view","path":"p","note":"\ud800"}"#, invalid),
            (r#"{"command":"nothing","note":["\udfff"]}"#, invalid),
        ]);
    }

    #[test]
    fn unknown_commands_are_quoted() {
        let valid = "Valid commands: view, create, str_replace, insert, delete, rename";
        for (json, command) in [
            ("{}", ""),
            (r#"{"command":null,"path":"p"}"#, ""),
            (r#"{"command":""}"#, ""),
            (r#"{"command":"View"}"#, "View"),
            (r#"{"command":"undo_edit"}"#, "undo_edit"),
        ] {
            assert_eq!(read(json), format!("Error: Unknown command: {command}. {valid}"));
        }
        expect(&[
            (r#"{"command":1}"#, "Error: Invalid parameter `command`: expected a string"),
            (r#"{"command":["view"]}"#, "Error: Invalid parameter `command`: expected a string"),
        ]);
    }

    #[test]
    fn fields_are_checked_in_table_order_each_for_absence_then_type() {
        let missing = |field, command| {
            format!("Error: Missing required parameter `{field}` for command {command}")
        };
        let wrong =
            |field, expected| format!("Error: Invalid parameter `{field}`: expected {expected}");
        for (json, expected) in [
            (r#"{"command":"view"}"#, missing("path", "view")),
            (r#"{"command":"view","path":null}"#, missing("path", "view")),
            (r#"{"command":"view","path":7,"view_range":1}"#, wrong("path", "a string")),
            (r#"{"command":"create","file_text":1}"#, missing("path", "create")),
            (r#"{"command":"create","path":1}"#, wrong("path", "a string")),
            (r#"{"command":"create","path":"/etc"}"#, missing("file_text", "create")),
            (
                r#"{"command":"str_replace","path":"p","new_str":1}"#,
                missing("old_str", "str_replace"),
            ),
            (
                r#"{"command":"str_replace","path":"p","old_str":[],"new_str":1}"#,
                wrong("old_str", "a string"),
            ),
            (
                r#"{"command":"str_replace","path":"p","old_str":"","new_str":1}"#,
                wrong("new_str", "a string"),
            ),
            (r#"{"command":"insert","path":"p"}"#, missing("insert_line", "insert")),
            (
                r#"{"command":"insert","path":"p","insert_line":true}"#,
                wrong("insert_line", "an integer"),
            ),
            (
                r#"{"command":"insert","path":"p","insert_line":1.5,"insert_text":"t"}"#,
                wrong("insert_line", "an integer"),
            ),
            (
                r#"{"command":"insert","path":"p","insert_line":1}"#,
                missing("insert_text", "insert"),
            ),
            (
                r#"{"command":"insert","path":"p","insert_line":1,"insert_text":2,"new_str":"t"}"#,
                wrong("insert_text", "a string"),
            ),
            (
                r#"{"command":"insert","path":"p","insert_line":1,"new_str":2}"#,
                wrong("new_str", "a string"),
            ),
            (r#"{"command":"delete"}"#, missing("path", "delete")),
            (r#"{"command":"rename"}"#, missing("old_path", "rename")),
            (r#"{"command":"rename","path":1}"#, wrong("path", "a string")),
            (r#"{"command":"rename","old_path":"p"}"#, missing("new_path", "rename")),
        ] {
            assert_eq!(read(json), expected, "{json}");
        }
    }

    #[test]
    fn a_view_range_is_echoed_as_integers_or_as_sent() {
        for (range, expected) in [
            ("[2.0, \"4\"]", "2..=4"),
            ("[0, -1]", "1..=100"),
            ("[4.0, \"2\"]", "! [4,2]"),
            ("[1, 0]", "! [1,0]"),
            ("[1e30, 1e30]", "! [9223372036854775807,9223372036854775807]"),
            ("[ 1, 2.5 ]", "! [1,2.5]"),
            ("[4.0, \"x y\"]", "! [4.0,\"x y\"]"),
            ("[1, 2, 3]", "! [1,2,3]"),
            ("[true, false]", "! [true,false]"),
            ("[1, null]", "1..=100"),
            ("[null, 1]", "! [null,1]"),
            ("{ \"start\" : 1 }", "! {\"start\":1}"),
            ("\"[1, 2]\"", "1..=2"),
            ("\"1, 2\"", "! \"1, 2\""),
            ("7", "! 7"),
        ] {
            let json = format!(r#"{{"command":"view","path":"p","view_range":{range}}}"#);
            assert_eq!(read(&json), format!("view \"p\" {expected}"), "{range}");
        }
    }

    #[test]
    fn the_id_of_a_block_is_known_even_if_its_call_is_refused() {
        let id = |json| parse(json).tool_use_id;
        let input = r#"{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"p"}}"#;
        assert_eq!(read(input), r#"view "p""#);
        assert_eq!(id(input).as_deref(), Some("toolu_1"));
        let other = r#"{"type":"tool_use","id":"toolu_2","name":"bash","input":{}}"#;
        assert_eq!(id(other).as_deref(), Some("toolu_2"));
        assert_eq!(id(r#"{"type":"tool_use","id":5,"name":"memory","input":{}}"#), None);
        assert_eq!(id(r#"{"command":"view","path":"p","id":"x"}"#), None);
    }

    #[test]
    fn an_input_with_a_type_of_its_own_is_not_a_block() {
        expect(&[
            (r#"{"type":"view","command":"view","path":"p"}"#, r#"view "p""#),
            (r#"{"type":["tool_use"],"command":"view","path":"p"}"#, r#"view "p""#),
        ]);
    }

    #[test]
    fn deep_nesting_in_ignored_fields_does_no_harm() {
        let deep = "[".repeat(1 << 20) + &"]".repeat(1 << 20);
        for field in ["note", "view_range"] {
            let json = format!(r#"{{"command":"view","path":"p","{field}":{deep}}}"#);
            assert!(read(&json).starts_with("view \"p\""), "{field}");
        }
    }
}
