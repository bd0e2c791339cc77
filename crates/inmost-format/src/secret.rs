//! Bytes that are wiped when they are no longer used.
//!
//! A secret is made in place, never moves or grows, is read only through `expose`, and is overwritten
//! before its memory is freed. That memory is locked and excluded from core dumps if the system
//! allows it ([`Protections`]). None of the types here can be printed, compared with `==`, cloned or serialized.

mod locked;
mod process;
mod protections;
mod registers;
mod stack;
mod wiped;

pub use locked::Granted;
pub use process::{PerProcess, Process};
pub use protections::{Protections, harden_process, protections};
#[cfg(all(test, target_os = "linux"))]
pub use stack::stack_after;
pub use stack::{DEEP, SHALLOW, on_wiped_stack};
pub use wiped::{Wipe, Wiped, format, join};

use locked::LockedCell;
#[cfg(any(test, feature = "testing"))]
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// A secret of `N` bytes.
pub struct SecretBytes<const N: usize>(LockedCell<[u8; N]>);

impl<const N: usize> SecretBytes<N> {
    /// Makes a secret in place: `fill` gets `N` zeros in the final memory of the secret.
    pub fn init_with(fill: impl FnOnce(&mut [u8; N])) -> Self {
        let mut secret = Self(LockedCell::zeroed());
        fill(secret.0.get_mut());
        secret
    }

    /// Makes a secret in place; if `fill` fails, the bytes that it wrote are wiped.
    pub fn try_init_with<E>(fill: impl FnOnce(&mut [u8; N]) -> Result<(), E>) -> Result<Self, E> {
        let mut secret = Self(LockedCell::zeroed());
        fill(secret.0.get_mut())?;
        Ok(secret)
    }

    /// The bytes themselves; every use of a secret calls this.
    pub fn expose(&self) -> &[u8; N] {
        self.0.get()
    }

    /// The protections of its pages.
    pub fn granted(&self) -> Granted {
        self.0.granted()
    }

    /// Whether this process may use it: a forked child must not use a secret of its parent.
    pub fn is_of_this_process(&self) -> bool {
        self.0.is_of_this_process()
    }

    /// Compares in a time that does not depend on the content.
    #[cfg(any(test, feature = "testing"))]
    pub fn ct_eq(&self, other: &Self) -> bool {
        self.expose().as_slice().ct_eq(other.expose().as_slice()).into()
    }
}

/// A secret whose length is known only when it is complete, in memory of a size fixed beforehand.
///
/// Its memory never moves, so growing leaves no copy behind.
pub struct SecretVec {
    memory: LockedCell<[u8]>,
    length: usize,
}

impl SecretVec {
    /// An empty secret with room for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { memory: LockedCell::zeros(bytes), length: 0 }
    }

    /// Appends `more`. If it does not fit, leaves the secret unchanged and returns [`Full`].
    pub fn append(&mut self, more: &[u8]) -> Result<(), Full> {
        let end = self.length.checked_add(more.len()).ok_or(Full)?;
        self.memory.get_mut().get_mut(self.length..end).ok_or(Full)?.copy_from_slice(more);
        self.length = end;
        Ok(())
    }

    /// Whether this process may use it: a forked child must not use a secret of its parent.
    pub fn is_of_this_process(&self) -> bool {
        self.memory.is_of_this_process()
    }

    /// The bytes themselves.
    pub fn expose(&self) -> &[u8] {
        self.memory.get().get(..self.length).unwrap_or_default()
    }
}

/// A value as secret as a key, such as the keyed state of a primitive.
pub struct SecretValue<T>(LockedCell<T>);

impl<T> SecretValue<T> {
    /// Holds the value that `make` returns, and wipes the stack on which it was made.
    pub fn make(make: impl FnOnce() -> T) -> Self {
        on_wiped_stack::<SHALLOW, _>(|| Self(LockedCell::holding(make())))
    }

