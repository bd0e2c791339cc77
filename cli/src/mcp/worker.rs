//! The thread that has the store: opens it when it is first needed, and again after it failed.

use std::sync::mpsc::Receiver;

use tokio::sync::oneshot;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::passphrase::Input;
use crate::store::facts::ToolAnswer;
use crate::store::restrictions::Restrictions;
use crate::streams;
use crate::wiped::Wiped;

/// A call, and where its answer goes.
pub(super) struct Call {
    pub(super) json: Wiped,
    pub(super) answer: oneshot::Sender<ToolAnswer>,
}

impl Call {
    /// Whether nobody waits for the answer any more.
    fn is_cancelled(&self) -> bool {
        self.answer.is_closed()
    }

    fn answer(self, answer: ToolAnswer) {
        // The client may have cancelled it meanwhile.
        let _ = self.answer.send(answer);
    }
}

/// Answers calls until there can be no more. While the store cannot be opened the model hears that memory is
/// unavailable, a person hears why, once, and each call tries again.
pub(super) fn run(store: &StoreArgs, restrictions: &Restrictions, calls: &Receiver<Call>) {
    let mut complaint = Complaint::default();
    while let Ok(call) = calls.recv() {
        let mut next = Some(call);
        let ended = store.with_restricted_store(Input::Unattended, restrictions, |store| {
            while let Some(call) = next.take().or_else(|| calls.recv().ok()) {
                if call.is_cancelled() {
                    continue;
                }
                let (answer, failed) = store.answer(call.json.expose());
                call.answer(answer);
                match failed {
                    // What is wrong may be over when the store is opened anew.
                    Some(failure) => return Err(failure),
                    None => complaint.settle(),
                }
            }
            Ok(())
        });
        if let Err(failure) = ended {
            complaint.tell(&failure);
        }
        if let Some(call) = next {
            call.answer(ToolAnswer::unavailable());
        }
    }
}

/// What was said last: calls that fail for the same reason would fill a log with it.
#[derive(Default)]
struct Complaint(Option<String>);

impl Complaint {
    fn tell(&mut self, failure: &Failure) {
        let Failure::Error { message, advice, .. } = failure else { return };
        if self.0.as_deref() != Some(message) {
            streams::print_error(message, advice);
            self.0 = Some(message.to_string());
        }
    }

    fn settle(&mut self) {
        self.0 = None;
    }
}
