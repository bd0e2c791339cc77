//! Messages that are odd, invalid or too long, and the arguments of calls as they were sent.

use serde_json::{Value, json};

use super::client::{Client, LISTING, done, text_of, view};
use crate::inmost::Place;

/// A call with these arguments, as a line.
fn line(arguments: &str) -> String {
    format!(
        r#"{{"method":"tools/call","params":{{"name":"memory","arguments":{arguments}}},"jsonrpc":"2.0","id":7}}"#
    )
}

#[test]
fn a_call_returns_what_inmost_call_returns_for_the_same_json() {
    let place = Place::with_files(&[("/memories/a", "1\n2\n3\n")]);
    let range = |range: &str| {
        format!(r#"{{"command": "view", "path": "/memories/a", "view_range": {range}}}"#)
    };
    let deep = |levels: usize| {
        let nested = "[".repeat(levels) + &"]".repeat(levels);
        format!(r#"{{"command": "view", "path": "/memories/a", "note": {nested}}}"#)
    };
    let insert = |line: &str| {
        format!(
            r#"{{"command": "insert", "path": "/memories/none", "insert_line": {line}, "insert_text": ""}}"#
        )
    };
    let calls = [
        range("[2.0, 3e0]"),
        range("[1.10, 2.5]"),
        range("[1E400, -1e400]"),
        range("[123456789012345678901234567890, 1]"),
        range("[18446744073709551615, 18446744073709551616]"),
        range("[-0, 0.1000000000000000055511151231257827]"),
        range("{ \"b\" : 1.0 , \"a\" : 1e2 }"),
        insert("1e400"),
        insert("9223372036854775808"),
        insert("1.0000000000000000001"),
        deep(100),
        deep(127),
        deep(128),
        deep(100_000),
        range(r#""\ud800""#),
        r#"{"command": "view", "path": "/memories/\udfff"}"#.to_owned(),
        r#"{"command": "view", "path": "/memories/a", "\ud800": 1}"#.to_owned(),
        r#"{"command": "view", "path": "/memories/a", "command": "fly\u0000"}"#.to_owned(),
        r#"{"type": "tool_use", "id": "x", "name": "memory", "input": {"command": "view", "path": "/memories"}}"#
            .to_owned(),
        r#"{"type": "tool_use", "id": "x", "name": "bash", "input": {}}"#.to_owned(),
        r#"{"command": "create", "path": "/memories/b", "file_text": "\u00e9\ud83d\ude00"}"#.to_owned(),
        r#"{"command": "view", "path": "/memories/b"}"#.to_owned(),
    ];
    let by_call = place.run(["call"], &calls.join("\n")).expect(0).out;
    place.run(["rm", "/memories/b"], "").expect(0);
    let by_call: Vec<_> = by_call
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|object| {
            (object["content"].as_str().unwrap().to_owned(), object["is_error"].as_bool().unwrap())
        })
        .collect();
    let mut client = Client::with(&place, &[]);
    let by_server: Vec<_> = calls
        .iter()
        .map(|call| {
            client.send_line(&line(call));
            text_of(&client.next()["result"])
        })
        .collect();
    assert_eq!(by_server, by_call);
    client.end().expect(0);
}

#[test]
fn an_invalid_line_gets_an_error_and_the_server_continues() {
    let place = Place::with_store();
    let mut client = Client::with(&place, &[]);
    for (line, id, code) in [
        ("no json", Value::Null, -32700),
        (r#"{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"#, Value::Null, -32700),
        (r#"[{"jsonrpc": "2.0", "id": 5, "method": "ping"}]"#, Value::Null, -32600),
        ("[]", Value::Null, -32600),
        (r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc": "1.0", "id": 5, "method": "ping"}"#, json!(5), -32600),
        (r#"{"jsonrpc": "2.0", "id": "five"}"#, json!("five"), -32600),
        (r#"{"jsonrpc": "2.0", "id": 5, "method": "fly"}"#, json!(5), -32601),
    ] {
        client.send_line(line);
        let reply = client.next();
        assert_eq!(reply["jsonrpc"], "2.0", "{line}: {reply}");
        assert_eq!(reply.get("id"), Some(&id), "{line}: {reply}");
        assert_eq!(reply["error"]["code"], code, "{line}: {reply}");
        assert!(!reply["error"]["message"].as_str().unwrap().is_empty(), "{line}: {reply}");
    }
    client.send_line(r#"{"jsonrpc": "2.0", "id": 6, "method": "fly"}"#);
    assert_eq!(client.next()["error"]["message"], "Unknown method: fly");
    for (method, params) in [
        ("logging/setLevel", r#"{"level": "info"}"#),
        ("resources/subscribe", r#"{"uri": "inmost:///a"}"#),
        ("resources/unsubscribe", r#"{"uri": "inmost:///a"}"#),
    ] {
        client.send_line(&format!(
            r#"{{"jsonrpc": "2.0", "id": 7, "method": "{method}", "params": {params}}}"#
        ));
        let error = &client.next()["error"];
        assert_eq!(error["code"], -32601, "{error}");
        assert_eq!(error["message"], format!("Unknown method: {method}"));
    }
    // No reply to these.
    for line in [
        "",
        " \t\r",
        r#"{"jsonrpc": "2.0", "id": 9, "result": {}}"#,
        r#"{"jsonrpc": "2.0", "method": "notifications/odd", "params": "\ud800"}"#,
    ] {
        client.send_line(line);
    }
    assert_eq!(client.call(&view("/memories")), done(&format!("{LISTING}0B\t/memories")));
    client.end().expect(0);
}

#[test]
fn a_line_beyond_the_limit_is_skipped_and_gets_an_error() {
    let place = Place::with_store();
    let mut client = Client::with(&place, &[]);
    let text = "x".repeat(64 << 20);
    client.send_line(&line(&format!(r#"{{"command": "create", "file_text": "{text}"}}"#)));
    let reply = client.next();
    assert_eq!(reply.get("id"), Some(&Value::Null), "{reply}");
    assert_eq!(reply["error"]["code"], -32600, "{reply}");
    assert_eq!(reply["error"]["message"], "The message is longer than 64 MiB.");
    assert_eq!(client.call(&view("/memories")), done(&format!("{LISTING}0B\t/memories")));
    client.end().expect(0);
}

#[test]
fn wrong_params_of_a_call_are_named() {
    let place = Place::with_store();
    let mut client = Client::with(&place, &[]);
    for (params, fault) in [
        (json!(null), "`params` must be an object"),
        (json!(["memory", {}]), "`params` must be an object"),
        (json!({ "arguments": {} }), "`name` must be the name of a tool"),
        (json!({ "name": 7, "arguments": {} }), "`name` must be the name of a tool"),
        (json!({ "name": "memory", "arguments": [] }), "`arguments` must be an object"),
        (json!({ "name": "memory", "arguments": "{}" }), "`arguments` must be an object"),
        (json!({ "name": "memory", "_meta": "x" }), "invalid type: string \"x\""),
        (json!({ "name": "shell", "arguments": {} }), "Unknown tool: shell"),
    ] {
        let reply = client.answer("tools/call", &params);
        assert_eq!(reply["error"]["code"], -32602, "{params}: {reply}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains(fault), "{params}: {message}");
    }
    client.send_line(r#"{"jsonrpc": "2.0", "id": 7, "method": "tools/call"}"#);
    assert_eq!(client.next()["error"]["code"], -32602);
    assert!(!client.call(&view("/memories")).1);
    client.end().expect(0);
}

#[test]
fn the_history_names_the_client_as_the_actor() {
    let place = Place::with_store();
    let create = |path: &str| json!({ "command": "create", "path": path, "file_text": "x" });
    let mut client = Client::with(&place, &[]);
    assert!(!client.call(&create("/memories/a")).1);
    client.end().expect(0);
    let mut client = Client::with(&place, &["--as", "night"]);
    assert!(!client.call(&create("/memories/b")).1);
    client.end().expect(0);
    let out = place.run(["log", "--json"], "").expect(0).out;
    let versions: Vec<Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let authors: Vec<_> = versions.iter().map(|it| [&it["channel"], &it["actor"]]).collect();
    assert_eq!(authors, [["tool", "night"], ["tool", "test"]]);
}

#[test]
fn a_byte_order_mark_before_the_first_message_is_dropped() {
    let place = Place::with_store();
    let hello = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    });
    let out = place.run(["mcp"], &format!("\u{feff}{hello}\n")).out;
    let reply: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(reply["result"]["serverInfo"]["name"], "inmost", "{out}");
}
