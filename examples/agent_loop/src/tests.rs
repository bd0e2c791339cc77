//! Tests of the loop against a scripted server on loopback.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at an unexpected value"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::{Api, LoopError, MAX_TURNS};
use inmost::{MemoryTool, Session, StoreError};
use serde_json::{Value, json};

const KEY: &str = "sk-secret";

/// One request as the server received it.
struct Received {
    /// The request line and the headers, with names in lower case.
    head: Vec<String>,
    body: Value,
    raw_body: String,
}

impl Received {
    fn has(&self, header: &str) -> bool {
        self.head.iter().any(|line| line == header)
    }
}

/// Serves one request after another from `script`, then stops listening.
fn serve(script: Vec<(u16, String)>) -> (Api, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    thread::spawn(move || {
        for (status, reply) in script {
            let (stream, _) = listener.accept().unwrap();
            exchange(&stream, status, &reply, &sender);
        }
    });
    (Api::new(&url, KEY.into(), "a-model".into(), None), requests)
}

fn exchange(mut stream: &TcpStream, status: u16, reply: &str, sender: &Sender<Received>) {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => head.push(match line.split_once(": ") {
                Some((name, value)) => format!("{}: {value}", name.to_lowercase()),
                None => line.to_owned(),
            }),
        }
    }
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let raw_body = String::from_utf8(body).unwrap();
    let body = serde_json::from_str(&raw_body).unwrap();
    // Recorded before the reply is sent, so that a test with the reply also finds the request.
    sender.send(Received { head, body, raw_body }).unwrap();
    let length = reply.len();
    write!(
        stream,
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{reply}"
    )
    .unwrap();
}

fn message(stop_reason: &str, content: &Value) -> (u16, String) {
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "a-model",
        "content": content, "stop_reason": stop_reason,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    (200, message.to_string())
}

fn tool_use(id: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": "memory", "input": input})
}

fn view_root(id: &str) -> Value {
    tool_use(id, &json!({"command": "view", "path": "/memories"}))
}

fn memory() -> (Session, MemoryTool) {
    let session = Session::in_memory().unwrap();
    let memory = MemoryTool::new(session.clone());
    (session, memory)
}

fn run(api: &Api, memory: &MemoryTool) -> Result<String, LoopError> {
    crate::run(api, memory, "Plan the garden.", &mut |error| unreachable!("{error}"))
}

#[test]
fn a_task_runs_from_its_first_view_to_the_end_of_the_turn() {
    let note = json!({"command": "create", "path": "/memories/garden.md", "file_text": "beans\n"});
    let first = json!([
        {"type": "thinking", "thinking": "Look first.", "signature": "c2lnbmVk"},
        {"type": "text", "text": "I write it down."},
        tool_use("toolu_1", &note),
        view_root("toolu_2"),
    ]);
    let second = json!([tool_use("toolu_3", &note)]);
    let (api, requests) = serve(vec![
        message("tool_use", &first),
        message("tool_use", &second),
        message(
            "end_turn",
            &json!([{"type": "text", "text": "Beans "}, {"type": "text", "text": "it is."}]),
        ),
    ]);
    let (_session, memory) = memory();
    assert_eq!(run(&api, &memory).unwrap(), "Beans it is.");

    let requests: Vec<Received> = requests.iter().collect();
    assert_eq!(requests.len(), 3);
    for request in &requests {
        assert_eq!(request.head[0], "POST /v1/messages HTTP/1.1");
        for header in [
            "content-type: application/json",
            "x-api-key: sk-secret",
            "anthropic-version: 2023-06-01",
            "anthropic-beta: context-management-2025-06-27",
        ] {
            assert!(request.has(header), "{header}");
        }
        let body = &request.body;
        assert_eq!(body["model"], "a-model");
        assert!(body["max_tokens"].is_u64());
        assert_eq!(body["tools"], json!([{"type": "memory_20250818", "name": "memory"}]));
        let edits = json!([{"type": "clear_tool_uses_20250919", "exclude_tools": ["memory"]}]);
        assert_eq!(body["context_management"], json!({"edits": edits}));
        let system = body["system"].as_str().unwrap();
        assert!(system.starts_with("IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY BEFORE"));
        assert!(system.contains("MEMORY PROTOCOL:") && system.contains("ASSUME INTERRUPTION:"));
        assert!(!request.raw_body.contains(KEY));
    }

    let task = json!({"role": "user", "content": [{"type": "text", "text": "Plan the garden."}]});
    assert_eq!(requests[0].body["messages"], json!([task]));

    let results = json!([
        {
            "type": "tool_result", "tool_use_id": "toolu_1", "is_error": false,
            "content": "File created successfully at: /memories/garden.md",
        },
        {
            "type": "tool_result", "tool_use_id": "toolu_2", "is_error": false,
            "content": "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n6B\t/memories\n6B\t/memories/garden.md",
        },
    ]);
    let called = json!({"role": "assistant", "content": first});
    let answered = json!({"role": "user", "content": results});
    assert_eq!(requests[1].body["messages"], json!([task, called, answered]));
    assert!(requests[1].raw_body.contains(&first[0].to_string()), "signed blocks are not changed");

    let refused = json!([{
        "type": "tool_result", "tool_use_id": "toolu_3", "is_error": true,
        "content": "Error: File /memories/garden.md already exists",
    }]);
    assert_eq!(requests[2].body["messages"][4]["content"], refused);
    assert_eq!(requests[2].body["messages"].as_array().unwrap().len(), 5);
}

