//! A credential in memory: a passphrase, a passphrase with a keyfile, or a recovery key.

use inmost::{Credential, Keyfile, Passphrase, RecoveryKey};
use serde::{Deserialize, Serialize};

use crate::exit::{Exit, Failure};
use crate::wiped::Wiped;

/// A parsed credential.
pub(crate) enum Secret {
    Passphrase(Phrase),
    WithKeyfile(Phrase, Keyfile),
    RecoveryKey(RecoveryKey),
}

impl Secret {
    /// A passphrase with an optional keyfile.
    pub(crate) fn of(passphrase: Phrase, keyfile: Option<Keyfile>) -> Self {
        match keyfile {
            Some(keyfile) => Self::WithKeyfile(passphrase, keyfile),
            None => Self::Passphrase(passphrase),
        }
    }

    /// The credential in the type that the library takes.
    pub(crate) fn credential(&self) -> Credential<'_> {
        match self {
            Self::Passphrase(phrase) => (&phrase.passphrase).into(),
            Self::WithKeyfile(phrase, keyfile) => (&phrase.passphrase, keyfile).into(),
            Self::RecoveryKey(key) => key.into(),
        }
    }

    /// The kind of credential. [`Secret::from_bytes`] needs it to parse the bytes.
    pub(crate) fn shape(&self) -> SecretShape {
        match self {
            Self::Passphrase(_) => SecretShape::Passphrase,
            Self::WithKeyfile(..) => SecretShape::WithKeyfile,
            Self::RecoveryKey(_) => SecretShape::RecoveryKey,
        }
    }

    /// The bytes to send to the key agent, over a pipe or its socket.
    pub(crate) fn to_bytes(&self) -> Wiped {
        match self {
            Self::Passphrase(phrase) => Wiped::of(phrase.text.expose()),
            Self::WithKeyfile(phrase, keyfile) => {
                let keyfile = keyfile.to_bytes();
                let text = phrase.text.expose();
                let size = text.len().saturating_add(keyfile.expose().len()).saturating_add(2);
                let mut bytes = Wiped::with_capacity(size);
                // A passphrase has at most 1,024 bytes, so its length fits two.
                let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
                bytes.append(&length.to_be_bytes());
                bytes.append(text);
                bytes.append(keyfile.expose());
                bytes
            }
            Self::RecoveryKey(key) => Wiped::of(key.to_text().expose().as_bytes()),
        }
    }

    /// Parses the bytes that [`Secret::to_bytes`] returned in another process.
    pub(crate) fn from_bytes(shape: SecretShape, bytes: &[u8]) -> Result<Self, Failure> {
        let phrase = |bytes: &[u8]| Phrase::parse(Wiped::of(bytes));
        match shape {
            SecretShape::Passphrase => Ok(Self::Passphrase(phrase(bytes)?)),
            SecretShape::WithKeyfile => {
                let (length, rest) = bytes.split_first_chunk().ok_or_else(malformed)?;
                let length = usize::from(u16::from_be_bytes(*length));
                let (text, keyfile) = rest.split_at_checked(length).ok_or_else(malformed)?;
                Ok(Self::WithKeyfile(phrase(text)?, Keyfile::parse(keyfile)?))
            }
            SecretShape::RecoveryKey => {
                let text = std::str::from_utf8(bytes).map_err(|_| malformed())?;
                Ok(Self::RecoveryKey(RecoveryKey::parse(text)?))
            }
        }
    }
}

/// The kind of a credential.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum SecretShape {
    Passphrase,
    WithKeyfile,
    RecoveryKey,
}

fn malformed() -> Failure {
    Failure::new(
        Exit::Other,
        "The key agent received a malformed credential.",
        "Please report it as an error in inmost.",
    )
}

/// A passphrase and its text. The text is kept because it may have to be sent to the key agent.
pub(crate) struct Phrase {
    text: Wiped,
    passphrase: Passphrase,
}

impl Phrase {
    /// # Errors
    /// If the bytes are not a valid passphrase.
    pub(crate) fn parse(text: Wiped) -> Result<Self, Failure> {
        let passphrase = Passphrase::from_bytes(text.expose().to_vec())?;
        Ok(Self { text, passphrase })
    }
}

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
