//! The recovery key on paper: thirteen groups of five characters.
//!
//! ```text
//! W3GYK-5RZ4D-WQKEY-FT793-...
//! ```
//!
//! The characters are those of Crockford's base 32: digits and capital letters without I, L, O and U, so that no two
//! of them look alike. The 256 bits and four zero bits after them make 52 characters, the first bit first. Each
//! group has four of them and a check character. For the characters a, b, c, d, e of a group, with the groups numbered
//! from 0 to 12,
//!
//! ```text
//! e = 2·(a + 2·(b + 2·(c + 2·d))) + number of the group
//! ```
//!
//! in GF(32) modulo x⁵ + x² + 1: `+` is exclusive or, and `2·` a shift to the left, followed by an exclusive or with
//! 37 if the result is 32 or more. The five weights differ. So every single wrong character, every swap of two
//! characters within a group and every swap of two groups is detected in its group; other mistakes are detected with
//! a probability of 31 in 32. The check characters depend only on the key, so they do not hinder an attacker who tries the 2²⁵⁶
//! keys.

use crate::crypto::keys::RecoveryKey;
use crate::secret::{DEEP, SecretBytes, SecretVec, on_wiped_stack};

impl RecoveryKey {
    /// The key in a text that was typed from paper, in upper or lower case, with blanks and dashes anywhere. O is
    /// read as 0, I and L as 1. The caller keeps the text and wipes it. Does no I/O.
    ///
    /// # Errors
    /// [`RecoveryKeyError`], which names the group to check and quotes no character.
    ///
    /// ```
    /// # use inmost_format::crypto::keys::RecoveryKey;
    /// # use inmost_format::crypto::rng::RandomnessFailed;
    /// # use inmost_format::header::RecoveryKeyError;
    /// let text = RecoveryKey::generate()?.to_text();
    /// let mut typed = text.expose().to_lowercase().replace('-', " ");
    /// assert!(RecoveryKey::parse(&typed).is_ok());
    /// typed.replace_range(6..7, "!");
    /// assert_eq!(RecoveryKey::parse(&typed).err(), Some(RecoveryKeyError::NotACharacter { group: 2 }));
    /// # Ok::<(), RandomnessFailed>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, RecoveryKeyError> {
        // More than enough for a blank after each character; a longer text is not processed.
        if text.len() > 8 * TEXT_BYTES {
            return Err(RecoveryKeyError::WrongLength);
        }
        on_wiped_stack::<DEEP, _>(|| {
            let symbols = parse_symbols(text)?;
            Ok(Self::new(SecretBytes::init_with(|key| unpack(symbols.expose(), key))))
        })
    }

    /// The key in the form that [`parse`](Self::parse) reads: groups of five characters, joined by dashes.
    ///
    /// # Security
    /// Anyone who sees the text can open the store from then on. Print it once, on paper. Never show it on a shared
    /// screen, and never write it to a log or to a file beside the store.
    #[must_use]
    pub fn to_text(&self) -> RecoveryKeyText {
        on_wiped_stack::<DEEP, _>(|| {
            let mut text = SecretVec::with_capacity(TEXT_BYTES);
            for number in 0..GROUPS {
                let data: [u8; DATA] =
                    std::array::from_fn(|at| data_symbol(self, number * DATA + at));
                let symbols = data.into_iter().chain([check_symbol(number, &data)]);
                let dash = (number > 0).then_some(b'-');
                for byte in dash.into_iter().chain(symbols.filter_map(character)) {
                    // The capacity is exactly the length of the text.
                    let _ = text.append(&[byte]);
                }
            }
            RecoveryKeyText(text)
        })
    }
}

/// A recovery key as text, wiped on drop.
pub struct RecoveryKeyText(SecretVec);

impl RecoveryKeyText {
    /// The text: 77 ASCII characters, no line feed.
    #[must_use]
    pub fn expose(&self) -> &str {
        std::str::from_utf8(self.0.expose()).unwrap_or_default()
    }
}

/// Why a text is not a valid recovery key. Groups count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoveryKeyError {
    /// A character that recovery keys do not use.
    #[error("group {group} of the recovery key has a character that recovery keys do not use")]
    NotACharacter {
        /// The number of the group.
        group: u8,
    },
    /// A group with too few or too many characters.
    #[error("group {group} of the recovery key does not have five characters")]
    GroupLength {
        /// The number of the group.
        group: u8,
    },
    /// A group whose check character does not match the others.
    #[error("group {group} of the recovery key has a typo")]
    Typo {
        /// The number of the group.
        group: u8,
    },
    /// Too few or too many groups.
    #[error("a recovery key has 13 groups of five characters")]
    WrongLength,
}

