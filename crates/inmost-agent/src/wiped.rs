//! Buffers for plaintext and secrets: they grow without leaving copies behind, and are wiped on drop.

use std::io::{self, Read, Write};

use zeroize::{Zeroize, Zeroizing};

/// Bytes that are overwritten before their memory is freed, also when the buffer grows.
///
/// A `Vec` leaves its old content in memory when it grows.
#[derive(Default)]
pub struct Wiped(Zeroizing<Vec<u8>>);

impl Wiped {
    /// Empty.
    #[must_use]
    pub fn new() -> Self {
        Self(Zeroizing::new(Vec::new()))
    }

    /// Empty, with this capacity.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Zeroizing::new(Vec::with_capacity(bytes)))
    }

    /// A copy of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut copy = Self::with_capacity(bytes.len());
        copy.append(bytes);
        copy
    }

    /// The bytes.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Adds bytes at the end.
    pub fn append(&mut self, more: &[u8]) {
        let needed = self.0.len().saturating_add(more.len());
        if needed > self.0.capacity() {
            let mut larger = Self::with_capacity(needed.max(self.0.capacity().saturating_mul(2)));
            larger.0.extend_from_slice(&self.0);
            *self = larger;
        }
        self.0.extend_from_slice(more);
    }

    /// Wipes the content and keeps the allocation.
    pub fn clear(&mut self) {
        self.0.zeroize();
    }

    /// Removes the last byte.
    pub fn pop(&mut self) -> Option<u8> {
        self.0.pop()
    }

    /// The bytes themselves. The caller has to wipe them.
    #[must_use]
    pub fn into_vec(mut self) -> Vec<u8> {
        std::mem::take(&mut *self.0)
    }

    /// The bytes as text, if they are UTF-8. Makes no copy.
    #[must_use]
    pub fn into_text(self) -> Option<Zeroizing<String>> {
        match String::from_utf8(self.into_vec()) {
            Ok(text) => Some(Zeroizing::new(text)),
            Err(error) => {
                drop(Self::from(error.into_bytes()));
                None
            }
        }
    }

    /// Reads to the end; `None` if there are more than `max` bytes.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn read(mut reader: impl Read, max: usize) -> io::Result<Option<Self>> {
        let mut bytes = Self::new();
        let mut chunk = Chunk::new();
        loop {
            let more = chunk.fill(&mut reader)?;
            let len = more.len();
            if len == 0 {
                return Ok(Some(bytes));
            }
            if bytes.0.len().saturating_add(len) > max {
                return Ok(None);
            }
            bytes.append(more);
            chunk.consume(len);
        }
    }
}

impl From<Vec<u8>> for Wiped {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }
}

impl Write for Wiped {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        self.append(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A read buffer, wiped too.
pub struct Chunk {
    bytes: Zeroizing<Vec<u8>>,
    at: usize,
    end: usize,
}

impl Default for Chunk {
    fn default() -> Self {
        Self::new()
    }
}

impl Chunk {
    /// Empty.
    #[must_use]
    pub fn new() -> Self {
        Self { bytes: Zeroizing::new(vec![0; CHUNK_BYTES]), at: 0, end: 0 }
    }

    /// The unconsumed bytes. Reads once if there are none; empty at the end of the input.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn fill(&mut self, reader: &mut impl Read) -> io::Result<&[u8]> {
        while self.at >= self.end {
            match reader.read(&mut self.bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(0) => break,
                Ok(bytes) => (self.at, self.end) = (0, bytes),
            }
        }
        Ok(self.bytes.get(self.at..self.end).unwrap_or_default())
    }

    /// Wipes and removes bytes from the front.
    pub fn consume(&mut self, bytes: usize) {
        let end = self.at.saturating_add(bytes).min(self.end);
        if let Some(consumed) = self.bytes.get_mut(self.at..end) {
            consumed.zeroize();
        }
        self.at = end;
    }
}

/// The capacity of a pipe on Linux.
const CHUNK_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_bytes_are_kept_when_it_grows() {
        let mut bytes = Wiped::with_capacity(1);
        for piece in ["a", "bc", "", "defgh"] {
            bytes.append(piece.as_bytes());
        }
        assert_eq!(bytes.expose(), b"abcdefgh");
        assert_eq!(bytes.pop(), Some(b'h'));
        bytes.clear();
        assert_eq!(bytes.expose(), b"");
        assert_eq!(bytes.pop(), None);
    }

    #[test]
    fn reading_stops_at_the_bound() {
        let read = |bytes: u64, most| Wiped::read(io::repeat(7).take(bytes), most).unwrap();
        assert_eq!(read(200_000, 200_000).unwrap().expose().len(), 200_000);
        assert!(read(200_001, 200_000).is_none());
        assert_eq!(read(0, 0).unwrap().expose(), b"");
    }
}
