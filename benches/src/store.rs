//! Stores of inmost for the benchmarks: their key, their cost, and filling them.

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

/// The least that the library accepts; what a default passphrase costs is a row of its own.
const CHEAP: KdfCost = KdfCost::new(19 << 10, 2, 1);

/// The key that opens every store here without key derivation.
#[must_use]
pub fn raw_key() -> RawKey {
    RawKey::from_bytes(&[7; 32])
}

/// A new store of which nothing but its engine differs from the defaults: what opening costs is not measured on it.
///
/// # Errors
/// Those of the library.
pub fn create(path: &Path, engine: StorageEngine) -> Result<Session, Box<dyn Error>> {
    let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine);
    let session = options.create(path, &Passphrase::new(PASSPHRASE)?)?;
    session.add_slot(&NewSlot::new(&raw_key()))?;
    Ok(session)
}

/// Opens a store by its raw key.
///
/// # Errors
/// Those of the library.
pub fn open(path: &Path, options: SessionOptions) -> Result<Session, Box<dyn Error>> {
    Ok(VaultOptions::new().session(options).open(path)?.unlock_with(&raw_key())?)
}

/// A store with a passphrase of the default cost, and `files` files of 1 KB, 100 to a folder, in folders of 100 folders.
/// Eight threads write it, so that they share syncs.
///
/// # Errors
/// Those of the library.
pub fn create_filled(path: &Path, files: usize) -> Result<Session, Box<dyn Error>> {
    let session = Vault::create(path, &Passphrase::new(PASSPHRASE)?)?;
    session.add_slot(&NewSlot::new(&raw_key()))?;
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
    Ok(session)
}

/// Where the file of a number is, in a store that [`create_filled`] made.
#[must_use]
pub fn path_of(number: usize) -> String {
    format!("{}/note-{:02}.md", folder_of(number), number % 100)
}

/// The folder of 100 files in which the file of a number is.
#[must_use]
pub fn folder_of(number: usize) -> String {
    format!("/memories/area-{:03}/project-{:02}", number / 10_000, number / 100 % 100)
}
