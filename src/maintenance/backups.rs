//! A folder of backups: each is a whole state of the store, and they share the records that did not change.
//!
//! A backup copies the tree under the data key of the backup before it, and writes only records whose content is new. So it
//! reads the newest backup and compares it, and a damaged record is written again. Then the whole backup is read back. A
//! manifest with its own name, written last, makes it a backup: a crash at any moment leaves the earlier ones as they were.

mod manifest;
mod pack;
pub(super) mod records;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use inmost_engines::files;
use inmost_engines::local::{LocalStorage, Lock};
use inmost_engines::memory::MemoryStorage;
use inmost_format::crypto::cost::KdfLimits;
use inmost_format::crypto::ids::StoreId;
use inmost_format::header::{
    Credential, Enrolment, Header, NewHeader, SlotLabel, Unlocked, unlock_first,
};
use inmost_format::record::Sealer;
use inmost_format::record::node::{Root, Trail};
use inmost_storage::{EngineKind, StorageError};

use self::manifest::{Manifest, Used};
use self::pack::{PACK, Pack, pack_path};
use self::records::{DRAFT, Draft, Records};
use super::backup::VerifiedCopy;
use super::check_report::CheckReport;
use super::copy::{Copy, strict};
use super::rewrite::{Versions, write_generation};
use crate::session::anchor::{Anchor, Mark};
use crate::session::engines::{LOCAL, is_built};
use crate::session::generation::{FIRST_GENERATION, NextGeneration, NextKeys, write_headers};
use crate::session::{
    Open, ReadAhead, Session, StoreError, check_clock, now, occupied, open, sealer, time_of,
};

/// What a backup copies, and which earlier backups of the same store stay. A backup stays if either rule keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BackupOptions {
    /// Whether the versions that the history keeps are copied too. Off by default.
    pub with_versions: bool,
    /// How many of the newest backups stay, the new one included; 10 by default. The new one always stays.
    pub keep: usize,
    /// Younger backups than this stay; 30 days by default. Their age is counted to the second latest time of its backups in the
    /// folder, so that a clock that is ahead for one backup removes nothing.
    pub keep_within: Duration,
}

impl Default for BackupOptions {
    fn default() -> Self {
        let keep_within = Duration::from_secs(30 * 86_400);
        Self { with_versions: false, keep: 10, keep_within }
    }
}

/// A backup that was made and read back.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BackupReport {
    /// Its number in the folder.
    pub number: u64,
    /// What was read back.
    pub verified: VerifiedCopy,
    /// Bytes that it added to the folder.
    pub added_bytes: u64,
    /// The numbers of the earlier backups that were removed by age and count.
    pub removed: Vec<u64>,
    /// Whether the records of removed backups are gone. If not, a file of the folder is damaged, of another version, or cannot be
    /// removed.
    pub is_cleared: bool,
}

/// A backup in a folder. Nothing of it is authenticated yet.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BackupInfo {
    /// Its number, which is never used again while it is the newest.
    pub number: u64,
    /// When it was made; `None` if its manifest cannot be read or is of a version that this build does not know. [`Backups::check`] and
    /// [`Backups::restore`] then say which.
    pub time: Option<SystemTime>,
    /// Bytes of the files that only this backup brought. Later ones use them too.
    pub own_bytes: u64,
    /// The id of its store. A restored store has another one.
    pub store: [u8; 16],
}

