//! Text and bytes that are wiped when they are dropped, at the speed of `memset`.
//!
//! [`zeroize::Zeroizing`] writes one byte at a time, so that wiping 4 KiB takes longer than copying it ten times, and a
//! call wipes some ten buffers. Here zeros are written like any others, and the barrier of the same crate, made for that,
//! keeps the compiler from leaving them out.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};
use zeroize::optimization_barrier;

/// A `String` or `Vec` whose whole capacity is overwritten when it is dropped. What it outgrew is not, so give it its
/// final capacity at once.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Wiped<T: Wipe>(T);

impl<T: Wipe> Wiped<T> {
    /// Takes the value over; it is not copied.
    pub fn new(value: T) -> Self {
        Self(value)
    }
}

impl<T: Wipe> Drop for Wiped<T> {
    fn drop(&mut self) {
        self.0.wipe();
    }
}

impl<T: Wipe> Deref for Wiped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Wipe> DerefMut for Wiped<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Wipe> From<T> for Wiped<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// Says nothing of what it holds.
impl<T: Wipe> fmt::Debug for Wiped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wiped").finish_non_exhaustive()
    }
}

/// What [`Wiped`] can hold.
pub trait Wipe {
    /// Empties it, and overwrites all that it has allocated.
    fn wipe(&mut self);
}

impl<T: Copy + Default> Wipe for Vec<T> {
    fn wipe(&mut self) {
        self.clear();
        // Within the capacity, so that nothing is allocated anew.
        self.resize(self.capacity(), T::default());
        optimization_barrier(self.as_slice());
        self.clear();
    }
}

impl<T: Copy + Default, const N: usize> Wipe for [T; N] {
    fn wipe(&mut self) {
        self.fill(T::default());
        optimization_barrier(self);
    }
}

impl Wipe for String {
    fn wipe(&mut self) {
        std::mem::take(self).into_bytes().wipe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::any::Any;

    #[test]
    fn it_says_nothing_of_what_it_holds() {
        assert_eq!(format!("{:?}", Wiped::new("secret".to_owned())), "Wiped { .. }");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_is_left_of_what_was_dropped() {
        use std::fs::File;
        use std::os::unix::fs::FileExt;

        // All that the probe needs is there before anything is freed: what is allocated after that lies where it was.
        let memory = File::open("/proc/self/mem").unwrap();
        let mut seen = vec![0; 16 << 10];
        let mut left_of = |make: fn(String) -> Box<dyn Any>, wiped: bool| {
            let mut text = String::with_capacity(16 << 10);
            while text.len() + 7 < text.capacity() {
                text.push_str("secret ");
            }
            let place = u64::try_from(text.as_ptr().addr()).unwrap();
            // Memory at the end of the heap would go back to the system.
            let _behind = vec![1_u8; 2 << 10];
            drop(make(text));
            memory.read_exact_at(&mut seen, place).unwrap();
            let left = seen.windows(6).filter(|window| window == b"secret").count();
            assert_eq!(left == 0, wiped, "{left} words are left");
        };
        left_of(|text| Box::new(text), false);
        left_of(|text| Box::new(Wiped::new(text)), true);
        left_of(|text| Box::new(Wiped::new(text.into_bytes())), true);
        // What lies beyond the length counts too.
        left_of(|mut text| (text.clear(), Box::new(Wiped::new(text))).1, true);
    }
}
