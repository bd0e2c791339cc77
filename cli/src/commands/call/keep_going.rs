//! `inmost call --keep-going`: calls that outlive a lock, as those of `inmost mcp` do.

use std::io::Write;

use inmost::{MemoryTool, StoreError, ToolCall, ToolResult};

use super::{Call, too_long};
use crate::exit::{Exit, Failure};
use crate::passphrase::Input;
use crate::store::no_store::NoStore;
use crate::store::opening::{OpenOptions, StoreGuard, Unused};
use crate::streams;
use crate::streams::ErrorLog;

/// Runs every call. The outcome is that of the last one that the store could not run.
pub(super) fn run(args: &Call) -> Result<(), Failure> {
    let mut output = streams::output().map_err(|error| Failure::output(&error))?;
    let mut calls = Calls { args, open: None, errors: ErrorLog::default(), outcome: Ok(()) };
    args.for_each(|json| match json {
        Some(json) => calls.run(json, &mut output),
        None => args.write(&too_long(), Some(REFUSED), &mut output),
    })?;
    calls.outcome
}

struct Calls<'a> {
    args: &'a Call,
    /// The store while it is open. Dropped in this order.
    open: Option<(MemoryTool, StoreGuard)>,
    /// The last message on standard error: the same one is not repeated for each call.
    errors: ErrorLog,
    outcome: Result<(), Failure>,
}

impl Calls<'_> {
    fn run(&mut self, json: &[u8], output: &mut impl Write) -> Result<(), Failure> {
        let (result, failure) = self.result(json)?;
        let reason = match &failure {
            Some(failure) => Some(reason(failure)),
            None => result.is_error().then_some(REFUSED),
        };
        match failure {
            Some(failure) => self.report(&failure),
            None => self.errors.reset(),
        }
        self.args.write(&result, reason, output)
    }

    /// The result for the model, and the failure of the store if there was one.
    fn result(&mut self, json: &[u8]) -> Result<(ToolResult, Option<Failure>), Failure> {
        if let Some((tool, _)) = &self.open {
            let (result, error) = tool.run_json(json).into_parts();
            match error {
                None => return Ok((result, None)),
                // The call has done nothing: it runs again, if the store can be opened in another way.
                Some(StoreError::Locked) => self.open = None,
                Some(error) => {
                    self.open = None;
                    return Ok((result, Some(error.into())));
                }
            }
        }
        let restrictions = &self.args.restrictions;
        let options = OpenOptions {
            input: Input::Unattended,
            unused: Unused::Expire,
            restrictions: restrictions.clone(),
            actor: self.args.actor.actor(),
            ..OpenOptions::default()
        };
        match self.args.store.open(&options) {
            Ok(store) => {
                let tool = restrictions.tool_on(&store)?;
                let (result, error) = tool.run_json(json).into_parts();
                if error.is_none() {
                    self.open = Some((tool, store));
                }
                Ok((result, error.map(Failure::from)))
            }
            Err(failure) => {
                // If the call itself is not valid, that is its result.
                let reply = restrictions.refuse(&ToolCall::parse(json), NoStore::of(&failure))?;
                let (result, error) = reply.into_parts();
                Ok((result, error.map(|_| failure)))
            }
        }
    }

    fn report(&mut self, failure: &Failure) {
        let Failure::Error { exit, .. } = failure else { return };
        self.errors.print(failure);
        self.outcome = Err(Failure::Reported(*exit));
    }
}

/// The reason for a failure of the store, for programs.
fn reason(failure: &Failure) -> &'static str {
    let Failure::Error { exit, .. } = failure else { return "unavailable" };
    match exit {
        Exit::Locked => "locked",
        Exit::NotAStore => "no_store",
        Exit::WrongPassphrase => "wrong_passphrase",
        Exit::Damaged => "damaged",
        Exit::InUse => "in_use",
        Exit::RolledBack => "rolled_back",
        Exit::Io => "io",
        _ => "unavailable",
    }
}

/// The reason if the call itself is at fault.
const REFUSED: &str = "refused";
