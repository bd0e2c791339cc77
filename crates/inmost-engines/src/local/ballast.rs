//! Room set aside for a full disk: the file `ballast`, 5 MiB of noise, given up when there is no other room.
//!
//! Opening a store writes before it can read: sled fills the segment it appends to and writes a snapshot, so
//! on a full disk it would not open at all. And deleting, the way out, writes before it frees anything. The
//! ballast gives room for both: half of it is kept for the next opening, and the rest is for changes that
//! add no record ([`LowSpaceEngine`](super::low_space::LowSpaceEngine)), given up piece by piece right before each and taken
//! back afterwards as far as it was not used, so that nobody else gets it.
//!
//! Best effort: a copy of a store may lack the file, and a link, hard or not, or a folder of that name is left alone.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use inmost_storage::StorageError;

use crate::files;

pub(super) const NAME: &str = "ballast";
/// Bytes of a whole ballast: what opening takes, twice.
const BYTES: u64 = 2 * OPENING_BYTES;
/// Bytes kept for the next opening: a segment of sled's log (2 MiB), and half a MiB for its snapshot and the file
/// system's own needs.
pub(super) const OPENING_BYTES: u64 = 5 << 19;
/// Bytes written at once.
const PIECE: usize = 64 << 10;
/// Bytes that it lacks at least while the disk is full.
const BLOCK: u64 = 4 << 10;

pub(super) struct Ballast {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// Bytes of disk that it keeps.
    held: u64,
    /// The disk was found full, and it was not made whole since.
    short: bool,
}

impl Ballast {
    /// The ballast of a store as it is.
    pub(super) fn of(folder: &Path) -> Self {
        let path = folder.join(NAME);
        let held = held_by(&path);
        Self { path, state: Mutex::new(State { held, short: false }) }
    }

    /// Bytes of disk that it keeps.
    pub(super) fn held(&self) -> u64 {
        self.state().held
    }

    /// Whether the disk is full, as far as is known.
    pub(super) fn is_short(&self) -> bool {
        self.state().short
    }

    /// Makes it whole, or as much of it as there is room for.
    ///
    /// # Errors
    /// [`StorageError::Full`] if there is not enough room. Where it cannot be made for another reason, the store
    /// goes without.
    pub(super) fn make(&self) -> Result<(), StorageError> {
        let mut state = self.state();
        if !state.short && state.held >= BYTES {
            return Ok(());
        }
        match grow(&self.path, state.held).map_err(StorageError::from) {
            Err(StorageError::Full) => {
                let _ = cut(&self.path, BYTES - BLOCK);
                *state = State { held: held_by(&self.path), short: true };
                Err(StorageError::Full)
            }
            made => {
                // Not asked of the file system again: some do not tell what they keep.
                *state = State { held: made.map_or(0, |()| BYTES), short: false };
                Ok(())
            }
        }
    }

    /// Gives up all but this many bytes, because the disk is full.
    pub(super) fn keep(&self, bytes: u64) {
        let mut state = self.state();
        // At least a block less than whole: that is how the next opening knows, and tries to make it whole.
        let _ = cut(&self.path, bytes.min(BYTES - BLOCK));
        *state = State { held: held_by(&self.path), short: true };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes on disk behind a file, 0 if there is none or it is not ours to cut. A sparse copy of it keeps no room.
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

/// Shortens the file, and waits until the disk has the room back.
fn cut(path: &Path, bytes: u64) -> io::Result<()> {
    let file: File = files::open_to_write(path)?;
    if file.metadata()?.len() > bytes {
        file.set_len(bytes)?;
        file.sync_all()?;
    }
    Ok(())
}

/// Bytes that neither compress nor repeat in another ballast, since some file systems would store those in no
/// room at all. Nothing about them is secret. (Knuth's MMIX generator.)
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
