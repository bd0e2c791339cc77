//! Sealing: XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03), detached and in place.
//!
//! The nonce is 24 random bytes, drawn for each message, so no counter has to survive a crash or a
//! restored backup: among 2^48 messages under one key, two share a nonce with a probability of 2^-97.
//!
//! This AEAD does not commit to its key: a ciphertext can be made that opens under two keys. Where
//! an attacker could exploit that, a commitment is compared before a message is opened.

#[cfg(feature = "ring")]
mod ring_cipher;

use std::marker::PhantomData;

use chacha20::XChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
#[cfg(any(test, feature = "testing"))]
use subtle::ConstantTimeEq;

use crate::crypto::registry::Aad;
use crate::crypto::rng::{self, RandomnessFailed};
use crate::secret::{Granted, SHALLOW, SecretBytes, Wiped, on_wiped_stack};

#[cfg(not(feature = "ring"))]
use cipher as chosen;
#[cfg(feature = "ring")]
use ring_cipher as chosen;

/// The number used once; public.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nonce(pub [u8; 24]);

/// Proof that a ciphertext and its associated data come from a holder of the key; public.
#[derive(Clone, Copy, Debug)]
pub struct Tag(pub [u8; 16]);

impl Tag {
    /// Compares in a time that does not depend on the content.
    #[cfg(any(test, feature = "testing"))]
    pub fn ct_eq(&self, other: &Self) -> bool {
        self.0.as_slice().ct_eq(other.0.as_slice()).into()
    }
}

/// The tag does not match the ciphertext and associated data, or the key is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not authentic")]
pub struct NotAuthentic;

/// Why a message was not sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SealError {
    /// No nonce could be generated.
    #[error(transparent)]
    Randomness(#[from] RandomnessFailed),
    /// The message has 256 GiB or more, where the keystream ends.
    #[error("the message is too long to be sealed")]
    TooLong,
}

/// A key for sealing messages with associated data of the type `A`, which the ciphertext is bound to and which is
/// stored nowhere.
pub struct AeadKey<A: Aad> {
    secret: SecretBytes<32>,
    aad: PhantomData<A>,
}

impl<A: Aad> AeadKey<A> {
    /// A key for sealing under `secret`, which must not be used for anything else.
    pub fn new(secret: SecretBytes<32>) -> Self {
        Self { secret, aad: PhantomData }
    }

    /// The protections of its memory.
    pub fn granted(&self) -> Granted {
        self.secret.granted()
    }

    /// Encrypts `buffer` in place under a fresh nonce.
    ///
    /// # Errors
    /// [`SealError`]; `buffer` is then unchanged.
    pub fn seal(&self, aad: &A, buffer: &mut [u8]) -> Result<(Nonce, Tag), SealError> {
        let nonce = Nonce(rng::array()?);
        Ok((nonce, self.seal_with(&nonce, aad, buffer)?))
    }

    /// Decrypts `buffer` in place.
    ///
    /// # Errors
    /// [`NotAuthentic`]; `buffer` then holds no plaintext: it is the ciphertext still, or zeros with the feature `ring`.
    pub fn open(
        &self,
        nonce: &Nonce,
        aad: &A,
        buffer: &mut [u8],
        tag: &Tag,
    ) -> Result<(), NotAuthentic> {
        let aad = aad.encode();
        on_wiped_stack::<SHALLOW, _>(|| {
            chosen::open(self.secret.expose(), &nonce.0, aad.as_ref(), buffer, &tag.0)
                .ok_or(NotAuthentic)
        })
    }

    /// Decrypts the first bytes of a message without authenticating them, to recognise a message whose length and
    /// associated data are not known yet. Neither the stack nor the registers are wiped; the caller does that.
    ///
    /// The result is a hint: an attacker chooses it freely. It must not be used before [`open`](Self::open) succeeds.
    pub fn peek<const N: usize>(&self, nonce: &Nonce, ciphertext: &[u8; N]) -> [u8; N] {
        let mut start = *ciphertext;
        let mut stream = XChaCha20::new(self.secret.expose().into(), (&nonce.0).into());
        // The first block of the keystream is the key of the authenticator (RFC 8439, section 2.8).
        stream.seek(64_u32);
        stream.apply_keystream(&mut start);
        start
    }

