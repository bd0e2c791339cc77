//! Memory for secrets: pages that are not swapped out, not in core dumps and not in forked children.
//!
//! One pool serves the process. Its pages are cut into granules; a [`LockedCell`] is a run of them, wiped before it
//! is reused. Pages are kept for later secrets, so the pool never shrinks. A page can hold the keys of
//! several sessions.
//!
//! Best effort: if the system refuses a protection, secrets are held in the same way without it. [`status`] reports
//! that for the process, and [`LockedCell::granted`] for one secret. No function here fails unless memory runs out.
#![allow(unsafe_code, reason = "placing values in pages of our own, and mlock and madvise on them")]

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use zeroize::Zeroize;

use super::process::{PerProcess, Process};

/// A value that lives in the pool until it is dropped.
pub(super) struct LockedCell<T: ?Sized> {
    value: NonNull<T>,
    home: Run,
}

/// The granules of a chunk that belong to one cell.
struct Run {
    start: NonNull<u8>,
    chunk: usize,
    first: usize,
    granules: usize,
    granted: Granted,
    /// The process that owns the pages.
    owner: Process,
}

// SAFETY: a cell owns its granules alone, like a `Box` its allocation.
unsafe impl<T: ?Sized + Send> Send for LockedCell<T> {}
// SAFETY: as above; a shared cell gives out shared references only.
unsafe impl<T: ?Sized + Sync> Sync for LockedCell<T> {}

impl<const N: usize> LockedCell<[u8; N]> {
    /// `N` zeros.
    pub(super) fn zeroed() -> Self {
        let home = pool().take(N);
        Self { value: home.start.cast(), home }
    }
}

impl LockedCell<[u8]> {
    /// `length` zeros.
    pub(super) fn zeros(length: usize) -> Self {
        let home = pool().take(length);
        Self { value: NonNull::slice_from_raw_parts(home.start, length), home }
    }
}

impl<T> LockedCell<T> {
    /// A value that was made elsewhere. The caller wipes the memory that it was moved from.
    pub(super) fn holding(value: T) -> Self {
        const { assert!(align_of::<T>() <= GRANULE) };
        let home = pool().take(size_of::<T>());
        let place = home.start.cast::<T>();
        // SAFETY: the run is ours, has room for a `T`, and begins at a granule, which is aligned for it.
        unsafe { place.write(value) };
        Self { value: place, home }
    }
}

impl<T: ?Sized> LockedCell<T> {
    /// The value.
    pub(super) fn get(&self) -> &T {
        // SAFETY: `value` points to a valid `T` (zeros are valid bytes) in granules that nothing else uses
        // until the cell is dropped.
        unsafe { self.value.as_ref() }
    }

    /// Whether this process has its pages.
    pub(super) fn is_of_this_process(&self) -> bool {
        self.home.owner.is_current()
    }

    /// The protections of its pages.
    pub(super) fn granted(&self) -> Granted {
        self.home.granted
    }

    /// The value, to be changed.
    pub(super) fn get_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the cell is borrowed exclusively.
        unsafe { self.value.as_mut() }
    }
}

impl<T: ?Sized> Drop for LockedCell<T> {
    fn drop(&mut self) {
        // A forked child has the cell but not its pages.
        if !self.is_of_this_process() {
            return;
        }
        // SAFETY: the value is valid and is not used again.
        unsafe { ptr::drop_in_place(self.value.as_ptr()) };
        let bytes = self.home.start.as_ptr().cast::<MaybeUninit<u8>>();
        // SAFETY: the run was taken with this length, and its pages are never unmapped. The padding of a `T` need not
        // be initialised, and so is no `u8`; a `MaybeUninit<u8>` need not be initialised either.
        let bytes = unsafe { slice::from_raw_parts_mut(bytes, self.home.granules * GRANULE) };
        bytes.zeroize();
        pool().give_back(&self.home);
    }
}

/// The protections that the system granted to the pages of some secrets.
#[derive(Clone, Copy)]
pub struct Granted {
    /// All of them stay in memory.
    pub(super) locked: bool,
    /// All of them are excluded from core dumps.
    pub(super) undumped: bool,
}

impl Granted {
    /// The protections that these secrets and others have in common.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self { locked: self.locked && others.locked, undumped: self.undumped && others.undumped }
    }
}