impl Session {
    /// Makes a backup in a folder that may have earlier ones, and reads it back. What has not changed since the newest backup
    /// is shared with it. Afterwards, removes backups of this store that the options do not keep. Writers wait while it
    /// is written; readers do not. `progress` gets the number of records copied, then the number read back; it must not use the
    /// session.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, to) = (folder.path().join("claude.inmost"), folder.path().join("backups"));
    /// use inmost::{BackupOptions, Backups, Passphrase, Vault};
    ///
    /// let passphrase = Passphrase::new("correct horse battery staple")?;
    /// let session = Vault::create(&path, &passphrase)?;
    /// session.files().write("/memories/notes.md", "Dig.\n")?;
    /// let first = session.backup_into(&to, &BackupOptions::default(), &mut |_| {})?;
    /// session.files().write("/memories/notes.md", "Do not dig.\n")?;
    /// session.backup_into(&to, &BackupOptions::default(), &mut |_| {})?;
    ///
    /// let backups = Backups::open(&to)?;
    /// assert_eq!(backups.list().len(), 2);
    /// let restored = folder.path().join("restored.inmost");
    /// backups.restore(first.number, &restored, &passphrase, &mut |_| {})?;
    /// let restored = Vault::open(&restored)?.unlock(&passphrase)?;
    /// assert_eq!(restored.files().read("/memories/notes.md")?.as_str(), "Dig.\n");
    /// # restored.lock();
    /// # session.lock();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] if the folder holds something other than backups; [`StoreError::InUse`] if another
    /// process makes a backup there; [`StoreError::Tampered`] if a live record is damaged; [`StoreError::CopyNotVerified`];
    /// [`StoreError::DiskFull`], [`StoreError::Io`]; [`StoreError::InMemory`]. On an error there is no new backup, and the
    /// earlier ones are as they were.
    ///
    /// # Security
    /// All backups since the last rotation of the store have one data key. A keyslot that was removed from the store still
    /// opens the backups from before, and through them the later ones, until [`rotate`](Session::rotate) changes the keys.
    /// A purge of this store does not reach its backups.
    pub fn backup_into(
        &self,
        folder: impl AsRef<Path>,
        options: &BackupOptions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<BackupReport, StoreError> {
        check_clock()?;
        let place = Place::take(folder.as_ref())?;
        self.backup_at(&place, options, progress).inspect_err(|_| place.abandon())
    }

    fn backup_at(
        &self,
        place: &Place,
        options: &BackupOptions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<BackupReport, StoreError> {
        let versions = if options.with_versions { Versions::Keep } else { Versions::Drop };
        let New { manifest, sealer, root } =
            self.exclusive(|_| self.read_everything(|open| place.write(open, versions, progress)))?;
        // Learned from what was written. The session may be locked by now, and after the manifest nothing may fail.
        let store = sealer.store().0;
        let records = Records::of(&place.folder, &manifest);
        records.forget_cached();
        let copy = session_of(records, sealer);
        let read = copy.and_then(|copy| VerifiedCopy::read(&copy, &root, progress));
        let verified = read.map_err(|why| {
            let (copy, why) = (place.folder.display().to_string(), why.to_string());
            StoreError::CopyNotVerified { copy, why }
        })?;
        let bytes = manifest.encode();
        files::replace(&manifest_path(&place.folder, manifest.number), &bytes)
            .map_err(StorageError::from)?;
        let added_bytes = own_bytes(&place.folder, manifest.number);
        let (removed, is_cleared) = place.prune(store, options);
        Ok(BackupReport { number: manifest.number, verified, added_bytes, removed, is_cleared })
    }
}

/// The backups in a folder.
pub struct Backups {
    folder: PathBuf,
    list: Vec<BackupInfo>,
    limits: KdfLimits,
}

impl Backups {
    /// Lists the backups in a folder. Needs no passphrase and writes nothing.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`] if the folder has no backup; [`StoreError::Io`].
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let folder = folder.as_ref().to_owned();
        let numbers = match numbers(&folder, MANIFEST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            numbers => numbers.map_err(StorageError::from)?,
        };
        if numbers.is_empty() {
            return Err(StoreError::NotAStore);
        }
        let list = numbers.into_iter().map(|number| {
            let manifest = read_manifest(&folder, number).ok();
            BackupInfo {
                number,
                time: manifest.as_ref().map(|manifest| time_of(manifest.time)),
                own_bytes: own_bytes(&folder, number),
                store: manifest.and_then(|manifest| store_of(&manifest)).unwrap_or_default(),
            }
        });
        Ok(Self { list: list.collect(), folder, limits: KdfLimits::default() })
    }

    /// Sets the limits on the cost of an unlock, as [`VaultOptions::kdf_limits`](crate::VaultOptions::kdf_limits) does.
    #[must_use]
    pub fn kdf_limits(mut self, limits: KdfLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The backups, the oldest first.
    #[must_use]
    pub fn list(&self) -> &[BackupInfo] {
        &self.list
    }

    /// Reads and authenticates every record of a backup, and reports what is damaged. `progress` gets the number of records.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`] for a number without a backup; [`StoreError::HeaderDamaged`] if its manifest is damaged, and
    /// [`StoreError::UnknownFormat`] if it is of another version;
    /// [`StoreError::WrongPassphrase`] and [`StoreError::WrongKey`]; [`StoreError::Tampered`] if its root is damaged.
    pub fn check<'a>(
        &self,
        number: u64,
        credential: impl Into<Credential<'a>>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<CheckReport, StoreError> {
        let (keys, records) = self.unlock(number, &credential.into())?;
        let copy = session_of(records, sealer(&keys))?;
        let report = copy.check_reporting(progress);
        copy.lock();
        report
    }

    /// Restores a backup to a new folder. The restored store opens with this credential and with no other, and has a new id and
    /// new keys: an anchor of the old store refuses it. `progress` gets the number of records written.
    ///
    /// # Errors
    /// Those of [`check`](Self::check); [`StoreError::AlreadyExists`]; [`StoreError::Tampered`] if a record of the backup
    /// is damaged; [`StoreError::EngineNotBuilt`]; [`StoreError::DiskFull`], [`StoreError::Io`]. On an error there is no new
    /// store.
    pub fn restore<'a>(
        &self,
        number: u64,
        to: impl AsRef<Path>,
        credential: impl Into<Credential<'a>>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<VerifiedCopy, StoreError> {
        let credential = credential.into();
        // Where the folder can be written, no backup removes what is read here.
        let _lock = match Lock::take(&self.folder) {
            Err(error @ StorageError::InUse(_)) => return Err(error.into()),
            lock => lock.ok(),
        };
        let (keys, records) = self.unlock(number, &credential)?;
        let from = sealer(&keys);
        let (root, _) = open::read_root(&records, &from)?;
        let slots = keys.slots()?;
        let used = slots.iter().find(|slot| slot.is_current()).ok_or(StoreError::HeaderDamaged)?;
        let label = SlotLabel::parse(used.label()).unwrap_or(SlotLabel::of_kind(used.kind()));
        let cost = used.kdf_cost().unwrap_or_default();
        let enrolment = Enrolment { credential, cost, label: &label, now_ms: now() };
        let engine = keys.header().engine();
        let store = StoreId::generate()?;
        let new = NewHeader { store, engine, generation: FIRST_GENERATION, enrolment };
        let new = new.create(keys.header().limits())?;
        let storage = LocalStorage::create(to.as_ref(), LOCAL).map_err(occupied)?;
        let anchor = Anchor::new(&new, None);
        let next = NextGeneration::rotated(new);
        let root = Root { trail: Trail::default(), anchored: 0, ..root };
        let mut records_read = 0;
        let source = ReadAhead::stored(&records, &from);
        let written =
            write_generation(&source, &root, &storage, &next, &mut strict, &mut |count| {
                records_read = count;
                progress(count);
            })?;
        written.engine.close()?;
        if let Some(mark) = Mark::of(&written.root, FIRST_GENERATION, &written.root_value) {
            anchor.remember(&storage, &mark);
        }
        write_headers(&storage, next.header())?;
        storage.publish().map_err(occupied)?;
        Ok(VerifiedCopy { records: records_read, files: root.files, bytes: root.bytes })
    }

