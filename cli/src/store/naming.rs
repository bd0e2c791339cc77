//! Failures of opening a store. They name its folder.

use std::fs;
use std::io;
use std::path::Path;

use inmost::{Backups, StoreError, Vault};

use super::holder;
use crate::display;
use crate::exit::{Exit, Failure};

/// The failure of opening or creating the store at this place.
pub(crate) fn at(place: &Path, error: StoreError) -> Failure {
    let shown = place.display();
    let is_url = place.to_str().is_some_and(inmost::VaultOptions::is_url);
    let named = match &error {
        StoreError::NotAStore if Backups::open(place).is_ok() => {
            return Failure::new(
                Exit::NotAStore,
                format!("{shown} is a folder of backups, not a store."),
                format!(
                    "List them with `inmost backup list {}`.",
                    display::quoted(&shown.to_string())
                ),
            );
        }
        StoreError::NotAStore if is_in_the_way(place) => {
            return Failure::new(
                Exit::NotAStore,
                format!("There is no store at {shown}, but something else."),
                "Check the path. A new store needs a path where nothing is, or an empty folder.",
            );
        }
        StoreError::NotAStore => format!("There is no store at {shown}."),
        StoreError::AlreadyExists if is_url => format!("There is a store at {shown} already."),
        StoreError::AlreadyExists => {
            format!("{shown} already exists, and is not an empty folder.")
        }
        StoreError::InUse(process) => {
            format!("The store {shown} is in use by {}.", holder::of(*process))
        }
        StoreError::WrongPassphrase => {
            format!("The passphrase is wrong: it does not open {shown}.")
        }
        StoreError::WrongKey(kind) if kind.has_passphrase() => {
            format!("The passphrase or the keyfile is wrong: they do not open {shown}.")
        }
        StoreError::WrongKey(kind) => format!("The {kind} is wrong: it does not open {shown}."),
        _ => return prefixed(place, error.into()),
    };
    match error.into() {
        Failure::Error { exit, advice, .. } => Failure::new(exit, named, advice),
        failure => failure,
    }
}

/// Whether something is at a path that no new store can replace.
fn is_in_the_way(place: &Path) -> bool {
    match fs::read_dir(place) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => place.exists(),
    }
}

/// The failure of creating a store or a copy where something is already.
pub(super) fn taken(place: &Path) -> Failure {
    match Vault::open(place) {
        Err(StoreError::NotAStore | StoreError::UntrustedFile(_) | StoreError::Io(_)) => {
            at(place, StoreError::AlreadyExists)
        }
        _ => Failure::new(
            Exit::Other,
            format!("There is a store at {} already. It has not changed.", place.display()),
            "Use it, as in `inmost ls`, or choose another folder.",
        ),
    }
}

/// The failure of creating a store or a copy in this folder. That the disk cannot be written is about the folder, and not about
/// the store that is copied.
pub(crate) fn creating(place: &Path, error: StoreError) -> Failure {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    match &error {
        StoreError::Io(reason)
            if matches!(reason.kind(), PermissionDenied | ReadOnlyFilesystem) =>
        {
            let message = format!("{} cannot be created", place.display());
            let advice =
                "Choose a folder that can be written, on another disk if this one is read-only.";
            Failure::io(&message, reason, advice)
        }
        StoreError::DiskFull => Failure::new(
            Exit::Io,
            format!("A disk is full: there is no room for the copy in {}.", place.display()),
            "Free some space there, or choose a folder on another disk. The store has not changed.",
        ),
        _ => error.into(),
    }
}

/// The failure with the store in front of its message.
fn prefixed(place: &Path, failure: Failure) -> Failure {
    match failure {
        Failure::Error { exit, message, advice } => {
            Failure::new(exit, format!("{}: {message}", place.display()), advice)
        }
        failure => failure,
    }
}

/// The failure to open a store without the keyfile that all of its passphrases need.
pub(super) fn without_keyfile(place: &Path) -> Failure {
    Failure::new(
        Exit::WrongPassphrase,
        format!("The store {} needs its keyfile, and none was given.", place.display()),
        "Give the keyfile with --keyfile, or use --recovery if the store has a recovery key.",
    )
}

/// The failure to open a store that has no keyslot of the kind that was chosen.
pub(super) fn without_slot(place: &Path, kind: &str, advice: &'static str) -> Failure {
    let message = format!("The store {} has no keyslot for {kind}.", place.display());
    Failure::new(Exit::WrongPassphrase, message, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_names_the_store() {
        for error in [
            StoreError::NotAStore,
            StoreError::AlreadyExists,
            StoreError::InUse(None),
            StoreError::InUse(Some(7)),
            StoreError::WrongPassphrase,
            StoreError::WrongKey(inmost::SlotKind::RecoveryKey),
            StoreError::WrongKey(inmost::SlotKind::PassphraseAndKeyfile),
            StoreError::HeaderDamaged,
            StoreError::Storage("cannot open \"/data/ada\"".into()),
        ] {
            let Failure::Error { message, .. } = at(Path::new("notes"), error) else {
                unreachable!("it is an error")
            };
            assert!(message.contains("notes") && !message.contains("ada"), "{message}");
        }
    }
}