/// The symbols of a typed text, if all groups are valid.
fn parse_symbols(text: &str) -> Result<SecretBytes<SYMBOLS>, RecoveryKeyError> {
    let mut count = 0;
    // The first piece between blanks and dashes that is not a whole number of groups. It matters only if characters are
    // missing or too many, because blanks and dashes may stand anywhere.
    let mut broken = None;
    let mut piece = 0;
    let symbols = SecretBytes::try_init_with(|symbols: &mut [u8; SYMBOLS]| {
        for typed in text.chars() {
            if is_separator(typed) {
                if count % GROUP != 0 {
                    broken = broken.or(Some(group_at(piece)));
                }
                piece = count;
                continue;
            }
            let symbol = symbol(typed).ok_or_else(|| match broken {
                Some(group) => RecoveryKeyError::GroupLength { group },
                None => RecoveryKeyError::NotACharacter { group: group_at(count) },
            })?;
            if let Some(place) = symbols.get_mut(count) {
                *place = symbol;
            }
            count += 1;
        }
        Ok(())
    })?;
    if let (Some(group), true) = (broken, count != SYMBOLS) {
        return Err(RecoveryKeyError::GroupLength { group });
    }
    for (number, group) in symbols.expose().chunks(GROUP).enumerate() {
        if number * GROUP >= count {
            break;
        }
        let [data @ .., check] = group else { break };
        let ends = number + 1 == GROUPS && data.last().is_some_and(|last| last & 0b1111 != 0);
        if check_symbol(number, data) != *check || ends {
            return Err(RecoveryKeyError::Typo { group: group_at(number * GROUP) });
        }
    }
    if count == SYMBOLS { Ok(symbols) } else { Err(RecoveryKeyError::WrongLength) }
}

/// The number of the group that contains the symbol at `at`, counted from 1.
fn group_at(at: usize) -> u8 {
    u8::try_from(at / GROUP + 1).unwrap_or(u8::MAX)
}

/// Blanks, and the dashes that people type or that programs substitute.
fn is_separator(char: char) -> bool {
    char.is_whitespace() || matches!(char, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

fn symbol(char: char) -> Option<u8> {
    let upper = match char.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        upper => upper,
    };
    let at = ALPHABET.iter().position(|symbol| char::from(*symbol) == upper)?;
    u8::try_from(at).ok()
}

fn character(symbol: u8) -> Option<u8> {
    ALPHABET.get(usize::from(symbol)).copied()
}

/// The data symbol of this number: five bits of the key, zeros after its end.
fn data_symbol(key: &RecoveryKey, number: usize) -> u8 {
    let bit = |at: usize| key.expose().get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    (0..5).fold(0, |symbol, at| symbol << 1 | bit(5 * number + at))
}

/// The inverse of [`data_symbol`], from groups with their check symbols.
fn unpack(symbols: &[u8; SYMBOLS], key: &mut [u8; 32]) {
    for at in 0..256 {
        let (number, shift) = (at / 5, 4 - at % 5);
        let symbol = symbols.get(number / DATA * GROUP + number % DATA);
        if let (Some(symbol), Some(byte)) = (symbol, key.get_mut(at / 8)) {
            *byte |= (symbol >> shift & 1) << (7 - at % 8);
        }
    }
}

/// The check symbol of the group of this number, counted from 0.
fn check_symbol(number: usize, data: &[u8]) -> u8 {
    let number = u8::try_from(number).unwrap_or_default();
    data.iter().rev().fold(0, |check, symbol| doubled(check ^ symbol)) ^ number
}

/// Times 2 in GF(32) modulo x⁵ + x² + 1.
fn doubled(symbol: u8) -> u8 {
    let shifted = symbol << 1;
    if shifted < 32 { shifted } else { shifted ^ 0b10_0101 }
}

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const GROUPS: usize = 13;
/// Symbols of a group that carry the key.
const DATA: usize = 4;
const GROUP: usize = DATA + 1;
const SYMBOLS: usize = GROUPS * GROUP;
const TEXT_BYTES: usize = SYMBOLS + GROUPS - 1;

#[cfg(test)]
mod tests;