    fn unlock(
        &self,
        number: u64,
        credential: &Credential<'_>,
    ) -> Result<(Unlocked, Records), StoreError> {
        StoreError::check_process(credential.is_of_this_process())?;
        if self.list.iter().all(|info| info.number != number) {
            return Err(StoreError::NotAStore);
        }
        let manifest = read_manifest(&self.folder, number)?;
        let header = Header::parse(&manifest.header, &self.limits)?;
        if !is_built(header.engine()) {
            return Err(StoreError::EngineNotBuilt);
        }
        let (_, keys) = unlock_first(&[&header], credential)
            .map_err(|error| StoreError::of_unlock(error, credential.kind()))?;
        Ok((keys, Records::of(&self.folder, &manifest)))
    }
}

/// A session that reads the records of a backup.
fn session_of(records: Records, sealer: Sealer) -> Result<Session, StoreError> {
    Session::of_copy(Arc::new(MemoryStorage::default()), Box::new(records), sealer)
}

/// The folder of backups, locked.
struct Place {
    folder: PathBuf,
    is_new: bool,
    _lock: Lock,
}

/// A backup whose manifest is not written yet.
struct New {
    manifest: Manifest,
    sealer: Sealer,
    /// The root of the store that was copied.
    root: Root,
}

impl Place {
    /// Makes the folder if it is missing, takes its lock, and removes what an interrupted backup has left.
    fn take(folder: &Path) -> Result<Self, StoreError> {
        let is_new = match files::create_private_folder(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            made => made.map(|()| true).map_err(StorageError::from)?,
        };
        if !is_new && !is_for_backups(folder).map_err(StorageError::from)? {
            return Err(StoreError::AlreadyExists);
        }
        let place = Self { folder: folder.to_owned(), is_new, _lock: Lock::take(folder)? };
        place.clear().map_err(StorageError::from)?;
        Ok(place)
    }

