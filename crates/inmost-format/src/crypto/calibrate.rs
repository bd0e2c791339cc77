//! Chooses the cost of key derivation from the time that the owner accepts to wait.

use std::time::{Duration, Instant};

use crate::crypto::cost::{KdfCost, KdfLimits};
use crate::crypto::ids::Salt;
use crate::crypto::ids::StoreId;
use crate::crypto::kdf;
use crate::crypto::passphrase::Passphrase;

impl KdfCost {
    /// A cost that takes about `target` on this machine in its current state: the default with more memory. Passes are
    /// never raised, because memory is what an attacker's hardware has least of. The cost is never below the default,
    /// however short the target.
    ///
    /// The memory stays within a quarter of this machine's, or of its control group's if that is less (256 MiB if
    /// neither is known) and within the default [`KdfLimits`], which allow 682 MiB at three passes.
    ///
    /// It is measured, by deriving keys as an unlock does, in about three times the target. The fastest of two runs
    /// counts, so that other work on the machine does not distort the result. A store is opened elsewhere
    /// too: a slower machine takes longer, and one with less memory may not open it at all.
    #[must_use]
    pub fn calibrate(target: Duration) -> Self {
        let quarter = ram_kib().map_or(UNKNOWN_QUARTER_KIB, |ram| ram / 4);
        let limits = KdfLimits::default();
        let admitted = limits.most_memory_kib(Self::default().passes());
        approach(target, admitted.min(u32::try_from(quarter).unwrap_or(u32::MAX)), |cost| {
            measure(cost, &limits)
        })
    }
}

/// Raises the memory of the default cost step by step. `measure` returns `None` for a cost that cannot be paid. Does no
/// I/O.
fn approach(
    target: Duration,
    most_kib: u32,
    mut measure: impl FnMut(KdfCost) -> Option<Duration>,
) -> KdfCost {
    let least = KdfCost::default();
    let with = |memory_kib| KdfCost::new(memory_kib, least.passes(), least.lanes());
    let mut cost = least;
    for _ in 0..STEPS {
        let Some(took) = measure(cost) else {
            // This was too much memory for the machine at present; half of it is affordable.
            return with((cost.memory_kib() / 2).max(least.memory_kib()));
        };
        // A short measurement predicts a long one badly, so each step is small.
        let factor = (target.as_secs_f64() / took.as_secs_f64().max(1e-6)).min(STEP);
        let memory = scaled(cost.memory_kib(), factor);
        let next = with(memory.min(most_kib).max(least.memory_kib()));
        let settled = next.memory_kib().abs_diff(cost.memory_kib()) <= cost.memory_kib() / 16;
        cost = next;
        if settled {
            break;
        }
    }
    cost
}

/// In whole MiB.
#[allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "there is no other conversion from a float to an integer; it saturates"
)]
fn scaled(kib: u32, factor: f64) -> u32 {
    (f64::from(kib) * factor) as u32 / 1_024 * 1_024
}

fn measure(cost: KdfCost, limits: &KdfLimits) -> Option<Duration> {
    let admitted = limits.admit(cost).ok()?;
    let passphrase = Passphrase::new("measured").ok()?;
    (0..RUNS)
        .map(|run| {
            let begin = Instant::now();
            kdf::derive(&passphrase, admitted, &Salt([run; 16]), &StoreId([run; 16])).ok()?;
            Some(begin.elapsed())
        })
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .min()
}

/// Memory that this process can count on, in KiB.
fn ram_kib() -> Option<u64> {
    let installed =
        std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse_meminfo(&text));
    let allowed = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let allowed =
        allowed.and_then(|text| text.trim().parse::<u64>().ok()).map(|bytes| bytes / 1_024);
    installed.into_iter().chain(allowed).min()
}

fn parse_meminfo(text: &str) -> Option<u64> {
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The fastest of this many runs counts.
const RUNS: u8 = 2;
/// The maximum number of measurements; the last two take about the target each.
const STEPS: usize = 5;
/// The most that one measurement raises the memory.
const STEP: f64 = 4.0;
/// A quarter of the memory of a machine, if its size is unknown.
const UNKNOWN_QUARTER_KIB: u64 = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which one MiB takes this long, with all passes.
    fn machine(per_mib: Duration) -> impl FnMut(KdfCost) -> Option<Duration> {
        move |cost| Some(per_mib * (cost.memory_kib() / 1_024))
    }

    fn mib(seconds: u64, most: u32, machine: impl FnMut(KdfCost) -> Option<Duration>) -> u32 {
        let cost = approach(Duration::from_secs(seconds), most << 10, machine);
        assert_eq!((cost.passes(), cost.lanes()), (3, 4), "only the memory is raised");
        cost.memory_kib() / 1_024
    }

    #[test]
    fn memory_is_raised_to_the_target() {
        let millisecond = Duration::from_millis(1);
        assert_eq!(mib(1, 682, machine(millisecond * 2)), 500);
        assert_eq!(mib(1, 682, machine(millisecond * 10)), 100);
        // Memory beyond the cache is slower, so the first measurement is too optimistic.
        let cached = |cost: KdfCost| {
            let per_mib = if cost.memory_kib() <= 64 << 10 { 1 } else { 4 };
            Some(millisecond * per_mib * (cost.memory_kib() / 1_024))
        };
        assert_eq!(mib(1, 682, cached), 250);
    }

    #[test]
    fn the_memory_stays_between_the_default_and_the_limit() {
        let fast = Duration::from_micros(1);
        assert_eq!(mib(1, 300, machine(fast)), 300);
        assert_eq!(mib(0, 300, machine(fast)), 64);
        assert_eq!(mib(1, 16, machine(fast)), 64);
        assert_eq!(mib(1, 682, machine(Duration::from_secs(1))), 64);
    }

    #[test]
    fn a_machine_that_lacks_the_memory_gets_less() {
        let mut small = machine(Duration::from_millis(1));
        let short = move |cost: KdfCost| small(cost).filter(|_| cost.memory_kib() <= 150 << 10);
        assert_eq!(mib(1, 682, short), 128);
        assert_eq!(mib(1, 682, |_| None), 64);
    }

    #[test]
    fn the_memory_of_a_machine_is_parsed_from_meminfo() {
        let text = "MemFree:  1 kB\nMemTotal:       16316412 kB\nMemAvailable: 2 kB\n";
        assert_eq!(parse_meminfo(text), Some(16_316_412));
        assert_eq!(parse_meminfo("MemTotal: lots\n"), None);
        if cfg!(target_os = "linux") {
            assert!(ram_kib().unwrap() > 64 << 10);
        }
    }

    #[test]
    fn a_short_target_gives_the_default_cost() {
        let cost = KdfCost::calibrate(Duration::ZERO);
        assert_eq!(cost, KdfCost::default());
        assert!(KdfLimits::default().admit(cost).is_ok());
    }
}
