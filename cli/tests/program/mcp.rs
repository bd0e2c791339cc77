//! `inmost mcp` with a minimal client. `tests/mcp` uses real clients.

mod client;
mod config;
mod install;
#[cfg(target_os = "linux")]
mod keyd;
mod protocol;
mod replaced;
mod resources;

use serde_json::{Value, json};

use crate::inmost::{PASSPHRASE, Place};
use client::{Client, LISTING, done, locked, refused, text_of, unavailable, view};

#[test]
fn all_six_commands_return_what_the_contract_says() {
    let place = Place::with_store();
    let mut client = Client::with(&place, &[]);
    let mut call = |arguments: Value| client.call(&arguments);
    assert_eq!(call(view("/memories")), done(&format!("{LISTING}0B\t/memories")));
    assert_eq!(
        call(json!({ "command": "create", "path": "/memories/a/b.md", "file_text": "one\ntwo\n" })),
        done("File created successfully at: /memories/a/b.md")
    );
    assert_eq!(
        call(json!({
            "command": "str_replace", "path": "/memories/a/b.md", "old_str": "two", "new_str": "2",
        })),
        done(
            "The memory file has been edited. Here is the snippet showing the change (with line \
             numbers):\n     1\tone\n     2\t2"
        )
    );
    assert_eq!(
        call(json!({
            "command": "insert", "path": "/memories/a/b.md", "insert_line": 0, "insert_text": "zéro",
        })),
        done("The file /memories/a/b.md has been edited.")
    );
    assert_eq!(
        call(json!({ "command": "view", "path": "/memories/a/b.md", "view_range": [1, 2] })),
        done(
            "Here's the content of /memories/a/b.md with line numbers:\n     1\tzéro\n     2\tone"
        )
    );
    assert_eq!(
        call(json!({ "command": "rename", "old_path": "/memories/a", "new_path": "/memories/c" })),
        done("Successfully renamed /memories/a to /memories/c")
    );
    assert_eq!(
        call(json!({ "command": "delete", "path": "/memories/c" })),
        done("Successfully deleted /memories/c")
    );
    client.end().expect(0);
}

#[test]
fn a_failed_call_is_a_result_and_the_server_continues() {
    let place = Place::with_store();
    let mut client = Client::with(&place, &[]);
    for (arguments, told) in [
        (
            json!({}),
            "Error: Unknown command: . Valid commands: view, create, str_replace, insert, delete, rename",
        ),
        (json!({ "command": "view" }), "Error: Missing required parameter `path` for command view"),
        (
            json!({ "command": "view", "path": 1 }),
            "Error: Invalid parameter `path`: expected a string",
        ),
        (
            json!({ "command": "view", "path": "/etc/passwd", "more": [null] }),
            "Error: Path must start with /memories, got: /etc/passwd",
        ),
        (
            json!({ "command": "delete", "path": "/memories" }),
            "Error: Cannot delete the /memories directory itself",
        ),
    ] {
        assert_eq!(client.call(&arguments), refused(told), "{arguments}");
    }
    let without_arguments = client.ask("tools/call", &json!({ "name": "memory" }));
    assert!(text_of(&without_arguments).1);
    let unknown = client.answer("resources/read", &json!({ "uri": "file:///etc/passwd" }));
    assert_eq!(unknown["error"]["code"], -32002, "{unknown}");
    assert!(!client.call(&view("/memories")).1);
    client.end().expect(0);
}

#[test]
fn the_tool_is_one_flat_object_of_the_six_commands() {
    let place = Place::vacant();
    let mut client = Client::with(&place, &[]);
    assert_eq!(client.hello["serverInfo"]["name"], "inmost");
    assert_eq!(client.hello["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    let instructions = client.hello["instructions"].as_str().unwrap().to_owned();
    assert!(instructions.contains("view /memories") && instructions.contains("record progress"));
    let tools = client.ask("tools/list", &json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 1, "{tools}");
    let tool = &tools["tools"][0];
    assert_eq!(tool["name"], "memory");
    let schema = &tool["inputSchema"];
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["command"]));
    let mut fields: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    fields.sort();
    let expected = "command file_text insert_line insert_text new_path new_str old_path old_str path \
                    view_range";
    assert_eq!(fields, expected.split_whitespace().collect::<Vec<_>>());
    let commands = json!(["view", "create", "str_replace", "insert", "delete", "rename"]);
    assert_eq!(schema["properties"]["command"]["enum"], commands);
    assert_eq!(tool["annotations"]["readOnlyHint"], false);
    client.end().expect(0);

    let mut client = Client::with(&place, &["--read-only"]);
    let tools = client.ask("tools/list", &json!({}));
    let tool = &tools["tools"][0];
    assert_eq!(tool["inputSchema"]["properties"]["command"]["enum"], json!(["view"]));
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    assert!(!client.hello["instructions"].as_str().unwrap().contains("record progress"));
    client.end().expect(0);
}