    /// Removes drafts, and packs after the newest manifest, which belong to no backup.
    fn clear(&self) -> io::Result<()> {
        let newest = numbers(&self.folder, MANIFEST)?.last().copied().unwrap_or_default();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            let is_draft = name == DRAFT || is_draft(&name);
            if is_draft || parse(&name, PACK).is_some_and(|number| number > newest) {
                fs::remove_file(self.folder.join(&*name))?;
            }
        }
        Ok(())
    }

    /// Best effort: the next backup clears what stays.
    fn abandon(&self) {
        let _ = self.clear();
        if self.is_new {
            let _ = fs::remove_file(self.folder.join("lock"));
            let _ = fs::remove_dir(&self.folder);
        }
    }

    /// Writes the pack of a new backup.
    fn write(
        &self,
        open: &Open,
        versions: Versions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<New, StoreError> {
        let keys = open.keys().ok_or(StoreError::InMemory)?;
        let numbers = numbers(&self.folder, MANIFEST).map_err(StorageError::from)?;
        // A pack must never replace another one.
        let number = numbers.last().copied().unwrap_or_default().checked_add(1);
        let number = number.ok_or_else(|| {
            StorageError::from(io::Error::other("its newest backup has the last number there is"))
        })?;
        let (next, earlier) = self.continued(keys, &numbers)?;
        let mut draft = Draft::create(&self.folder).map_err(StorageError::from)?;
        let from = ReadAhead::once(open);
        let mut into = |puts: Vec<_>| draft.add(&puts);
        let mut copy = Copy::new(&from, &next.sealer, &mut into);
        copy.after(&earlier, progress);
        copy.root(&versions.root(open.root()), next.header_id(), &mut strict)?;
        let mut used = earlier.used(&copy.into_kept());
        let path = pack_path(&self.folder, number);
        let total = draft.into_pack(&path).map_err(StorageError::from)?;
        let mut new = Used::none_of(number, total);
        (0..total).for_each(|ordinal| new.add(ordinal));
        used.push(new);
        let header = next.header().to_vec();
        let manifest = Manifest { number, time: now(), header, used };
        Ok(New { manifest, sealer: next.sealer, root: open.root().clone() })
    }

    /// The keys of a new backup, and the records of the newest one with the same data key. Without one, the keys are new: the
    /// store was rotated, or never backed up here.
    fn continued(
        &self,
        keys: &Unlocked,
        numbers: &[u64],
    ) -> Result<(NextGeneration, Records), StoreError> {
        let engine = match keys.header().engine() {
            engine @ (EngineKind::Sled | EngineKind::Redb) => engine,
            EngineKind::Postgres | EngineKind::Memory => EngineKind::Sled,
        };
        for number in numbers.iter().rev() {
            let Ok(manifest) = read_manifest(&self.folder, *number) else { continue };
            let header = Header::parse(&manifest.header, keys.header().limits());
            let Some(before) = header.ok().and_then(|it| keys.succeeded_by(it).ok()) else {
                continue;
            };
            let (store, generation) = (keys.header().store(), before.header().generation());
            let engine = before.header().engine();
            let sealer = Sealer::new(keys.record_keys_of(&before), store, generation);
            let keys = NextKeys::Same(Box::new(keys.continuing(before)?));
            let next = NextGeneration { keys, sealer, generation, engine };
            return Ok((next, Records::of(&self.folder, &manifest)));
        }
        Ok((NextGeneration::generation(keys, FIRST_GENERATION, engine)?, Records::default()))
    }

    /// Removes old backups of a store, and then the records that no backup uses. Returns the numbers of the former, and
    /// whether all of it succeeded. Best effort: the next backup goes on.
    fn prune(&self, store: [u8; 16], options: &BackupOptions) -> (Vec<u64>, bool) {
        let mut is_cleared = true;
        let (mut left, mut removed, mut kept) = (Vec::new(), Vec::new(), 0);
        let all = numbers(&self.folder, MANIFEST).unwrap_or_default();
        // A clock that was ahead for one backup must not end the time of all others: the second latest time counts. That of
        // another store is of another machine.
        let manifests = all.iter().filter_map(|it| read_manifest(&self.folder, *it).ok());
        let own = manifests.filter(|manifest| store_of(manifest) == Some(store));
        let mut times: Vec<u64> = own.map(|manifest| manifest.time).collect();
        times.sort_unstable();
        let time = times.iter().rev().nth(1).copied().unwrap_or_default();
        for number in all.into_iter().rev() {
            let Ok(manifest) = read_manifest(&self.folder, number) else {
                // What a manifest lists that cannot be read is not known, so no record may go.
                is_cleared = false;
                continue;
            };
            let age = time.saturating_sub(manifest.time);
            let is_young = Duration::from_millis(age) < options.keep_within;
            let is_other = store_of(&manifest) != Some(store);
            if is_other || kept < options.keep.max(1) || is_young {
                kept += usize::from(!is_other);
                left.push(manifest);
            } else if fs::remove_file(manifest_path(&self.folder, number)).is_ok() {
                removed.push(number);
            } else {
                is_cleared = false;
                left.push(manifest);
            }
        }
        // Manifests first: none may name records that are gone.
        is_cleared &= files::sync_folder(&self.folder).is_ok();
        if is_cleared {
            is_cleared = self.remove_unused(&left).is_ok();
        }
        removed.reverse();
        (removed, is_cleared)
    }

    fn remove_unused(&self, manifests: &[Manifest]) -> io::Result<()> {
        let mut uses: HashMap<u64, Vec<&Used>> = HashMap::new();
        for used in manifests.iter().flat_map(|manifest| &manifest.used) {
            uses.entry(used.pack).or_default().push(used);
        }
        for number in numbers(&self.folder, PACK)? {
            let path = pack_path(&self.folder, number);
            let Some(uses) = uses.get(&number) else {
                fs::remove_file(path)?;
                continue;
            };
            let Ok(pack) = Pack::open(&path) else { continue };
            let is_used = |ordinal| uses.iter().any(|used| used.has(ordinal));
            let live = pack.entries.iter().filter(|entry| is_used(entry.ordinal));
            let live: Vec<_> = live.copied().collect();
            // Not for a few: all others are written anew.
            if live.len() < pack.entries.len() - pack.entries.len() / UNUSED {
                Pack::write(&path, pack.total, live, |entry| pack.value(entry))?;
            }
        }
        files::sync_folder(&self.folder)
    }
}

