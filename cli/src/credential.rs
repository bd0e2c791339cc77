//! The options that give the credential of a store: a passphrase, with an optional keyfile, or a recovery key.

use std::path::{Path, PathBuf};

use inmost::Keyfile;
use inmost_keyd::Secret;

use crate::exit::Failure;
use crate::keyfile;
use crate::passphrase::{Asking, By, Input, PassphraseArgs};

/// The sources of the credential.
#[derive(clap::Args)]
pub(crate) struct CredentialArgs {
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArgs,

    /// Keyfile that is needed in addition to the passphrase; created for a new store if it does not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) keyfile: Option<PathBuf>,
}

impl CredentialArgs {
    /// The credential of an existing store.
    pub(crate) fn of_store(&self, store: &Path, asking: Asking, by: By) -> Result<Secret, Failure> {
        match by {
            By::RecoveryKey => self.passphrase.recovery_key(store, asking).map(Secret::RecoveryKey),
            By::Passphrase => {
                // Read first: a missing keyfile is reported before the prompt for the passphrase.
                let keyfile = self.keyfile()?;
                Ok(Secret::new(self.passphrase.of_store(store, asking)?, keyfile))
            }
        }
    }

    /// The credential of a store that is about to be created.
    pub(crate) fn of_new_store(&self, input: Input) -> Result<Secret, Failure> {
        let passphrase = self.passphrase.of_new_store(input)?;
        let keyfile = self.keyfile.as_deref().map(keyfile::read_or_create).transpose()?;
        Ok(Secret::new(passphrase, keyfile))
    }

    /// The keyfile given by `--keyfile`.
    pub(crate) fn keyfile(&self) -> Result<Option<Keyfile>, Failure> {
        self.keyfile.as_deref().map(keyfile::read).transpose()
    }
}
