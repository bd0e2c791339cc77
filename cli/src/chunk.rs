//! Reads input piece by piece through a buffer that is wiped.

use std::io::{self, Read};

use zeroize::Zeroize;

use inmost_console::Wiped;

/// A read buffer that is wiped as it is consumed.
pub(crate) struct Chunk {
    bytes: Wiped,
    at: usize,
    end: usize,
}

impl Chunk {
    /// Creates an empty buffer.
    pub(crate) fn new() -> Self {
        Self { bytes: Wiped::new(vec![0; CHUNK_BYTES]), at: 0, end: 0 }
    }

    /// The unconsumed bytes. Reads once if all bytes are consumed. Empty at the end of the input.
    pub(crate) fn fill(&mut self, reader: &mut impl Read) -> io::Result<&[u8]> {
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
    pub(crate) fn consume(&mut self, bytes: usize) {
        let end = self.at.saturating_add(bytes).min(self.end);
        if let Some(consumed) = self.bytes.get_mut(self.at..end) {
            consumed.zeroize();
        }
        self.at = end;
    }
}

/// The capacity of a pipe on Linux.
const CHUNK_BYTES: usize = 64 << 10;
