//! Space reserved for a full disk: the file `ballast`, 4 MiB of noise, freed when there is no other space.
//!
//! Opening a store writes before it can read: sled fills the segment that it appends to and writes a
//! snapshot, so a store on a full disk would not open. Deleting, the way to free space, also writes first.
//! 2.5 MiB of the ballast are kept for the next opening. The rest is for one checkpoint of the journal
//! ([`room`](super::journal)): it is freed right before, and what the checkpoint did not need is taken back afterwards,
//! so that no other program gets it.
//!
//! Best effort: a copy of a store may lack the file. A link (hard or symbolic) or a folder of that name is
//! not touched.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use inmost_storage::StorageError;

use crate::files;

pub(super) const NAME: &str = "ballast";
/// The size of a whole ballast, in bytes.
const BYTES: u64 = OPENING_BYTES + CHECKPOINT_BYTES;
/// Bytes kept for the next opening: a segment of sled's log (2 MiB), plus half a MiB for its snapshot and the
/// overhead of the file system.
const OPENING_BYTES: u64 = 5 << 19;
/// Bytes kept for a checkpoint: 12 KiB for each of its 125 records, with the overhead of the engine and the file system.
const CHECKPOINT_BYTES: u64 = 3 << 19;
/// Bytes that may be missing from what is kept for the next opening: the ballast is a block short from the moment the disk is
/// full, and a checkpoint gives back almost all that it got.
const MISSING_BYTES: u64 = 64 << 10;
/// The fewest bytes that are worth a try.
const LOAN_MIN: u64 = 128 << 10;
/// Free bytes below which a disk is nearly full: more than a few checkpoints write.
const NEARLY_FULL_BYTES: u64 = 16 << 20;
/// Bytes per write.
const PIECE: usize = 64 << 10;
/// The least number of bytes missing from the ballast while the disk is full.
const BLOCK: u64 = 4 << 10;

pub(super) struct Ballast {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// Bytes that it occupies on disk.
    held: u64,
    /// Whether the disk was found full and the ballast has not been restored since.
    short: bool,
    /// Parts of it that checkpoints and openings are using.
    lent: u32,
}

/// A part of the ballast that was freed for a checkpoint or an opening. Until it is dropped, nobody takes the room back.
pub(super) struct Loan<'b>(&'b Ballast);

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.lent = state.lent.saturating_sub(1);
    }
}

impl Ballast {
    /// Returns the ballast of a store in its current state. Changes nothing.
    pub(super) fn of(folder: &Path) -> Self {
        let path = folder.join(NAME);
        let held = held_by(&path);
        Self { path, state: Mutex::new(State { held, short: false, lent: 0 }) }
    }

    /// Bytes that it occupies on disk.
    pub(super) fn held(&self) -> u64 {
        self.state().held
    }

    /// Returns whether the disk is full, as far as is known.
    pub(super) fn is_short(&self) -> bool {
        self.state().short
    }

    /// Returns whether the next checkpoints may fill the disk. Without an answer of the system, `false`.
    pub(super) fn is_disk_nearly_full(&self) -> bool {
        let free = self.path.parent().and_then(|folder| fs4::available_space(folder).ok());
        free.is_some_and(|free| free < NEARLY_FULL_BYTES)
    }

    /// Restores the ballast to its full size, or as far as the disk has space.
    ///
    /// # Errors
    /// [`StorageError::Full`] if there is not enough space, or a checkpoint or an opening is using some of it. If the ballast cannot
    /// be written for any other reason, the store works without it.
    pub(super) fn make(&self) -> Result<(), StorageError> {
        let mut state = self.state();
        if !state.short && state.held >= BYTES {
            return Ok(());
        }
        if state.lent > 0 {
            return Err(StorageError::Full);
        }
        match grow(&self.path, state.held).map_err(StorageError::from) {
            Err(StorageError::Full) => {
                let _ = cut(&self.path, BYTES - BLOCK);
                (state.held, state.short) = (held_by(&self.path), true);
                Err(StorageError::Full)
            }
            made => {
                // Not read from the file system, because some do not report allocated blocks.
                (state.held, state.short) = (made.map_or(0, |()| BYTES), false);
                Ok(())
            }
        }
    }

    /// Shrinks the ballast to this many bytes, because the disk is full.
    pub(super) fn keep(&self, bytes: u64) {
        let mut state = self.state();
        // At least one block short of full size, so that the next opening notices and restores the ballast.
        let _ = cut(&self.path, bytes.min(BYTES - BLOCK));
        (state.held, state.short) = (held_by(&self.path), true);
    }

    /// The bytes that stay when a checkpoint gets its part; `None` if there is no such part.
    pub(super) fn spare(&self) -> Option<u64> {
        let held = self.held();
        let left = held.saturating_sub(CHECKPOINT_BYTES).max(OPENING_BYTES - MISSING_BYTES);
        (held.saturating_sub(left) >= LOAN_MIN).then_some(left)
    }

    /// As [`keep`](Self::keep), for a checkpoint or an opening that needs the rest.
    pub(super) fn lend(&self, bytes: u64) -> Loan<'_> {
        // First, so that no call takes the room back in between.
        let mut state = self.state();
        state.lent = state.lent.saturating_add(1);
        drop(state);
        self.keep(bytes);
        Loan(self)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the bytes that a file occupies on disk: 0 if it does not exist or must not be cut. A sparse copy
/// reserves no space.
fn held_by(path: &Path) -> u64 {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() && !files::has_other_names(&metadata) => {
            #[cfg(unix)]
            let on_disk = std::os::unix::fs::MetadataExt::blocks(&metadata).saturating_mul(512);
            #[cfg(not(unix))]
            let on_disk = u64::MAX;
            metadata.len().min(on_disk)
        }
        _ => 0,
    }
}

fn grow(path: &Path, held: u64) -> io::Result<()> {
    let mut file = match files::open_to_write(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => files::create_private_file(path)?,
        file => file?,
    };
    file.set_len(held)?;
    file.seek(SeekFrom::Start(held))?;
    let mut noise = BufReader::with_capacity(PIECE, Noise::new().take(BYTES.saturating_sub(held)));
    loop {
        let piece = noise.fill_buf()?;
        if piece.is_empty() {
            return file.sync_all();
        }
        file.write_all(piece)?;
        let written = piece.len();
        noise.consume(written);
    }
}

/// Shortens the file and syncs, so that the disk has the space back.
fn cut(path: &Path, bytes: u64) -> io::Result<()> {
    let file: File = files::open_to_write(path)?;
    if file.metadata()?.len() > bytes {
        file.set_len(bytes)?;
        file.sync_all()?;
    }
    Ok(())
}

/// Noise that does not compress and does not repeat in another ballast: some file systems would store such
/// data in no space at all. The noise is not secret. (Knuth's MMIX generator.)
struct Noise(u64);

impl Noise {
    fn new() -> Self {
        Self(RandomState::new().hash_one(()))
    }
}

impl Read for Noise {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for bytes in buffer.chunks_mut(4) {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            for (to, from) in bytes.iter_mut().zip(self.0.to_be_bytes()) {
                *to = from;
            }
        }
        Ok(buffer.len())
    }
}
