//! Credentials from Python objects.
//!
//! What is copied into this module is wiped. The Python objects themselves cannot be: only the caller can overwrite a
//! `bytearray`.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use inmost::{Keyfile, Passphrase, RandomnessFailed, RawKey, RecoveryKey, StoreError, Wiped};
use inmost_bindings::Failure;
use inmost_keyd::Secret;
use pyo3::exceptions::{PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyString};

use crate::arguments::{argument, named, wrong_type};
use crate::errors;
use crate::text::Text;

/// The arguments of a call that name a credential.
#[derive(Default)]
pub(crate) struct Given<'py> {
    passphrase: Option<Bound<'py, PyAny>>,
    keyfile: Option<Bound<'py, PyAny>>,
    recovery_key: Option<Bound<'py, PyAny>>,
    raw_key: Option<Bound<'py, PyAny>>,
}

impl<'py> Given<'py> {
    /// The arguments with these names.
    ///
    /// # Errors
    /// `TypeError` for another name.
    pub(crate) fn named(arguments: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        let mut given = Self::default();
        for (name, value) in arguments.into_iter().flatten() {
            let place = match name.extract()? {
                "passphrase" => &mut given.passphrase,
                "keyfile" => &mut given.keyfile,
                "recovery_key" => &mut given.recovery_key,
                "raw_key" => &mut given.raw_key,
                other => {
                    let message = format!("got an unexpected keyword argument '{other}'");
                    return Err(PyTypeError::new_err(message));
                }
            };
            *place = Some(value).filter(|value| !value.is_none());
        }
        Ok(given)
    }

    /// The one credential that the arguments name.
    ///
    /// # Errors
    /// `TypeError` for none, several, or one of the wrong type; `ValueError`; `InvalidCredential`; `OSError` for a keyfile that
    /// cannot be read.
    pub(crate) fn secret(&self, py: Python<'_>) -> PyResult<Secret> {
        match (&self.passphrase, &self.keyfile, &self.recovery_key, &self.raw_key) {
            (Some(passphrase), None, None, None) => {
                Ok(Secret::Passphrase(parse_passphrase(py, passphrase)?))
            }
            (Some(passphrase), Some(keyfile), None, None) => {
                let passphrase = parse_passphrase(py, passphrase)?;
                Ok(Secret::PassphraseAndKeyfile(passphrase, read_keyfile(py, keyfile)?))
            }
            (None, None, Some(key), None) => {
                let text = bytes_of(key, "recovery_key")?;
                let text = std::str::from_utf8(&text).unwrap_or_default();
                RecoveryKey::parse(text)
                    .map(Secret::RecoveryKey)
                    .map_err(|error| invalid(py, &error))
            }
            (None, None, None, Some(key)) => {
                if !key.is_instance_of::<PyBytes>() && !key.is_instance_of::<PyByteArray>() {
                    let error = wrong_type(key, "bytes or bytearray with 32 random bytes");
                    return named(py, "raw_key", Err(error));
                }
                let bytes = bytes_of(key, "raw_key")?;
                let key: &[u8; 32] = bytes
                    .as_slice()
                    .try_into()
                    .map_err(|_| invalid(py, &"a raw key has exactly 32 bytes"))?;
                Ok(Secret::RawKey(RawKey::from_bytes(key)))
            }
            _ => Err(PyTypeError::new_err(
                "give one credential: passphrase, passphrase and keyfile, recovery_key, or raw_key",
            )),
        }
    }
}

fn parse_passphrase(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Passphrase> {
    let bytes = bytes_of(given, "passphrase")?.to_vec();
    Passphrase::from_bytes(bytes).map_err(|error| invalid(py, &error))
}

/// A copy of a text or of bytes.
pub(crate) fn bytes_of(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Wiped<Vec<u8>>> {
    let bytes = if given.is_instance_of::<PyString>() {
        named(given.py(), name, given.extract::<Text<'_>>())?.as_bytes().to_vec()
    } else if let Ok(bytes) = given.cast::<PyBytes>() {
        bytes.as_bytes().to_vec()
    } else if let Ok(bytes) = given.cast::<PyByteArray>() {
        bytes.to_vec()
    } else {
        let error = wrong_type(given, "a str, bytes or bytearray");
        return named(given.py(), name, Err(error));
    };
    Ok(Wiped::new(bytes))
}

/// The keyfile with the given bytes, or the one at the given path. Reads without the lock of the interpreter: the file may be
/// on a slow disk, or a pipe that another thread writes to.
fn read_keyfile(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Keyfile> {
    let parsed = if given.is_instance_of::<PyBytes>() || given.is_instance_of::<PyByteArray>() {
        Keyfile::parse(&bytes_of(given, "keyfile")?)
    } else {
        let what = "a str, an os.PathLike, bytes or bytearray";
        let path = argument::<PathBuf>(given).map_err(|_| wrong_type(given, what));
        let path = named(py, "keyfile", path)?;
        let read = py.detach(|| File::open(&path).and_then(Keyfile::read));
        read.map_err(|error| io_error(py, &error, &path))?
    };
    parsed.map_err(|error| invalid(py, &error))
}

/// The `OSError` for a file, as Python's own calls raise it.
fn io_error(py: Python<'_>, error: &io::Error, path: &Path) -> PyErr {
    let Some(errno) = error.raw_os_error() else {
        return PyOSError::new_err((error.to_string(),));
    };
    let text = py.import("os").and_then(|os| os.getattr("strerror")?.call1((errno,)));
    text.map_or_else(
        |error| error,
        |text| PyOSError::new_err((errno, text.unbind(), path.as_os_str().to_owned())),
    )
}

/// A new recovery key, as text for paper.
#[pyfunction]
pub(crate) fn generate_recovery_key(py: Python<'_>) -> PyResult<Bound<'_, PyString>> {
    let key = RecoveryKey::generate().map_err(|error| no_randomness(py, error))?;
    Ok(PyString::new(py, key.to_text().expose()))
}

/// The content of a new keyfile.
#[pyfunction]
pub(crate) fn generate_keyfile(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    let keyfile = Keyfile::generate().map_err(|error| no_randomness(py, error))?;
    Ok(PyBytes::new(py, keyfile.to_bytes().expose()))
}

fn invalid(py: Python<'_>, reason: &dyn Display) -> PyErr {
    errors::of(py, Failure::invalid_credential(reason))
}

fn no_randomness(py: Python<'_>, error: RandomnessFailed) -> PyErr {
    errors::of(py, StoreError::from(error))
}
