//! Lines of a client, and the replies to them.

use inmost_testing::{Random, seeds};
use serde_json::{Value, json};

use super::*;

/// The reply to a refused line, or what the line is instead.
fn reply(line: &str) -> Value {
    match parse(line.as_bytes()) {
        Err(refusal) => serde_json::to_value(refusal).unwrap(),
        Ok(Some(ClientJsonRpcMessage::Request(message))) => message.request.method().into(),
        Ok(Some(_)) => "a notification".into(),
        Ok(None) => "nothing".into(),
    }
}

fn refused(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

#[test]
fn invalid_messages_are_refused() {
    let id = "The field `id` must be a string or an integer.";
    let null = Value::Null;
    for (line, id, code, message) in [
        ("no json", null.clone(), -32700, "The message is not valid JSON."),
        (r#"{"jsonrpc":"2.0","id":1,"#, null.clone(), -32700, "The message is not valid JSON."),
        ("Content-Length: 7", null.clone(), -32700, "The message is not valid JSON."),
        ("7", null.clone(), -32600, "The message is not an object."),
        ("null", null.clone(), -32600, "The message is not an object."),
        (
            r#" [{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            null.clone(),
            -32600,
            "Batches are not supported. Send each message on a line of its own.",
        ),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, null.clone(), -32600, id),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, null.clone(), -32600, id),
        (r#"{"jsonrpc":"2.0","id":1e99,"method":"ping"}"#, null.clone(), -32600, id),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, null.clone(), -32600, id),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, null.clone(), -32600, id),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, null.clone(), -32600, id),
        (r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#, null.clone(), -32600, id),
        (r#"{"id":"x","method":5}"#, json!("x"), -32600, "The field `jsonrpc` must be \"2.0\"."),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":5}"#,
            json!("x"),
            -32600,
            "The field `method` must be a string.",
        ),
        (r#"{"jsonrpc":"2.0","id":7}"#, json!(7), -32600, "The field `method` must be a string."),
        ("{}", null.clone(), -32600, "The field `jsonrpc` must be \"2.0\"."),
    ] {
        assert_eq!(reply(line), refused(&id, code, message), "{line}");
    }
    assert!(parse(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}").is_err());
}

#[test]
fn a_response_or_an_invalid_notification_gets_no_reply() {
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#,
        r#"{"error":1}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":"\ud800"}"#,
    ] {
        assert_eq!(reply(line), "nothing", "{line}");
    }
    let line = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(reply(line), "a notification");
}

#[test]
fn wrong_params_are_named() {
    let call = "Invalid params of tools/call: ";
    for (method, params, fault) in [
        ("tools/call", "null", "`params` must be an object with the `name` of a tool"),
        ("tools/call", "[]", "`params` must be an object with the `name` of a tool"),
        ("tools/call", "\"memory\"", "`params` must be an object with the `name` of a tool"),
        ("tools/call", "{}", "`name` must be the name of a tool, as a string"),
        ("tools/call", r#"{"name":1}"#, "`name` must be the name of a tool, as a string"),
        ("tools/call", r#"{"name":"memory","arguments":[]}"#, "`arguments` must be an object"),
        ("tools/call", r#"{"name":"memory","arguments":"{}"}"#, "`arguments` must be an object"),
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"{method}","params":{params}}}"#);
        assert_eq!(reply(&line), refused(&json!(3), -32602, &format!("{call}{fault}.")));
    }
    for (method, params, word) in [
        ("tools/call", r#"{"name":"memory","_meta":7}"#, "integer `7`"),
        ("tools/list", r#"{"cursor":7}"#, "integer `7`"),
        ("tools/list", "[7]", "`params` must be an object"),
        ("initialize", r#"{"capabilities":{}}"#, "missing field `protocolVersion`"),
        ("initialize", "7", "`params` must be an object"),
        ("ping", "\"\\ud800\"", "`params` must be an object"),
        ("ping", r#"{"a":"\ud800"}"#, "Invalid params of ping."),
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"{method}","params":{params}}}"#);
        let reply = reply(&line);
        assert_eq!(reply["error"]["code"], -32602, "{line} {reply}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("Invalid params of {method}")), "{message}");
        assert!(message.contains(word) && !message.contains("line 1"), "{message}");
    }
}

#[test]
fn the_arguments_of_a_call_are_kept_as_they_were_sent() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    for arguments in [
        "{}",
        r#"{ "command" : "view", "view_range": [1e400, 18446744073709551616, -0.0] }"#,
        r#"{"command":"\ud800","\ud800":1,"command":"view"}"#,
        &format!(r#"{{"note":{deep}}}"#),
    ] {
        let line = format!(
            r#"{{"\ud800":1,"method":"tools/call","params":{{"arguments":3,"_meta":{{"a":1}},"name":"memory","arguments":{arguments}}},"id":"\u0031","jsonrpc":"2.0"}}"#
        );
        let Ok(Some(ClientJsonRpcMessage::Request(message))) = parse(line.as_bytes()) else {
            panic!("{}", reply(&line));
        };
        assert_eq!(message.id.to_string(), "1");
        let ClientRequest::CallToolRequest(call) = message.request else {
            panic!("{line}");
        };
        assert_eq!(call.params.name, "memory");
        assert!(call.params.arguments.is_none());
        let kept = call.extensions.get::<Arguments>().unwrap();
        assert_eq!(kept.as_json(), arguments.as_bytes());
        assert!(
            format!("{:?}", call.extensions.get::<rmcp::model::RequestMetaObject>())
                .contains("\"a\"")
        );
    }
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    for arguments in ["", r#","arguments":null"#] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"memory"{arguments}}}}}"#
        );
        assert_eq!(reply(&line), "tools/call");
    }
}

/// The parser of whole values decides what a line says, where it accepts the line.
#[test]
fn changed_lines_are_refused_or_say_what_their_json_says() {
    const LINES: &[&str] = &[
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory","arguments":{"command":"view","path":"/memories"}}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"inmost://memories/a.md"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    ];
    const WORDS: &[&str] = &[
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\\",
        "\\ud800",
        "\\u0069d",
        "null",
        "-1",
        "1e400",
        "1.5",
        "\"id\":2,",
        "\"params\":",
        "\"arguments\":{},",
        "\"arguments\":[]",
        "\"name\":7,",
        "\"method\":\"ping\",",
        "\"result\":1,",
        "\u{feff}",
        "\u{0}",
        " ",
        "tools/call",
        "initialize",
        "_meta",
    ];
    for seed in seeds(0..10_000) {
        let mut random = Random(seed);
        let sample = LINES[random.below(LINES.len())];
        let line = random.changed(sample, WORDS);
        let value = serde_json::from_str::<Value>(&line);
        match (parse(line.as_bytes()), value) {
            (Err(refusal), Ok(value)) => {
                let id = refusal.id.map_or(Value::Null, RequestId::into_json_value);
                assert!(id.is_null() || id == value["id"], "{seed}: {line}");
            }
            (Ok(Some(ClientJsonRpcMessage::Request(message))), Ok(value)) => {
                assert_eq!(message.id.into_json_value(), value["id"], "{seed}: {line}");
                assert_eq!(message.request.method(), value["method"], "{seed}: {line}");
                if let ClientRequest::CallToolRequest(call) = message.request {
                    let sent = match &value["params"]["arguments"] {
                        Value::Null => json!({}),
                        sent => sent.clone(),
                    };
                    let kept = call.extensions.get::<Arguments>().unwrap().as_json();
                    let kept: Value = serde_json::from_slice(kept).unwrap();
                    assert_eq!(kept, sent, "{seed}: {line}");
                    assert_eq!(
                        Some(&*call.params.name),
                        value["params"]["name"].as_str(),
                        "{seed}: {line}"
                    );
                }
            }
            // A notification, or one that is ignored. Text without a value may be a message: numbers have no bounds here.
            _ => {}
        }
    }
}
