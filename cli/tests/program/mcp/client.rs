//! A client with the parts of the protocol that these tests need.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::inmost::{Ended, PATIENCE, Place};

pub(super) const LISTING: &str = "Here're the files and directories up to 2 levels deep in \
                                  /memories, excluding hidden items and node_modules:\n";

/// A running server after the handshake.
pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<String>,
    id: u64,
    /// The reply to the handshake.
    pub(super) hello: Value,
}

impl Client {
    /// A server of this store, with the passphrase in its environment.
    pub(super) fn with(place: &Place, args: &[&str]) -> Self {
        Self::of(&mut place.command(["mcp"].iter().chain(args)))
    }

    pub(super) fn of(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, messages) = channel();
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        let stdin = child.stdin.take();
        let mut client = Self { child, stdin, messages, id: 0, hello: Value::Null };
        client.hello = client.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    pub(super) fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// The next message of the server.
    pub(super) fn next(&mut self) -> Value {
        let message = self.messages.recv_timeout(PATIENCE).expect("no answer came");
        serde_json::from_str(&message).unwrap()
    }

    /// Sends a request and returns its id.
    fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(super) fn request_call(&mut self, arguments: &Value) -> u64 {
        self.request("tools/call", &json!({ "name": "memory", "arguments": arguments }))
    }

    /// The whole reply to a request.
    pub(super) fn answer(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The result of a request.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let mut answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    }

    /// A call of the tool: its text, and whether it is an error.
    pub(super) fn call(&mut self, arguments: &Value) -> (String, bool) {
        let result = self.ask("tools/call", &json!({ "name": "memory", "arguments": arguments }));
        text_of(&result)
    }

    /// Closes standard input.
    pub(super) fn close(&mut self) {
        drop(self.stdin.take());
    }

    pub(super) fn end(mut self) -> Ended {
        self.close();
        Ended::of(self.child.wait_with_output().unwrap())
    }

    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub(super) fn text_of(result: &Value) -> (String, bool) {
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    assert_eq!(result["content"][0]["type"], "text");
    let text = result["content"][0]["text"].as_str().unwrap();
    (text.to_owned(), result["isError"].as_bool().unwrap())
}

pub(super) fn done(text: &str) -> (String, bool) {
    (text.to_owned(), false)
}

pub(super) fn refused(text: &str) -> (String, bool) {
    (text.to_owned(), true)
}

pub(super) fn unavailable() -> (String, bool) {
    refused("Error: Memory is unavailable.")
}

pub(super) fn locked() -> (String, bool) {
    refused(LOCKED)
}

pub(super) fn view(path: &str) -> Value {
    json!({ "command": "view", "path": path })
}

pub(super) const LOCKED: &str =
    "Error: Memory is locked. The user can unlock it with `inmost unlock`.";
