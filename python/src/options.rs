//! Options of a store, from the keyword arguments of the calls that create or open one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inmost::{FileAnchor, HistorySettings, SessionOptions, ToolOptions, VaultOptions};
use inmost_screen::SecretScreen;
use pyo3::exceptions::PyValueError;
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

/// The keyword arguments of `memory_tool` that are numbers.
#[expect(clippy::struct_field_names, reason = "the names of the arguments")]
pub(crate) struct ToolLimits {
    pub(crate) max_file_bytes: Option<u64>,
    pub(crate) max_files: Option<u64>,
    pub(crate) max_store_bytes: Option<u64>,
    pub(crate) max_view_characters: Option<usize>,
    pub(crate) max_range_characters: Option<usize>,
    pub(crate) max_listing_entries: Option<usize>,
}

impl ToolLimits {
    pub(crate) fn of(&self, mut options: ToolOptions) -> ToolOptions {
        if let Some(bytes) = self.max_file_bytes {
            options = options.max_file_bytes(bytes);
        }
        if let Some(files) = self.max_files {
            options = options.max_files(files);
        }
        if let Some(bytes) = self.max_store_bytes {
            options = options.max_store_bytes(bytes);
        }
        if let Some(characters) = self.max_view_characters {
            options = options.max_view_characters(characters);
        }
        if let Some(characters) = self.max_range_characters {
            options = options.max_range_characters(characters);
        }
        if let Some(entries) = self.max_listing_entries {
            options = options.max_listing_entries(entries);
        }
        options
    }
}

/// What happens to a secret that the model writes, by its name in Python.
pub(crate) fn screen(options: ToolOptions, name: Option<&str>) -> PyResult<ToolOptions> {
    Ok(match name {
        None => options,
        Some("redact") => options.screen(SecretScreen::redacting()),
        Some("refuse") => options.screen(SecretScreen::refusing()),
        Some(_) => return Err(PyValueError::new_err("screen is 'redact', 'refuse' or None")),
    })
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