/// The keys of a schema that Gemini accepts (`Schema` of its API), and those that structured outputs of `OpenAI` accept.
const GEMINI: &str = "type format title description nullable enum maxItems minItems properties required minProperties \
                      maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum";
const OPENAI: &str = "type description properties required items enum const anyOf $ref $defs additionalProperties pattern \
                      format multipleOf maximum exclusiveMaximum minimum exclusiveMinimum minItems maxItems";

fn assert_is_accepted(schema: &Value) {
    let accepts = |list: &str, key: &str| list.split_whitespace().any(|known| known == key);
    for (key, value) in schema.as_object().unwrap() {
        assert!(accepts(GEMINI, key) && accepts(OPENAI, key), "{key}: {schema}");
        match key.as_str() {
            "properties" => value.as_object().unwrap().values().for_each(assert_is_accepted),
            "items" => assert_is_accepted(value),
            // Gemini takes one type, and choices of texts only.
            "type" => assert!(value.is_string(), "{schema}"),
            "enum" => assert!(schema["type"] == "string", "{schema}"),
            // OpenAI refuses a union at the top level; no schema here has one.
            "anyOf" => assert_eq!(value, &Value::Null, "a union: {schema}"),
            _ => {}
        }
    }
}

#[test]
fn the_schemas_have_only_what_other_models_accept() {
    let place = Place::vacant();
    for options in [&["--search"][..], &["--search", "--read-only"]] {
        let mut client = Client::with(&place, options);
        let tools = client.ask("tools/list", &json!({}));
        let tools = tools["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 2);
        for tool in tools {
            assert_eq!(tool["inputSchema"]["type"], "object");
            assert_is_accepted(&tool["inputSchema"]);
        }
        client.end().expect(0);
    }
}

#[test]
fn limits_hold() {
    let place = Place::with_files(&[("/memories/mine", "outside"), ("/memories/x/a", "1")]);
    let mut client = Client::with(&place, &["--subtree", "/memories/x", "--create-overwrites"]);
    let create = json!({ "command": "create", "path": "/memories/a", "file_text": "22" });
    assert_eq!(client.call(&create), done("File created successfully at: /memories/a"));
    let listing = done(&format!("{LISTING}2B\t/memories\n2B\t/memories/a"));
    assert_eq!(client.call(&view("/memories")), listing);
    client.end().expect(0);
    let mut client = Client::with(&place, &["--subtree", "/memories/x", "--read-only"]);
    assert_eq!(client.call(&create), refused("Error: Memory is read-only."));
    assert_eq!(client.call(&view("/memories")), listing);
    client.end().expect(0);
}

#[test]
fn a_locked_store_is_locked_for_the_model_and_the_reason_is_printed_once() {
    let place = Place::with_store();
    let mut command = place.bare_command(["mcp", "--store"]);
    let mut client = Client::of(command.arg(place.store()));
    client.ask("tools/list", &json!({}));
    for _ in 0..3 {
        assert_eq!(client.call(&view("/memories")), locked());
    }
    let ended = client.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.err.lines().count(), 2, "{ended:?}");
    assert!(ended.err.contains(" is locked: no passphrase"), "{ended:?}");
}

#[test]
fn each_call_tries_to_open_the_store_again() {
    let place = Place::with_store();
    let file = place.beside("passphrase");
    std::fs::write(&file, "wrong").unwrap();
    let mut command = place.bare_command(["mcp", "--store"]);
    command.arg(place.store()).arg("--passphrase-file").arg(&file);
    let mut client = Client::of(&mut command);
    for _ in 0..2 {
        assert_eq!(client.call(&view("/memories")), unavailable());
    }
    std::fs::write(&file, PASSPHRASE).unwrap();
    assert!(!client.call(&view("/memories")).1);
    let ended = client.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.err.lines().count(), 2, "{ended:?}");
    assert!(ended.err.contains("The passphrase is wrong: "), "{ended:?}");
}

