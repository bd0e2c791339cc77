//! The expiry of unused files.

use inmost::ExpirySettings;
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::errors;
use crate::options::duration;
use crate::progress::{NativeProgress, counter};
use crate::records::{self, ExpiryReport, ExpiryStatus};
use crate::store::NativeStore;
use crate::task::{Work, plain};

#[napi]
impl NativeStore {
    /// The settings of the expiry, and what is recorded.
    #[napi(ts_return_type = "Promise<ExpiryStatus>")]
    pub fn expiry_status(&self) -> AsyncTask<Work<ExpiryStatus>> {
        self.with(plain, |store| {
            store.expiry().status().map(|status| records::expiry_status(&status))
        })
    }

    /// Sets whether readings are recorded, and whether files expire at an unlock.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn set_expiry(&self, record: bool, at_unlock_ms: Option<i64>) -> AsyncTask<Work<()>> {
        self.with(plain, move |store| {
            let settings = match (record, at_unlock_ms.map(duration)) {
                (true, Some(unused_for)) => ExpirySettings::at_unlock(unused_for),
                (true, None) => ExpirySettings::record(),
                (false, None) => ExpirySettings::off(),
                (false, Some(_)) => {
                    let why = "No file expires unless readings are recorded.";
                    return Err(errors::argument(why));
                }
            };
            Ok(store.expiry().set(settings)?)
        })
    }

    /// Deletes the files that were unused for this long, or only lists them.
    #[napi(ts_return_type = "Promise<ExpiryReport>")]
    pub fn expire(
        &self,
        unused_for_ms: i64,
        dry_run: bool,
        progress: Option<&NativeProgress>,
    ) -> AsyncTask<Work<ExpiryReport>> {
        let progress = counter(progress);
        self.with(plain, move |store| {
            let report = store.expiry().expire(duration(unused_for_ms), dry_run, progress);
            report.map(|report| records::expiry_report(&report))
        })
    }
}
