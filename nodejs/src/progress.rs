//! The class `NativeProgress`: the count of a long call, which the event loop reads while the call runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use napi_derive::napi;

use crate::records::number;

/// A count that a call on another thread changes.
#[napi]
#[derive(Clone, Default)]
pub struct NativeProgress {
    count: Arc<AtomicI64>,
}

#[napi]
impl NativeProgress {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// The count; 0 before the call has one.
    #[napi(getter)]
    pub fn count(&self) -> i64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// The callback of the library for a count that JavaScript may read.
pub(crate) fn counter(progress: Option<&NativeProgress>) -> impl FnMut(u64) + Send + use<> {
    let progress = progress.cloned().unwrap_or_default();
    move |count| progress.count.store(number(count), Ordering::Relaxed)
}
