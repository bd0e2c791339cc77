//! What opens a store at a shell: a passphrase, with a keyfile if one is named, or a recovery key.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use inmost::{Credential, Keyfile, Passphrase, RecoveryKey};
use serde::{Deserialize, Serialize};

use crate::exit::{Exit, Failure};
use crate::passphrase::{Input, PassphraseArgs};
use crate::wiped::Wiped;

/// A credential in hand.
pub(crate) enum Secret {
    Passphrase(Phrase),
    WithKeyfile(Phrase, Keyfile),
    RecoveryKey(RecoveryKey),
}

impl Secret {
    pub(crate) fn credential(&self) -> Credential<'_> {
        match self {
            Self::Passphrase(phrase) => (&phrase.passphrase).into(),
            Self::WithKeyfile(phrase, keyfile) => (&phrase.passphrase, keyfile).into(),
            Self::RecoveryKey(key) => key.into(),
        }
    }

    /// A passphrase, and the keyfile that is needed besides it.
    pub(crate) fn of(passphrase: Phrase, keyfile: Option<Keyfile>) -> Self {
        match keyfile {
            Some(keyfile) => Self::WithKeyfile(passphrase, keyfile),
            None => Self::Passphrase(passphrase),
        }
    }

    /// What is needed besides its bytes to make it again.
    pub(crate) fn shape(&self) -> SecretShape {
        match self {
            Self::Passphrase(_) => SecretShape::Passphrase,
            Self::WithKeyfile(..) => SecretShape::WithKeyfile,
            Self::RecoveryKey(_) => SecretShape::RecoveryKey,
        }
    }

    /// Its bytes, for the process that is to use it.
    pub(crate) fn to_bytes(&self) -> Wiped {
        match self {
            Self::Passphrase(phrase) => Wiped::of(phrase.text.expose()),
            Self::WithKeyfile(phrase, keyfile) => {
                let keyfile = keyfile.to_bytes();
                let mut bytes = Wiped::with_capacity(MOST_BYTES);
                // A passphrase holds at most 1,024 bytes, so its length takes two.
                let length = u16::try_from(phrase.text.expose().len()).unwrap_or(u16::MAX);
                bytes.append(&length.to_be_bytes());
                bytes.append(phrase.text.expose());
                bytes.append(keyfile.expose());
                bytes
            }
            Self::RecoveryKey(key) => Wiped::of(key.to_text().expose().as_bytes()),
        }
    }

    /// The secret of these bytes.
    pub(crate) fn from_bytes(shape: SecretShape, bytes: &[u8]) -> Result<Self, Failure> {
        let phrase = |bytes: &[u8]| Phrase::parse(Wiped::of(bytes));
        match shape {
            SecretShape::Passphrase => Ok(Self::Passphrase(phrase(bytes)?)),
            SecretShape::WithKeyfile => {
                let (length, rest) = bytes.split_first_chunk().ok_or_else(garbled)?;
                let length = usize::from(u16::from_be_bytes(*length));
                let (text, keyfile) = rest.split_at_checked(length).ok_or_else(garbled)?;
                Ok(Self::WithKeyfile(phrase(text)?, Keyfile::parse(keyfile)?))
            }
            SecretShape::RecoveryKey => {
                let text = std::str::from_utf8(bytes).map_err(|_| garbled())?;
                Ok(Self::RecoveryKey(RecoveryKey::parse(text)?))
            }
        }
    }
}

/// Which kind of secret it is.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum SecretShape {
    Passphrase,
    WithKeyfile,
    RecoveryKey,
}

fn garbled() -> Failure {
    Failure::new(Exit::Other, "The secret was garbled on its way.", "Please report it.")
}

/// A passphrase, and its text: the process that is to use it may be another.
pub(crate) struct Phrase {
    text: Wiped,
    passphrase: Passphrase,
}

impl Phrase {
    /// # Errors
    /// If the bytes are no passphrase.
    pub(crate) fn parse(text: Wiped) -> Result<Self, Failure> {
        let passphrase = Passphrase::from_bytes(text.expose().to_vec())?;
        Ok(Self { text, passphrase })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_survives_the_way_to_another_process() {
        let phrase = || Phrase::parse(Wiped::of("h\u{f8}rse".as_bytes())).unwrap();
        let keyfile = Keyfile::generate().unwrap();
        let key = RecoveryKey::generate().unwrap();
        for secret in [
            Secret::Passphrase(phrase()),
            Secret::WithKeyfile(phrase(), keyfile),
            Secret::RecoveryKey(key),
        ] {
            let bytes = secret.to_bytes();
            let again = Secret::from_bytes(secret.shape(), bytes.expose()).unwrap();
            assert_eq!(again.to_bytes().expose(), bytes.expose());
        }
    }

    #[test]
    fn bytes_that_are_cut_off_make_no_secret() {
        let keyfile = Keyfile::generate().unwrap();
        let phrase = Phrase::parse(Wiped::of(b"horse")).unwrap();
        let bytes = Secret::WithKeyfile(phrase, keyfile).to_bytes();
        for length in [0, 1, 2, 5, 7, 50, bytes.expose().len() - 1] {
            let cut = &bytes.expose()[..length];
            assert!(Secret::from_bytes(SecretShape::WithKeyfile, cut).is_err(), "{length}");
        }
    }
}
