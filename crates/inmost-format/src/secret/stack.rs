//! Overwrites the places where primitives leave secrets: the stack and the vector registers.

use zeroize::zeroize_stack;

use super::registers;

/// Runs `work`, then overwrites `BYTES` of the stack that it used and the vector registers: [`SHALLOW`] for a
/// primitive, [`DEEP`] for the derivation of keys from a credential.
///
/// Primitives keep schedules, state and key blocks in local variables and mostly leave them there.
pub fn on_wiped_stack<const BYTES: usize, R>(work: impl FnOnce() -> R) -> R {
    // Not inlined, so that the frames of `work` are in the part of the stack that is wiped below.
    #[inline(never)]
    fn call<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    let result = call(work);
    zeroize_stack::<BYTES>();
    registers::wipe();
    result
}

/// Stack of a single use of the AEAD or the hash, with room for unoptimised builds. Every record that is sealed or opened
/// wipes it twice, about 0.15 us each time.
pub const SHALLOW: usize = 4 << 10;
/// Several times the stack that Argon2 was measured to use; it uses the most of all primitives. It must also fit the
/// small stacks of the threads of host programs.
pub const DEEP: usize = 32 << 10;