    /// Seals a key of 32 bytes. No copy of it is left in the clear.
    pub fn seal_key(&self, aad: &A, key: &SecretBytes<32>) -> Result<SealedKey, SealError> {
        // If sealing fails, the buffer still holds the key, and is wiped.
        let mut buffer = Wiped::new([0; 32]);
        buffer.copy_from_slice(key.expose());
        let (nonce, tag) = self.seal(aad, buffer.as_mut_slice())?;
        Ok(SealedKey { nonce, ciphertext: *buffer, tag })
    }

    /// Opens a key that [`seal_key`](Self::seal_key) sealed.
    pub fn open_key(&self, aad: &A, sealed: &SealedKey) -> Result<SecretBytes<32>, NotAuthentic> {
        SecretBytes::try_init_with(|key| {
            key.copy_from_slice(&sealed.ciphertext);
            self.open(&sealed.nonce, aad, key, &sealed.tag)
        })
    }

    /// Seals under a nonce of the caller's choice, for test vectors. A repeated nonce reveals
    /// both messages and lets anyone forge others, so this exists only in tests.
    #[cfg(any(test, feature = "testing"))]
    #[allow(clippy::missing_panics_doc, reason = "a test panics")]
    pub fn dangerous_seal_with_nonce(&self, nonce: &Nonce, aad: &A, buffer: &mut [u8]) -> Tag {
        self.seal_with(nonce, aad, buffer).expect("a short message")
    }

    /// Seals under a nonce that the caller must never use for another message under this key.
    pub(super) fn seal_with(
        &self,
        nonce: &Nonce,
        aad: &A,
        buffer: &mut [u8],
    ) -> Result<Tag, SealError> {
        let aad = aad.encode();
        on_wiped_stack::<SHALLOW, _>(|| {
            chosen::seal(self.secret.expose(), &nonce.0, aad.as_ref(), buffer)
                .map(Tag)
                .ok_or(SealError::TooLong)
        })
    }
}

/// A key sealed under another; public.
#[derive(Clone, Copy, Debug)]
pub struct SealedKey {
    /// Its nonce.
    pub nonce: Nonce,
    /// The key, encrypted.
    pub ciphertext: [u8; 32],
    /// Its tag.
    pub tag: Tag,
}

#[cfg(any(test, not(feature = "ring")))]
mod cipher {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_leaks_nowhere;
    use crate::crypto::fixed_width::FixedWidth;
    use crate::crypto::unhex;

    /// Associated data of any content, only for tests.
    struct Any(&'static [u8]);

    impl FixedWidth for Any {
        const WIDTHS: &'static [usize] = &[];
        type Bytes = &'static [u8];

        fn encode(&self) -> &'static [u8] {
            self.0
        }
    }

    impl Aad for Any {
        const LABEL: &'static [u8; 16] = &[0; 16];
    }

    fn key(byte: u8) -> AeadKey<Any> {
        AeadKey::new(SecretBytes::init_with(|bytes| bytes.fill(byte)))
    }

    #[test]
    fn keys_have_no_trait_that_leaks() {
        assert_leaks_nowhere!(AeadKey<Any>);
    }

    /// draft-irtf-cfrg-xchacha-03, appendix A.3.1; computed again with libsodium (pynacl 1.6.2).
    #[test]
    fn sealing_gives_the_ciphertext_of_the_draft() {
        let key = AeadKey::new(SecretBytes::init_with(|bytes| {
            (0x80..).zip(bytes).for_each(|(value, byte)| *byte = value);
        }));
        let nonce = unhex("404142434445464748494a4b4c4d4e4f5051525354555657");
        let nonce = Nonce(nonce.try_into().unwrap());
        let aad = Any(b"\x50\x51\x52\x53\xc0\xc1\xc2\xc3\xc4\xc5\xc6\xc7");
        let plaintext = b"Ladies and Gentlemen of the class of '99: If I could offer you only one \
            tip for the future, sunscreen would be it.";
        let mut buffer = plaintext.to_vec();
        let tag = key.dangerous_seal_with_nonce(&nonce, &aad, &mut buffer);
        assert_eq!(
            buffer,
            unhex(
                "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa644
                 0bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e
                 3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52e"
            )
        );
        assert_eq!(tag.0.as_slice(), unhex("c0875924c1c7987947deafd8780acf49"));
        key.open(&nonce, &aad, &mut buffer, &tag).unwrap();
        assert_eq!(buffer, plaintext);
    }

