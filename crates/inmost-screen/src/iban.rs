//! Finds international bank account numbers: the length and structure of a country (ISO 13616, SWIFT's registry), and
//! check digits (ISO 7064, mod 97-10).
//!
//! The crate `iban_validate` (5.0) checks a whole number. It does not tell how long the numbers of a country are, which a
//! search in running text must know, and it copies the number into memory that is not wiped.

use std::iter;
use std::ops::Range;

use inmost::ScreenFind;
use zeroize::Zeroizing;

use super::SecretScreen;
use super::chars::{is_word_end, is_word_start};

/// Adds the account numbers.
pub(super) fn find(text: &str, finds: &mut Vec<ScreenFind>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let range = is_word_start(bytes, at).then(|| iban_at(bytes, at)).flatten();
        match range {
            Some(range) => {
                at = range.end;
                finds.push(ScreenFind::new(range, SecretScreen::IBAN));
            }
            None => at = at.saturating_add(1),
        }
    }
}

/// The account number that begins at a place, without separators or in groups of four.
fn iban_at(text: &[u8], start: usize) -> Option<Range<usize>> {
    let [first, second, check @ ..] = text.get(start..)? else { return None };
    let structure = structure([first.to_ascii_uppercase(), second.to_ascii_uppercase()])?;
    // Lower case is for whole numbers only: "be16" begins many a hash.
    let is_upper = first.is_ascii_uppercase();
    if is_upper != second.is_ascii_uppercase() || !check.iter().take(2).all(u8::is_ascii_digit) {
        return None;
    }
    let length = 4 + structure.iter().map(|(count, _)| *count).sum::<usize>();
    let separator = text.get(start.saturating_add(4)).copied();
    let separator = separator.filter(|byte| matches!(byte, b' ' | b'-'));

    let mut number = Zeroizing::new([0; MOST]);
    let mut at = start;
    for (index, place) in number.iter_mut().take(length).enumerate() {
        if index > 0 && index % 4 == 0 && separator.is_some() {
            if text.get(at) != separator.as_ref() {
                return None;
            }
            at = at.saturating_add(1);
        }
        let byte = text.get(at)?;
        if byte.is_ascii_alphabetic() && byte.is_ascii_uppercase() != is_upper {
            return None;
        }
        *place = byte.to_ascii_uppercase();
        at = at.saturating_add(1);
    }
    let (prefix, account) = number.get(..length)?.split_at_checked(4)?;
    let is_iban =
        fits(account, structure) && is_word_end(text, at) && remainder(account, prefix) == 1;
    is_iban.then_some(start..at)
}

/// Whether an account number has the structure of its country.
fn fits(account: &[u8], structure: Structure) -> bool {
    let classes = structure.iter().flat_map(|(count, class)| iter::repeat_n(class, *count));
    account.iter().zip(classes).all(|(byte, class)| match class {
        Class::Digit => byte.is_ascii_digit(),
        Class::Letter => byte.is_ascii_uppercase(),
        Class::Either => byte.is_ascii_alphanumeric(),
    })
}

/// The remainder modulo 97 of the number that the account and then the prefix spell; letters count from 10 for A.
fn remainder(account: &[u8], prefix: &[u8]) -> u32 {
    account.iter().chain(prefix).fold(0, |remainder, byte| match byte {
        b'0'..=b'9' => (remainder * 10 + u32::from(byte - b'0')) % 97,
        _ => (remainder * 100 + u32::from(byte.saturating_sub(b'A')) + 10) % 97,
    })
}

/// The structure of a country's account numbers, after the country and the check digits.
fn structure(country: [u8; 2]) -> Option<Structure> {
    let found = COUNTRIES.binary_search_by_key(&country, |(code, _)| **code).ok()?;
    COUNTRIES.get(found).map(|(_, structure)| *structure)
}

/// How many characters of which class follow each other.
type Structure = &'static [(usize, Class)];

/// What may stand at a place of an account number.
#[derive(Clone, Copy)]
enum Class {
    Digit,
    Letter,
    Either,
}

const N: Class = Class::Digit;
const A: Class = Class::Letter;
const C: Class = Class::Either;

/// Characters of an IBAN at most.
const MOST: usize = 34;

