//! From a passphrase to a key: Argon2id, version 1.3 (RFC 9106).
//!
//! The cost of opening a store is read from the store, before anything in it can be authenticated. So a
//! [`KdfCost`] is only a wish; [`KdfLimits::admit`] turns it into an [`AdmittedCost`], and nothing but
//! that is ever paid. The store's id is Argon2's associated data: a guess is worth one store only, even
//! where a salt repeats.

use argon2::{Algorithm, Argon2, AssociatedData, Block, ParamsBuilder, Version};
use zeroize::Zeroizing;

use crate::crypto::keys::PasswordKey;
use crate::crypto::passphrase::Passphrase;
use crate::crypto::prf::StoreId;
use crate::crypto::rng::{self, RandomnessFailed};
use crate::limits;
use crate::secret::{SecretBytes, on_wiped_stack};

/// What one guess at a passphrase costs: memory, passes over it, and lanes.
///
/// The default is the second recommended option of RFC 9106: 64 MiB, 3 passes, 4 lanes. To make guessing
/// dearer, raise the memory first: it is what an attacker's hardware is short of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KdfCost {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

impl KdfCost {
    /// A cost of `memory_kib` KiB, gone over `passes` times, in `lanes` lanes.
    ///
    /// Whether it is acceptable is decided by [`KdfLimits`] where it is used.
    #[must_use]
    pub const fn new(memory_kib: u32, passes: u32, lanes: u32) -> Self {
        Self { memory_kib, passes, lanes }
    }

    /// Memory in KiB.
    #[must_use]
    pub const fn memory_kib(self) -> u32 {
        self.memory_kib
    }

    /// Passes over the memory.
    #[must_use]
    pub const fn passes(self) -> u32 {
        self.passes
    }

    /// Lanes, which could be computed in parallel.
    #[must_use]
    pub const fn lanes(self) -> u32 {
        self.lanes
    }
}

impl Default for KdfCost {
    fn default() -> Self {
        Self::new(64 << 10, 3, 4)
    }
}

/// What an application is willing to pay for opening a store, and the least it accepts.
///
/// By default: 19 MiB to 1 GiB, 2 to 32 passes, 1 to 16 lanes, memory times passes at most 2 GiB for a
/// keyslot and 4 GiB for a whole unlock. The upper bounds can be raised; nothing lowers the least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KdfLimits {
    memory_kib: (u32, u32),
    passes: (u32, u32),
    lanes: (u32, u32),
    slot_work: u64,
    unlock_work: u64,
}

impl Default for KdfLimits {
    fn default() -> Self {
        Self {
            memory_kib: limits::KDF_MEMORY_KIB.into_inner(),
            passes: limits::KDF_PASSES.into_inner(),
            lanes: limits::KDF_LANES.into_inner(),
            slot_work: limits::KDF_SLOT_WORK,
            unlock_work: limits::KDF_UNLOCK_WORK,
        }
    }
}

impl KdfLimits {
    /// Accepts up to `most` KiB of memory; no effect if that is already accepted.
    #[must_use]
    pub fn raise_memory_kib(mut self, most: u32) -> Self {
        self.memory_kib.1 = self.memory_kib.1.max(most);
        self
    }

    /// Accepts up to `most` passes; no effect if that is already accepted.
    #[must_use]
    pub fn raise_passes(mut self, most: u32) -> Self {
        self.passes.1 = self.passes.1.max(most);
        self
    }

    /// Accepts up to `most` lanes, of which Argon2 knows 16,777,215; no effect if that is already accepted.
    #[must_use]
    pub fn raise_lanes(mut self, most: u32) -> Self {
        self.lanes.1 = self.lanes.1.max(most.min(argon2::Params::MAX_P_COST));
        self
    }

    /// Accepts KiB times passes up to `slot` for one keyslot and `unlock` for all that one unlock tries.
    #[must_use]
    pub fn raise_work(mut self, slot: u64, unlock: u64) -> Self {
        self.slot_work = self.slot_work.max(slot);
        self.unlock_work = self.unlock_work.max(unlock);
        self
    }

