//! What a caller expects of a file before a change, and what it is told of the file after one.

use std::fmt::{self, Write};

use sha2::{Digest, Sha256};

/// What must be at a path for a change to be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Precondition {
    /// Neither a file nor a folder.
    Absent,
    /// The file whose last change has this number.
    Version(u64),
    /// A file whose bytes have this SHA-256.
    Sha256([u8; 32]),
}

impl Precondition {
    /// A file whose bytes have this SHA-256, in 64 hexadecimal digits of either case; `None` for any other text. Does no I/O.
    #[must_use]
    pub fn of_sha256_digits(digits: &str) -> Option<Self> {
        // Checked first, because the parser of numbers accepts a sign.
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
        }
        Some(Self::Sha256(bytes))
    }
}

/// The state of a file: what a later change can be conditional on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FileVersion {
    /// The number of its last change. A rename is a change too.
    pub version: u64,
    /// Bytes of its text.
    pub bytes: u64,
    /// The SHA-256 of its bytes.
    pub sha256: [u8; 32],
}

impl FileVersion {
    /// That of a file with this text.
    pub(crate) fn of_text(version: u64, text: &str) -> Self {
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        Self { version, bytes, sha256: Sha256::digest(text).into() }
    }

    /// The SHA-256 in 64 lower-case hexadecimal digits. Does no I/O.
    #[must_use]
    pub fn sha256_digits(&self) -> String {
        self.sha256.iter().fold(String::with_capacity(64), |mut digits, byte| {
            // Writing to a string cannot fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        })
    }
}

impl fmt::Display for FileVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version {} of {} bytes", self.version, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_in_digits_is_read_as_it_was_written() {
        let bytes = std::array::from_fn(|at| u8::try_from(at * 8).unwrap());
        let digits = FileVersion { version: 1, bytes: 1, sha256: bytes }.sha256_digits();
        assert!(digits.starts_with("00081018") && digits.len() == 64, "{digits}");
        for digits in [&digits, &digits.to_uppercase()] {
            assert_eq!(Precondition::of_sha256_digits(digits), Some(Precondition::Sha256(bytes)));
        }
        for invalid in
            ["", "0", &"+1".repeat(32), &"g".repeat(64), &"é".repeat(32), &"0".repeat(66)]
        {
            assert_eq!(Precondition::of_sha256_digits(invalid), None, "{invalid}");
        }
    }
}
