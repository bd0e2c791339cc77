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
pub(crate) struct Wiped<T: Wipe>(T);

impl<T: Wipe> Wiped<T> {
    /// Takes the value over; it is not copied.
    pub(crate) fn new(value: T) -> Self {
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
pub(crate) trait Wipe {
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

impl Wipe for String {
    fn wipe(&mut self) {
        std::mem::take(self).into_bytes().wipe();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::secret::peek;

    #[test]
    fn nothing_of_the_content_is_printed() {
        assert_eq!(format!("{:?}", Wiped::new("secret".to_owned())), "Wiped { .. }");
        assert_eq!(format!("{:#?}", Wiped::new(b"secret".to_vec())), "Wiped { .. }");
    }

    /// What is left of 4 KiB of text after `drop`; the allocator may write its own links into the first bytes.
    fn left_of(make: impl FnOnce(String) -> Box<dyn Wipeable>) -> Vec<u8> {
        let mut text = String::with_capacity(4096);
        text.push_str(&"secret ".repeat(585));
        let place = text.as_ptr().addr();
        let held = make(text);
        let probe = peek(place, 4096).unwrap_or_default();
        assert!(probe.starts_with(b"secret secret"), "the probe works");
        drop(held);
        peek(place, 4096).unwrap_or_default()
    }

    trait Wipeable {}
    impl<T: Wipe> Wipeable for Wiped<T> {}

    #[test]
    fn nothing_is_left_of_what_was_dropped() {
        for left in [
            left_of(|text| Box::new(Wiped::new(text))),
            left_of(|text| Box::new(Wiped::new(text.into_bytes()))),
            left_of(|mut text| {
                // What lies beyond the length counts too.
                text.clear();
                Box::new(Wiped::new(text))
            }),
        ] {
            assert!(!left.windows(6).any(|window| window == b"secret"));
        }
    }
}
