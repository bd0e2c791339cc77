//! Calls that run on a thread of libuv and settle a promise.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::bindgen_prelude::{AsyncTask, ToNapiValue, Unknown};
use napi::{Env, ScopedTask, Status};

use crate::errors::{self, Failure, Thrown};

/// Work off the event loop, and how its value is handed to JavaScript afterwards.
pub struct Work<T> {
    work: Option<Box<dyn FnOnce() -> Result<T, Failure> + Send>>,
    convert: Convert<T>,
}

/// Converts a value. Runs in the event loop.
pub(crate) type Convert<T> = for<'env> fn(&'env Env, T) -> napi::Result<Unknown<'env>>;

/// Starts work whose value is converted by `convert`.
pub(crate) fn with<T: Send + 'static>(
    convert: Convert<T>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> AsyncTask<Work<T>> {
    AsyncTask::new(Work { work: Some(Box::new(work)), convert })
}

/// Starts work whose value needs no conversion of its own.
pub(crate) fn start<T: ToNapiValue + Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> AsyncTask<Work<T>> {
    with(plain, work)
}

/// Converts a value as napi does.
pub(crate) fn plain<T: ToNapiValue>(env: &Env, value: T) -> napi::Result<Unknown<'_>> {
    value.into_unknown(env)
}

/// Runs work that may panic. A panic must not unwind into libuv, which would end the process with every call in it.
fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    // Locks that a panic poisons are the library's and ours, and both expect it.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(errors::panicked()))
}

impl<'task, T: Send + 'static> ScopedTask<'task> for Work<T> {
    type Output = Result<T, Failure>;
    type JsValue = Unknown<'task>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let work = self.work.take().ok_or_else(|| napi::Error::from_status(Status::Cancelled))?;
        Ok(caught(work))
    }

    fn resolve(&mut self, env: &'task Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        match output {
            Ok(value) => (self.convert)(env, value),
            Err(failure) => Err(failure.into_error(env)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "the panic of a call")]

    use super::*;

    #[test]
    fn a_panic_is_a_failure_of_its_call() {
        assert_eq!(caught(|| Ok(7)).ok(), Some(7));
        assert!(caught::<()>(|| panic!("a defect")).is_err());
    }
}