    /// The cost, if it is within these limits. Costs nothing itself.
    ///
    /// # Errors
    /// [`KdfOutOfBounds`] with the first bound that is broken.
    pub(crate) fn admit(&self, cost: KdfCost) -> Result<AdmittedCost, KdfOutOfBounds> {
        let KdfCost { memory_kib, passes, lanes } = cost;
        KdfOutOfBounds::check("KiB of memory", memory_kib, self.memory_kib)?;
        KdfOutOfBounds::check("passes", passes, self.passes)?;
        KdfOutOfBounds::check("lanes", lanes, self.lanes)?;
        // Argon2 itself needs this; it can only fail where the limit of lanes was raised.
        KdfOutOfBounds::check("lanes for its memory", lanes, (1, memory_kib / 8))?;
        let admitted = AdmittedCost(cost);
        KdfOutOfBounds::check("KiB of memory times passes", admitted.work(), (1, self.slot_work))?;
        Ok(admitted)
    }

    /// Whether one unlock may try slots of these costs, one after the other.
    ///
    /// # Errors
    /// [`KdfOutOfBounds`] with the sum.
    pub(crate) fn admit_unlock(
        &self,
        costs: impl IntoIterator<Item = AdmittedCost>,
    ) -> Result<(), KdfOutOfBounds> {
        let work = costs.into_iter().fold(0_u64, |sum, cost| sum.saturating_add(cost.work()));
        KdfOutOfBounds::check("KiB of memory times passes in all", work, (0, self.unlock_work))
    }

    /// Limits that let unit tests pay next to nothing. Only tests of this crate can name it, so no
    /// build of the library accepts such a store.
    #[cfg(test)]
    pub(crate) fn of_tests() -> Self {
        Self { memory_kib: (8, 1 << 20), passes: (1, 32), ..Self::default() }
    }
}

/// The key derivation that a store or an application asks for is outside the limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("key derivation asks for {asked} {what}; accepted are {least} to {most}")]
pub struct KdfOutOfBounds {
    what: &'static str,
    asked: u64,
    least: u64,
    most: u64,
}

impl KdfOutOfBounds {
    fn check<T: Into<u64>>(
        what: &'static str,
        asked: T,
        (least, most): (T, T),
    ) -> Result<(), Self> {
        let (asked, least, most) = (asked.into(), least.into(), most.into());
        if (least..=most).contains(&asked) {
            return Ok(());
        }
        Err(Self { what, asked, least, most })
    }
}

/// A cost that passed [`KdfLimits::admit`]; the only one that is ever paid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AdmittedCost(KdfCost);

impl AdmittedCost {
    /// The cost itself.
    pub(crate) fn cost(self) -> KdfCost {
        self.0
    }

    /// KiB of memory times passes.
    fn work(self) -> u64 {
        u64::from(self.0.memory_kib) * u64::from(self.0.passes)
    }
}

/// Makes equal passphrases give different keys; fresh for every slot and every change of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Salt(pub(crate) [u8; 16]);

impl Salt {
    /// A fresh salt.
    pub(crate) fn generate() -> Result<Self, RandomnessFailed> {
        rng::array().map(Self)
    }
}

/// A key could not be derived, whatever the passphrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum KdfFailed {
    /// The memory is not there.
    #[error("key derivation needs {0} KiB of memory, and the system has none to give")]
    OutOfMemory(u32),
    /// Argon2 refused parameters that had been admitted: a fault of this program.
    #[error("key derivation refused its parameters")]
    Refused,
}

