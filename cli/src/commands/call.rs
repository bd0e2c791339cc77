//! `inmost call`

use std::ffi::OsString;
use std::io::Write;

use inmost::{ToolError, ToolResult};
use serde::Serialize;

use crate::args::{KdfArgs, StoreArgs};
use crate::exit::Failure;
use crate::lines::{LINE_BYTES, Line, Lines};
use crate::passphrase::Input;
use crate::store::OpenStore;
use crate::store::facts::ToolAnswer;
use crate::store::restrictions::Restrictions;
use crate::streams;
use crate::wiped::Wiped;

/// ToolAnswer calls of the memory tool
///
/// A call is the `input` object of a `tool_use` block, or the whole block: one as an argument, or one on
/// each line of standard input, which is better: every user of the machine can read the arguments of a running program. Each is answered as soon as it is read, with one line of JSON: `content`,
/// `is_error`, and `tool_use_id` if it came with one.
///
/// Ends with 0 when every call was answered, whatever the answers; a store that fails ends it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost call --store notes.inmost --create < session.jsonl\n  \
    inmost call --store notes.inmost '{\"command\": \"view\", \"path\": \"/memories\"}'\n  \
    inmost call --store notes.inmost --subtree /memories/project-x < session.jsonl")]
pub(crate) struct Call {
    #[command(flatten)]
    store: StoreArgs,

    /// Make the store first if there is none
    #[arg(long)]
    create: bool,

    #[command(flatten)]
    kdf: KdfArgs,

    #[command(flatten)]
    restrictions: Restrictions,

    /// Print the content of the answers alone
    #[arg(long)]
    text: bool,

    /// The call; if not given, calls are read from standard input
    json: Option<OsString>,
}

impl Call {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if !self.create && self.kdf.is_given() {
            return Err(Failure::usage(
                "The cost of key derivation can only be chosen for a new store.",
                "Leave it out, or add --create.",
            ));
        }
        self.restrictions.check()?;
        let input = if self.json.is_some() { Input::Free } else { Input::Taken };
        let work = |store: &OpenStore| self.answer_all(store);
        if self.create {
            self.store.with_store_or_new(&self.kdf, input, &self.restrictions, work)
        } else {
            self.store.with_restricted_store(input, &self.restrictions, work)
        }
    }

    fn answer_all(&self, store: &OpenStore) -> Result<(), Failure> {
        let mut output = streams::output().map_err(|error| Failure::output(&error))?;
        if let Some(json) = &self.json {
            return self.answer(store, json.as_encoded_bytes(), &mut output);
        }
        let input = streams::input().map_err(|error| Failure::input(&error))?;
        let mut lines = Lines::new(input, LINE_BYTES);
        while let Some(line) = lines.next().map_err(|error| Failure::input(&error))? {
            match line {
                Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => {}
                Line::Whole(line) => self.answer(store, line, &mut output)?,
                Line::TooLong => self.tell(&too_long(), &mut output)?,
            }
        }
        Ok(())
    }

    /// Answers one call. When the store fails, the model is told before the program ends.
    fn answer(
        &self,
        store: &OpenStore,
        json: &[u8],
        output: &mut impl Write,
    ) -> Result<(), Failure> {
        let (answer, failed) = store.answer(json);
        let told = self.tell(&answer, output);
        match failed {
            Some(failure) => Err(failure),
            None => told,
        }
    }

    /// Writes an answer in one piece, so that a reader never sees a part of a line for long.
    fn tell(&self, answer: &ToolAnswer, output: &mut impl Write) -> Result<(), Failure> {
        let mut line = Wiped::with_capacity(answer.content().len().saturating_add(FRAME_BYTES));
        if self.text {
            line.append(answer.content().as_bytes());
        } else {
            let object = Object {
                content: answer.content(),
                is_error: answer.is_error(),
                tool_use_id: answer.tool_use_id(),
            };
            // Neither the strings nor the buffer can fail.
            serde_json::to_writer(&mut line, &object)
                .map_err(|error| Failure::output(&error.into()))?;
        }
        line.append(b"\n");
        let written = output.write_all(line.expose()).and_then(|()| output.flush());
        written.map_err(|error| match Failure::output(&error) {
            Failure::OutputClosed => Failure::ReplyLost,
            failure => failure,
        })
    }
}

/// An answer as a line of JSON.
#[derive(Serialize)]
struct Object<'a> {
    content: &'a str,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_use_id: Option<&'a str>,
}

fn too_long() -> ToolAnswer {
    ToolResult::from(ToolError::InvalidInput { reason: "it is longer than 64 MiB" }).into()
}

/// Room for the names of the fields, an id and some escapes; a buffer that grows all the same is wiped.
const FRAME_BYTES: usize = 256;
