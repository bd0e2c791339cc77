//! Options of a store and of the memory tool, from those that a call names.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inmost::{
    FileAnchor, HistorySettings, Session, SessionOptions, StoreError, ToolOptions, VaultOptions,
};
use inmost_screen::SecretScreen;

/// The options that every call has that creates or opens a store.
pub struct Quotas {
    /// The time after which an unused store is locked.
    pub idle_lock: Option<Duration>,
    /// The most bytes of a file.
    pub max_file_bytes: Option<u64>,
    /// The most files.
    pub max_files: Option<u64>,
    /// The most bytes of all files.
    pub max_store_bytes: Option<u64>,
}

impl Quotas {
    /// The options of a session.
    pub fn session(&self) -> SessionOptions {
        let mut options = SessionOptions::new();
        if let Some(time) = self.idle_lock {
            options = options.idle_lock(time);
        }
        if let Some(most) = self.max_file_bytes {
            options = options.max_file_bytes(most);
        }
        if let Some(most) = self.max_files {
            options = options.max_files(most);
        }
        if let Some(most) = self.max_store_bytes {
            options = options.max_store_bytes(most);
        }
        options
    }

    /// The options of a vault, with the file of its anchor if it has one.
    pub fn vault(&self, anchor: Option<PathBuf>) -> VaultOptions {
        let options = VaultOptions::new().session(self.session());
        match anchor {
            Some(file) => options.freshness_anchor(Arc::new(FileAnchor::new(file))),
            None => options,
        }
    }
}

/// The options of a memory tool that are numbers.
#[allow(clippy::struct_field_names, reason = "the names of the options")]
pub struct ToolLimits {
    /// The most bytes of a file.
    pub max_file_bytes: Option<u64>,
    /// The most files.
    pub max_files: Option<u64>,
    /// The most bytes of all files.
    pub max_store_bytes: Option<u64>,
    /// The most characters of a view without a range.
    pub max_view_characters: Option<usize>,
    /// The most characters of a view with one.
    pub max_range_characters: Option<usize>,
    /// The most entries of a listing.
    pub max_listing_entries: Option<usize>,
}

impl ToolLimits {
    /// The options with these limits.
    pub fn of(&self, mut options: ToolOptions) -> ToolOptions {
        if let Some(most) = self.max_file_bytes {
            options = options.max_file_bytes(most);
        }
        if let Some(most) = self.max_files {
            options = options.max_files(most);
        }
        if let Some(most) = self.max_store_bytes {
            options = options.max_store_bytes(most);
        }
        if let Some(most) = self.max_view_characters {
            options = options.max_view_characters(most);
        }
        if let Some(most) = self.max_range_characters {
            options = options.max_range_characters(most);
        }
        if let Some(most) = self.max_listing_entries {
            options = options.max_listing_entries(most);
        }
        options
    }
}

/// The options with what happens to a secret that the model writes; `None` for a name that nothing has.
#[must_use]
pub fn screen(options: ToolOptions, name: Option<&str>) -> Option<ToolOptions> {
    match name {
        None => Some(options),
        Some("redact") => Some(options.screen(SecretScreen::redacting())),
        Some("refuse") => Some(options.screen(SecretScreen::refusing())),
        Some(_) => None,
    }
}

/// How long versions are kept, and how many bytes of them.
pub fn history(keep: Option<Duration>, max_bytes: Option<u64>) -> HistorySettings {
    let settings = keep.map_or_else(HistorySettings::off, HistorySettings::keep);
    match max_bytes {
        Some(most) => settings.max_bytes(most),
        None => settings,
    }
}

/// A store in memory, which keeps versions for a time if one is given.
///
/// # Errors
/// Those of [`SessionOptions::in_memory`].
pub fn in_memory(options: &SessionOptions, keep: Option<Duration>) -> Result<Session, StoreError> {
    let session = options.in_memory()?;
    if keep.is_some() {
        session.history().set(history(keep, None))?;
    }
    Ok(session)
}
