//! From a passphrase to a key: Argon2id, version 1.3 (RFC 9106).
//!
//! Keys are derived only at an [`AdmittedCost`]. The store's id is Argon2's associated data: a guess is valid
//! for one store only, even if a salt repeats.

use argon2::{Algorithm, Argon2, AssociatedData, Block, ParamsBuilder, Version};

use crate::crypto::cost::{AdmittedCost, KdfCost};
use crate::crypto::ids::{Salt, StoreId};
use crate::crypto::keys::PasswordKey;
use crate::crypto::passphrase::Passphrase;
use crate::secret::{DEEP, SecretBytes, Wiped, on_wiped_stack};

/// A key could not be derived. This does not depend on the passphrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KdfFailed {
    /// There is too little memory.
    #[error("key derivation needs {0} KiB of memory, which the system refused")]
    OutOfMemory(u32),
    /// Argon2 refused parameters that had been admitted: a bug.
    #[error("key derivation refused its parameters")]
    Refused,
}

/// Derives a key from a passphrase, at a deliberate cost.
///
/// # Errors
/// [`KdfFailed::OutOfMemory`] if the system refuses the memory; most systems refuse only absurd amounts.
///
/// # Security
/// The working memory and the stack are wiped. With either, an attacker could test guesses at the
/// price of a single hash instead of the whole derivation.
pub fn derive(
    passphrase: &Passphrase,
    cost: AdmittedCost,
    salt: &Salt,
    store: &StoreId,
) -> Result<PasswordKey, KdfFailed> {
    let mut memory = WorkingMemory::allocate(cost.cost().memory_kib())?;
    on_wiped_stack::<DEEP, _>(|| {
        SecretBytes::try_init_with(|key| {
            argon2id(cost.cost(), &store.0)?
                .hash_password_into_with_memory(
                    passphrase.expose(),
                    &salt.0,
                    key,
                    memory.0.as_mut_slice(),
                )
                .map_err(|_| KdfFailed::Refused)
        })
    })
    .map(PasswordKey::new)
}

fn argon2id(cost: KdfCost, associated: &[u8]) -> Result<Argon2<'static>, KdfFailed> {
    let data = AssociatedData::new(associated).map_err(|_| KdfFailed::Refused)?;
    let params = ParamsBuilder::new()
        .m_cost(cost.memory_kib())
        .t_cost(cost.passes())
        .p_cost(cost.lanes())
        .output_len(32)
        .data(data)
        .build()
        .map_err(|_| KdfFailed::Refused)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// Argon2's memory: allocated here, because the crate does not wipe memory that it allocates itself.
struct WorkingMemory(Wiped<Vec<Block>>);