/// By the code of the country.
const COUNTRIES: &[(&[u8; 2], Structure)] = &[
    (b"AD", &[(8, N), (12, C)]),
    (b"AE", &[(19, N)]),
    (b"AL", &[(8, N), (16, C)]),
    (b"AT", &[(16, N)]),
    (b"AZ", &[(4, A), (20, C)]),
    (b"BA", &[(16, N)]),
    (b"BE", &[(12, N)]),
    (b"BG", &[(4, A), (6, N), (8, C)]),
    (b"BH", &[(4, A), (14, C)]),
    (b"BI", &[(23, N)]),
    (b"BR", &[(23, N), (1, A), (1, C)]),
    (b"BY", &[(4, C), (4, N), (16, C)]),
    (b"CH", &[(5, N), (12, C)]),
    (b"CR", &[(18, N)]),
    (b"CY", &[(8, N), (16, C)]),
    (b"CZ", &[(20, N)]),
    (b"DE", &[(18, N)]),
    (b"DJ", &[(23, N)]),
    (b"DK", &[(14, N)]),
    (b"DO", &[(4, C), (20, N)]),
    (b"EE", &[(16, N)]),
    (b"EG", &[(25, N)]),
    (b"ES", &[(20, N)]),
    (b"FI", &[(14, N)]),
    (b"FK", &[(2, A), (12, N)]),
    (b"FO", &[(14, N)]),
    (b"FR", &[(10, N), (11, C), (2, N)]),
    (b"GB", &[(4, A), (14, N)]),
    (b"GE", &[(2, A), (16, N)]),
    (b"GI", &[(4, A), (15, C)]),
    (b"GL", &[(14, N)]),
    (b"GR", &[(7, N), (16, C)]),
    (b"GT", &[(4, C), (20, C)]),
    (b"HN", &[(4, A), (20, N)]),
    (b"HR", &[(17, N)]),
    (b"HU", &[(24, N)]),
    (b"IE", &[(4, A), (14, N)]),
    (b"IL", &[(19, N)]),
    (b"IQ", &[(4, A), (15, N)]),
    (b"IS", &[(22, N)]),
    (b"IT", &[(1, A), (10, N), (12, C)]),
    (b"JO", &[(4, A), (4, N), (18, C)]),
    (b"KW", &[(4, A), (22, C)]),
    (b"KZ", &[(3, N), (13, C)]),
    (b"LB", &[(4, N), (20, C)]),
    (b"LC", &[(4, A), (24, C)]),
    (b"LI", &[(5, N), (12, C)]),
    (b"LT", &[(16, N)]),
    (b"LU", &[(3, N), (13, C)]),
    (b"LV", &[(4, A), (13, C)]),
    (b"LY", &[(21, N)]),
    (b"MC", &[(10, N), (11, C), (2, N)]),
    (b"MD", &[(20, C)]),
    (b"ME", &[(18, N)]),
    (b"MK", &[(3, N), (10, C), (2, N)]),
    (b"MN", &[(16, N)]),
    (b"MR", &[(23, N)]),
    (b"MT", &[(4, A), (5, N), (18, C)]),
    (b"MU", &[(4, A), (19, N), (3, A)]),
    (b"NI", &[(4, A), (20, N)]),
    (b"NL", &[(4, A), (10, N)]),
    (b"NO", &[(11, N)]),
    (b"OM", &[(3, N), (16, C)]),
    (b"PK", &[(4, A), (16, C)]),
    (b"PL", &[(24, N)]),
    (b"PS", &[(4, A), (21, C)]),
    (b"PT", &[(21, N)]),
    (b"QA", &[(4, A), (21, C)]),
    (b"RO", &[(4, A), (16, C)]),
    (b"RS", &[(18, N)]),
    (b"RU", &[(14, N), (15, C)]),
    (b"SA", &[(2, N), (18, C)]),
    (b"SC", &[(4, A), (20, N), (3, A)]),
    (b"SD", &[(14, N)]),
    (b"SE", &[(20, N)]),
    (b"SI", &[(15, N)]),
    (b"SK", &[(20, N)]),
    (b"SM", &[(1, A), (10, N), (12, C)]),
    (b"SO", &[(19, N)]),
    (b"ST", &[(21, N)]),
    (b"SV", &[(4, A), (20, N)]),
    (b"TL", &[(19, N)]),
    (b"TN", &[(20, N)]),
    (b"TR", &[(6, N), (16, C)]),
    (b"UA", &[(6, N), (19, C)]),
    (b"VA", &[(18, N)]),
    (b"VG", &[(4, A), (16, N)]),
    (b"XK", &[(16, N)]),
    (b"YE", &[(4, A), (4, N), (18, C)]),
];
