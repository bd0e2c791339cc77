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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_draws_differ() {
        assert_ne!(array::<24>().unwrap(), array::<24>().unwrap());
        assert!(!secret::<32>().unwrap().ct_eq(&secret::<32>().unwrap()));
    }
}
