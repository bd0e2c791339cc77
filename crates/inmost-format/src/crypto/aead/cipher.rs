//! XChaCha20-Poly1305 of the crate chacha20poly1305.

use chacha20poly1305::{AeadInOut, KeyInit, XChaCha20Poly1305};

/// Encrypts `buffer` in place and returns the tag. `None` if it has 256 GiB or more; it is then unchanged.
pub(super) fn seal(
    key: &[u8; 32],
    nonce: &[u8; 24],
    aad: &[u8],
    buffer: &mut [u8],
) -> Option<[u8; 16]> {
    cipher(key).encrypt_inout_detached(nonce.into(), aad, buffer.into()).ok().map(Into::into)
}

/// Decrypts `buffer` in place. `None` if it is not authentic.
pub(super) fn open(
    key: &[u8; 32],
    nonce: &[u8; 24],
    aad: &[u8],
    buffer: &mut [u8],
    tag: &[u8; 16],
) -> Option<()> {
    cipher(key).decrypt_inout_detached(nonce.into(), aad, buffer.into(), tag.into()).ok()
}

/// Created for each message from the locked key; its own copy of the key is wiped on drop.
fn cipher(key: &[u8; 32]) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(key.into())
}
