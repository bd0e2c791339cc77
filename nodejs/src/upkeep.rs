//! Keyslots, backups, checks and rewrites.

use std::path::PathBuf;
use std::sync::Arc;

use inmost::{BackupOptions, SlotLabel};
use inmost_keyd::SlotOptions;
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::errors::{self, Failure};
use crate::options::{StoreOptions, count, duration, size};
use crate::place::{NativeVault, place};
use crate::progress::{NativeProgress, counter};
use crate::records::{
    self, BackupInfo, BackupReport, CheckReport, Keyslot, SetAside, VerifiedCopy,
};
use crate::store::NativeStore;
use crate::task::{self, Work, plain};

#[napi]
impl NativeStore {
    /// The keyslots in use.
    #[napi(ts_return_type = "Promise<Array<Keyslot>>")]
    pub fn slots(&self) -> AsyncTask<Work<Vec<Keyslot>>> {
        self.with(plain, |store| Ok::<_, Failure>(keyslots(&store.slots()?)))
    }

    /// Adds a keyslot. Returns its number.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn add_slot(
        &self,
        mut options: StoreOptions,
        label: Option<String>,
    ) -> AsyncTask<Work<u8>> {
        let given = options.take_credential();
        self.with(plain, move |store| {
            Ok::<_, Failure>(store.add_slot(&given.secret()?, labelled(label)?)?)
        })
    }

    /// Replaces the credential of a keyslot.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn replace_slot(
        &self,
        number: i64,
        mut options: StoreOptions,
        label: Option<String>,
    ) -> AsyncTask<Work<()>> {
        let given = options.take_credential();
        self.with(plain, move |store| {
            let (secret, options) = (given.secret()?, labelled(label)?);
            Ok::<_, Failure>(store.replace_slot(slot(number), &secret, options)?)
        })
    }

    /// Removes a keyslot.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn remove_slot(&self, number: i64) -> AsyncTask<Work<()>> {
        self.with(plain, move |store| store.remove_slot(slot(number)))
    }

    /// Replaces every key, and keeps one credential. Returns the keyslots that were dropped.
    #[napi(ts_return_type = "Promise<Array<Keyslot>>")]
    pub fn rotate(
        &self,
        mut options: StoreOptions,
        progress: Option<&NativeProgress>,
    ) -> AsyncTask<Work<Vec<Keyslot>>> {
        let (given, progress) = (options.take_credential(), counter(progress));
        self.with(plain, move |store| {
            Ok::<_, Failure>(keyslots(&store.rotate(&given.secret()?, progress)?))
        })
    }

    /// Checks the whole store.
    #[napi(ts_return_type = "Promise<CheckReport>")]
    pub fn check(&self, progress: Option<&NativeProgress>) -> AsyncTask<Work<CheckReport>> {
        let progress = counter(progress);
        self.with(plain, |store| store.check(progress).map(|report| records::check_report(&report)))
    }

    /// Rewrites the store with the versions that it keeps.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn compact(&self, progress: Option<&NativeProgress>) -> AsyncTask<Work<()>> {
        let progress = counter(progress);
        self.with(plain, |store| store.compact(progress))
    }

    /// Rewrites the store without any version.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn purge(&self, progress: Option<&NativeProgress>) -> AsyncTask<Work<()>> {
        let progress = counter(progress);
        self.with(plain, |store| store.purge(progress))
    }

    /// Whether `compact` is worth its cost.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn compaction_due(&self) -> AsyncTask<Work<bool>> {
        self.with(plain, inmost_keyd::OpenStore::compaction_due)
    }

    /// Copies the store with its versions to a new place, and reads the copy back.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn migrate(
        &self,
        path: String,
        at: Option<&NativeVault>,
        progress: Option<&NativeProgress>,
    ) -> AsyncTask<Work<()>> {
        let (to, mut progress) = (place(path, at), counter(progress));
        self.with(plain, move |store| to.fill(store, &mut progress))
    }

    /// What was set aside in the folder of the store.
    #[napi(ts_return_type = "Promise<Array<SetAside>>")]
    pub fn set_aside(&self) -> AsyncTask<Work<Vec<SetAside>>> {
        self.with(plain, |store| {
            store.set_aside().map(|found| found.iter().map(records::set_aside).collect())
        })
    }

    /// Removes what was set aside under a number.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn discard_set_aside(&self, number: i64) -> AsyncTask<Work<()>> {
        self.with(plain, move |store| store.discard_set_aside(count(number)))
    }

    /// Makes a backup in a folder that may have earlier ones, and reads it back.
    #[napi(ts_return_type = "Promise<BackupReport>")]
    pub fn backup_into(
        &self,
        folder: String,
        with_versions: bool,
        keep: Option<i64>,
        keep_within_ms: Option<i64>,
        progress: Option<&NativeProgress>,
    ) -> AsyncTask<Work<BackupReport>> {
        let progress = counter(progress);
        let mut options = BackupOptions::default();
        options.with_versions = with_versions;
        options.keep = keep.map_or(options.keep, size);
        options.keep_within = keep_within_ms.map_or(options.keep_within, duration);
        self.with(plain, move |store| {
            let report = store.backup_into(folder.as_ref(), &options, progress);
            report.map(|report| records::backup_report(&report))
        })
    }
}