    /// The protections of its pages.
    pub fn granted(&self) -> Granted {
        self.0.granted()
    }

    /// The value itself.
    pub fn expose(&self) -> &T {
        self.0.get()
    }
}

/// A [`SecretVec`] has too little room for the bytes that were to be appended.
#[derive(Debug)]
pub struct Full;

/// Overwrites bytes that are not in one of the types above.
pub fn wipe(bytes: &mut [u8]) {
    bytes.zeroize();
}

/// Fails to compile if `$type` implements `$bound`.
#[cfg(any(test, feature = "testing"))]
#[macro_export]
macro_rules! assert_not_impl {
    ($type:ty: $($bound:path),+) => {
        $({
            // With one impl the path below is unambiguous; with both, inference fails.
            trait Ambiguous<A> {
                fn probe() {}
            }
            impl<T: ?Sized> Ambiguous<()> for T {}
            struct Forbidden;
            impl<T: ?Sized + $bound> Ambiguous<Forbidden> for T {}
            <$type as Ambiguous<_>>::probe();
        })+
    };
}

/// Fails to compile if `$type` has a trait through which a secret could leak unnoticed.
#[cfg(any(test, feature = "testing"))]
#[macro_export]
macro_rules! assert_leaks_nowhere {
    ($($type:ty),+ $(,)?) => {
        $($crate::assert_not_impl!(
            $type: std::fmt::Debug, std::fmt::Display, Clone, PartialEq, std::hash::Hash, serde::Serialize
        );)+
    };
}

/// Reads this process's own memory, where freed bytes can be seen without unsafe code; `None` where
/// the memory is unmapped.
#[cfg(all(any(test, feature = "testing"), target_os = "linux"))]
pub fn peek(address: usize, length: usize) -> Option<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let mut bytes = vec![0; length];
    let memory = std::fs::File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut bytes, u64::try_from(address).ok()?).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_have_no_trait_that_leaks() {
        assert_leaks_nowhere!(SecretBytes<32>, SecretVec, SecretValue<u8>);
    }

    #[test]
    fn a_secret_is_made_in_place_and_compares_by_content() {
        let one = SecretBytes::<4>::init_with(|bytes| bytes.copy_from_slice(b"abcd"));
        let same = SecretBytes::<4>::init_with(|bytes| bytes.copy_from_slice(b"abcd"));
        let other = SecretBytes::<4>::init_with(|bytes| bytes.copy_from_slice(b"abce"));
        assert_eq!(one.expose(), b"abcd");
        assert!(one.ct_eq(&same) && !one.ct_eq(&other));
    }

    #[test]
    fn a_failure_while_filling_is_passed_on() {
        assert_eq!(SecretBytes::<4>::try_init_with(|_| Err("no")).err(), Some("no"));
    }

    #[test]
    fn a_full_secret_neither_moves_nor_changes() {
        let mut secret = SecretVec::with_capacity(4);
        secret.append(b"abc").unwrap();
        let place = secret.expose().as_ptr();
        assert!(secret.append(b"de").is_err());
        secret.append(b"d").unwrap();
        assert_eq!((secret.expose(), secret.expose().as_ptr()), (b"abcd".as_slice(), place));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_dropped_secret_is_wiped() {
        let fixed = SecretBytes::<2048>::init_with(|bytes| bytes.fill(0xa7));
        let mut grown = SecretVec::with_capacity(2048);
        grown.append(&[0xa7; 2048]).unwrap();
        let places = [fixed.expose().as_ptr().addr(), grown.expose().as_ptr().addr()];
        for place in places {
            assert_eq!(peek(place, 2048), Some(vec![0xa7; 2048]), "the probe works");
        }
        drop((fixed, grown));
        for place in places {
            let left = peek(place, 2048).unwrap_or_default();
            assert!(!left.windows(8).any(|window| window == [0xa7; 8]));
        }
    }
}
