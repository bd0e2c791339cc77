//! Sealing the objects that the devices of a circle exchange.
//!
//! Each object has a key of its own, derived from the key of the circle, its log and its number. A copied device, or a machine that
//! was restored with the state of its random generator, may seal another text under the same key. So the nonce is not random
//! alone: it is the output of a PRF over random bytes and the plaintext, and differs if either does.

use crate::crypto::aead::{AeadKey, Nonce, NotAuthentic, SealError, Tag};
use crate::crypto::ids::StoreId;
use crate::crypto::keys::{CircleKey, NonceKey};
use crate::crypto::prf;
use crate::crypto::registry::{CircleNonceMessage, CircleObjectAad, CircleObjectMessage, role};
use crate::crypto::rng::{self, RandomnessFailed};

impl CircleKey {
    /// The key of a new circle.
    pub fn generate() -> Result<Self, RandomnessFailed> {
        rng::secret().map(Self)
    }

    /// The key itself, for an invitation.
    pub fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }

    /// Encrypts an object in place.
    ///
    /// # Errors
    /// [`SealError`]; `buffer` is then unchanged.
    pub fn seal(
        &self,
        aad: &CircleObjectAad,
        buffer: &mut [u8],
    ) -> Result<(Nonce, Tag), SealError> {
        let message = message(aad);
        let key = NonceKey(prf::derive::<role::CircleNonceKey>(self, &aad.circle, &message));
        let random = rng::array()?;
        let input = CircleNonceMessage { random, digest: prf::checksum(buffer) };
        let output = prf::mac::<role::CircleNonce>(&key, &aad.circle, &input);
        let mut nonce = Nonce([0; 24]);
        nonce.0.iter_mut().zip(output).for_each(|(to, from)| *to = from);
        Ok((nonce, self.object_key(aad).seal_with(&nonce, aad, buffer)?))
    }

    /// Decrypts an object in place.
    ///
    /// # Errors
    /// [`NotAuthentic`], also if the object before it is another one.
    pub fn open(
        &self,
        aad: &CircleObjectAad,
        nonce: &Nonce,
        buffer: &mut [u8],
        tag: &Tag,
    ) -> Result<(), NotAuthentic> {
        self.object_key(aad).open(nonce, aad, buffer, tag)
    }

    /// The id of a file that was first published with this checksum of its path and text: equal for equal files.
    pub fn file_id(&self, circle: &StoreId, digest: &[u8; 32]) -> [u8; 16] {
        let output = prf::mac::<role::CircleFile>(self, circle, digest);
        let mut id = [0; 16];
        id.iter_mut().zip(output).for_each(|(to, from)| *to = from);
        id
    }

    fn object_key(&self, aad: &CircleObjectAad) -> AeadKey<CircleObjectAad> {
        AeadKey::new(prf::derive::<role::CircleObject>(self, &aad.circle, &message(aad)))
    }
}

fn message(aad: &CircleObjectAad) -> CircleObjectMessage {
    CircleObjectMessage { log: aad.log, number: aad.number }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::SecretBytes;

    const AAD: CircleObjectAad =
        CircleObjectAad { circle: StoreId([1; 16]), log: [2; 16], number: 3, previous: [4; 16] };

    fn key(byte: u8) -> CircleKey {
        CircleKey::new(SecretBytes::init_with(|bytes| bytes.fill(byte)))
    }

    #[test]
    fn an_object_opens_only_at_its_place_after_its_predecessor() {
        let mut sealed = *b"text";
        let (nonce, tag) = key(7).seal(&AAD, &mut sealed).unwrap();
        let open = |key: &CircleKey, aad: &CircleObjectAad| {
            key.open(aad, &nonce, &mut sealed.clone(), &tag)
        };
        assert_eq!(open(&key(7), &AAD), Ok(()));
        assert_eq!(open(&key(8), &AAD), Err(NotAuthentic));
        for other in [
            CircleObjectAad { circle: StoreId([0; 16]), ..AAD },
            CircleObjectAad { log: [0; 16], ..AAD },
            CircleObjectAad { number: 4, ..AAD },
            CircleObjectAad { previous: [0; 16], ..AAD },
        ] {
            assert_eq!(open(&key(7), &other), Err(NotAuthentic));
        }
    }

    #[test]
    fn equal_texts_get_different_nonces() {
        let nonces = [(); 2].map(|()| key(7).seal(&AAD, &mut [1; 4]).unwrap().0);
        assert_ne!(nonces[0], nonces[1]);
    }
}
