//! Credentials from JavaScript values.
//!
//! What is copied into this module is wiped. A JavaScript string cannot be: only a `Buffer` can be overwritten, by its
//! owner.

use std::fs::File;

use inmost::{Keyfile, Passphrase, RandomnessFailed, RawKey, RecoveryKey, StoreError, Wiped};
use inmost_keyd::Secret;
use napi::Env;
use napi::bindgen_prelude::{Buffer, Either, JsValue, Uint8Array, Unknown};
use napi_derive::napi;

use crate::errors::{self, Failure, Thrown};

/// The options of a call that name a credential, copied.
pub(crate) struct Given {
    pub(crate) passphrase: Option<Copied>,
    pub(crate) keyfile: Option<Copied>,
    pub(crate) recovery_key: Option<Copied>,
    pub(crate) raw_key: Option<Copied>,
}

/// A copy of a text or of bytes.
pub(crate) enum Copied {
    Text(Wiped<String>),
    Bytes(Wiped<Vec<u8>>),
}

impl Copied {
    pub(crate) fn new(given: Either<String, Uint8Array>) -> Self {
        match given {
            Either::A(text) => Self::Text(Wiped::new(text)),
            Either::B(bytes) => Self::Bytes(Wiped::new(bytes.to_vec())),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl Given {
    /// The one credential that the options name. Reads the keyfile.
    pub(crate) fn secret(&self) -> Result<Secret, Failure> {
        match (&self.passphrase, &self.keyfile, &self.recovery_key, &self.raw_key) {
            (Some(passphrase), None, None, None) => {
                Ok(Secret::Passphrase(parse_passphrase(passphrase)?))
            }
            (Some(passphrase), Some(keyfile), None, None) => {
                let passphrase = parse_passphrase(passphrase)?;
                Ok(Secret::PassphraseAndKeyfile(passphrase, read_keyfile(keyfile)?))
            }
            (None, None, Some(key), None) => {
                RecoveryKey::parse(std::str::from_utf8(key.bytes()).unwrap_or_default())
                    .map(Secret::RecoveryKey)
                    .map_err(|error| Failure::invalid_credential(&error))
            }
            (None, None, None, Some(key)) => {
                let key: &[u8; 32] = key
                    .bytes()
                    .try_into()
                    .map_err(|_| Failure::invalid_credential(&"a raw key has exactly 32 bytes"))?;
                Ok(Secret::RawKey(RawKey::from_bytes(key)))
            }
            _ => Err(errors::argument(
                "Give one credential: passphrase, passphrase and keyfile, recoveryKey, or rawKey.",
            )),
        }
    }
}

fn parse_passphrase(given: &Copied) -> Result<Passphrase, Failure> {
    Passphrase::from_bytes(given.bytes().to_vec())
        .map_err(|error| Failure::invalid_credential(&error))
}

/// The keyfile with the given bytes, or the one at the given path.
fn read_keyfile(given: &Copied) -> Result<Keyfile, Failure> {
    let parsed = match given {
        Copied::Bytes(bytes) => Keyfile::parse(bytes),
        Copied::Text(path) => {
            File::open(path.as_str()).and_then(Keyfile::read).map_err(StoreError::Io)?
        }
    };
    parsed.map_err(|error| Failure::invalid_credential(&error))
}

/// A new recovery key, as text for paper. Without a copy that is not wiped.
#[napi(ts_return_type = "string")]
pub fn generate_recovery_key(env: &Env) -> napi::Result<Unknown<'_>> {
    let key = RecoveryKey::generate().map_err(|error| no_randomness(env, error))?;
    Ok(env.create_string(key.to_text().expose())?.to_unknown())
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
