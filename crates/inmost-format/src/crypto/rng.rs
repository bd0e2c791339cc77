//! The only module that draws randomness, always directly from the operating system.
//!
//! No generator of our own is seeded or cached, so a forked process or a restored machine image
//! cannot repeat a nonce.

use crate::secret::SecretBytes;

/// The operating system returned no random bytes. Until it does, sealing fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the operating system returned no random bytes")]
pub struct RandomnessFailed;

/// Fills `bytes` with random bytes.
///
/// # Errors
/// [`RandomnessFailed`]; the content of `bytes` is then unspecified.
pub fn fill(bytes: &mut [u8]) -> Result<(), RandomnessFailed> {
    #[cfg(any(test, feature = "testing"))]
    if seeded::fill(bytes) {
        return Ok(());
    }
    getrandom::fill(bytes).map_err(|_| RandomnessFailed)
}

/// `N` random bytes for a public value: a nonce, a salt, an identifier.
pub fn array<const N: usize>() -> Result<[u8; N], RandomnessFailed> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

/// `N` random bytes for a secret.
pub fn secret<const N: usize>() -> Result<SecretBytes<N>, RandomnessFailed> {
    SecretBytes::try_init_with(|bytes| fill(bytes))
}

/// Repeatable bytes for simulations, whose failures must be replayed. Exists only in tests.
#[cfg(any(test, feature = "testing"))]
pub mod seeded {
    use std::cell::Cell;

    use crate::crypto::blake2b::checksum;

    thread_local! {
        static NEXT: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
    }

    /// Makes all that this thread draws follow from a seed, until it is `None`.
    pub fn dangerous_seed(seed: Option<u64>) {
        NEXT.set(seed.map(|seed| (seed, 0)));
    }

    pub(super) fn fill(bytes: &mut [u8]) -> bool {
        for chunk in bytes.chunks_mut(32) {
            let Some((seed, count)) = NEXT.get() else { return false };
            NEXT.set(Some((seed, count.wrapping_add(1))));
            let block = checksum(&[seed.to_le_bytes(), count.to_le_bytes()].concat());
            chunk.iter_mut().zip(block).for_each(|(to, from)| *to = from);
        }
        NEXT.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_draws_differ() {
        assert_ne!(array::<24>().unwrap(), array::<24>().unwrap());
        assert!(!secret::<32>().unwrap().ct_eq(&secret::<32>().unwrap()));
    }
}
