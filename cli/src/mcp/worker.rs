//! The thread that holds the store. It opens the store at the first call, and again after a failure.

use std::sync::mpsc::Receiver;

use tokio::sync::oneshot;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::passphrase::Input;
use crate::store::OpenStore;
use crate::store::facts::ToolAnswer;
use crate::store::opening::OpenOptions;
use crate::store::restrictions::Restrictions;
use crate::streams;
use crate::wiped::Wiped;

/// A call, and the channel for its answer.
pub(super) struct Call {
    pub(super) json: Wiped,
    pub(super) answer: oneshot::Sender<ToolAnswer>,
}

impl Call {
    /// Whether the client has cancelled the call.
    fn is_cancelled(&self) -> bool {
        self.answer.is_closed()
    }

    fn reply(self, answer: ToolAnswer) {
        // Fails if the client has cancelled the call in the meantime.
        let _ = self.answer.send(answer);
    }
}

/// Runs calls until the server ends. While the store cannot be opened, each call tries again and tells the model that
/// memory is unavailable; the reason is printed once.
pub(super) fn run(store: &StoreArgs, restrictions: &Restrictions, calls: &Receiver<Call>) {
    let options = OpenOptions {
        input: Input::Unattended,
        restrictions: restrictions.clone(),
        ..OpenOptions::default()
    };
    let mut errors = ErrorLog::default();
    while let Ok(call) = calls.recv() {
        match store.open(&options) {
            Ok(store) => {
                if let Err(failure) = run_calls(&store, call, calls, &mut errors) {
                    errors.print(&failure);
                }
            }
            Err(failure) => {
                errors.print(&failure);
                call.reply(ToolAnswer::unavailable());
            }
        }
    }
}

/// Runs calls until the store fails. The caller opens it again for the next call.
fn run_calls(
    store: &OpenStore,
    first: Call,
    calls: &Receiver<Call>,
    errors: &mut ErrorLog,
) -> Result<(), Failure> {
    let mut next = Some(first);
    while let Some(call) = next {
        if !call.is_cancelled() {
            let (answer, failure) = store.run_call(call.json.expose());
            call.reply(answer);
            match failure {
                Some(failure) => return Err(failure),
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
