//! Calls into an engine that may panic on damaged files.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::StorageError;

/// Characters kept of a panic message: some of sled's print a whole tree.
pub(super) const MESSAGE_CHARACTERS: usize = 200;

/// Runs a call into an engine, and answers [`StorageError::Corrupt`] if it panics.
///
/// On damaged files both engines panic on the calling thread, in reads too; their locks survive that, and
/// what a panicking write left behind is never used again, so unwinding is safe. A build with
/// `panic = "abort"` loses this.
pub(super) fn guarded<T, E: Into<StorageError>>(
    call: impl FnOnce() -> Result<T, E>,
) -> Result<T, StorageError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(Into::into),
        Err(panic) => Err(StorageError::Corrupt(panic_message(panic.as_ref()))),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let message = match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(message), _) => message.as_str(),
        (_, Some(message)) => message,
        _ => "panic without a message",
    };
    message.chars().take(MESSAGE_CHARACTERS).collect()
}