impl WorkingMemory {
    fn allocate(kib: u32) -> Result<Self, KdfFailed> {
        let out_of_memory = KdfFailed::OutOfMemory(kib);
        let blocks = usize::try_from(kib).map_err(|_| out_of_memory)?;
        let mut memory = Vec::new();
        memory.try_reserve_exact(blocks).map_err(|_| out_of_memory)?;
        memory.resize(blocks, Block::new());
        Ok(Self(Wiped::new(memory)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_leaks_nowhere;
    use crate::crypto::cost::KdfLimits;
    use crate::crypto::unhex;
    #[cfg(target_os = "linux")]
    use crate::secret::{peek, stack_after};

    const CHEAP: KdfCost = KdfCost::new(19_456, 2, 1);

    fn key_of(passphrase: &str, cost: KdfCost, salt: u8, store: u8) -> PasswordKey {
        let cost = KdfLimits::of_tests().admit(cost).unwrap();
        let passphrase = Passphrase::new(passphrase).unwrap();
        derive(&passphrase, cost, &Salt([salt; 16]), &StoreId([store; 16])).unwrap()
    }

    #[test]
    fn the_working_memory_has_no_trait_that_leaks() {
        assert_leaks_nowhere!(WorkingMemory);
    }

    /// RFC 9106, section 5.3.
    #[test]
    fn argon2id_gives_the_tag_of_its_rfc() {
        let params = ParamsBuilder::new()
            .m_cost(32)
            .t_cost(3)
            .p_cost(4)
            .data(AssociatedData::new(&[4; 12]).unwrap())
            .build()
            .unwrap();
        let argon2 =
            Argon2::new_with_secret(&[3; 8], Algorithm::Argon2id, Version::V0x13, params).unwrap();
        let mut tag = [0; 32];
        argon2.hash_password_into(&[1; 32], &[2; 16], &mut tag).unwrap();
        assert_eq!(
            tag.as_slice(),
            unhex("0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659")
        );
    }

    /// Values of the reference implementation in C (argon2-cffi 25.1.0, with associated data).
    #[test]
    fn outputs_agree_with_the_reference_implementation() {
        let passphrase = Passphrase::new("correct horse battery staple").unwrap();
        let salt = Salt(unhex("101112131415161718191a1b1c1d1e1f").try_into().unwrap());
        let store = StoreId(unhex("000102030405060708090a0b0c0d0e0f").try_into().unwrap());
        for (cost, expected) in [
            (CHEAP, "b9df51b296c5cdc7869d77edac0e5882b09354eb231f06119b27b9edd4b0c41a"),
            (
                KdfCost::new(32_768, 2, 4),
                "5ef5836ee280bf149dade125a60b1734032d0830fc9fbe0ca097f637d6afe9c3",
            ),
        ] {
            let cost = KdfLimits::default().admit(cost).unwrap();
            let key = derive(&passphrase, cost, &salt, &store).unwrap();
            assert_eq!(key.expose_for_tests(), unhex(expected));
        }
    }

    #[test]
    fn every_input_changes_the_key() {
        let tiny = KdfCost::new(64, 1, 1);
        let keys = [
            key_of("a", tiny, 1, 1),
            key_of("b", tiny, 1, 1),
            key_of("a", tiny, 2, 1),
            key_of("a", tiny, 1, 2),
            key_of("a", KdfCost::new(72, 1, 1), 1, 1),
            key_of("a", KdfCost::new(64, 2, 1), 1, 1),
            key_of("a", KdfCost::new(64, 1, 2), 1, 1),
        ];
        let distinct: std::collections::BTreeSet<_> =
            keys.iter().map(PasswordKey::expose_for_tests).collect();
        assert_eq!(distinct.len(), keys.len());
    }

    #[cfg(target_os = "linux")]
    fn tiny_argon2id(memory: &mut WorkingMemory) {
        let argon2 = argon2id(KdfCost::new(32, 1, 1), &[0; 16]).unwrap();
        let mut key = [0; 32];
        argon2
            .hash_password_into_with_memory(b"a", &[0; 16], &mut key, memory.0.as_mut_slice())
            .unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_working_memory_is_wiped_before_it_is_given_back() {
        let mut memory = WorkingMemory::allocate(32).unwrap();
        tiny_argon2id(&mut memory);
        let block = memory.0[20];
        let place = memory.0.as_ptr().addr();
        let window: Vec<u8> =
            block.as_ref()[..2].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let holds_window = || {
            let bytes = peek(place, 32 << 10).unwrap_or_default();
            bytes.windows(16).any(|bytes| bytes == window)
        };
        assert!(holds_window(), "the probe works");
        drop(memory);
        assert!(!holds_window());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_derivation_leaves_a_clean_stack() {
        let used =
            |stack: &[u8]| stack.iter().position(|byte| *byte != 0).map(|at| stack.len() - at);
        // The topmost 4 KiB are used by the probe itself.
        let left =
            |stack: &[u8]| stack[..stack.len() - 4_096].iter().filter(|byte| **byte != 0).count();
        let mut memory = WorkingMemory::allocate(32).unwrap();
        let unwiped = stack_after(move || tiny_argon2id(&mut memory));
        assert!(left(&unwiped) > 1_024, "the probe works");
        assert!(used(&unwiped).unwrap() < DEEP / 2, "the wipe reaches far enough");
        let wiped = stack_after(|| drop(key_of("a", KdfCost::new(32, 1, 1), 0, 0)));
        assert!(
            left(&wiped) < 64,
            "no more than the return addresses of the wipe: {}",
            left(&wiped)
        );
    }
}
