//! Costs of key derivation: requested, bounded, admitted.
//!
//! The cost of opening a store is read from the store, before anything in it can be authenticated. So a
//! [`KdfCost`] is only a request, and [`KdfLimits::admit`] turns it into an [`AdmittedCost`].

use std::fmt;

use crate::limits;

/// The cost of one guess at a passphrase: memory, passes over it, and lanes.
///
/// The default is the second recommended option of RFC 9106: 64 MiB, 3 passes, 4 lanes. To make guessing
/// more expensive, raise the memory first: an attacker's hardware has least of that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KdfCost {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

impl KdfCost {
    /// A cost of `memory_kib` KiB, `passes` passes and `lanes` lanes.
    ///
    /// [`KdfLimits`] decides whether it is acceptable when it is used.
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

    /// Whether memory times passes is less than in the current default. If so, enrol the passphrase again.
    #[must_use]
    pub fn is_below_default(self) -> bool {
        self.work() < Self::default().work()
    }

    /// KiB of memory times passes.
    fn work(self) -> u64 {
        u64::from(self.memory_kib) * u64::from(self.passes)
    }
}

impl Default for KdfCost {
    fn default() -> Self {
        Self::new(64 << 10, 3, 4)
    }
}

/// The lower and upper bounds on the cost of opening a store.
///
/// They are 19 MiB to 1 GiB, 2 to 32 passes, 1 to 16 lanes, memory times passes at most 2 GiB for a
/// keyslot and 4 GiB for a whole unlock.
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
    /// The cost, if it is within these limits. Derives no key.
    ///
    /// # Errors
    /// [`KdfOutOfBounds`] with the first bound that is broken.
    #[doc(hidden)] // for the crates of this workspace
    pub fn admit(&self, cost: KdfCost) -> Result<AdmittedCost, KdfOutOfBounds> {
        let KdfCost { memory_kib, passes, lanes } = cost;
        KdfOutOfBounds::check(Bounded::Memory, memory_kib, self.memory_kib)?;
        KdfOutOfBounds::check(Bounded::Passes, passes, self.passes)?;
        KdfOutOfBounds::check(Bounded::Lanes, lanes, self.lanes)?;
        // Argon2 itself requires this; it can only fail within the limits of tests.
        KdfOutOfBounds::check(Bounded::LanesForMemory, lanes, (1, memory_kib / 8))?;
        let admitted = AdmittedCost(cost);
        KdfOutOfBounds::check(Bounded::SlotWork, admitted.work(), (1, self.slot_work))?;
        Ok(admitted)
    }

    /// Whether one unlock may try slots of these costs, one after the other.
    ///
    /// # Errors
    /// [`KdfOutOfBounds`] with the sum.
    #[doc(hidden)] // for the crates of this workspace
    pub fn admit_unlock(
        &self,
        costs: impl IntoIterator<Item = AdmittedCost>,
    ) -> Result<(), KdfOutOfBounds> {
        let work = costs.into_iter().fold(0_u64, |sum, cost| sum.saturating_add(cost.work()));
        KdfOutOfBounds::check(Bounded::UnlockWork, work, (0, self.unlock_work))
    }

    /// The most memory of one keyslot with this many passes, in KiB.
    #[doc(hidden)] // for the crates of this workspace
    pub fn most_memory_kib(&self, passes: u32) -> u32 {
        let most = self.slot_work / u64::from(passes.max(1));
        u32::try_from(most).unwrap_or(u32::MAX).min(self.memory_kib.1)
    }

    /// Limits within which key derivation costs next to nothing, for tests. They exist only with the
    /// feature `testing` of this internal crate.
    #[cfg(any(test, feature = "testing"))]
    pub fn of_tests() -> Self {
        Self { memory_kib: (8, 1 << 20), passes: (1, 32), ..Self::default() }
    }

    /// As [`of_tests`](Self::of_tests), and the upper bounds are low too, so that a forged header cannot make a
    /// fuzz target slow.
    #[cfg(feature = "testing")]
    pub fn of_fuzzing() -> Self {
        Self {
            memory_kib: (8, 64),
            passes: (1, 3),
            lanes: (1, 4),
            slot_work: 128,
            unlock_work: 256,
        }
    }
}

