//! Credentials from JavaScript values.
//!
//! What is copied into this module is wiped. A JavaScript string cannot be: only a `Buffer` can be overwritten, by its
//! owner.

use std::fs::File;
use std::io::Read;

use inmost::{
    Credential, Keyfile, Passphrase, PassphraseError, RandomnessFailed, RawKey, RecoveryKey,
    StoreError,
};
use napi::Env;
use napi::bindgen_prelude::{Buffer, Either, Uint8Array};
use napi_derive::napi;
use zeroize::Zeroizing;

use crate::errors::{self, Failure};

/// A credential that a call owns.
pub(crate) enum OwnedCredential {
    Passphrase(Passphrase),
    PassphraseAndKeyfile(Passphrase, Keyfile),
    RecoveryKey(RecoveryKey),
    RawKey(RawKey),
}

/// The options of a call that name a credential, copied.
pub(crate) struct Given {
    pub(crate) passphrase: Option<Secret>,
    pub(crate) keyfile: Option<Secret>,
    pub(crate) recovery_key: Option<Secret>,
    pub(crate) raw_key: Option<Secret>,
}

/// A copy of a text or of bytes.
pub(crate) enum Secret {
    Text(Zeroizing<String>),
    Bytes(Zeroizing<Vec<u8>>),
}

impl Secret {
    pub(crate) fn new(given: Either<String, Uint8Array>) -> Self {
        match given {
            Either::A(text) => Self::Text(Zeroizing::new(text)),
            Either::B(bytes) => Self::Bytes(Zeroizing::new(bytes.to_vec())),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl OwnedCredential {
    pub(crate) fn borrow(&self) -> Credential<'_> {
        match self {
            Self::Passphrase(passphrase) => passphrase.into(),
            Self::PassphraseAndKeyfile(passphrase, keyfile) => (passphrase, keyfile).into(),
            Self::RecoveryKey(key) => key.into(),
            Self::RawKey(key) => key.into(),
        }
    }
}

impl Given {
    /// The one credential that the options name. Reads the keyfile.
    pub(crate) fn credential(&self) -> Result<OwnedCredential, Failure> {
        match (&self.passphrase, &self.keyfile, &self.recovery_key, &self.raw_key) {
            (Some(passphrase), None, None, None) => {
                Ok(OwnedCredential::Passphrase(parse_passphrase(passphrase)?))
            }
            (Some(passphrase), Some(keyfile), None, None) => {
                let passphrase = parse_passphrase(passphrase)?;
                let keyfile = Keyfile::parse(&read_keyfile(keyfile)?)
                    .map_err(|error| errors::invalid_credential(&error))?;
                Ok(OwnedCredential::PassphraseAndKeyfile(passphrase, keyfile))
            }
            (None, None, Some(key), None) => {
                RecoveryKey::parse(std::str::from_utf8(key.bytes()).unwrap_or_default())
                    .map(OwnedCredential::RecoveryKey)
                    .map_err(|error| errors::invalid_credential(&error))
            }
            (None, None, None, Some(key)) => {
                let key: &[u8; 32] = key
                    .bytes()
                    .try_into()
                    .map_err(|_| errors::invalid_credential(&"a raw key has exactly 32 bytes"))?;
                Ok(OwnedCredential::RawKey(RawKey::from_bytes(key)))
            }
            _ => Err(errors::argument(
                "Give one credential: passphrase, passphrase and keyfile, recoveryKey, or rawKey.",
            )),
        }
    }
}

fn parse_passphrase(given: &Secret) -> Result<Passphrase, Failure> {
    std::str::from_utf8(given.bytes())
        .map_err(|_| PassphraseError::NotUtf8)
        .and_then(Passphrase::new)
        .map_err(|error| errors::invalid_credential(&error))
}

/// The content of a keyfile: the given bytes, or those of the file at the given path.
fn read_keyfile(given: &Secret) -> Result<Zeroizing<Vec<u8>>, Failure> {
    match given {
        Secret::Bytes(bytes) => Ok(bytes.clone()),
        Secret::Text(path) => {
            let mut content = Zeroizing::new(Vec::with_capacity(MOST_KEYFILE));
            let most = u64::try_from(MOST_KEYFILE).unwrap_or(u64::MAX);
            File::open(path.as_str())
                .and_then(|file| file.take(most).read_to_end(&mut content))
                .map_err(StoreError::Io)?;
            Ok(content)
        }
    }
}

/// A new recovery key, as text for paper.
#[napi]
pub fn generate_recovery_key(env: Env) -> napi::Result<String> {
    let key = RecoveryKey::generate().map_err(|error| no_randomness(&env, error))?;
    Ok(key.to_text().expose().to_owned())
}

/// The content of a new keyfile.
#[napi]
pub fn generate_keyfile(env: Env) -> napi::Result<Buffer> {
    let keyfile = Keyfile::generate().map_err(|error| no_randomness(&env, error))?;
    Ok(keyfile.to_bytes().expose().to_vec().into())
}

fn no_randomness(env: &Env, error: RandomnessFailed) -> napi::Error {
    Failure::from(StoreError::from(error)).into_error(env)
}

/// More bytes than a keyfile has.
const MOST_KEYFILE: usize = 4 << 10;
