//! The thread that holds the store. It opens the store at the first call, and again after a failure.

use std::sync::mpsc::Receiver;

use inmost::{MemoryTool, ToolCall, ToolResult};
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
    pub(super) call: ToolCall,
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
pub(super) fn run(store: &StoreArgs, restrictions: &Restrictions, calls: &Receiver<Call>) {
    let options = OpenOptions {
        input: Input::Unattended,
        restrictions: restrictions.clone(),
        ..OpenOptions::default()
    };
    let mut errors = ErrorLog::default();
    while let Ok(call) = calls.recv() {
        let ran = store.open(&options).and_then(|store| Ok((store.tool(restrictions)?, store)));
        match ran {
            Ok((tool, store)) => {
                if let Err(failure) = run_calls(&tool, call, calls, &mut errors) {
                    errors.print(&failure);
                }
                drop(store);
            }
            Err(failure) => {
                errors.print(&failure);
                refuse(call, NoStore::of(&failure), restrictions);
            }
        }
    }
}

/// Tells the model why there is no store. If the call itself is invalid, the model is told that instead.
fn refuse(call: Call, store: NoStore, restrictions: &Restrictions) {
    // The restrictions were checked when the server started.
    let Ok(tool) = restrictions.tool(store) else { return };
    let (result, _) = tool.run_call(&call.call).into_parts();
    call.reply(result);
}

/// Runs calls until the store fails. The caller opens it again for the next call.
fn run_calls(
    tool: &MemoryTool,
    first: Call,
    calls: &Receiver<Call>,
    errors: &mut ErrorLog,
) -> Result<(), Failure> {
    let mut next = Some(first);
    while let Some(call) = next {
        if !call.is_cancelled() {
            let (result, store_error) = tool.run_call(&call.call).into_parts();
            call.reply(result);
            match store_error {
                Some(error) => return Err(error.into()),
                None => errors.reset(),
            }
        }
        next = calls.recv().ok();
    }
    Ok(())
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
