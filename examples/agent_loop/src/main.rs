//! The complete tool loop: an agent with an encrypted memory, over the Messages API.
//!
//! ```text
//! export ANTHROPIC_API_KEY=... INMOST_PASSPHRASE='correct horse battery staple'
//! cargo run --package inmost-agent-loop -- claude.inmost 'Plan the garden with me.'
//! ```
//!
//! `ANTHROPIC_BASE_URL` and `ANTHROPIC_MODEL` choose another endpoint and model. A missing store is created.
//! A write is durable before the model reads its result, so the loop may be killed at any time.

#[cfg(test)]
mod tests;

use std::env;
use std::error::Error;
use std::time::Duration;

use inmost::{MemoryTool, Passphrase, Session, StoreError, Vault};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

/// The system prompt that the tool's documentation gives. The API adds it by itself; other endpoints may not.
const MEMORY_PROTOCOL: &str = "\
IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY BEFORE DOING ANYTHING ELSE.
MEMORY PROTOCOL:
1. Use the `view` command of your `memory` tool to check for earlier progress.
2. ... (work on the task) ...
     - As you make progress, record status / progress / thoughts etc in your memory.
ASSUME INTERRUPTION: Your context window might be reset at any moment, so you risk losing any progress that is not recorded in your memory directory.";

/// The most requests that one task may make: a model that never stops calling tools never stops costing money.
const MAX_TURNS: usize = 50;
const MAX_TOKENS: u32 = 4_096;
const TIMEOUT: Duration = Duration::from_secs(10 * 60);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [store, task] = arguments.as_slice() else {
        return Err("usage: agent_loop STORE TASK".into());
    };
    let api = Api::from_env()?;
    let session = unlock(store)?;
    let memory = MemoryTool::new(session.clone());

    // The model reads only that its memory is unavailable. The reason is for the person who runs the program.
    let mut report = |error: &StoreError| eprintln!("{error} {}", error.advice());
    let answer = run(&api, &memory, task, &mut report);
    session.lock();
    println!("{}", answer?);
    Ok(())
}

fn unlock(store: &str) -> Result<Session, Box<dyn Error>> {
    let typed = env::var("INMOST_PASSPHRASE").map_err(|_| "INMOST_PASSPHRASE is not set")?;
    let passphrase = Passphrase::from_string(typed)?;
    match Vault::open(store) {
        Ok(mut vault) => Ok(vault.unlock(&passphrase)?),
        Err(StoreError::NotAStore) => Ok(Vault::create(store, &passphrase)?),
        Err(error) => Err(error.into()),
    }
}

/// Works on a task until the model ends its turn, and returns its final text.
///
/// # Errors
/// [`LoopError`]; the memory keeps everything written until then.
fn run(
    api: &Api,
    memory: &MemoryTool,
    task: &str,
    report: &mut dyn FnMut(&StoreError),
) -> Result<String, LoopError> {
    let task = to_raw_value(&json!({"type": "text", "text": task}))?;
    let mut messages = vec![Turn { role: "user", content: vec![task] }];
    for _ in 0..MAX_TURNS {
        let reply = api.send(&messages)?;
        match reply.stop_reason.as_deref() {
            Some("end_turn" | "stop_sequence") => return reply.text(),
            Some("tool_use") => {
                let results = run_tools(memory, &reply, report)?;
                messages.push(Turn { role: "assistant", content: reply.content });
                // The results of parallel calls go back in one message.
                messages.push(Turn { role: "user", content: results });
            }
            // The API has paused a long turn; it continues when the turn is sent back.
            Some("pause_turn") => {
                messages.push(Turn { role: "assistant", content: reply.content });
            }
            reason => return Err(LoopError::Stopped(reason.unwrap_or("no reason given").into())),
        }
    }
    Err(LoopError::TooManyTurns)
}

/// Returns the results of every tool call of a reply, in order.
fn run_tools(
    memory: &MemoryTool,
    reply: &Reply,
    report: &mut dyn FnMut(&StoreError),
) -> Result<Vec<Box<RawValue>>, LoopError> {
    let mut results = Vec::new();
    for block in &reply.content {
        let Block { kind, id: Some(id), .. } = serde_json::from_str(block.get())? else { continue };
        if kind != "tool_use" {
            continue;
        }
        // The block is passed on unchanged: a call of a tool that was never offered gets an error of its own.
        let result = memory.try_run_json(block.get()).unwrap_or_else(|error| {
            report(&error);
            error.for_model()
        });
        results.push(to_raw_value(&json!({
            "type": "tool_result",
            "tool_use_id": id,
            "content": result.content(),
            "is_error": result.is_error(),
        }))?);
    }
    Ok(results)
}

