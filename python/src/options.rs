//! Options of a store, from the keyword arguments of the calls that create or open one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inmost::{FileAnchor, HistorySettings, SessionOptions, VaultOptions};
use pyo3::prelude::*;

/// The keyword arguments that `create`, `open` and `in_memory` have in common.
#[derive(Default)]
pub(crate) struct Quotas {
    pub(crate) idle_lock: Option<Duration>,
    pub(crate) max_file_bytes: Option<u64>,
    pub(crate) max_files: Option<u64>,
    pub(crate) max_store_bytes: Option<u64>,
}

impl Quotas {
    pub(crate) fn session(&self) -> SessionOptions {
        let mut options = SessionOptions::new();
        if let Some(after) = self.idle_lock {
            options = options.idle_lock(after);
        }
        if let Some(bytes) = self.max_file_bytes {
            options = options.max_file_bytes(bytes);
        }
        if let Some(files) = self.max_files {
            options = options.max_files(files);
        }
        if let Some(bytes) = self.max_store_bytes {
            options = options.max_store_bytes(bytes);
        }
        options
    }

    pub(crate) fn vault(&self, anchor: Option<PathBuf>) -> VaultOptions {
        let options = VaultOptions::new().session(self.session());
        match anchor {
            Some(file) => options.freshness_anchor(Arc::new(FileAnchor::new(file))),
            None => options,
        }
    }
}

/// How long versions are kept, and how many bytes of them.
pub(crate) fn history(keep: Option<Duration>, max_bytes: Option<u64>) -> HistorySettings {
    let settings = keep.map_or_else(HistorySettings::off, HistorySettings::keep);
    match max_bytes {
        Some(bytes) => settings.max_bytes(bytes),
        None => settings,
    }
}

/// Makes it impossible to pickle an object, with the reason.
pub(crate) fn not_picklable<T>() -> PyResult<T> {
    Err(pyo3::exceptions::PyTypeError::new_err(
        "a store belongs to the process that opened it and cannot be pickled; open it in the other process, or hold it with `inmost unlock` and use Store.connect there",
    ))
}
