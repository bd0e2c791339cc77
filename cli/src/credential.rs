//! What opens a store at a shell: a passphrase, with a keyfile if one is named, or a recovery key.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use inmost::{Credential, Keyfile, NewSlot, Passphrase, RecoveryKey};

use crate::exit::Failure;
use crate::passphrase::{Input, PassphraseArgs};
use crate::wiped::Wiped;

/// A credential in hand.
pub(crate) enum Secret {
    Passphrase(Passphrase),
    WithKeyfile(Passphrase, Keyfile),
    RecoveryKey(RecoveryKey),
}

impl Secret {
    pub(crate) fn credential(&self) -> Credential<'_> {
        match self {
            Self::Passphrase(passphrase) => passphrase.into(),
            Self::WithKeyfile(passphrase, keyfile) => (passphrase, keyfile).into(),
            Self::RecoveryKey(key) => key.into(),
        }
    }

    pub(crate) fn slot(&self) -> NewSlot<'_> {
        NewSlot::new(self.credential())
    }

    /// A passphrase, and the keyfile that is needed besides it.
    pub(crate) fn of(passphrase: Passphrase, keyfile: Option<Keyfile>) -> Self {
        match keyfile {
            Some(keyfile) => Self::WithKeyfile(passphrase, keyfile),
            None => Self::Passphrase(passphrase),
        }
    }
}

/// What opens the store, as an invocation gives it.
#[derive(clap::Args)]
pub(crate) struct CredentialArgs {
    #[command(flatten)]
    pub(crate) passphrase: PassphraseArgs,

    /// A keyfile that is needed besides the passphrase; a new store makes it if it is not there
    #[arg(long, value_name = "FILE")]
    pub(crate) keyfile: Option<PathBuf>,
}

impl CredentialArgs {
    /// What opens a store that is there.
    pub(crate) fn of_store(&self, input: Input, by: By) -> Result<Secret, Failure> {
        match by {
            By::RecoveryKey => self.passphrase.recovery_key(input).map(Secret::RecoveryKey),
            By::Passphrase => {
                // Before a person is asked: a keyfile that is not there opens nothing.
                let keyfile = self.keyfile()?;
                Ok(Secret::of(self.passphrase.of_store(input)?, keyfile))
            }
        }
    }

    /// What is to open a new store.
    pub(crate) fn of_new_store(&self, input: Input) -> Result<Secret, Failure> {
        let passphrase = self.passphrase.of_new_store(input)?;
        Ok(Secret::of(passphrase, self.keyfile.as_deref().map(read_or_make).transpose()?))
    }

    /// The keyfile that was named.
    pub(crate) fn keyfile(&self) -> Result<Option<Keyfile>, Failure> {
        self.keyfile.as_deref().map(read).transpose()
    }
}

/// Which kind of secret the sources give.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Passphrase,
    RecoveryKey,
}

impl By {
    pub(crate) fn recovery(is_given: bool) -> Self {
        if is_given { Self::RecoveryKey } else { Self::Passphrase }
    }
}

fn read(path: &Path) -> Result<Keyfile, Failure> {
    let bytes = std::fs::File::open(path).and_then(|file| Wiped::read(file, MOST_BYTES)).map_err(
        |error| {
            let advice = "Check that it is there and that you may read it.";
            Failure::io("The keyfile cannot be read", &error, advice)
        },
    )?;
    // What is too long to be read is none either.
    Ok(Keyfile::parse(bytes.as_ref().map(Wiped::expose).unwrap_or_default())?)
}

/// The keyfile at a path; a new one if nothing is there. Nothing is ever written over.
pub(crate) fn read_or_make(path: &Path) -> Result<Keyfile, Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return read(path),
        Err(error) => return Err(unwritable(&error)),
    };
    let made = (|| {
        let keyfile = Keyfile::generate()?;
        let bytes = keyfile.to_bytes();
        // A store that needs it must not outlive it.
        file.write_all(bytes.expose())
            .and_then(|()| file.sync_all())
            .and_then(|()| sync_folder_of(path))
            .map_err(|error| unwritable(&error))?;
        Ok(keyfile)
    })();
    if made.is_err() {
        let _ = std::fs::remove_file(path);
    }
    made
}

/// Makes the name of a new file durable, where a folder can be synced.
fn sync_folder_of(path: &Path) -> std::io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    std::fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn unwritable(error: &std::io::Error) -> Failure {
    Failure::io("The keyfile cannot be written", error, "Choose a place where you may write.")
}

/// Longer than any keyfile.
const MOST_BYTES: usize = 4 << 10;
