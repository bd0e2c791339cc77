//! The encoding of record bodies. No other module encodes or decodes them.
//!
//! bincode 2 in its standard configuration: little-endian, variable-length integers. It runs only on
//! bytes that have authenticated, never reads past its limit and refuses trailing bytes. docs/FORMAT.md
//! gives the bytes themselves, so that the codec can be replaced without changing them.

use bincode::config::{self, Configuration, LittleEndian, Varint};
use bincode::enc::write::{SizeWriter, SliceWriter};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A body did not encode or decode.
#[derive(Debug, PartialEq, Eq)]
pub struct CodecError;

/// Bytes that `value` takes.
pub fn encoded_len<T: Serialize>(value: &T) -> Result<usize, CodecError> {
    let mut size = SizeWriter::default();
    bincode::serde::encode_into_writer(value, &mut size, CONFIG).map_err(|_| CodecError)?;
    Ok(size.bytes_written)
}

/// Encodes into the beginning of a buffer, which does not grow and leave copies behind. Returns the encoded length, or an
/// error if the buffer is too short; a part of it is written then.
pub fn encode<T: Serialize>(value: &T, buffer: &mut [u8]) -> Result<usize, CodecError> {
    let mut writer = SliceWriter::new(buffer);
    bincode::serde::encode_into_writer(value, &mut writer, CONFIG).map_err(|_| CodecError)?;
    Ok(writer.bytes_written())
}

/// Decodes a body that has authenticated.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    let (value, used) = bincode::serde::decode_from_slice(bytes, CONFIG).map_err(|_| CodecError)?;
    if used == bytes.len() { Ok(value) } else { Err(CodecError) }
}

/// A `u64` that always takes eight bytes, so that a counter that grows never changes a record's length.
pub mod fixed {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    /// As eight bytes.
    pub fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        value.to_le_bytes().serialize(serializer)
    }

    /// From eight bytes.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        Ok(u64::from_le_bytes(<[u8; 8]>::deserialize(deserializer)?))
    }
}

/// No decoder asks for more memory than this. bincode counts eight bytes for a number that takes one, so it is eight times the
/// largest record.
const LIMIT: usize = 8 * 4_096;
const CONFIG: Configuration<LittleEndian, Varint, config::Limit<LIMIT>> =
    config::standard().with_limit::<LIMIT>();

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<T: Serialize>(value: &T) -> Vec<u8> {
        let mut buffer = vec![0; encoded_len(value).unwrap()];
        assert_eq!(encode(value, &mut buffer), Ok(buffer.len()));
        buffer
    }

    #[test]
    fn integers_take_the_documented_bytes() {
        assert_eq!(bytes(&250_u64), [250]);
        assert_eq!(bytes(&251_u64), [251, 251, 0]);
        assert_eq!(bytes(&65_536_u64), [252, 0, 0, 1, 0]);
        assert_eq!(bytes(&u64::MAX), [253, 255, 255, 255, 255, 255, 255, 255, 255]);
    }

    #[test]
    fn trailing_bytes_are_refused() {
        assert_eq!(decode::<u64>(&[1, 0]), Err(CodecError));
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_it_is_allocated() {
        assert_eq!(
            decode::<String>(&[253, 255, 255, 255, 255, 255, 255, 255, 127]),
            Err(CodecError)
        );
        assert_eq!(decode::<Vec<u64>>(&[252, 0, 0, 0, 127]), Err(CodecError));
    }

    #[test]
    fn a_body_full_of_small_numbers_is_decoded() {
        let numbers = vec![1_u64; 4_060];
        assert_eq!(decode(&bytes(&numbers)), Ok(numbers));
    }

    #[test]
    fn a_buffer_may_be_longer_and_not_shorter() {
        let mut buffer = [7; 4];
        assert_eq!(encode(&[1_u8, 2], &mut buffer), Ok(2));
        assert_eq!(buffer, [1, 2, 7, 7]);
        assert_eq!(encode(&[1_u8, 2], &mut [0; 1]), Err(CodecError));
    }
}
