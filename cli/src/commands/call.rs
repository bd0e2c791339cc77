//! `inmost call`

mod keep_going;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use inmost::{ExpirySettings, HistorySettings, MemoryTool, ToolError, ToolResult};
use serde::Serialize;

use crate::args::{ActorArgs, KdfArgs, StoreArgs};
use crate::display;
use crate::engine::EngineName;
use crate::exit::Failure;
use crate::json_line;
use crate::lines::{LINE_BYTES, Line, Lines};
use crate::passphrase::Input;
use crate::store::opening::{Create, NewStore, OpenOptions, Unused};
use crate::store::restrictions::Restrictions;
use crate::streams;
use inmost_console::Wiped;

/// Run calls of the memory tool
///
/// A call is the `input` object of a `tool_use` block, or the whole block. Give one call as an argument, or one call on
/// each line of standard input. Standard input is safer, because every user of the machine can read the arguments of a
/// running program. Each call runs as soon as it is read and prints one line of JSON with `content`, `is_error`, and
/// `tool_use_id` if the call had an id.
///
/// Exits with 0 if every call was run, even if some returned an error. If the store fails, the command ends.
///
/// With --keep-going it does not end: each call tries to open the store again, as `inmost mcp` does, and never asks for a
/// passphrase. A result that is an error then has a `reason`: `refused` if the call itself is at fault, else `locked`,
/// `no_store`, `wrong_passphrase`, `damaged`, `in_use`, `rolled_back`, `io` or `unavailable`. The exit code is that of the last
/// call that the store could not run.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost call --store notes.inmost --create < session.jsonl\n  \
    inmost call --store notes.inmost '{\"command\": \"view\", \"path\": \"/memories\"}'\n  \
    inmost call --store notes.inmost --subtree /memories/project-x < session.jsonl\n  \
    inmost call --store notes.inmost --screen redact < session.jsonl")]
pub(crate) struct Call {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// Create the store if it does not exist. It then keeps no versions; `inmost history` turns that on
    #[arg(long)]
    create: bool,

    #[command(flatten)]
    kdf: KdfArgs,

    #[command(flatten)]
    restrictions: Restrictions,

    /// Continue after a failure of the store, and try to open it again at each call
    #[arg(long, conflicts_with = "create")]
    keep_going: bool,

    /// Print only the content of each result, without JSON
    #[arg(long)]
    text: bool,

    /// The call; without it, calls are read from standard input
    json: Option<OsString>,
}

impl Call {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if !self.create && self.kdf.is_given() {
            return Err(Failure::usage(
                "The cost of key derivation can be chosen only for a new store.",
                "Leave out these options, or add --create.",
            ));
        }
        self.kdf.check()?;
        self.restrictions.check()?;
        if self.keep_going {
            return keep_going::run(self);
        }
        let new = NewStore {
            kdf: &self.kdf,
            engine: EngineName::Sled,
            history: HistorySettings::off(),
            expiry: ExpirySettings::off(),
        };
        let store = self.store.open(&OpenOptions {
            input: if self.json.is_some() { Input::Free } else { Input::Taken },
            unused: Unused::Expire,
            restrictions: self.restrictions.clone(),
            create: if self.create { Create::IfMissing(new) } else { Create::Never },
            actor: self.actor.actor(),
            ..OpenOptions::default()
        })?;
        self.run_all(&self.restrictions.tool_on(&store)?)
    }

    fn run_all(&self, tool: &MemoryTool) -> Result<(), Failure> {
        let mut output = streams::output().map_err(|error| Failure::output(&error))?;
        self.for_each(|json| match json {
            Some(json) => self.run_call(tool, json, &mut output),
            None => self.write(&too_long(), None, &mut output),
        })
    }

    /// Runs the call of the command line, or that of each line of standard input; `None` is a line that is too long.
    fn for_each(
        &self,
        mut run: impl FnMut(Option<&[u8]>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if let Some(json) = &self.json {
            return run(Some(json.as_encoded_bytes()));
        }
        if io::stdin().is_terminal() {
            streams::hint(
                "Type a call on one line, such as {\"command\": \"view\", \"path\": \"/memories\"}. Ctrl-D ends.",
            );
        }
        let input = streams::input().map_err(|error| Failure::input(&error))?;
        let mut lines = Lines::new(input, LINE_BYTES);
        while let Some(line) = lines.next().map_err(|error| Failure::input(&error))? {
            match line {
                Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => {}
                Line::Whole(line) => run(Some(line))?,
                Line::TooLong => run(None)?,
            }
        }
        Ok(())
    }

    /// Runs one call. If the store fails, the result for the model is still written before the program ends.
    fn run_call(
        &self,
        tool: &MemoryTool,
        json: &[u8],
        output: &mut impl Write,
    ) -> Result<(), Failure> {
        let (result, store_error) = tool.run_json(json).into_parts();
        let written = self.write(&result, None, output);
        match store_error {
            Some(error) => Err(error.into()),
            None => written,
        }
    }

    /// Writes a result with a single write, so that a reader does not wait for the rest of a line.
    fn write(
        &self,
        result: &ToolResult,
        reason: Option<&'static str>,
        output: &mut impl Write,
    ) -> Result<(), Failure> {
        let mut line =
            Wiped::new(Vec::with_capacity(result.content().len().saturating_add(FRAME_BYTES)));
        if self.text && io::stdout().is_terminal() {
            // As `cat` does: the text may be an attacker's, and must not command the terminal.
            line.append(display::text(result.content()).as_slice());
        } else if self.text {
            line.append(result.content().as_bytes());
        } else {
            let object = Object {
                content: result.content(),
                is_error: result.is_error(),
                reason,
                tool_use_id: result.tool_use_id(),
            };
            json_line::append(&object, &mut line)?;
        }
        if self.text {
            line.append(b"\n");
        }
        let written = output.write_all(line.as_slice()).and_then(|()| output.flush());
        written.map_err(|error| match Failure::output(&error) {
            Failure::OutputClosed => Failure::ReplyLost,
            failure => failure,
        })
    }
}

/// A result as a line of JSON.
#[derive(Serialize)]
struct Object<'a> {
    content: &'a str,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_use_id: Option<&'a str>,
}

fn too_long() -> ToolResult {
    ToolResult::from(ToolError::InvalidInput { reason: "it is longer than 64 MiB" })
}

/// Space for the field names, an id and some escapes. If a line needs more, the buffer grows and is still wiped.
const FRAME_BYTES: usize = 256;
