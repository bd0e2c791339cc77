//! Text and bytes that are wiped when they are dropped, at the speed of `memset`.
//!
//! [`zeroize::Zeroizing`] writes one byte at a time, so that wiping 4 KiB takes longer than copying it ten times, and a
//! call wipes some ten buffers. Here zeros are written with `fill`, and the barrier of the same crate prevents the
//! compiler from removing that.

use std::fmt::{self, Write as _};
use std::io::{self, Read, Write};
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};
use zeroize::optimization_barrier;

/// A `String`, `Vec` or array that is overwritten when it is dropped, with its whole capacity.
///
/// A `String` or `Vec` that grows by itself leaves its old content behind. Allocate its final capacity at once, or add
/// to it only with [`append`](Wiped::append).
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Wiped<T: Wipe>(T);

impl<T: Wipe> Wiped<T> {
    /// Takes ownership of the value without copying it.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself, for an owner who wipes it.
    pub fn into_inner(mut self) -> T
    where
        T: Default,
    {
        std::mem::take(&mut self.0)
    }

    /// Overwrites the content. A `String` or `Vec` is empty afterwards; a `Vec` keeps its memory.
    pub fn wipe(&mut self) {
        self.0.wipe();
    }
}

impl Wiped<Vec<u8>> {
    /// Appends `more`. If the capacity is too small, the content is copied to a larger buffer and the old one is wiped.
    pub fn append(&mut self, more: &[u8]) {
        let needed = self.len().saturating_add(more.len());
        if needed > self.capacity() {
            let mut larger = Vec::with_capacity(needed.max(self.capacity().saturating_mul(2)));
            larger.extend_from_slice(self);
            *self = Self::new(larger);
        }
        self.0.extend_from_slice(more);
    }

    /// The bytes as text; `None` if they are not UTF-8. No copy is made.
    pub fn into_text(self) -> Option<Wiped<String>> {
        match String::from_utf8(self.into_inner()) {
            Ok(text) => Some(Wiped::new(text)),
            Err(error) => {
                drop(Self::new(error.into_bytes()));
                None
            }
        }
    }

    /// All the bytes of `reader`; `None` if there are more than `most`.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn read(mut reader: impl Read, most: usize) -> io::Result<Option<Self>> {
        let mut bytes = Self::default();
        let mut chunk = Self::new(vec![0; CHUNK_BYTES]);
        loop {
            let length = match reader.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                length => length?,
            };
            if length == 0 {
                return Ok(Some(bytes));
            }
            if bytes.len().saturating_add(length) > most {
                return Ok(None);
            }
            bytes.append(chunk.get(..length).unwrap_or_default());
        }
    }
}

impl Wiped<String> {
    /// Appends `more`. If the capacity is too small, the content is copied to a larger buffer and the old one is wiped.
    pub fn append(&mut self, more: &str) {
        self.make_room(more.len());
        self.0.push_str(more);
    }

    /// Makes the capacity large enough for so many bytes more, as [`append`](Self::append) does.
    pub fn make_room(&mut self, more: usize) {
        let needed = self.len().saturating_add(more);
        if needed > self.capacity() {
            let mut larger = String::with_capacity(needed.max(self.capacity().saturating_mul(2)));
            larger.push_str(self);
            *self = Self::new(larger);
        }
    }
}

/// Writes append, as [`Wiped::append`] does.
impl Write for Wiped<Vec<u8>> {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        self.append(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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

/// Does not show the content.
impl<T: Wipe> fmt::Debug for Wiped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wiped").finish_non_exhaustive()
    }
}

/// The types that [`Wiped`] can hold.
pub trait Wipe {
    /// Overwrites the value with all of its memory; a `String` or `Vec` is empty afterwards.
    fn wipe(&mut self);
}

