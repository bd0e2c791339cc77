//! Errors that come again and again.

use crate::exit::Failure;
use crate::streams;

/// Prints errors, but not the same one twice in a row: repeated calls would fill a log with it.
#[derive(Default)]
pub(crate) struct ErrorLog {
    last: Option<String>,
}

impl ErrorLog {
    pub(crate) fn print(&mut self, failure: &Failure) {
        let Failure::Error { message, advice, .. } = failure else { return };
        if self.last.as_deref() != Some(message) {
            streams::print_error(message, advice);
            self.last = Some(message.to_string());
        }
    }

    pub(crate) fn reset(&mut self) {
        self.last = None;
    }
}
