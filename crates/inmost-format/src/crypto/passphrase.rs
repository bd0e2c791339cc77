//! The passphrase: Unicode text in one canonical form, wiped on drop.

use crate::secret::Wiped;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::limits::{PASSPHRASE_BYTES, PASSPHRASE_RAW_BYTES};
use crate::secret::{SecretVec, wipe};

/// Text that a person types to unlock a store.
///
/// Normalised to Unicode NFC, so that the same text typed on another keyboard or system is the same
/// passphrase. Between 1 and 1,024 bytes of UTF-8 after that; never truncated, never trimmed.
///
/// # Security
/// The text is held once, in memory of a fixed size, and wiped on drop; a `String` or `Vec` that is
/// passed in is wiped too. Text that is not yet in NFC passes through a normaliser, whose few
/// characters of state are not wiped. A `&str` stays with the caller, who must wipe it.
///
/// ```
/// # use inmost_format::crypto::passphrase::{Passphrase, PassphraseError};
/// let typed = String::from("correct horse battery staple");
/// let passphrase = Passphrase::from_string(typed)?;
/// # Ok::<(), PassphraseError>(())
/// ```
pub struct Passphrase(SecretVec);

impl Passphrase {
    /// A passphrase from borrowed text.
    ///
    /// # Errors
    /// [`PassphraseError::Empty`] and [`PassphraseError::TooLong`].
    pub fn new(text: &str) -> Result<Self, PassphraseError> {
        // Bounds the work of normalising; the constant says why no valid passphrase is refused.
        if text.len() > PASSPHRASE_RAW_BYTES {
            return Err(PassphraseError::TooLong);
        }
        let normal = normalised(text)?;
        if normal.expose().is_empty() {
            return Err(PassphraseError::Empty);
        }
        Ok(Self(normal))
    }

    /// A passphrase from owned text. The text is wiped, even if it is refused.
    ///
    /// # Errors
    /// [`PassphraseError::Empty`] and [`PassphraseError::TooLong`].
    pub fn from_string(text: String) -> Result<Self, PassphraseError> {
        Self::new(&Wiped::new(text))
    }

    /// A passphrase from owned bytes, such as the content of a file or a pipe. They are wiped.
    ///
    /// # Errors
    /// [`PassphraseError::NotUtf8`] besides those of [`new`](Self::new).
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, PassphraseError> {
        let bytes = Wiped::new(bytes);
        Self::new(std::str::from_utf8(&bytes).map_err(|_| PassphraseError::NotUtf8)?)
    }

    /// Whether this process may use it: a forked child must not use a secret of its parent.
    #[must_use]
    pub fn is_of_this_process(&self) -> bool {
        self.0.is_of_this_process()
    }

    /// Whether it is one line without a NUL, so that a person can type it at a prompt. A new one has to be.
    #[must_use]
    pub fn is_one_line(&self) -> bool {
        let text = self.0.expose();
        let has = |part: &[u8]| text.windows(part.len()).any(|found| found == part);
        !BREAKS.iter().any(|part| has(part.as_bytes()))
    }

    /// The normalised text as UTF-8.
    pub fn expose(&self) -> &[u8] {
        self.0.expose()
    }
}

/// Why a text is not a valid passphrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PassphraseError {
    /// The text is empty.
    #[error("a passphrase has at least one character")]
    Empty,
    /// More than 1,024 bytes.
    #[error("a passphrase has at most 1,024 bytes")]
    TooLong,
    /// Bytes that are not UTF-8.
    #[error("a passphrase is UTF-8 text")]
    NotUtf8,
}

/// Always of the same capacity, so the text is never moved and the allocation does not reveal its length.
fn normalised(text: &str) -> Result<SecretVec, PassphraseError> {
    let mut normal = SecretVec::with_capacity(PASSPHRASE_BYTES);
    if is_nfc_quick(text.chars()) == IsNormalized::Yes {
        normal.append(text.as_bytes()).map_err(|_| PassphraseError::TooLong)?;
        return Ok(normal);
    }
    let mut encoded = [0; 4];
    let outcome =
        text.nfc().try_for_each(|char| normal.append(char.encode_utf8(&mut encoded).as_bytes()));
    wipe(&mut encoded);
    outcome.map_err(|_| PassphraseError::TooLong)?;
    Ok(normal)
}

/// What ends a line at some prompt, or a text in C.
const BREAKS: [&str; 6] = ["\n", "\r", "\0", "\u{85}", "\u{2028}", "\u{2029}"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_leaks_nowhere;

    #[test]
    fn what_could_not_be_typed_at_a_prompt_is_not_one_line() {
        assert!(Passphrase::new("two words \u{e9}").unwrap().is_one_line());
        for text in ["a\n", "a\nb", "a\r\nb", "\0a", "a\u{85}b", "a\u{2028}b", "\u{2029}"] {
            assert!(!Passphrase::new(text).unwrap().is_one_line(), "{text:?}");
        }
    }

    fn bytes_of(text: &str) -> Vec<u8> {
        Passphrase::new(text).unwrap().expose().to_vec()
    }

    fn error_of(text: &str) -> Option<PassphraseError> {
        Passphrase::new(text).err()
    }

    #[test]
    fn a_passphrase_has_no_trait_that_leaks() {
        assert_leaks_nowhere!(Passphrase);
    }

    #[test]
    fn composed_and_decomposed_text_are_one_passphrase() {
        assert_eq!(bytes_of("caf\u{e9} \u{212b}"), bytes_of("cafe\u{301} A\u{30a}"));
        assert_eq!(bytes_of("\u{1112}\u{1161}\u{11ab}"), "\u{d55c}".as_bytes());
    }

    #[test]
    fn nothing_is_trimmed_or_folded() {
        assert_eq!(bytes_of(" Pass\n"), b" Pass\n");
        // NFKC would make these plain letters.
        assert_eq!(bytes_of("\u{fb01}\u{ff21}"), "\u{fb01}\u{ff21}".as_bytes());
    }

    #[test]
    fn the_length_counts_after_normalising() {
        assert_eq!(error_of(""), Some(PassphraseError::Empty));
        assert_eq!(error_of(&"a".repeat(1_024)), None);
        assert_eq!(error_of(&"a".repeat(1_025)), Some(PassphraseError::TooLong));
        // Two bytes each instead of three, so 512 of them fit.
        assert_eq!(error_of(&"e\u{301}".repeat(512)), None);
        assert_eq!(error_of(&"e\u{301}".repeat(513)), Some(PassphraseError::TooLong));
        // Composition exclusions grow threefold: four bytes become twelve.
        assert_eq!(error_of(&"\u{1d160}".repeat(85)), None);
        assert_eq!(error_of(&"\u{1d160}".repeat(86)), Some(PassphraseError::TooLong));
    }

    #[test]
    fn the_raw_bound_refuses_no_valid_passphrase() {
        // The worst shrinkage known: seven bytes that compose to two.
        let text = "\u{1fbe}\u{308}\u{301}".repeat(512);
        assert!(text.len() > 3 * 1_024);
        assert_eq!(bytes_of(&text).len(), 1_024);
    }

    #[test]
    fn bytes_must_be_text() {
        assert_eq!(Passphrase::from_bytes(vec![0xff]).err(), Some(PassphraseError::NotUtf8));
        assert!(Passphrase::from_bytes(b"word".to_vec()).is_ok());
        assert!(Passphrase::from_string("word".into()).is_ok());
    }
}
