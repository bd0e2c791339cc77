//! Options of a store, from the objects of the calls that create or open one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use inmost::{FileAnchor, FreshnessMark, HistorySettings, SessionOptions, VaultOptions};
use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;

use crate::credential::{Copied, Given};
use crate::errors::{self, Failure};

/// The options of `create`, `open`, `inMemory` and `connect`; each reads those that it has.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct StoreOptions {
    pub passphrase: Option<Either<String, Uint8Array>>,
    pub keyfile: Option<Either<String, Uint8Array>>,
    pub recovery_key: Option<Either<String, Uint8Array>>,
    pub raw_key: Option<Uint8Array>,
    pub history_ms: Option<i64>,
    pub anchor: Option<String>,
    pub at_least: Option<Uint8Array>,
    pub require_fresh: Option<bool>,
    pub accept_rollback: Option<bool>,
    pub actor: Option<String>,
    pub idle_lock_ms: Option<i64>,
    pub max_file_bytes: Option<i64>,
    pub max_files: Option<i64>,
    pub max_store_bytes: Option<i64>,
}

/// The options of a memory tool.
#[napi(object, object_to_js = false)]
pub struct ToolOptions {
    pub read_only: Option<bool>,
    pub subtree: Option<String>,
    pub create_overwrites: Option<bool>,
    pub actor: Option<String>,
    #[napi(ts_type = "'redact' | 'refuse'")]
    pub screen: Option<String>,
    pub locked_hint: Option<String>,
    pub delete_forgets: Option<bool>,
    pub max_file_bytes: Option<i64>,
    pub max_files: Option<i64>,
    pub max_store_bytes: Option<i64>,
    pub max_view_characters: Option<i64>,
    pub max_range_characters: Option<i64>,
    pub max_listing_entries: Option<i64>,
}

impl StoreOptions {
    /// Copies what names a credential.
    pub(crate) fn take_credential(&mut self) -> Given {
        Given {
            passphrase: self.passphrase.take().map(Copied::new),
            keyfile: self.keyfile.take().map(Copied::new),
            recovery_key: self.recovery_key.take().map(Copied::new),
            raw_key: self.raw_key.take().map(|key| Copied::new(Either::B(key))),
        }
    }

    pub(crate) fn session(&self) -> SessionOptions {
        let mut options = SessionOptions::new();
        if let Some(after) = self.idle_lock_ms {
            options = options.idle_lock(duration(after));
        }
        if let Some(bytes) = self.max_file_bytes {
            options = options.max_file_bytes(count(bytes));
        }
        if let Some(files) = self.max_files {
            options = options.max_files(count(files));
        }
        if let Some(bytes) = self.max_store_bytes {
            options = options.max_store_bytes(count(bytes));
        }
        options
    }

    pub(crate) fn vault(&self) -> VaultOptions {
        let mut options = VaultOptions::new().session(self.session());
        if let Some(mark) = &self.at_least {
            options = options.at_least(FreshnessMark::from_bytes(mark));
        }
        if self.require_fresh.unwrap_or_default() {
            options = options.require_fresh();
        }
        match self.anchor() {
            Some(file) => options.freshness_anchor(Arc::new(FileAnchor::new(file))),
            None => options,
        }
    }

    pub(crate) fn anchor(&self) -> Option<PathBuf> {
        self.anchor.as_ref().map(PathBuf::from)
    }

    pub(crate) fn history(&self) -> HistorySettings {
        history(self.history_ms, None)
    }
}

/// How long versions are kept, and how many bytes of them.
pub(crate) fn history(keep_ms: Option<i64>, max_bytes: Option<i64>) -> HistorySettings {
    let settings = match keep_ms {
        Some(keep) => HistorySettings::keep(duration(keep)),
        None => HistorySettings::off(),
    };
    match max_bytes {
        Some(bytes) => settings.max_bytes(count(bytes)),
        None => settings,
    }
}

/// A number that the TypeScript half has checked to be a whole number from 0 on.
pub(crate) fn count(given: i64) -> u64 {
    u64::try_from(given).unwrap_or_default()
}

/// As [`count`], for a bound in memory.
pub(crate) fn size(given: i64) -> usize {
    usize::try_from(count(given)).unwrap_or(usize::MAX)
}

pub(crate) fn duration(milliseconds: i64) -> Duration {
    Duration::from_millis(count(milliseconds))
}

/// The time of a JavaScript `Date`.
///
/// # Errors
/// A `TypeError` if the system cannot represent it. Windows has no times before 1601.
pub(crate) fn time(milliseconds: i64) -> Result<SystemTime, Failure> {
    let distance = Duration::from_millis(milliseconds.unsigned_abs());
    let time = if milliseconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(distance)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(distance)
    };
    time.ok_or_else(|| errors::argument("This system cannot represent the time."))
}
