//! A pack: a file of sealed records, written once for one backup and shared with later ones.
//!
//! docs/FORMAT.md describes it. Its records are in the order of their lengths and addresses, so it does not show which were
//! written together. Damage costs the records that it hits: head and list say where each record is, and the head is there twice.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use inmost_engines::files;
use inmost_format::crypto::prf::checksum;
use inmost_format::limits::{RECORD_CLASSES, RECORD_FRAME};
use inmost_storage::Address;

/// An open pack.
pub(super) struct Pack {
    file: File,
    pub(super) entries: Vec<PackEntry>,
    /// The records that it had when it was written.
    pub(super) total: u32,
}

/// A record of a pack.
#[derive(Clone, Copy)]
pub(super) struct PackEntry {
    /// Its number in the pack as it was written first. It stays when other records are removed.
    pub(super) ordinal: u32,
    pub(super) address: Address,
    pub(super) offset: u64,
    pub(super) length: usize,
}

impl Pack {
    /// Opens a pack and reads where its records are.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = files::open(path)?;
        let length = file.metadata()?.len();
        let (total, counts) = match read_head(&file, 0) {
            Ok(head) => head,
            Err(_) => read_head(&file, length.saturating_sub(wide(HEAD)))?,
        };
        let records = counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        let list = records.saturating_mul(wide(ENTRY));
        if list > length {
            return Err(damaged());
        }
        let mut bytes = vec![0; usize::try_from(list).map_err(|_| damaged())?];
        files::read_exact_at(&file, &mut bytes, wide(HEAD))?;
        let classes = RECORD_CLASSES.iter().zip(counts).flat_map(|(class, count)| {
            std::iter::repeat_n(
                class.saturating_add(RECORD_FRAME),
                usize::try_from(count).unwrap_or(0),
            )
        });
        let mut offset = wide(HEAD).saturating_add(list);
        let mut entries = Vec::new();
        for (entry, length) in bytes.as_chunks::<ENTRY>().0.iter().zip(classes) {
            let (ordinal, address) = entry.split_first_chunk::<4>().ok_or_else(damaged)?;
            let address = Address(*address.first_chunk().ok_or_else(damaged)?);
            let ordinal = u32::from_le_bytes(*ordinal);
            entries.push(PackEntry { ordinal, address, offset, length });
            offset = offset.saturating_add(wide(length));
        }
        Ok(Self { file, entries, total })
    }

    /// The value of a record.
    pub(super) fn value(&self, entry: &PackEntry) -> io::Result<Vec<u8>> {
        let mut value = vec![0; entry.length];
        files::read_exact_at(&self.file, &mut value, entry.offset)?;
        Ok(value)
    }

    /// Bytes on the disk.
    pub(super) fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Lets the next reads come from the disk. Best effort.
    pub(super) fn forget_cached(&self) {
        files::forget_cached(&self.file);
    }

    /// Writes a pack durably in place of an earlier one of this name. `value` returns the value of each entry.
    pub(super) fn write(
        path: &Path,
        total: u32,
        mut entries: Vec<PackEntry>,
        mut value: impl FnMut(&PackEntry) -> io::Result<Vec<u8>>,
    ) -> io::Result<()> {
        entries.sort_unstable_by_key(|entry| (entry.length, entry.address));
        let mut counts = [0_u32; RECORD_CLASSES.len()];
        for (class, count) in RECORD_CLASSES.iter().zip(&mut counts) {
            let length = class.saturating_add(RECORD_FRAME);
            let found = entries.iter().filter(|entry| entry.length == length).count();
            *count = u32::try_from(found).map_err(|_| damaged())?;
        }
        let head = head(total, &counts);
        let draft = path.with_extension("new");
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let written = files::create_private_file(&draft).and_then(|file| {
            let mut file = BufWriter::new(file);
            file.write_all(&head)?;
            for entry in &entries {
                file.write_all(&entry.ordinal.to_le_bytes())?;
                file.write_all(&entry.address.0)?;
            }
            for entry in &entries {
                file.write_all(&value(entry)?)?;
            }
            file.write_all(&head)?;
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            files::rename(&draft, path)?;
            path.parent().map_or(Ok(()), files::sync_folder)
        });
        written.inspect_err(|_| drop(fs::remove_file(&draft)))
    }
}

/// The place of a pack.
pub(super) fn pack_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{PACK}{number:016x}"))
}

fn head(total: u32, counts: &[u32; RECORD_CLASSES.len()]) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    head.extend(VERSION.to_le_bytes());
    head.extend([0; 2]);
    head.extend(total.to_le_bytes());
    head.extend(counts.iter().flat_map(|count| count.to_le_bytes()));
    head.extend([0; 28]);
    head.extend(checksum(&head));
    head
}

fn read_head(file: &File, at: u64) -> io::Result<(u32, [u32; RECORD_CLASSES.len()])> {
    let mut bytes = [0; HEAD];
    files::read_exact_at(file, &mut bytes, at)?;
    let numbers = bytes.get(12..36).unwrap_or_default().as_chunks::<4>().0;
    let mut numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let total = numbers.next().unwrap_or_default();
    let counts = std::array::from_fn(|_| numbers.next().unwrap_or_default());
    if head(total, &counts) == bytes { Ok((total, counts)) } else { Err(damaged()) }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a pack of records is damaged")
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// The beginning of the name of a pack.
pub(super) const PACK: &str = "records-";
const MAGIC: [u8; 8] = *b"\x89INMPCK\n";
const VERSION: u16 = 1;
/// Bytes of a head.
const HEAD: usize = 64 + 32;
/// Bytes of an entry of the list.
const ENTRY: usize = 4 + 32;