/// The protections of the secrets of this process; before the first secret, the protections that it would get.
pub(super) fn status() -> Granted {
    drop(LockedCell::<[u8; GRANULE]>::zeroed());
    let all = Granted { locked: true, undumped: true };
    pool().chunks.iter().fold(all, |all, chunk| all.and(chunk.granted))
}

/// All pages of a process, each held until it ends.
struct Pool {
    owner: Process,
    chunks: Vec<Chunk>,
}

/// Consecutive pages.
struct Chunk {
    start: NonNull<u8>,
    /// Which granules belong to a cell. The others are zero.
    used: Vec<bool>,
    /// How many do not, so that full chunks are passed over quickly: a process with a thousand sessions has as many.
    free: usize,
    granted: Granted,
}

// SAFETY: the pointer is that of pages which live as long as the process; they are reached through cells only.
unsafe impl Send for Chunk {}

fn pool() -> MutexGuard<'static, Pool> {
    // A forked child does not have the pages of its parent, and another thread may have held the parent's lock.
    static POOL: PerProcess<Mutex<Pool>> = PerProcess::new();
    let new = |_: Option<&_>| Mutex::new(Pool { owner: Process::current(), chunks: Vec::new() });
    // A poisoned lock is safe to use: the bookkeeping calls no code that panics between two changes.
    POOL.get(new).lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number that is 0 at first, and 0 again in a forked child; `None` on systems that cannot clear a page for a child.
pub(super) fn number_cleared_on_fork() -> Option<&'static AtomicU64> {
    static NUMBER: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
    *NUMBER.get_or_init(map_number)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn map_number() -> Option<&'static AtomicU64> {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    let (length, access) = (rustix::param::page_size(), ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a private mapping at an address that the system chooses does not overlap existing memory.
    let page =
        unsafe { mmap_anonymous(ptr::null_mut(), length, access, MapFlags::PRIVATE) }.ok()?;
    // SAFETY: the page is ours. The advice clears a child's copy only.
    if unsafe { madvise(page, length, Advice::LinuxWipeOnFork) }.is_err() {
        // SAFETY: exactly the page mapped above, to which there is no reference.
        let _ = unsafe { munmap(page, length) };
        return None;
    }
    // SAFETY: a page is aligned for the number, zeros are one, and the page is never unmapped or used in another way.
    Some(unsafe { &*page.cast::<AtomicU64>() })
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn map_number() -> Option<&'static AtomicU64> {
    None
}

impl Pool {
    /// A run of at least `bytes` zeros.
    fn take(&mut self, bytes: usize) -> Run {
        let granules = bytes.div_ceil(GRANULE).max(1);
        for (number, chunk) in self.chunks.iter_mut().enumerate() {
            if let Some(first) = chunk.room_for(granules) {
                let start = chunk.take(first, granules);
                let granted = chunk.granted;
                return Run { start, chunk: number, first, granules, granted, owner: self.owner };
            }
        }
        let mut chunk = Chunk::map(granules).unwrap_or_else(|| Chunk::of_heap(granules));
        let start = chunk.take(0, granules);
        let granted = chunk.granted;
        self.chunks.push(chunk);
        Run { start, chunk: self.chunks.len() - 1, first: 0, granules, granted, owner: self.owner }
    }

    /// Takes back a run that has been wiped.
    fn give_back(&mut self, run: &Run) {
        if let Some(chunk) = self.chunks.get_mut(run.chunk) {
            let granules = chunk.used.iter_mut().skip(run.first).take(run.granules);
            granules.for_each(|used| *used = false);
            chunk.free += run.granules;
        }
    }
}

impl Chunk {
    /// The first of this many consecutive free granules.
    fn room_for(&self, granules: usize) -> Option<usize> {
        if self.free < granules {
            return None;
        }
        self.used.windows(granules).position(|run| run.iter().all(|used| !used))
    }

    /// Marks a run that is free as used, and returns its first byte.
    fn take(&mut self, first: usize, granules: usize) -> NonNull<u8> {
        self.used.iter_mut().skip(first).take(granules).for_each(|used| *used = true);
        self.free -= granules;
        assert!(first < self.used.len(), "a run begins in its chunk");
        // SAFETY: just checked.
        unsafe { self.start.add(first * GRANULE) }
    }

