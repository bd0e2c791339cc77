//! Labels of keyslots, chosen by the owner and stored sealed in the slot.
//!
//! The plaintext is the time of enrolment in milliseconds since 1970 (8 bytes, little-endian), the
//! label's length (1) and the label, padded with zeros (63): every sealed label has the same length.

use super::credential::SlotKind;
use super::error::HeaderError;
use super::layout::{field, put};
use crate::crypto::aead::{Nonce, Tag};
use crate::crypto::master_key::LabelKey;
use crate::crypto::registry::LabelAad;
use crate::secret::Wiped;

/// The label of a keyslot, chosen by the owner: at most 63 bytes of text in one line, stored sealed.
pub struct SlotLabel(Wiped<String>);

#[cfg(feature = "serde")]
impl serde::Serialize for SlotLabel {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for SlotLabel {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl SlotLabel {
    /// A label.
    ///
    /// # Errors
    /// [`LabelError`].
    pub fn parse(text: &str) -> Result<Self, LabelError> {
        if text.len() > LABEL_BYTES {
            return Err(LabelError::TooLong);
        }
        // Labels are printed on terminals, which execute control characters.
        if text.chars().any(char::is_control) {
            return Err(LabelError::ControlCharacter);
        }
        Ok(Self(Wiped::new(text.to_owned())))
    }

    /// The default label of a slot of this kind.
    pub fn of_kind(kind: SlotKind) -> Self {
        Self(Wiped::new(kind.to_string()))
    }

    /// The label as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is not a valid label.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// More than 63 bytes.
    #[error("a label has at most 63 bytes")]
    TooLong,
    /// A line break, a tab or another control character.
    #[error("a label has no control characters")]
    ControlCharacter,
}

/// A sealed label with the time of enrolment.
#[derive(Clone)]
pub(super) struct SealedLabel {
    nonce: Nonce,
    ciphertext: [u8; LABEL_PLAINTEXT],
    tag: Tag,
}

impl SealedLabel {
    /// Seals a label and the time of enrolment.
    pub(super) fn seal(
        aad: &LabelAad,
        label: &SlotLabel,
        created_ms: u64,
        key: &LabelKey,
    ) -> Result<Self, HeaderError> {
        let text = label.as_str().as_bytes();
        let mut plaintext = Wiped::new([0; LABEL_PLAINTEXT]);
        let length = u8::try_from(text.len()).map_err(|_| HeaderError::Tampered(LABEL))?;
        let parts = created_ms.to_le_bytes().into_iter().chain([length]);
        let parts = parts.chain(text.iter().copied());
        plaintext.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
        let (nonce, tag) = key.seal(aad, plaintext.as_mut_slice())?;
        Ok(Self { nonce, ciphertext: *plaintext, tag })
    }

    /// The label and its time. A plaintext that [`seal`](Self::seal) never produces is refused even if it
    /// authenticates.
    pub(super) fn open(
        &self,
        aad: &LabelAad,
        key: &LabelKey,
    ) -> Result<(SlotLabel, u64), HeaderError> {
        let tampered = HeaderError::Tampered(LABEL);
        let mut plaintext = Wiped::new(self.ciphertext);
        key.open(&self.nonce, aad, plaintext.as_mut_slice(), &self.tag).map_err(|_| tampered)?;
        let created_ms = u64::from_le_bytes(field::<0, _, _>(&plaintext));
        let [length] = field::<8, _, _>(&plaintext);
        let text = plaintext.get(9..).unwrap_or_default();
        let (text, padding) = text.split_at_checked(usize::from(length)).ok_or(tampered)?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(tampered);
        }
        let text = std::str::from_utf8(text).map_err(|_| tampered)?;
        Ok((SlotLabel::parse(text).map_err(|_| tampered)?, created_ms))
    }

    /// Nonce, ciphertext, tag.
    pub(super) fn encode(&self) -> [u8; SEALED_LABEL_BYTES] {
        let mut bytes = [0; SEALED_LABEL_BYTES];
        put::<0, _, _>(&mut bytes, &self.nonce.0);
        put::<24, _, _>(&mut bytes, &self.ciphertext);
        put::<96, _, _>(&mut bytes, &self.tag.0);
        bytes
    }

    /// The inverse of [`encode`](Self::encode).
    pub(super) fn decode(bytes: &[u8; SEALED_LABEL_BYTES]) -> Self {
        Self {
            nonce: Nonce(field::<0, _, _>(bytes)),
            ciphertext: field::<24, _, _>(bytes),
            tag: Tag(field::<96, _, _>(bytes)),
        }
    }
}

const LABEL_BYTES: usize = 63;
const LABEL_PLAINTEXT: usize = 8 + 1 + LABEL_BYTES;
const SEALED_LABEL_BYTES: usize = 24 + LABEL_PLAINTEXT + 16;
const LABEL: &str = "a keyslot's label";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::ids::Salt;
    use crate::crypto::ids::StoreId;
    use crate::crypto::keys::MasterKey;

    #[test]
    fn a_label_is_one_line_of_63_bytes_at_most() {
        let error_of = |text: &str| SlotLabel::parse(text).err();
        assert_eq!(SlotLabel::parse("mein Büro").unwrap().as_str(), "mein Büro");
        assert_eq!(error_of(""), None);
        assert_eq!(error_of(&"x".repeat(63)), None);
        assert_eq!(error_of(&"x".repeat(64)), Some(LabelError::TooLong));
        assert_eq!(error_of(&"ü".repeat(32)), Some(LabelError::TooLong), "bytes count");
        for text in ["two\nlines", "a\ttab", "\u{1b}[31mred", "\0", "\u{85}", "\u{7f}"] {
            assert_eq!(error_of(text), Some(LabelError::ControlCharacter), "{text:?}");
        }
    }

    /// A holder of the keys can seal anything, but a label with control characters is still refused.
    #[test]
    fn an_authentic_plaintext_that_is_not_a_label_is_refused() {
        let store = StoreId([7; 16]);
        let key = MasterKey::generate().unwrap().label_key(&store);
        let aad = LabelAad { store, number: 0, kind: 4, salt: Salt([1; 16]) };
        let open = |length: u8, text: &[u8]| {
            let mut plaintext = [0; LABEL_PLAINTEXT];
            let parts = [5, 0, 0, 0, 0, 0, 0, 0, length].into_iter().chain(text.iter().copied());
            plaintext.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
            let (nonce, tag) = key.seal(&aad, &mut plaintext).unwrap();
            let sealed = SealedLabel { nonce, ciphertext: plaintext, tag };
            let (label, created_ms) = sealed.open(&aad, &key).ok()?;
            Some((label.as_str().to_owned(), created_ms))
        };
        assert_eq!(open(6, b"laptop"), Some(("laptop".to_owned(), 5)));
        assert_eq!(open(5, b"laptop"), None, "text behind the label");
        assert_eq!(open(64, b"laptop"), None, "longer than the plaintext");
        assert_eq!(open(2, b"\xff\xfe"), None, "not text");
        assert_eq!(open(6, b"lap\x1bop"), None, "a control character");
    }
}
