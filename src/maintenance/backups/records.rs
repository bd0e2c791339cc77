//! The records of one backup, read from its packs, and those of a new one before they are a pack.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use inmost_engines::files;
use inmost_format::record::{Node, RecordId, Sealer, Tag, tag_of};
use inmost_format::secret::Wiped;
use inmost_storage::limits::RECORD_VALUE_BYTES;
use inmost_storage::{Address, Batch, Engine, StorageError};

use super::manifest::{Manifest, Used};
use super::pack::{Pack, PackEntry, pack_path};

/// The records of a backup: an engine that can only be read.
#[derive(Default)]
pub(in crate::maintenance) struct Records {
    packs: Vec<(u64, Pack)>,
    places: BTreeMap<Address, (usize, PackEntry)>,
}

impl Records {
    /// Those that a manifest lists. What cannot be read is absent.
    pub(super) fn of(folder: &Path, manifest: &Manifest) -> Self {
        let mut records = Self::default();
        for used in &manifest.used {
            let Ok(pack) = Pack::open(&pack_path(folder, used.pack)) else { continue };
            let place = records.packs.len();
            let mine = pack.entries.iter().filter(|entry| used.has(entry.ordinal));
            records.places.extend(mine.map(|entry| (entry.address, (place, *entry))));
            records.packs.push((used.pack, pack));
        }
        records
    }

    /// The address and the tag of a record, if it is here with the content of this node.
    pub(in crate::maintenance) fn same(
        &self,
        sealer: &Sealer,
        id: RecordId,
        node: &Node,
    ) -> Option<(Address, Tag)> {
        let address = sealer.address(id);
        let value = self.value(&address).ok().flatten()?;
        let (name, body) = sealer.open_any(&address, &value).ok()?;
        let mut wanted = Wiped::new(vec![0; RECORD_VALUE_BYTES]);
        let length = node.encode(&mut wanted).ok()?;
        let is_same = name == id && wanted.get(..length) == Some(body.as_slice());
        is_same.then_some((address, tag_of(&value)?))
    }

    /// What of each pack these addresses are.
    pub(super) fn used(&self, addresses: &[Address]) -> Vec<Used> {
        let mut used: Vec<Used> =
            self.packs.iter().map(|(number, pack)| Used::none_of(*number, pack.total)).collect();
        for address in addresses {
            if let Some((pack, entry)) = self.places.get(address)
                && let Some(used) = used.get_mut(*pack)
            {
                used.add(entry.ordinal);
            }
        }
        used.retain(|used| used.bits.iter().any(|byte| *byte != 0));
        used
    }

    /// Lets the next reads come from the disk. Best effort.
    pub(super) fn forget_cached(&self) {
        self.packs.iter().for_each(|(_, pack)| pack.forget_cached());
    }

    fn value(&self, address: &Address) -> io::Result<Option<Vec<u8>>> {
        let Some((pack, entry)) = self.places.get(address) else { return Ok(None) };
        self.packs.get(*pack).map(|(_, pack)| pack.value(entry)).transpose()
    }
}

impl Engine for Records {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        // A place that cannot be read is like one with other bytes: the other records are read.
        Ok(addresses.iter().map(|address| self.value(address).unwrap_or_default()).collect())
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        let after = after.map_or(Bound::Unbounded, |after| Bound::Excluded(*after));
        let page = self.places.range((after, Bound::Unbounded)).take(limit);
        let page = page.map(|(address, _)| (*address, self.value(address).ok().flatten()));
        Ok(page.map(|(address, value)| (address, value.unwrap_or_default())).collect())
    }

    fn apply(&self, _: &Batch) -> Result<(), StorageError> {
        Err(StorageError::Io(io::ErrorKind::ReadOnlyFilesystem.into()))
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.packs.iter().map(|(_, pack)| Ok(pack.size()?)).sum()
    }

    fn close(self: Box<Self>) -> Result<(), StorageError> {
        Ok(())
    }

    fn discard(self: Box<Self>) {}
}

/// New records in the order in which they come, in a file that is removed when this is dropped.
pub(super) struct Draft {
    path: PathBuf,
    file: File,
    entries: Vec<PackEntry>,
    end: u64,
}

impl Draft {
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(DRAFT);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = files::create_private_file(&path)?;
        Ok(Self { path, file, entries: Vec::new(), end: 0 })
    }

    pub(super) fn add(&mut self, records: &[(Address, Vec<u8>)]) -> Result<(), StorageError> {
        let mut bytes = Vec::new();
        let begin = self.end;
        for (address, value) in records {
            let (address, offset, length) = (*address, self.end, value.len());
            self.entries.push(PackEntry { ordinal: 0, address, offset, length });
            self.end = self.end.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
            bytes.extend(value);
        }
        Ok(files::write_all_at(&self.file, &bytes, begin)?)
    }

    /// Writes the records to their pack. Returns how many there are.
    pub(super) fn into_pack(mut self, path: &Path) -> io::Result<u32> {
        let mut entries = std::mem::take(&mut self.entries);
        let total = u32::try_from(entries.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // The order in which the records came shows the tree.
        entries.sort_unstable_by_key(|entry| (entry.length, entry.address));
        for (ordinal, entry) in (0..).zip(&mut entries) {
            entry.ordinal = ordinal;
        }
        Pack::write(path, total, entries, |entry| {
            let mut value = vec![0; entry.length];
            files::read_exact_at(&self.file, &mut value, entry.offset)?;
            Ok(value)
        })?;
        Ok(total)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The name of the file.
pub(super) const DRAFT: &str = "records.new";
