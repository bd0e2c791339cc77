//! The keyfile as a file: 80 bytes, numbers little-endian.
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic: `89 49 4e 4d 4b 45 59 0a`, that is 0x89, `INMKEY`, line feed |
//! | 8 | 2 | version, 1 |
//! | 10 | 6 | zero |
//! | 16 | 32 | the secret |
//! | 48 | 32 | checksum of all before it |
//!
//! Other programs accept any file as a keyfile. A photograph that some program rewrites then makes the store unopenable,
//! and a damaged keyfile looks like a wrong passphrase. So a keyfile has its own format. The checksum detects accidents. It
//! is in the same file as the secret, so it reveals nothing new.

use std::io::{self, Read};

use super::layout::{field, is_zero, put};
use crate::crypto::keys::Keyfile;
use crate::crypto::prf;
use crate::secret::{DEEP, SecretBytes, Wiped, on_wiped_stack};

/// Bytes of a keyfile.
const KEYFILE_BYTES: usize = 80;

impl Keyfile {
    /// The keyfile with this content. The caller keeps the content and wipes it. Does no I/O.
    ///
    /// # Errors
    /// [`KeyfileError`], which reveals nothing about the secret.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyfileError> {
        // A keyfile that is truncated within the magic is still recognised.
        if bytes.is_empty() || !bytes.iter().zip(&MAGIC).all(|(byte, magic)| byte == magic) {
            return Err(KeyfileError::NotAKeyfile);
        }
        let version = bytes.get(at::VERSION..).and_then(|bytes| bytes.first_chunk());
        match version.map(|version| u16::from_le_bytes(*version)) {
            Some(VERSION) => {}
            Some(unknown) => return Err(KeyfileError::UnknownVersion(unknown)),
            None => return Err(KeyfileError::Damaged),
        }
        let bytes: &[u8; KEYFILE_BYTES] = bytes.try_into().map_err(|_| KeyfileError::Damaged)?;
        on_wiped_stack::<DEEP, _>(|| {
            if checksum(bytes) != field::<{ at::CHECKSUM }, 32, _>(bytes)
                || !is_zero::<{ at::ZERO }, { at::SECRET }, _>(bytes)
            {
                return Err(KeyfileError::Damaged);
            }
            let secret = bytes.iter().skip(at::SECRET);
            Ok(Self::new(SecretBytes::init_with(|key| {
                key.iter_mut().zip(secret).for_each(|(to, from)| *to = *from);
            })))
        })
    }

    /// Reads a keyfile from an open file, or from another source. What is read is wiped. The inner result is that of
    /// [`parse`](Self::parse).
    ///
    /// # Errors
    /// Those of the source.
    pub fn read(from: impl Read) -> io::Result<Result<Self, KeyfileError>> {
        let bytes = Wiped::read(from.take(MOST_BYTES), usize::MAX)?;
        Ok(Self::parse(bytes.as_deref().map(Vec::as_slice).unwrap_or_default()))
    }

    /// The content of the file.
    #[must_use]
    pub fn to_bytes(&self) -> KeyfileBytes {
        on_wiped_stack::<DEEP, _>(|| {
            KeyfileBytes(SecretBytes::init_with(|bytes| {
                put::<{ at::MAGIC }, _, _>(bytes, &MAGIC);
                put::<{ at::VERSION }, _, _>(bytes, &VERSION.to_le_bytes());
                put::<{ at::SECRET }, _, _>(bytes, self.expose());
                let checksum = checksum(bytes);
                put::<{ at::CHECKSUM }, _, _>(bytes, &checksum);
            }))
        })
    }
}

/// The content of a keyfile, wiped on drop.
pub struct KeyfileBytes(SecretBytes<KEYFILE_BYTES>);

impl KeyfileBytes {
    /// The bytes of the file. Only its owner may be able to read that file. Keep it apart from the store.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        self.0.expose()
    }
}

/// Why bytes are not a valid keyfile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyfileError {
    /// Another kind of file.
    #[error("this is not a keyfile")]
    NotAKeyfile,
    /// A keyfile of a version that this build does not know.
    #[error("a keyfile of version {0} is unknown to this build")]
    UnknownVersion(u16),
    /// A keyfile that was truncated or changed.
    #[error("the keyfile is damaged; restore it from a copy")]
    Damaged,
}

fn checksum(bytes: &[u8; KEYFILE_BYTES]) -> [u8; 32] {
    prf::checksum(bytes.get(..at::CHECKSUM).unwrap_or_default())
}

/// Offsets within the file.
mod at {
    pub(super) const MAGIC: usize = 0;
    pub(super) const VERSION: usize = 8;
    pub(super) const ZERO: usize = 10;
    pub(super) const SECRET: usize = 16;
    pub(super) const CHECKSUM: usize = 48;
}

/// Not text, so that editors and version control do not change a keyfile. If one converts line ends anyway, the line feed
/// shows it.
const MAGIC: [u8; 8] = *b"\x89INMKEY\n";
const VERSION: u16 = 1;

/// More than any keyfile has: of a huge file that was named by mistake, only the beginning is read.
const MOST_BYTES: u64 = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_leaks_nowhere;

    fn file() -> Vec<u8> {
        Keyfile::new(SecretBytes::init_with(|bytes| bytes.fill(7))).to_bytes().expose().to_vec()
    }

    fn error_of(bytes: &[u8]) -> Option<KeyfileError> {
        Keyfile::parse(bytes).err()
    }

    #[test]
    fn a_keyfile_is_read_as_it_was_written() {
        assert_leaks_nowhere!(KeyfileBytes);
        assert_eq!(Keyfile::parse(&file()).unwrap().expose(), &[7; 32]);
        let fresh = Keyfile::generate().unwrap();
        assert_eq!(Keyfile::parse(fresh.to_bytes().expose()).unwrap().expose(), fresh.expose());
    }

    #[test]
    fn any_flipped_bit_and_any_other_length_is_refused() {
        let whole = file();
        for at in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            let expected = match at / 8 {
                0..8 => KeyfileError::NotAKeyfile,
                8..10 => KeyfileError::UnknownVersion(u16::from_le_bytes([bytes[8], bytes[9]])),
                _ => KeyfileError::Damaged,
            };
            assert_eq!(error_of(&bytes), Some(expected), "bit {at}");
        }
        for length in 1..whole.len() {
            assert_eq!(error_of(&whole[..length]), Some(KeyfileError::Damaged), "{length} bytes");
        }
        assert_eq!(error_of(&[&whole[..], b"\n"].concat()), Some(KeyfileError::Damaged));
    }

    #[test]
    fn a_keyfile_is_read_from_a_source_of_bounded_length() {
        assert_eq!(Keyfile::read(&*file()).unwrap().unwrap().expose(), &[7; 32]);
        let endless = Keyfile::read(io::repeat(0x89)).unwrap();
        assert_eq!(endless.err(), Some(KeyfileError::NotAKeyfile));
        let cut = Keyfile::read(&file()[..79]).unwrap();
        assert_eq!(cut.err(), Some(KeyfileError::Damaged));
    }

    #[test]
    fn another_file_is_not_a_keyfile() {
        for other in [&b""[..], b"passphrase\n", b"\x89INMOST\n", &[0; 80]] {
            assert_eq!(error_of(other), Some(KeyfileError::NotAKeyfile));
        }
    }
}
