//! Keys and their uses: derivation, sealing, randomness.
//!
//! Every primitive is used in one place and one way: Argon2id in [`kdf`], BLAKE2b in [`prf`],
//! XChaCha20-Poly1305 in [`aead`], the operating system's generator in [`rng`]. [`registry`] lists every use of the PRF
//! and of the AEAD. [`keys`] gives each key its own type, so that it fits only the purpose it was derived for.
//! Nothing here does I/O on a store.

pub mod aead;
mod blake2b;
mod calibrate;
pub mod circle;
pub mod cost;
pub mod fixed_width;
pub mod ids;
pub mod kdf;
pub mod keys;
pub mod master_key;
pub mod passphrase;
pub mod prf;
pub mod record_keys;
pub mod registry;
pub mod rng;
pub mod slot_keys;

/// Bytes of a published vector.
#[cfg(any(test, feature = "testing"))]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "for tests, which panic"
)]
pub fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|char| !char.is_whitespace())
        .map(|char| u8::try_from(char.to_digit(16).unwrap()).unwrap())
        .collect();
    assert!(digits.len().is_multiple_of(2));
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
