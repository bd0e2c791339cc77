//! A setting of the allocator, for programs that keep many stores open.

/// Lets the allocator of glibc take every buffer of 256 KiB or more from the system, anew, and give it back when it is freed.
/// Returns whether it did: on systems without glibc it does nothing.
///
/// For a program that keeps many stores unlocked, on sled. sled reserves 8 MiB of buffers for each and uses little of them. The
/// rest costs nothing in new memory of the system. But once a large buffer was freed, glibc makes the next ones from used
/// memory, which costs all of it. `docs/OPERATIONS.md` has figures. A program calls this once, before it opens stores. It affects
/// the whole process: buffers of 256 KiB or more then take longer to make, and glibc no longer adapts its other thresholds. The
/// library never calls it.
///
/// This is the parameter `M_MMAP_THRESHOLD` of `mallopt(3)`. Without a call, the variable `MALLOC_MMAP_THRESHOLD_` sets it.
#[allow(clippy::must_use_candidate, reason = "it is called for its effect")]
pub fn map_large_buffers() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[allow(unsafe_code, reason = "no crate has a safe function for it")]
        // SAFETY: the function has no requirements; it takes the allocator's own lock.
        let set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
        set == 1
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    false
}

/// In bytes. The buffers of sled have 2 MiB. With a limit of 1 MiB, 1,000 stores took 5 MiB more; with 128 KiB, no less.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 256 << 10;

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;
    use std::fs;
    use std::hint::black_box;

    fn resident_bytes() -> usize {
        let pages = fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
    }

    #[test]
    fn unused_buffers_cost_nothing_after_used_ones_were_freed() {
        const BUFFERS: usize = 64;
        const BYTES: usize = 2 << 20;
        assert!(map_large_buffers());
        let before = resident_bytes();
        // The first one that is freed tells glibc to make the next ones from its own memory.
        drop(black_box(vec![1_u8; 2 * BYTES]));
        let used: Vec<_> =
            (0..BUFFERS).map(|_| (vec![1_u8; BYTES], Box::new([1_u8; 512]))).collect();
        // What is between them keeps that memory from being given back.
        let kept: Vec<_> = used.into_iter().map(|(_, kept)| kept).collect();
        let unused: Vec<_> = (0..BUFFERS).map(|_| vec![0_u8; BYTES]).collect();
        let after = resident_bytes();
        assert_eq!((unused.len(), kept.len()), (BUFFERS, BUFFERS));
        assert!(after < before + BUFFERS * BYTES / 2, "{before} bytes before, {after} after");
    }
}
