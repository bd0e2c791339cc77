//! Options of a store, from the objects of the calls that create or open one.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use inmost::{FreshnessMark, VaultOptions};
use inmost_bindings::Quotas;
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

    pub(crate) fn quotas(&self) -> Quotas {
        Quotas {
            idle_lock: self.idle_lock_ms.map(duration),
            max_file_bytes: self.max_file_bytes.map(count),
            max_files: self.max_files.map(count),
            max_store_bytes: self.max_store_bytes.map(count),
        }
    }

    pub(crate) fn vault(&self) -> VaultOptions {
        let mut options = self.quotas().vault(self.anchor());
        if let Some(mark) = &self.at_least {
            options = options.at_least(FreshnessMark::from_bytes(mark));
        }
        if self.require_fresh.unwrap_or_default() {
            options = options.require_fresh();
        }
        options
    }

    pub(crate) fn anchor(&self) -> Option<PathBuf> {
        self.anchor.as_ref().map(PathBuf::from)
    }

    /// How long versions are kept.
    pub(crate) fn history(&self) -> Option<Duration> {
        self.history_ms.map(duration)
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