/// Whether a folder holds backups, or nothing besides what an interrupted backup leaves.
fn is_for_backups(folder: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(false),
        entries => entries?,
    };
    let mut is_ours = true;
    for entry in entries {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if parse(&name, MANIFEST).is_some() {
            return Ok(true);
        }
        is_ours &=
            name == "lock" || name == DRAFT || is_draft(&name) || parse(&name, PACK).is_some();
    }
    Ok(is_ours)
}

/// Whether a file is a pack or a manifest that was being written.
fn is_draft(name: &str) -> bool {
    let Some(name) = name.strip_suffix(".new") else { return false };
    let manifest = name.strip_prefix('.').and_then(|name| parse(name, MANIFEST));
    manifest.or(parse(name, PACK)).is_some()
}

/// The numbers of the files with this prefix, ascending.
fn numbers(folder: &Path, prefix: &str) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        numbers.extend(parse(&entry?.file_name().to_string_lossy(), prefix));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn parse(name: &str, prefix: &str) -> Option<u64> {
    let digits = name.strip_prefix(prefix)?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (format!("{number:016x}") == digits).then_some(number)
}

fn read_manifest(folder: &Path, number: u64) -> Result<Manifest, StoreError> {
    let bytes = files::read_small(&manifest_path(folder, number), MANIFEST_BYTES).ok().flatten();
    let manifest = Manifest::decode(&bytes.ok_or(StoreError::HeaderDamaged)?)?;
    // A manifest under the number of another backup does not count.
    if manifest.number == number { Ok(manifest) } else { Err(StoreError::HeaderDamaged) }
}

fn store_of(manifest: &Manifest) -> Option<[u8; 16]> {
    manifest.header.get(16..)?.first_chunk().copied()
}

/// Bytes of the manifest and the pack that a backup was written with.
fn own_bytes(folder: &Path, number: u64) -> u64 {
    let paths = [manifest_path(folder, number), pack_path(folder, number)];
    paths.iter().filter_map(|path| fs::symlink_metadata(path).ok()).map(|it| it.len()).sum()
}

fn manifest_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{MANIFEST}{number:016x}"))
}

const MANIFEST: &str = "backup-";
/// The longest manifest: far more than a store of 10,000,000 records has.
const MANIFEST_BYTES: u64 = 256 << 20;
/// A pack is written anew when one of so many of its records is unused.
const UNUSED: usize = 4;