    /// New pages with at least this many granules, protected as far as the system allows.
    #[cfg(unix)]
    fn map(granules: usize) -> Option<Self> {
        use rustix::mm::{self, MapFlags, ProtFlags};

        let length = (granules * GRANULE).next_multiple_of(rustix::param::page_size());
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a private mapping at an address that the system chooses does not overlap existing memory.
        let start =
            unsafe { mm::mmap_anonymous(ptr::null_mut(), length, access, MapFlags::PRIVATE) };
        let start = start.ok()?;
        // SAFETY: these are exactly the pages mapped above. Locking them changes no byte.
        let locked = unsafe { mm::mlock(start, length) }.is_ok();
        let undumped = Self::hide(start, length);
        let granted = Granted { locked, undumped };
        Some(Self {
            start: NonNull::new(start.cast())?,
            used: vec![false; length / GRANULE],
            free: length / GRANULE,
            granted,
        })
    }

    #[cfg(not(unix))]
    fn map(_: usize) -> Option<Self> {
        None
    }

    /// Excludes pages from core dumps and forked children; returns whether they are excluded from dumps.
    ///
    /// A forked child gets no such pages (`DONTFORK`) instead of zeroed ones (`WIPEONFORK`): it would continue
    /// with zero keys, and seal with them. Sessions and vaults refuse their calls in a child before they use a secret. A
    /// child that uses one all the same crashes.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn hide(start: *mut std::ffi::c_void, length: usize) -> bool {
        use rustix::mm::{Advice, madvise};

        // SAFETY: the pages are ours. The advice concerns a child's copy, and a child never uses it: `Run::owner`.
        let _ = unsafe { madvise(start, length, Advice::LinuxDontFork) };
        // SAFETY: the pages are ours. The advice changes no byte.
        unsafe { madvise(start, length, Advice::LinuxDontDump) }.is_ok()
    }

    #[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
    fn hide(_: *mut std::ffi::c_void, _: usize) -> bool {
        false
    }

    /// Ordinary memory, for systems that grant no pages. Like pages, it is never freed.
    fn of_heap(granules: usize) -> Self {
        let memory = Box::leak(vec![Granule([0; GRANULE]); granules].into_boxed_slice());
        let granted = Granted { locked: false, undumped: false };
        let used = vec![false; granules];
        Self { start: NonNull::from(memory).cast(), used, free: granules, granted }
    }
}

#[derive(Clone)]
#[repr(align(64))]
struct Granule(#[allow(dead_code, reason = "memory, reached by its address")] [u8; GRANULE]);

/// Bytes of a granule: a key, or the longest kind of one, and a cache line.
const GRANULE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_do_not_overlap_and_come_back_zeroed() {
        let mut cells: Vec<_> = (0..200_u8).map(|_| LockedCell::<[u8; 96]>::zeroed()).collect();
        for (value, cell) in (1..).zip(&mut cells) {
            assert_eq!(*cell.get(), [0; 96]);
            cell.get_mut().fill(value);
        }
        for (value, cell) in (1..).zip(&cells) {
            assert_eq!(*cell.get(), [value; 96]);
        }
        drop(cells);
        assert!((0..200).all(|_| *LockedCell::<[u8; 96]>::zeroed().get() == [0; 96]));
    }

    #[test]
    fn a_cell_may_be_larger_than_a_page() {
        let mut large = LockedCell::zeros(100_000);
        large.get_mut().fill(1);
        assert_eq!(large.get(), vec![1; 100_000]);
    }

    #[test]
    fn a_value_is_dropped_where_it_lies() {
        let value = std::sync::Arc::new(());
        let cell = LockedCell::holding((std::sync::Arc::clone(&value), 7));
        assert_eq!(cell.get().1, 7);
        drop(cell);
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
    }

    #[test]
    fn threads_share_the_pool() {
        std::thread::scope(|scope| {
            for value in 0..8_u8 {
                scope.spawn(move || {
                    for _ in 0..2_000 {
                        let mut cell = LockedCell::<[u8; 64]>::zeroed();
                        assert_eq!(*cell.get(), [0; 64]);
                        cell.get_mut().fill(value);
                        std::thread::yield_now();
                        assert_eq!(*cell.get(), [value; 64]);
                    }
                });
            }
        });
    }

    #[test]
    fn ordinary_memory_is_used_if_no_pages_can_be_mapped() {
        let chunk = Chunk::of_heap(3);
        assert_eq!((chunk.used.len(), chunk.start.addr().get() % GRANULE), (3, 0));
        assert_eq!((chunk.room_for(3), chunk.room_for(4)), (Some(0), None));
        assert!(!chunk.granted.locked && !chunk.granted.undumped);
    }
}
