//! The process that a value belongs to, to tell it from a forked child.
//!
//! A child that `fork` makes has the memory of its parent, except the pages of secrets, and none of its threads. A lock
//! that another thread held stays locked there for ever. So a value of the parent is not used in a child, and a lock that
//! all values share exists once for each process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::locked;

/// A process. A forked child is another one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Process(u64);

impl Process {
    /// This process. Takes a few nanoseconds, or where pages cannot be cleared for a child, a call of the system.
    #[must_use]
    pub fn current() -> Self {
        // Children count on from the number of their parent, so that no two processes of a line have the same. A process
        // id could come back.
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let Some(number) = locked::number_cleared_on_fork() else {
            return Self(u64::from(std::process::id()));
        };
        match number.load(Ordering::Relaxed) {
            0 => {
                let next = NUMBERS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
                let set = number.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
                Self(set.map_or_else(|other| other, |_| next))
            }
            number => Self(number),
        }
    }

    /// Whether this is the process that runs now.
    #[must_use]
    pub fn is_current(self) -> bool {
        self == Self::current()
    }
}

/// A value that each process makes for itself.
pub struct PerProcess<T>(OnceLock<Link<T>>);

/// The value of a process, and that of its child. A child has the links of its parent, and adds one.
struct Link<T> {
    process: Process,
    value: T,
    child: OnceLock<Box<Self>>,
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PerProcess<T> {
    /// No value yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The value of this process. `make` gets that of the parent, if it had one, and must take no lock.
    pub fn get(&self, make: impl FnOnce(Option<&T>) -> T) -> &T {
        let process = Process::current();
        let link = |value| Link { process, value, child: OnceLock::new() };
        let Some(mut last) = self.0.get() else {
            return &self.0.get_or_init(|| link(make(None))).value;
        };
        while last.process != process {
            let Some(next) = last.child.get() else {
                let own = last.child.get_or_init(|| Box::new(link(make(Some(&last.value)))));
                return &own.value;
            };
            last = next;
        }
        &last.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_stays_the_same_and_has_one_value() {
        static VALUE: PerProcess<u32> = PerProcess::new();
        let first = Process::current();
        std::thread::scope(|scope| {
            for number in 0..8 {
                scope.spawn(move || {
                    assert!(first.is_current());
                    VALUE.get(|parent| parent.map_or(number, |_| unreachable!()));
                });
            }
        });
        let value = *VALUE.get(|_| unreachable!());
        assert!(value < 8);
        assert_eq!(*VALUE.get(|_| unreachable!()), value);
    }

    /// `tests/fork.rs` has the same with real children.
    #[test]
    fn a_child_adds_its_own_value_after_that_of_its_parent() {
        let value = PerProcess(OnceLock::new());
        let other =
            |process, value| Link { process: Process(process), value, child: OnceLock::new() };
        let parent = other(u64::MAX, 7);
        assert!(parent.child.set(Box::new(other(u64::MAX - 1, 8))).is_ok());
        assert!(value.0.set(parent).is_ok());
        assert_eq!(*value.get(|parent| parent.unwrap() + 1), 9);
        assert_eq!(*value.get(|_| unreachable!()), 9);
    }
}