/// The endpoint, the credentials and the model.
struct Api {
    agent: ureq::Agent,
    url: String,
    key: String,
    model: String,
}

impl Api {
    fn from_env() -> Result<Self, Box<dyn Error>> {
        let or = |name, default: &str| env::var(name).unwrap_or_else(|_| default.into());
        let key = env::var("ANTHROPIC_API_KEY").map_err(|_| "ANTHROPIC_API_KEY is not set")?;
        let url = or("ANTHROPIC_BASE_URL", "https://api.anthropic.com");
        let model = or("ANTHROPIC_MODEL", "claude-opus-4-6");
        Ok(Self::new(&url, key, model, ureq::Proxy::try_from_env()))
    }

    fn new(base_url: &str, key: String, model: String, proxy: Option<ureq::Proxy>) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false) // the body describes the error
            .max_redirects(0) // the key is sent to no other host
            .proxy(proxy)
            .timeout_global(Some(TIMEOUT))
            .build()
            .new_agent();
        let url = format!("{}/v1/messages", base_url.trim_end_matches('/'));
        Self { agent, url, key, model }
    }

    fn send(&self, messages: &[Turn]) -> Result<Reply, LoopError> {
        let request = Request {
            model: &self.model,
            max_tokens: MAX_TOKENS,
            system: MEMORY_PROTOCOL,
            messages,
            tools: json!([{"type": "memory_20250818", "name": "memory"}]),
            // Old tool results leave the context when it fills up, but results of the memory tool stay.
            context_management: json!({
                "edits": [{"type": "clear_tool_uses_20250919", "exclude_tools": ["memory"]}]
            }),
        };
        let mut response = self
            .agent
            .post(&self.url)
            .header("content-type", "application/json")
            .header("x-api-key", &self.key)
            .header("anthropic-version", "2023-06-01")
            .header("anthropic-beta", "context-management-2025-06-27")
            .send(serde_json::to_string(&request)?)?;
        let status = response.status();
        let body = response.body_mut().read_to_string()?;
        if status.is_success() {
            return Ok(serde_json::from_str(&body)?);
        }
        let explained: Failure = serde_json::from_str(&body).unwrap_or_default();
        Err(LoopError::Api {
            status: status.as_u16(),
            kind: explained.error.kind,
            message: explained.error.message,
            request_id: explained.request_id.unwrap_or_else(|| "none".into()),
        })
    }
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    max_tokens: u32,
    system: &'a str,
    messages: &'a [Turn],
    tools: serde_json::Value,
    context_management: serde_json::Value,
}

/// One message of the conversation. Blocks are kept byte for byte, because some are signed.
#[derive(Serialize)]
struct Turn {
    role: &'static str,
    content: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Reply {
    content: Vec<Box<RawValue>>,
    stop_reason: Option<String>,
}

impl Reply {
    fn text(&self) -> Result<String, LoopError> {
        let mut text = String::new();
        for block in &self.content {
            let block: Block = serde_json::from_str(block.get())?;
            text.extend(block.text);
        }
        Ok(text)
    }
}

/// The fields of a block that the loop reads.
#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    text: Option<String>,
}

/// The body of an error response; empty if it has another form.
#[derive(Default, Deserialize)]
struct Failure {
    error: Explanation,
    request_id: Option<String>,
}

#[derive(Default, Deserialize)]
struct Explanation {
    #[serde(rename = "type")]
    kind: String,
    message: String,
}

/// Why a task ended without a final text.
#[derive(Debug, thiserror::Error)]
enum LoopError {
    #[error("the API returned {status} {kind}: {message} (request id: {request_id})")]
    Api { status: u16, kind: String, message: String, request_id: String },
    #[error("cannot reach the API: {0}")]
    Unreachable(#[from] ureq::Error),
    #[error("the API returned an invalid message: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("the model stopped before it was done: {0}")]
    Stopped(String),
    #[error("the task took more than {MAX_TURNS} requests")]
    TooManyTurns,
}