    /// Whether bytes hold 16 in a row of a secret.
    #[cfg(target_os = "linux")]
    fn hold(bytes: &[u8], secret: &[u8]) -> bool {
        let parts: std::collections::HashSet<_> = secret.windows(16).collect();
        bytes.windows(16).any(|part| parts.contains(part))
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_message_leaves_nothing_on_the_stack() {
        use crate::secret::stack_after;

        const NONCE: Nonce = Nonce([7; 24]);
        static TEXT: [u8; 2_000] = [b'x'; 2_000];
        let subkey = chacha20::hchacha::<chacha20::R20>(&[9; 32].into(), &[7; 16].into());
        // The key of the authenticator, and the first bytes of the keystream.
        let mut stream = [0; 192];
        XChaCha20::new(&[9; 32].into(), &NONCE.0.into()).apply_keystream(&mut stream);
        let secrets: [&[u8]; 4] = [&[9; 32], &subkey, &stream, &TEXT];

        let mut sealed = TEXT.to_vec();
        let tag = key(9).dangerous_seal_with_nonce(&NONCE, &Any(b"context"), &mut sealed);
        let unwiped = stack_after(|| {
            let mut text = TEXT.to_vec();
            std::hint::black_box(chosen::seal(&[9; 32], &NONCE.0, b"context", &mut text));
        });
        assert!(secrets.iter().any(|secret| hold(&unwiped, secret)), "the probe works");
        let seal = stack_after(|| {
            let mut text = TEXT.to_vec();
            key(9).dangerous_seal_with_nonce(&NONCE, &Any(b"context"), &mut text);
        });
        let mut text = sealed.clone();
        let open = stack_after(move || {
            key(9).open(&NONCE, &Any(b"context"), &mut text, &tag).unwrap();
        });
        let refuse = stack_after(move || {
            key(9).open(&NONCE, &Any(b"another"), &mut sealed, &tag).unwrap_err();
        });
        for (name, stack) in [("sealing", seal), ("opening", open), ("refusing", refuse)] {
            for (number, secret) in secrets.iter().enumerate() {
                assert!(!hold(&stack, secret), "{name} leaves secret {number}");
            }
        }
    }

    #[test]
    fn no_two_messages_share_a_nonce() {
        let (one, _) = key(1).seal(&Any(b""), &mut []).unwrap();
        let (other, _) = key(1).seal(&Any(b""), &mut []).unwrap();
        assert_ne!(one, other);
    }

    #[test]
    fn a_changed_message_does_not_open_and_gives_no_plaintext() {
        let mut sealed = *b"attack at dawn";
        let (nonce, tag) = key(1).seal(&Any(b"context"), &mut sealed).unwrap();
        let flipped = |mut bytes: [u8; 24]| {
            bytes[23] ^= 1;
            Nonce(bytes)
        };
        let mut damaged = sealed;
        damaged[3] ^= 1;
        let mut other_tag = tag;
        other_tag.0[15] ^= 0x80;
        for (key, nonce, aad, start, tag) in [
            (key(2), nonce, "context", sealed, tag),
            (key(1), flipped(nonce.0), "context", sealed, tag),
            (key(1), nonce, "contexT", sealed, tag),
            (key(1), nonce, "context", damaged, tag),
            (key(1), nonce, "context", sealed, other_tag),
        ] {
            let mut buffer = start;
            assert_eq!(
                key.open(&nonce, &Any(aad.as_bytes()), &mut buffer, &tag),
                Err(NotAuthentic)
            );
            assert_eq!(buffer, if cfg!(feature = "ring") { [0; 14] } else { start });
        }
        assert!(tag.ct_eq(&tag) && !tag.ct_eq(&other_tag));
    }

    #[test]
    fn the_first_bytes_of_a_message_can_be_read_without_its_tag() {
        let key = key(1);
        let text = *b"a message of more than one block, which is 64 bytes long, so that both are decrypted";
        let mut sealed = text;
        let (nonce, _) = key.seal(&Any(b"context"), &mut sealed).unwrap();
        assert_eq!(key.peek(&nonce, &sealed), text);
        let start: &[u8; 27] = sealed.first_chunk().unwrap();
        assert_eq!(key.peek(&nonce, start), text[..27]);
        assert_ne!(key.peek(&Nonce([0; 24]), &sealed), text);
    }

    #[test]
    fn a_sealed_key_opens_in_its_own_context_only() {
        let secret = SecretBytes::init_with(|bytes| bytes.fill(9));
        let sealed = key(1).seal_key(&Any(b"here"), &secret).unwrap();
        assert_ne!(&sealed.ciphertext, secret.expose());
        assert!(key(1).open_key(&Any(b"here"), &sealed).unwrap().ct_eq(&secret));
        assert_eq!(key(1).open_key(&Any(b"there"), &sealed).err(), Some(NotAuthentic));
    }
}
