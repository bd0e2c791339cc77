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

/// Stack of a single use of the AEAD or the hash: at most 2.5 KiB were measured with full optimisation, and 14.4 KiB without
/// any. Every record that is sealed or opened wipes it twice.
pub const SHALLOW: usize = if cfg!(debug_assertions) { 16 << 10 } else { 4 << 10 };
/// Several times the stack that Argon2 was measured to use; it uses the most of all primitives. It must also fit the
/// small stacks of the threads of host programs.
pub const DEEP: usize = 32 << 10;

/// The 128 KiB of stack below a frame that has just run `work`; bytes that it did not write are zero.
#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "for tests, which panic")]
pub fn stack_after(work: impl FnOnce() + Send + 'static) -> Vec<u8> {
    const SEEN: usize = 128 << 10;
    let probe = move || {
        zeroize_stack::<SEEN>();
        work();
        let marker = 0_u8;
        super::peek(std::ptr::from_ref(&marker).addr() - SEEN, SEEN).unwrap()
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(probe).unwrap().join().unwrap()
}