/// The key that a passphrase gives, at a cost that is meant to be felt.
///
/// # Errors
/// [`KdfFailed::OutOfMemory`] where the system can be asked politely; most only refuse absurd amounts.
///
/// # Security
/// The working memory and the stack are wiped. Both would let a finder test guesses at the price of a
/// single hash instead of the whole derivation.
pub(crate) fn derive(
    passphrase: &Passphrase,
    cost: AdmittedCost,
    salt: &Salt,
    store: &StoreId,
) -> Result<PasswordKey, KdfFailed> {
    let mut memory = WorkingMemory::allocate(cost.0.memory_kib)?;
    on_wiped_stack(|| {
        SecretBytes::try_init_with(|key| {
            argon2id(cost.0, &store.0)?
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
        .m_cost(cost.memory_kib)
        .t_cost(cost.passes)
        .p_cost(cost.lanes)
        .output_len(32)
        .data(data)
        .build()
        .map_err(|_| KdfFailed::Refused)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// Argon2's memory: allocated here, because what the crate allocates by itself it gives back unwiped.
struct WorkingMemory(Zeroizing<Vec<Block>>);

impl WorkingMemory {
    fn allocate(kib: u32) -> Result<Self, KdfFailed> {
        let out_of_memory = KdfFailed::OutOfMemory(kib);
        let blocks = usize::try_from(kib).map_err(|_| out_of_memory)?;
        let mut memory = Vec::new();
        memory.try_reserve_exact(blocks).map_err(|_| out_of_memory)?;
        memory.resize(blocks, Block::new());
        Ok(Self(Zeroizing::new(memory)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::unhex;
    use crate::secret::{STACK_BYTES, assert_leaks_nowhere, peek};

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
    fn our_use_of_it_agrees_with_the_reference_implementation() {
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

    /// The 128 KiB of stack below a frame that has just done `work`, zero where that left nothing.
    #[cfg(target_os = "linux")]
    fn stack_after(work: impl FnOnce() + Send + 'static) -> Vec<u8> {
        const SEEN: usize = 128 << 10;
        let probe = move || {
            zeroize::zeroize_stack::<SEEN>();
            work();
            let marker = 0_u8;
            peek(std::ptr::from_ref(&marker).addr() - SEEN, SEEN).unwrap()
        };
        std::thread::Builder::new().stack_size(1 << 20).spawn(probe).unwrap().join().unwrap()
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
        assert!(used(&unwiped).unwrap() < STACK_BYTES / 2, "the wipe reaches far enough");
        let wiped = stack_after(|| drop(key_of("a", KdfCost::new(32, 1, 1), 0, 0)));
        assert!(
            left(&wiped) < 64,
            "no more than the return addresses of the wipe: {}",
            left(&wiped)
        );
    }

    #[test]
    fn the_default_cost_and_both_ends_of_the_limits_are_admitted() {
        let limits = KdfLimits::default();
        for cost in [
            KdfCost::default(),
            KdfCost::new(19_456, 2, 1),
            KdfCost::new(1 << 20, 2, 16),
            KdfCost::new(64 << 10, 32, 1),
        ] {
            assert_eq!(limits.admit(cost).unwrap().cost(), cost);
        }
    }

    #[test]
    fn a_cost_beyond_any_limit_is_refused() {
        let limits = KdfLimits::default();
        for (cost, message) in [
            ((19_455, 2, 1), "asks for 19455 KiB of memory; accepted are 19456 to 1048576"),
            ((u32::MAX, 2, 1), "asks for 4294967295 KiB of memory; accepted are 19456 to 1048576"),
            ((65_536, 1, 1), "asks for 1 passes; accepted are 2 to 32"),
            ((65_536, 33, 1), "asks for 33 passes; accepted are 2 to 32"),
            ((65_536, 3, 0), "asks for 0 lanes; accepted are 1 to 16"),
            ((65_536, 3, 17), "asks for 17 lanes; accepted are 1 to 16"),
            (
                (1 << 20, 3, 1),
                "asks for 3145728 KiB of memory times passes; accepted are 1 to 2097152",
            ),
        ] {
            let refused = limits.admit(KdfCost::new(cost.0, cost.1, cost.2)).unwrap_err();
            assert_eq!(refused.to_string(), format!("key derivation {message}"));
        }
    }

    #[test]
    fn raised_limits_admit_more_and_still_not_what_argon2_cannot_do() {
        let limits = KdfLimits::default()
            .raise_memory_kib(4 << 20)
            .raise_passes(64)
            .raise_lanes(u32::MAX)
            .raise_work(16 << 20, 16 << 20);
        assert!(limits.admit(KdfCost::new(4 << 20, 4, 1)).is_ok());
        assert!(limits.admit(KdfCost::new(19_456, 2, 2_432)).is_ok());
        assert!(limits.admit(KdfCost::new(19_456, 2, 2_433)).is_err());
        assert!(limits.raise_memory_kib(1).admit(KdfCost::new(4 << 20, 4, 1)).is_ok());
    }

    #[test]
    fn one_unlock_is_bounded_over_all_its_slots() {
        let limits = KdfLimits::default();
        let dear = limits.admit(KdfCost::new(1 << 20, 2, 1)).unwrap();
        assert!(limits.admit_unlock([dear, dear]).is_ok());
        assert!(limits.admit_unlock([dear, dear, limits.admit(CHEAP).unwrap()]).is_err());
    }
}
