//! The encoding of record bodies. No other module decides how a number or a text is encoded, or decodes one.
//!
//! bincode 2 in its standard configuration: little-endian, variable-length integers. It runs only on
//! bytes that have authenticated, never reads past its limit and refuses trailing bytes. docs/FORMAT.md
//! gives the bytes themselves, so that the codec can be replaced without changing them.

use bincode::config::{self, Configuration, LittleEndian, Varint};
use bincode::enc::write::{SizeWriter, SliceWriter};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use bincode::enc::write::Writer as Sink;

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

/// A shape that writes its bytes itself: folders, because a change encodes every folder above a file anew, and serde writes ids
/// byte by byte. The bytes of a folder are those of its `Serialize`, which tests compare.
pub trait DirectEncode {
    /// Writes the bytes.
    fn write(&self, output: &mut Output<impl Sink>) -> Result<(), CodecError>;
}

/// As [`encoded_len`].
pub fn direct_len(value: &impl DirectEncode) -> Result<usize, CodecError> {
    let mut output = Output(SizeWriter::default());
    value.write(&mut output)?;
    Ok(output.0.bytes_written)
}

/// As [`encode`].
pub fn encode_direct(value: &impl DirectEncode, buffer: &mut [u8]) -> Result<usize, CodecError> {
    let mut output = Output(SliceWriter::new(buffer));
    value.write(&mut output)?;
    Ok(output.0.bytes_written())
}

/// Where the bytes of a [`DirectEncode`] shape go.
pub struct Output<W>(W);

impl<W: Sink> Output<W> {
    /// Writes these bytes, without their number.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), CodecError> {
        self.0.write(bytes).map_err(|_| CodecError)
    }

    /// Writes a value that does not write its bytes itself.
    pub fn value(&mut self, value: &impl Serialize) -> Result<(), CodecError> {
        bincode::serde::encode_into_writer(value, &mut self.0, CONFIG).map_err(|_| CodecError)
    }

    /// Writes a number or the index of a variant, in as many bytes as it needs.
    pub fn number(&mut self, number: u64) -> Result<(), CodecError> {
        match u8::try_from(number) {
            Ok(byte @ ..=250) => self.bytes(&[byte]),
            _ => bincode::encode_into_writer(number, &mut self.0, CONFIG).map_err(|_| CodecError),
        }
    }

    /// Writes the number of something that follows.
    pub fn count(&mut self, count: usize) -> Result<(), CodecError> {
        self.number(u64::try_from(count).map_err(|_| CodecError)?)
    }

    /// Writes a text.
    pub fn text(&mut self, text: &str) -> Result<(), CodecError> {
        self.count(text.len())?;
        self.bytes(text.as_bytes())
    }
}

/// Decodes a body that has authenticated.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    let (value, used) = bincode::serde::decode_from_slice(bytes, CONFIG).map_err(|_| CodecError)?;
    if used == bytes.len() { Ok(value) } else { Err(CodecError) }
}

/// As [`decode`], for what is not a record and may be larger: objects of synchronisation, up to 1 GiB.
pub fn decode_long<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    let config = config::standard().with_limit::<{ 1 << 30 }>();
    let (value, used) = bincode::serde::decode_from_slice(bytes, config).map_err(|_| CodecError)?;
    if used == bytes.len() { Ok(value) } else { Err(CodecError) }
}

/// As [`decode`], without a limit: only for what this device has encoded and sealed itself, which must be readable at any length.
pub fn decode_own<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    let (value, used) =
        bincode::serde::decode_from_slice(bytes, config::standard()).map_err(|_| CodecError)?;
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

    /// Counts numbers without keeping them.
    struct Count(usize);

    impl<'de> serde::Deserialize<'de> for Count {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Count;

                fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                    formatter.write_str("numbers")
                }

                fn visit_seq<A: serde::de::SeqAccess<'de>>(
                    self,
                    mut numbers: A,
                ) -> Result<Count, A::Error> {
                    let mut count = 0;
                    while numbers.next_element::<u128>()?.is_some() {
                        count += 1;
                    }
                    Ok(Count(count))
                }
            }
            deserializer.deserialize_seq(Visitor)
        }
    }

    #[test]
    fn what_a_device_has_sealed_itself_is_decoded_at_any_length() {
        let count = (1 << 26) + 1_u32;
        let mut encoded = bytes(&count);
        encoded.resize(encoded.len() + usize::try_from(count).unwrap(), 0);
        assert!(decode_long::<Count>(&encoded).is_err());
        assert_eq!(decode_own::<Count>(&encoded).unwrap().0, (1 << 26) + 1);
    }

    #[test]
    fn a_buffer_may_be_longer_and_not_shorter() {
        let mut buffer = [7; 4];
        assert_eq!(encode(&[1_u8, 2], &mut buffer), Ok(2));
        assert_eq!(buffer, [1, 2, 7, 7]);
        assert_eq!(encode(&[1_u8, 2], &mut [0; 1]), Err(CodecError));
    }
}
