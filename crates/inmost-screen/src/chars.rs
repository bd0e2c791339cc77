//! Characters of secrets, and the borders of words. Everything here is ASCII: bytes of other characters are no part of
//! a secret.

/// The characters that a part of a token may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Alphabet {
    /// `0-9`
    Digits,
    /// `0-9 a-f A-F`
    Hex,
    /// `A-Z 0-9`
    Upper,
    /// `a-z 0-9`
    Lower,
    /// `A-Z a-z 0-9`
    Alnum,
    /// `A-Z a-z 0-9 -`
    Dashed,
    /// `A-Z a-z 0-9 _ -`, of base64url
    Url64,
    /// `A-Z a-z 0-9 + /`
    Base64,
    /// `A-Z a-z 0-9 _ - . ~ + / =`, the characters of a bearer token
    Bearer,
}

impl Alphabet {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Digits => byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Lower => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Dashed => byte.is_ascii_alphanumeric() || byte == b'-',
            Self::Url64 => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'),
            Self::Bearer => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'-' | b'.' | b'~' | b'+' | b'/' | b'=')
            }
        }
    }

    /// The number of its characters from `at` on; counts to `most` at most.
    pub(super) fn run(self, text: &[u8], at: usize, most: usize) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        rest.iter().take(most).take_while(|byte| self.has(**byte)).count()
    }
}

/// Whether a word may begin at `at`: no letter or digit is before it, except in an escape such as `\n` or `%3D`.
pub(super) fn is_word_start(text: &[u8], at: usize) -> bool {
    let before = |count: usize| at.checked_sub(count).and_then(|at| text.get(at)).copied();
    match before(1) {
        Some(byte) if byte.is_ascii_alphanumeric() => {
            let is_escape = matches!(byte, b'n' | b'r' | b't') && before(2) == Some(b'\\');
            let is_hex =
                byte.is_ascii_hexdigit() && before(2).is_some_and(|it| it.is_ascii_hexdigit());
            is_escape || (is_hex && before(3) == Some(b'%'))
        }
        _ => true,
    }
}

/// Whether a word may end before `at`.
pub(super) fn is_word_end(text: &[u8], at: usize) -> bool {
    !text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// The characters that occur in a text.
pub(super) struct Occurring([bool; 256]);

impl Occurring {
    pub(super) fn new() -> Self {
        Self([false; 256])
    }

    /// Adds the characters of a text.
    pub(super) fn add(&mut self, text: &[u8]) {
        for byte in text {
            if let Some(occurs) = self.0.get_mut(usize::from(*byte)) {
                *occurs = true;
            }
        }
    }

    /// Whether they are too few for a secret, as in a placeholder such as `xxxxxxxx`.
    pub(super) fn are_few(&self) -> bool {
        self.0.iter().filter(|occurs| **occurs).count() < DISTINCT
    }
}

/// The distinct characters of a secret at least. Of 16 random characters from 32, fewer than 8 differ about once in
/// 100,000 times.
const DISTINCT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_starts_after_anything_but_a_letter_or_digit() {
        for (text, at, expected) in [
            ("key", 0, true),
            (" key", 1, true),
            ("_key", 1, true),
            ("\u{e9}key", 2, true),
            ("xkey", 1, false),
            ("nkey", 1, false),
            ("7key", 1, false),
            ("\\nkey", 2, true),
            ("\\xkey", 2, false),
            ("a%3Dkey", 4, true),
            ("a3Dkey", 3, false),
        ] {
            assert_eq!(is_word_start(text.as_bytes(), at), expected, "{text:?}");
        }
    }

    #[test]
    fn a_run_is_counted_to_its_end_or_to_the_bound() {
        assert_eq!(Alphabet::Digits.run(b"a123b", 1, 9), 3);
        assert_eq!(Alphabet::Digits.run(b"a123b", 1, 2), 2);
        assert_eq!(Alphabet::Digits.run(b"a123", 9, 2), 0);
    }

    #[test]
    fn a_placeholder_has_few_characters() {
        let are_few = |text: &[u8]| {
            let mut occurring = Occurring::new();
            occurring.add(text);
            occurring.are_few()
        };
        assert!(are_few(b"xxxxxxxxxxxxxxxxxxxx"));
        assert!(are_few(b"12341234123412341234"));
        assert!(!are_few(b"wJalrXUtnFEMI"));
    }
}