#[cfg(unix)]
#[test]
fn a_passphrase_from_a_pipe_is_kept_for_a_second_attempt() {
    let place = Place::with_store();
    let mut holder = Client::with(&place, &[]);
    assert!(!holder.call(&view("/memories")).1);
    // A here-document is a pipe or a file that is read once.
    let script = "exec 9<<END\n$P\nEND\nexec \"$@\" --passphrase-fd 9";
    let inner = place.bare_command(["mcp", "--store"]);
    let mut command = place.shell(script);
    command.arg("sh").arg(inner.get_program()).args(inner.get_args()).arg(place.store());
    let mut client = Client::of(command.env("P", PASSPHRASE));
    assert_eq!(client.call(&view("/memories")), unavailable());
    holder.end().expect(0);
    assert!(!client.call(&view("/memories")).1);
    let ended = client.end();
    assert!(ended.err.contains("in use"), "{ended:?}");
    assert_eq!(ended.err.lines().count(), 2, "{ended:?}");
}

#[test]
fn calls_sent_together_run_in_their_order() {
    let place = Place::with_store();
    let mut client = Client::with(&place, &[]);
    let mut sent = Vec::new();
    for number in 0..20 {
        let arguments = if number == 0 {
            json!({ "command": "create", "path": "/memories/f", "file_text": "" })
        } else {
            json!({
                "command": "insert", "path": "/memories/f", "insert_line": number - 1,
                "insert_text": number.to_string(),
            })
        };
        sent.push(client.request_call(&arguments));
    }
    let mut answered = Vec::new();
    for _ in &sent {
        let answer = client.next();
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answered.push(answer["id"].as_u64().unwrap());
    }
    // Separate tasks write the replies, so only the effects of the calls have an order.
    answered.sort_unstable();
    assert_eq!(answered, sent);
    client.end().expect(0);
    let lines: Vec<_> = (1..20).map(|number| format!("{number}\n")).collect();
    assert_eq!(place.cat("/memories/f"), lines.concat());
}

#[test]
fn a_request_that_is_cancelled_before_its_turn_changes_nothing() {
    let place = Place::with_store();
    let mut client = Client::with(&place, &[]);
    // The first opens the store, so the second waits for a while.
    let first = client.request_call(&view("/memories"));
    let create = json!({ "command": "create", "path": "/memories/f", "file_text": "" });
    let id = client.request_call(&create);
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id },
    }));
    assert_eq!(client.next()["id"], first);
    assert_eq!(client.call(&view("/memories")), done(&format!("{LISTING}0B\t/memories")));
    client.end().expect(0);
}

#[test]
fn the_longest_file_fits_a_message() {
    let place = Place::with_store();
    let mut client = Client::with(&place, &[]);
    let text = "\"\n".repeat(8 << 20);
    let call = json!({ "command": "create", "path": "/memories/long", "file_text": text });
    assert_eq!(client.call(&call), done("File created successfully at: /memories/long"));
    client.end().expect(0);
    assert!(place.cat("/memories/long") == text);
}

#[test]
fn empty_input_is_not_a_failure_but_another_protocol_is() {
    let place = Place::with_store();
    place.run(["mcp"], "").expect(0);
    let other = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let ended = place.run(["mcp"], &format!("{other}\n"));
    ended.expect_failure(1, "does not use the Model Context Protocol");
}

#[test]
fn calls_sent_before_the_input_ends_get_replies() {
    let place = Place::with_store();
    let mut client = Client::with(&place, &[]);
    let call = json!({ "command": "create", "path": "/memories/a", "file_text": "kept" });
    let id = client.request_call(&call);
    client.close();
    let answer = client.next();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(id), &json!(false)));
    client.end().expect(0);
    assert_eq!(place.cat("/memories/a"), "kept");
}

