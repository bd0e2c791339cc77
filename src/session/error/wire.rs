//! How errors cross from one process of a machine to another.
//!
//! An error of the operating system goes as its code and its message. A fixed phrase is kept as such: its field has the type
//! `&'static std::primitive::str`, because from a plain `&'static str` serde's derive would infer that the input must be
//! `'static` too.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The code keeps the kind of the error.
#[derive(Serialize, Deserialize)]
struct IoError {
    code: Option<i32>,
    message: String,
}

pub(super) fn serialize<S: Serializer>(
    error: &io::Error,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    IoError { code: error.raw_os_error(), message: error.to_string() }.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<io::Error, D::Error> {
    let IoError { code, message } = IoError::deserialize(deserializer)?;
    Ok(code.map_or_else(|| io::Error::other(message), io::Error::from_raw_os_error))
}

/// Deserializes a phrase that another process took from its own constants.
///
/// Each distinct phrase is kept for the life of the process, up to a bound that no genuine version of this crate
/// reaches.
pub(crate) fn phrase<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static str, D::Error> {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

    let text = String::deserialize(deserializer)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(phrase) = known.get(text.as_str()) {
        return Ok(phrase);
    }
    if known.len() >= PHRASES || text.len() > PHRASE_BYTES {
        return Ok(UNKNOWN);
    }
    let phrase: &'static str = String::leak(text);
    known.insert(phrase);
    Ok(phrase)
}

/// Many times the number of phrases that exist.
const PHRASES: usize = 256;
const PHRASE_BYTES: usize = 128;
const UNKNOWN: &str = "(not known to this version)";
