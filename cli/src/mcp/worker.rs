//! The thread that holds the store. It opens the store at the first call, and again after a failure.

use std::sync::mpsc::Receiver;

use inmost::{MemoryTool, StoreError, ToolCall, ToolResult};
use tokio::sync::oneshot;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::passphrase::Input;
use crate::store::no_store::NoStore;
use crate::store::opening::OpenOptions;
use crate::store::restrictions::Restrictions;
use crate::streams;

/// A call, and the channel for its result.
pub(super) struct Call {
    pub(super) parsed: ToolCall,
    /// The name that the client gave when it connected.
    pub(super) client: Option<String>,
    pub(super) result: oneshot::Sender<ToolResult>,
}

impl Call {
    /// Whether the client has cancelled the call.
    fn is_cancelled(&self) -> bool {
        self.result.is_closed()
    }

    fn reply(self, result: ToolResult) {
        // Fails if the client has cancelled the call in the meantime.
        let _ = self.result.send(result);
    }
}

/// Runs calls until the server ends. While the store cannot be opened, each call tries again and tells the model that
/// memory is locked or unavailable; the reason is printed once.
pub(super) fn run(
    store: &StoreArgs,
    actor: Option<&str>,
    restrictions: &Restrictions,
    calls: &Receiver<Call>,
) {
    let mut errors = ErrorLog::default();
    let mut again = None;
    while let Some(call) = again.take().or_else(|| calls.recv().ok()) {
        let options = OpenOptions {
            input: Input::Unattended,
            restrictions: restrictions.clone(),
            actor: actor.or(call.client.as_deref()),
            ..OpenOptions::default()
        };
        let ran = store.open(&options).and_then(|store| Ok((store.tool(restrictions)?, store)));
        match ran {
            Ok((tool, store)) => {
                again = run_calls(&tool, call, calls, &mut errors);
                drop(store);
            }
            Err(failure) => {
                errors.print(&failure);
                refuse(call, NoStore::of(&failure), restrictions);
            }
        }
    }
}

/// Returns the reason why there is no store to the model. If the call itself is invalid, returns that error.
fn refuse(call: Call, store: NoStore, restrictions: &Restrictions) {
    // The restrictions were checked when the server started.
    let Ok(tool) = restrictions.tool(store) else { return };
    let (result, _) = tool.run_call(&call.parsed).into_parts();
    call.reply(result);
}

/// Runs calls until the store fails or the server ends. The caller opens the store again for the next call.
///
/// Returns the call that found the store locked, which has done nothing. It runs again, so that the key agent's lock costs
/// no call if the store can be opened in another way. The first call is not returned: the store was opened for it.
fn run_calls(
    tool: &MemoryTool,
    first: Call,
    calls: &Receiver<Call>,
    errors: &mut ErrorLog,
) -> Option<Call> {
    let mut next = Some(first);
    let mut is_first = true;
    while let Some(call) = next {
        if !call.is_cancelled() {
            let (result, store_error) = tool.run_call(&call.parsed).into_parts();
            match store_error {
                Some(StoreError::Locked) if !is_first => return Some(call),
                Some(error) => {
                    call.reply(result);
                    errors.print(&error.into());
                    return None;
                }
                None => {
                    call.reply(result);
                    errors.reset();
                }
            }
        }
        is_first = false;
        next = calls.recv().ok();
    }
    None
}

/// Prints errors, but not the same one twice in a row: repeated calls would fill the client's log with it.
#[derive(Default)]
struct ErrorLog {
    last: Option<String>,
}

impl ErrorLog {
    fn print(&mut self, failure: &Failure) {
        let Failure::Error { message, advice, .. } = failure else { return };
        if self.last.as_deref() != Some(message) {
            streams::print_error(message, advice);
            self.last = Some(message.to_string());
        }
    }

    fn reset(&mut self) {
        self.last = None;
    }
}