/// The key derivation that a store or an application asks for is outside the limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "key derivation asks for {} {what}; accepted are {} to {}",
    .what.shown(*.asked), .what.shown(*.least), .what.shown(*.most)
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KdfOutOfBounds {
    what: Bounded,
    asked: u64,
    least: u64,
    most: u64,
}

/// The quantity that has a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Bounded {
    Memory,
    Passes,
    Lanes,
    LanesForMemory,
    SlotWork,
    UnlockWork,
}

impl Bounded {
    /// A number of this quantity. Memory is in MiB, as a person chooses it.
    fn shown(self, number: u64) -> String {
        match (self, number % 1_024) {
            (Self::Passes | Self::Lanes | Self::LanesForMemory, _) => number.to_string(),
            (_, 0) => (number / 1_024).to_string(),
            (_, rest) => format!("{}.{}", number / 1_024, rest * 10 / 1_024),
        }
    }
}

impl fmt::Display for Bounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "MiB of memory",
            Self::Passes => "passes",
            Self::Lanes => "lanes",
            Self::LanesForMemory => "lanes for its memory",
            Self::SlotWork => "MiB of memory times passes",
            Self::UnlockWork => "MiB of memory times passes in all",
        })
    }
}

impl KdfOutOfBounds {
    fn check<T: Into<u64>>(what: Bounded, asked: T, (least, most): (T, T)) -> Result<(), Self> {
        let (asked, least, most) = (asked.into(), least.into(), most.into());
        if (least..=most).contains(&asked) {
            return Ok(());
        }
        Err(Self { what, asked, least, most })
    }
}

/// A cost that passed [`KdfLimits::admit`]. Keys are derived only at such a cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdmittedCost(KdfCost);

impl AdmittedCost {
    /// The cost itself.
    pub fn cost(self) -> KdfCost {
        self.0
    }

    /// KiB of memory times passes.
    pub fn work(self) -> u64 {
        self.0.work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn only_a_cheaper_cost_is_below_the_default() {
        let default = KdfCost::default();
        let with_passes =
            |passes| KdfCost::new(default.memory_kib(), passes, default.lanes()).is_below_default();
        assert!(with_passes(default.passes() - 1));
        assert!(!with_passes(default.passes()));
        assert!(!with_passes(default.passes() + 1));
        let traded = KdfCost::new(default.memory_kib() * 2, default.passes(), 1);
        assert!(!traded.is_below_default(), "lanes do not count");
    }

    #[test]
    fn the_maximum_memory_is_admitted_and_more_is_not() {
        let limits = KdfLimits::default();
        for passes in [2, 3, 17, 32] {
            let most = limits.most_memory_kib(passes);
            assert!(limits.admit(KdfCost::new(most, passes, 1)).is_ok(), "{passes} passes");
            assert!(limits.admit(KdfCost::new(most + 1, passes, 1)).is_err(), "{passes} passes");
        }
    }

    #[test]
    fn a_cost_beyond_any_limit_is_refused() {
        let limits = KdfLimits::default();
        for (cost, message) in [
            ((19_455, 2, 1), "asks for 18.9 MiB of memory; accepted are 19 to 1024"),
            ((u32::MAX, 2, 1), "asks for 4194303.9 MiB of memory; accepted are 19 to 1024"),
            ((65_536, 1, 1), "asks for 1 passes; accepted are 2 to 32"),
            ((65_536, 33, 1), "asks for 33 passes; accepted are 2 to 32"),
            ((65_536, 3, 0), "asks for 0 lanes; accepted are 1 to 16"),
            ((65_536, 3, 17), "asks for 17 lanes; accepted are 1 to 16"),
            ((1 << 20, 3, 1), "asks for 3072 MiB of memory times passes; accepted are 0.0 to 2048"),
        ] {
            let refused = limits.admit(KdfCost::new(cost.0, cost.1, cost.2)).unwrap_err();
            assert_eq!(refused.to_string(), format!("key derivation {message}"));
        }
    }

    #[test]
    fn one_unlock_is_bounded_over_all_its_slots() {
        let limits = KdfLimits::default();
        let dear = limits.admit(KdfCost::new(1 << 20, 2, 1)).unwrap();
        assert!(limits.admit_unlock([dear, dear]).is_ok());
        assert!(
            limits
                .admit_unlock([dear, dear, limits.admit(KdfCost::new(19_456, 2, 1)).unwrap()])
                .is_err()
        );
    }
}
