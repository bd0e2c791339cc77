//! Runs a part of a test in a forked child.

#![allow(unsafe_code, reason = "`fork` and `waitpid` are functions of C")]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work` in a forked child that then exits in the ordinary way, and waits for its end.
///
/// # Panics
/// If the child fails or hangs.
pub fn in_child(work: impl FnOnce()) {
    // SAFETY: the child uses the C library and the allocator, both of which support a fork of several threads. What it runs
    // must not need a lock that another thread of the test may hold.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: changes nothing but the timer of the child.
        unsafe { libc::alarm(PATIENCE) };
        let passed = catch_unwind(AssertUnwindSafe(work)).is_ok();
        std::process::exit(i32::from(!passed));
    }
    let mut status = 0;
    // SAFETY: `status` lives until the call returns.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "a child that ended well, and by no signal");
}

/// Seconds after which a child that hangs is killed, by SIGALRM.
const PATIENCE: u32 = 120;