#[test]
fn a_paused_turn_is_sent_back_and_continues() {
    let pause = json!([{"type": "text", "text": "Wait."}]);
    let end = json!([{"type": "text", "text": "Done."}]);
    let (api, requests) = serve(vec![message("pause_turn", &pause), message("end_turn", &end)]);
    assert_eq!(run(&api, &memory().1).unwrap(), "Done.");
    let last = requests.iter().last().unwrap();
    assert_eq!(last.body["messages"][1], json!({"role": "assistant", "content": pause}));
}

#[test]
fn the_model_of_a_locked_store_reads_one_sentence_and_the_application_the_reason() {
    let end = json!([{"type": "text", "text": "I have no memory today."}]);
    let calls = json!([view_root("toolu_1")]);
    let (api, requests) = serve(vec![message("tool_use", &calls), message("end_turn", &end)]);
    let (session, memory) = memory();
    session.lock();
    let mut reasons = Vec::new();
    let mut report = |error: &StoreError| reasons.push(error.to_string());
    crate::run(&api, &memory, "Plan the garden.", &mut report).unwrap();
    assert_eq!(reasons, [StoreError::Locked.to_string()]);
    let last = requests.iter().last().unwrap();
    let result = &last.body["messages"][2]["content"][0];
    assert_eq!(result["content"], "Error: Memory is locked.");
    assert_eq!(result["is_error"], true);
}

#[test]
fn a_call_of_an_unknown_tool_returns_an_error() {
    let call = json!([{"type": "tool_use", "id": "toolu_1", "name": "shell", "input": {}}]);
    let (api, requests) = serve(vec![message("tool_use", &call), message("end_turn", &json!([]))]);
    assert_eq!(run(&api, &memory().1).unwrap(), "");
    let last = requests.iter().last().unwrap();
    let result = &last.body["messages"][2]["content"][0];
    assert_eq!((&result["tool_use_id"], &result["is_error"]), (&json!("toolu_1"), &json!(true)));
}

#[test]
fn an_api_error_is_reported_unchanged_and_without_the_key() {
    let body = json!({
        "type": "error", "request_id": "req_7",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
    });
    let (api, _requests) = serve(vec![(529, body.to_string())]);
    let error = run(&api, &memory().1).unwrap_err();
    let expected = "the API returned 529 overloaded_error: Overloaded (request id: req_7)";
    assert_eq!(error.to_string(), expected);
    assert!(!format!("{error:?}").contains(KEY));
}

#[test]
fn a_response_that_is_not_from_the_api_is_an_error() {
    for (status, body) in [(502, "<html>"), (200, "<html>"), (200, "{}"), (307, "")] {
        let (api, requests) = serve(vec![(status, body.into())]);
        assert!(run(&api, &memory().1).is_err(), "{status} {body}");
        assert_eq!(requests.iter().count(), 1);
    }
}

#[test]
fn a_turn_that_was_cut_off_is_an_error() {
    let (api, _requests) = serve(vec![message("max_tokens", &json!([view_root("toolu_1")]))]);
    assert!(matches!(run(&api, &memory().1), Err(LoopError::Stopped(why)) if why == "max_tokens"));
}

#[test]
fn a_model_that_never_ends_is_stopped() {
    let calls = message("tool_use", &json!([view_root("toolu_1")]));
    let (api, requests) = serve(vec![calls; MAX_TURNS + 1]);
    assert!(matches!(run(&api, &memory().1), Err(LoopError::TooManyTurns)));
    assert_eq!(requests.try_iter().count(), MAX_TURNS);
}
