//! Guards calls into engines that may panic on damaged files.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use inmost_storage::StorageError;

/// The longest panic message that is kept, in characters. Some of sled's print a whole tree.
pub const MESSAGE_CHARACTERS: usize = 200;

/// Runs a call into an engine and returns [`StorageError::Corrupt`] if it panics. `storage_error` converts
/// the engine's own error.
///
/// On damaged files both engines panic on the calling thread, even in reads. Unwinding is safe: their locks
/// survive the panic, and state left by a panicking write is never used again. A build with `panic = "abort"`
/// does not have this guard.
pub fn guarded<T, E>(
    storage_error: impl FnOnce(E) -> StorageError,
    call: impl FnOnce() -> Result<T, E>,
) -> Result<T, StorageError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(storage_error),
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

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    fn message_of(call: impl FnOnce()) -> String {
        let guarded = guarded(std::convert::identity, || {
            call();
            Ok(())
        });
        match guarded {
            Err(StorageError::Corrupt(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_panic_is_reported_as_damage_with_a_shortened_message() {
        let number = 7;
        assert_eq!(message_of(|| panic!("words")), "words");
        assert_eq!(message_of(|| panic!("number {number}")), "number 7");
        assert_eq!(message_of(|| panic_any(number)), "panic without a message");
        assert_eq!(message_of(|| panic_any("ü".repeat(1_000))), "ü".repeat(MESSAGE_CHARACTERS));
    }
}
