//! Fixed phrases in errors and reports that come from another process.
//!
//! Their fields have the type `&'static std::primitive::str`: from a plain `&'static str`, serde's derive would infer
//! that the input must be `'static` too.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer};

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