/// The library behind the server gives calls 5 s from the end of the input on.
#[test]
fn calls_that_wait_for_the_store_are_run_after_the_end_of_the_input() {
    let place = Place::with_store();
    let mut holder = place.command(["call"]);
    let mut holder = holder.stdin(std::process::Stdio::piped()).spawn().unwrap();
    while place.run(["ls", "--wait", "0"], "").code != Some(13) {
        assert!(holder.try_wait().unwrap().is_none());
    }
    let mut client = Client::with(&place, &["--wait", "1m"]);
    let call = json!({ "command": "create", "path": "/memories/a", "file_text": "kept" });
    let id = client.request_call(&call);
    client.close();
    std::thread::sleep(std::time::Duration::from_secs(6));
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(client.next()["id"], json!(id));
    client.end().expect(0);
    assert_eq!(place.cat("/memories/a"), "kept");
}

#[test]
fn acknowledged_changes_survive_the_process() {
    let place = Place::with_store();
    let mut client = Client::with(&place, &[]);
    client.call(&json!({ "command": "create", "path": "/memories/a", "file_text": "kept" }));
    client.kill();
    assert_eq!(place.cat("/memories/a"), "kept");
}

/// A client that was killed leaves a child that holds the pipe: the store must not stay in use for as long as that lives.
#[test]
#[cfg(unix)]
fn a_server_ends_when_the_program_that_started_it_was_killed() {
    use std::io::Read;
    let place = Place::with_store();
    place.lock();
    let script = "exec 3<&0; \"$@\" <&3 & sleep 60 >/dev/null 2>&1 & wait";
    let server = place.bare_command(["mcp", "--store"]);
    let mut command = place.shell(script);
    command.arg("sh").arg(server.get_program()).args(server.get_args()).arg(place.store());
    command.env("INMOST_PASSPHRASE", PASSPHRASE);
    let piped = std::process::Stdio::piped;
    let mut client = command.stdin(piped()).stdout(piped()).spawn().unwrap();
    let begin = std::time::Instant::now();
    client.kill().unwrap();
    client.wait().unwrap();
    let mut out = String::new();
    client.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(begin.elapsed() < std::time::Duration::from_secs(50), "it outlived its client");
}

#[test]
fn a_model_finds_a_note_by_search_and_continues_by_view() {
    let files = [
        ("/memories/other", "flights to Lisbon\n"),
        ("/memories/x/plan.md", "Paris\nflights to Lisbon are booked\n"),
        ("/memories/x/note.md", "nothing\n"),
    ];
    let place = Place::with_files(&files);
    let mut client = Client::with(&place, &["--search", "--subtree", "/memories/x", "--read-only"]);
    let tools = client.ask("tools/list", &json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 2);
    let tool = &tools["tools"][1];
    assert_eq!(tool["name"], "memory_search");
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    let mut search = |arguments: Value| {
        let call = json!({ "name": "memory_search", "arguments": arguments });
        text_of(&client.ask("tools/call", &call))
    };
    assert_eq!(
        search(json!({ "query": "booking a flight" })),
        done(
            "The files below /memories that have any of these words, the best first:\n\
             /memories/plan.md\n     2\tflights to Lisbon are booked"
        )
    );
    assert_eq!(
        search(json!({ "query": "zebra", "path": "" })),
        done("No file below /memories has any of these words.")
    );
    assert_eq!(search(json!({ "query": "?" })), done("There is no word to search for."));
    assert_eq!(search(json!({})), refused("Error: Invalid search: it needs query, a text."));
    assert!(search(json!({ "query": "a", "path": "/etc" })).1);
    let next = json!({ "command": "view", "path": "/memories/plan.md", "view_range": [2, 2] });
    assert!(client.call(&next).0.contains("2\tflights to Lisbon"));
    client.end().expect(0);
}

#[test]
fn a_tool_of_another_name_is_the_only_one() {
    let place = Place::with_store();
    let mut client = Client::of(&mut place.command(["mcp", "--tool-name", "work_memory"]));
    let tool = client.ask("tools/list", &json!({}))["tools"][0].clone();
    assert_eq!(tool["name"], "work_memory");
    assert_eq!(tool["_meta"]["anthropic/maxResultSizeChars"], 500_000);
    let call = |name: &str| json!({ "name": name, "arguments": view("/memories") });
    assert!(!text_of(&client.ask("tools/call", &call("work_memory"))).1);
    assert_eq!(client.answer("tools/call", &call("memory"))["error"]["code"], -32602);
    client.end().expect(0);
}