impl<T: Copy + Default> Wipe for Vec<T> {
    fn wipe(&mut self) {
        self.clear();
        // Within the capacity, so that there is no new allocation.
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

/// Formats into a buffer of final size: `format!` grows its buffer and does not wipe the smaller ones.
pub fn format(arguments: fmt::Arguments<'_>) -> Wiped<String> {
    struct Length(usize);
    impl fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.saturating_add(text.len());
            Ok(())
        }
    }
    let mut length = Length(0);
    // Neither can fail: `Display` of our types returns no error.
    let _ = length.write_fmt(arguments);
    let mut text = Wiped::new(String::with_capacity(length.0));
    let _ = fmt::Write::write_fmt(&mut *text, arguments);
    text
}

/// The parts of a text joined, allocated once.
pub fn join(parts: &[&str]) -> Wiped<String> {
    Wiped::new(parts.concat())
}

/// Bytes that a [`Wiped`] reads at a time: the capacity of a pipe on Linux.
const CHUNK_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_debug_form_shows_nothing() {
        assert_eq!(format!("{:?}", Wiped::new("secret".to_owned())), "Wiped { .. }");
    }

    #[test]
    fn text_is_formatted_in_one_allocation_of_its_length() {
        let text = format(format_args!("{} is {:>4}", "a".repeat(100), 7));
        assert_eq!(
            (text.as_str(), text.capacity()),
            (format!("{} is    7", "a".repeat(100)).as_str(), 108)
        );
    }

    #[test]
    fn appending_keeps_the_content() {
        let mut text = Wiped::new(String::new());
        (0..100).for_each(|number| text.append(&number.to_string()));
        assert_eq!(*text, (0..100).map(|number| number.to_string()).collect::<String>());
    }

    #[test]
    fn bytes_are_written_cleared_and_turned_to_text() {
        let mut bytes = Wiped::new(Vec::with_capacity(1));
        for piece in ["a", "bc", "", "defgh"] {
            bytes.write_all(piece.as_bytes()).unwrap();
        }
        assert_eq!(bytes.as_slice(), b"abcdefgh");
        assert_eq!(bytes.clone().into_text().unwrap().as_str(), "abcdefgh");
        bytes.wipe();
        assert!(bytes.is_empty() && bytes.capacity() > 0);
        bytes.append(&[0xff]);
        assert!(bytes.into_text().is_none());
        let mut array = Wiped::new([7; 4]);
        array.wipe();
        assert_eq!(*array, [0; 4]);
    }

    #[test]
    fn reading_stops_at_the_bound() {
        let read = |bytes: u64, most| Wiped::read(io::repeat(7).take(bytes), most).unwrap();
        assert_eq!(read(200_000, 200_000).unwrap().len(), 200_000);
        assert!(read(200_001, 200_000).is_none());
        assert!(read(0, 0).unwrap().is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_dropped_buffer_is_wiped() {
        use std::any::Any;
        use std::fs::File;
        use std::os::unix::fs::FileExt;

        // All memory for the probe is allocated before anything is freed: a later allocation would overwrite the freed memory.
        let memory = File::open("/proc/self/mem").unwrap();
        let mut seen = vec![0; 16 << 10];
        let mut left_of = |make: fn(String) -> Box<dyn Any>, wiped: bool| {
            let mut text = String::with_capacity(16 << 10);
            while text.len() + 7 < text.capacity() {
                text.push_str("secret ");
            }
            let place = u64::try_from(text.as_ptr().addr()).unwrap();
            // Memory at the end of the heap would be returned to the system.
            let _behind = vec![1_u8; 2 << 10];
            drop(make(text));
            memory.read_exact_at(&mut seen, place).unwrap();
            let left = seen.windows(6).filter(|window| window == b"secret").count();
            assert_eq!(left == 0, wiped, "{left} words are left");
        };
        left_of(|text| Box::new(text), false);
        left_of(|text| Box::new(Wiped::new(text)), true);
        left_of(|text| Box::new(Wiped::new(text.into_bytes())), true);
        // The bytes beyond the length are wiped too.
        left_of(|mut text| (text.clear(), Box::new(Wiped::new(text))).1, true);
    }
}