/// The backups in a folder.
#[napi]
pub struct NativeBackups {
    backups: Arc<inmost::Backups>,
}

#[napi]
impl NativeBackups {
    /// Lists the backups in a folder.
    #[napi(ts_return_type = "Promise<NativeBackups>")]
    pub fn open(folder: String) -> AsyncTask<Work<NativeBackups>> {
        task::start(move || Ok(Self { backups: Arc::new(inmost::Backups::open(folder)?) }))
    }

    /// The backups, the oldest first.
    #[napi]
    pub fn list(&self) -> Vec<BackupInfo> {
        self.backups.list().iter().map(records::backup_info).collect()
    }

    /// Reads and authenticates every record of a backup.
    #[napi(ts_return_type = "Promise<CheckReport>")]
    pub fn check(
        &self,
        number: i64,
        mut options: StoreOptions,
        progress: Option<&NativeProgress>,
    ) -> AsyncTask<Work<CheckReport>> {
        let (backups, given) = (Arc::clone(&self.backups), options.take_credential());
        let (number, mut progress) = (count(number), counter(progress));
        task::start(move || {
            let secret = given.secret()?;
            let report = backups.check(number, secret.credential(), &mut progress)?;
            Ok(records::check_report(&report))
        })
    }

    /// Restores a backup to a new folder.
    #[napi(ts_return_type = "Promise<VerifiedCopy>")]
    pub fn restore(
        &self,
        number: i64,
        path: String,
        mut options: StoreOptions,
        progress: Option<&NativeProgress>,
    ) -> AsyncTask<Work<VerifiedCopy>> {
        let (backups, given) = (Arc::clone(&self.backups), options.take_credential());
        let (number, mut progress) = (count(number), counter(progress));
        task::start(move || {
            let (secret, path) = (given.secret()?, PathBuf::from(path));
            let copy = backups.restore(number, path, secret.credential(), &mut progress)?;
            Ok(records::verified_copy(&copy))
        })
    }
}

fn keyslots(slots: &[inmost::SlotInfo]) -> Vec<Keyslot> {
    slots.iter().map(records::keyslot).collect()
}

/// The number of a slot. One beyond those that a store can have is a slot that is not in use.
fn slot(number: i64) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

fn labelled(label: Option<String>) -> Result<SlotOptions, Failure> {
    let label = label.map(|label| SlotLabel::parse(&label)).transpose();
    let label = label.map_err(|error| errors::argument(&format!("{error}.")))?;
    Ok(SlotOptions::new().label(label))
}
