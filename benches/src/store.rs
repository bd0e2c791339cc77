//! Creates, fills and opens stores of inmost for the benchmarks.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use inmost::{
    KdfCost, NewSlot, Passphrase, RawKey, Session, SessionOptions, StorageEngine, Vault,
    VaultOptions,
};

use crate::trace::text_of;

/// The passphrase of every store here.
pub const PASSPHRASE: &str = "correct horse battery staple";

/// The lowest cost that the library accepts. The default cost has its own row.
const CHEAP: KdfCost = KdfCost::new(19 << 10, 2, 1);

/// Returns the key that opens every store here without key derivation.
#[must_use]
pub fn raw_key() -> RawKey {
    RawKey::from_bytes(&[7; 32])
}

/// Creates a store with default options except for its engine and the cheapest key derivation. Opening is not
/// measured on it.
///
/// # Errors
/// The errors of the library.
pub fn create(path: &Path, engine: StorageEngine) -> Result<Session, Box<dyn Error>> {
    let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine);
    let session = options.create(path, &Passphrase::new(PASSPHRASE)?)?;
    session.add_slot(&NewSlot::new(&raw_key()))?;
    Ok(session)
}

/// Opens a store with its raw key.
///
/// # Errors
/// The errors of the library.
pub fn open(path: &Path, options: SessionOptions) -> Result<Session, Box<dyn Error>> {
    Ok(VaultOptions::new().session(options).open(path)?.unlock_with(&raw_key())?)
}

/// Creates a store with a passphrase of the default cost and `files` files; see [`fill`].
///
/// # Errors
/// The errors of the library.
pub fn create_filled(path: &Path, files: usize) -> Result<Session, Box<dyn Error>> {
    let session = Vault::create(path, &Passphrase::new(PASSPHRASE)?)?;
    session.add_slot(&NewSlot::new(&raw_key()))?;
    fill(&session, files)?;
    Ok(session)
}

/// Writes `files` files of 1 KB, 100 per folder, with up to 100 folders per parent folder. Eight threads write them, so
/// that they share syncs.
///
/// # Errors
/// The errors of the library.
pub fn fill(session: &Session, files: usize) -> Result<(), Box<dyn Error>> {
    let text = text_of(1_000, 1);
    let next = AtomicUsize::new(0);
    let write = || -> Result<(), inmost::FileError> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= files {
                return Ok(());
            }
            session.files().write(&path_of(number), &text)?;
        }
    };
    thread::scope(|scope| {
        let writers: Vec<_> = (0..8).map(|_| scope.spawn(write)).collect();
        writers.into_iter().try_for_each(|writer| writer.join().expect("a writer"))
    })?;
    Ok(())
}

/// Returns the path of a file by number, in a store that [`create_filled`] made.
#[must_use]
pub fn path_of(number: usize) -> String {
    format!("{}/note-{:02}.md", folder_of(number), number % 100)
}

/// Returns the folder of 100 files that contains the file of a number.
#[must_use]
pub fn folder_of(number: usize) -> String {
    format!("/memories/area-{:03}/project-{:02}", number / 10_000, number / 100 % 100)
}
