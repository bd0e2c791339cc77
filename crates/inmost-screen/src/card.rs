//! Finds numbers of payment cards: the length and the first digits of a network (ISO/IEC 7812), the check digit of
//! Luhn, and one of the usual ways to group the digits.
//!
//! One in ten numbers passes Luhn's check, so a number without groups counts only if it stands alone, has the length of
//! most cards, and is not called something else, such as an order. Rarer lengths count only next to a word for a card.

use std::ops::Range;

use inmost::ScreenFind;

use super::SecretScreen;
use super::chars::{Alphabet, is_word_end, is_word_start};

/// Adds the card numbers.
pub(super) fn find(text: &str, finds: &mut Vec<ScreenFind>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if !byte.is_ascii_digit() {
            at = at.saturating_add(1);
            continue;
        }
        let groups = groups_at(bytes, at);
        if is_free_before(bytes, at)
            && let Some(range) = card(bytes, &groups)
        {
            at = range.end;
            finds.push(ScreenFind::new(range, SecretScreen::CARD_NUMBER));
        } else {
            at = groups.first().map_or(at.saturating_add(1), |group| group.end);
        }
    }
}

/// The groups of digits from a digit on with the same separator between them, as many as a card has. The last one may go on.
fn groups_at(text: &[u8], start: usize) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::with_capacity(MOST_GROUPS);
    let mut at = start;
    let mut separator = None;
    while groups.len() < MOST_GROUPS {
        let rest = text.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            break;
        }
        let end = at.saturating_add(length);
        groups.push(at..end);
        match text.get(end) {
            Some(byte @ (b' ' | b'-')) if separator.is_none_or(|it| it == *byte) => {
                separator = Some(*byte);
                at = end.saturating_add(1);
            }
            _ => break,
        }
    }
    groups
}

/// The card number with which these groups begin.
fn card(text: &[u8], groups: &[Range<usize>]) -> Option<Range<usize>> {
    let first = groups.first()?;
    let range = LAYOUTS.iter().find_map(|layout| {
        let fits = layout.len() <= groups.len()
            && layout.iter().zip(groups).all(|(length, group)| *length == group.len());
        let last = groups.get(layout.len().checked_sub(1)?)?;
        let range = first.start..last.end;
        (fits && is_free_after(text, range.end) && is_card(digits(text, &range))).then_some(range)
    });
    if range.is_some() {
        return range;
    }
    let range = first.clone();
    if !is_free_after(text, range.end) || !is_card(digits(text, &range)) {
        return None;
    }
    let (before, after) = (words_before(text, range.start), words_after(text, range.end));
    let names_card = |text| holds_any(text, CARD_WORDS) || holds_whole(text, SHORT_CARD_WORDS);
    let is_other = holds_any(before, OTHER_NUMBERS) || UNITS.iter().any(|it| begins(after, it));
    let is_usual = matches!(range.len(), 15 | 16) && !is_other;
    (names_card(before) || names_card(after) || is_usual).then_some(range)
}

/// The digits of a number of this range, without separators.
fn digits<'t>(text: &'t [u8], range: &Range<usize>) -> impl Iterator<Item = u8> + Clone + 't {
    let number = text.get(range.clone()).unwrap_or_default();
    number.iter().filter(|byte| byte.is_ascii_digit()).map(|byte| byte.saturating_sub(b'0'))
}

/// Whether digits have the first digits and the length of a network's cards, and their check digit.
fn is_card(digits: impl Iterator<Item = u8> + Clone) -> bool {
    let length = digits.clone().count();
    let first: u32 =
        digits.clone().take(PREFIX).fold(0, |number, digit| number * 10 + u32::from(digit));
    let is_of = |(firsts, lengths): &(Range<u32>, &[usize])| {
        firsts.contains(&first) && lengths.contains(&length)
    };
    length > PREFIX && NETWORKS.iter().any(is_of) && passes_luhn(digits, length)
}

/// The check digit of ISO/IEC 7812-1, annex B.
fn passes_luhn(digits: impl Iterator<Item = u8>, length: usize) -> bool {
    let values = digits.enumerate().map(|(index, digit)| {
        let is_doubled = length.saturating_sub(index) % 2 == 0;
        match (is_doubled, digit) {
            (false, digit) => u32::from(digit),
            (true, digit @ 0..=4) => u32::from(digit) * 2,
            (true, digit) => u32::from(digit) * 2 - 9,
        }
    });
    values.sum::<u32>() % 10 == 0
}

/// Whether a number may begin here: it is no part of a word, a decimal, a date, a path or a longer row of groups.
fn is_free_before(text: &[u8], at: usize) -> bool {
    let before = |count: usize| at.checked_sub(count).and_then(|at| text.get(at)).copied();
    let is_digit = |count| before(count).is_some_and(|byte| byte.is_ascii_digit());
    if !is_word_start(text, at) {
        return false;
    }
    match before(1) {
        Some(b'_' | b'+' | b'/' | b'#' | b'$' | b'@') => false,
        Some(b'.' | b',' | b':') => !is_digit(2),
        Some(b'-') => !before(2).is_some_and(|byte| byte.is_ascii_alphanumeric()),
        Some(b' ') if is_digit(2) => !(2..=5).all(is_digit) || is_digit(6),
        _ => true,
    }
}

/// Whether a number may end here.
fn is_free_after(text: &[u8], at: usize) -> bool {
    let after = |count: usize| text.get(at.saturating_add(count)).copied();
    let is_decimal = after(1).is_some_and(|byte| byte.is_ascii_digit());
    let continues = after(1).is_some_and(|byte| byte.is_ascii_alphanumeric());
    match after(0) {
        Some(b'.' | b',') => !is_decimal,
        Some(b'-' | b':' | b'/' | b'@') => !continues,
        Some(b' ') => !is_group_of_four(text, at.saturating_add(1)),
        _ => is_word_end(text, at),
    }
}

/// Whether four digits stand here alone, as in a longer row of groups.
fn is_group_of_four(text: &[u8], at: usize) -> bool {
    Alphabet::Digits.run(text, at, 5) == 4
}

/// The text before a number in which a word says what it is, in its line.
fn words_before(text: &[u8], at: usize) -> &[u8] {
    let before = text.get(at.saturating_sub(WORDS_BEFORE)..at).unwrap_or_default();
    let start = memchr::memrchr(b'\n', before).map_or(0, |at| at.saturating_add(1));
    before.get(start..).unwrap_or_default()
}

/// The same after it.
fn words_after(text: &[u8], at: usize) -> &[u8] {
    let after = text.get(at..text.len().min(at.saturating_add(WORDS_AFTER))).unwrap_or_default();
    let end = memchr::memchr(b'\n', after).unwrap_or(after.len());
    after.get(..end).unwrap_or_default()
}

fn holds_any(text: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| holds(text, word))
}

/// Whether a text has a word, in any case, at the beginning of one of its words.
fn holds(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).enumerate().any(|(at, window)| {
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        window.eq_ignore_ascii_case(word.as_bytes())
            && !before.is_some_and(u8::is_ascii_alphanumeric)
    })
}

/// Whether one of these is a whole word of a text.
fn holds_whole(text: &[u8], words: &[&str]) -> bool {
    let mut parts = text.split(|byte| !byte.is_ascii_alphanumeric());
    parts.any(|part| words.iter().any(|word| part.eq_ignore_ascii_case(word.as_bytes())))
}

/// Whether a text begins with a word.
fn begins(text: &[u8], word: &str) -> bool {
    text.starts_with(word.as_bytes()) && is_word_end(text, word.len())
}

/// How the digits of cards are grouped.
const LAYOUTS: [&[usize]; 4] = [&[4, 4, 4, 4, 3], &[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4]];

/// Groups that are read at most: those of a card.
const MOST_GROUPS: usize = 5;

/// The digits that tell the network.
const PREFIX: usize = 4;

/// The first four digits of the networks' cards, and the lengths of their numbers.
const NETWORKS: [(Range<u32>, &[usize]); 21] = [
    (4000..5000, &[13, 16, 19]),                 // Visa
    (5100..5600, &[16]),                         // Mastercard
    (2221..2721, &[16]),                         // Mastercard
    (3400..3500, &[15]),                         // American Express
    (3700..3800, &[15]),                         // American Express
    (3000..3060, &[14, 16]),                     // Diners Club
    (3095..3096, &[14, 16]),                     // Diners Club
    (3600..3700, &[14, 16]),                     // Diners Club
    (3800..4000, &[14, 16]),                     // Diners Club
    (6011..6012, &[16, 19]),                     // Discover
    (6440..6600, &[16, 19]),                     // Discover
    (3528..3590, &[16, 19]),                     // JCB
    (6200..6300, &[16, 17, 18, 19]),             // UnionPay
    (8100..8172, &[16, 19]),                     // UnionPay
    (2200..2205, &[16, 17, 18, 19]),             // Mir
    (5018..5019, &[13, 14, 15, 16, 17, 18, 19]), // Maestro
    (5020..5021, &[13, 14, 15, 16, 17, 18, 19]), // Maestro
    (6304..6305, &[13, 14, 15, 16, 17, 18, 19]), // Maestro
    (6759..6764, &[13, 14, 15, 16, 17, 18, 19]), // Maestro
    (6771..6772, &[16]),                         // Maestro
    (9792..9793, &[16]),                         // Troy
];

/// Beginnings of words for a card.
const CARD_WORDS: &[&str] = &[
    "card",
    "credit",
    "debit",
    "visa",
    "master",
    "amex",
    "american express",
    "discover",
    "diners",
    "unionpay",
    "maestro",
    "payment",
    "cvv",
    "cvc",
    "expir",
    "kreditkarte",
    "karte",
    "carte",
    "tarjeta",
];

/// Words for a card that also begin other words, or occur in a hash.
const SHORT_CARD_WORDS: &[&str] = &["cc", "exp", "jcb", "mc", "mir", "pan"];

/// Beginnings of words for other long numbers.
const OTHER_NUMBERS: &[&str] = &[
    "order",
    "invoice",
    "ticket",
    "track",
    "parcel",
    "shipment",
    "id",
    "ref",
    "serial",
    "session",
    "build",
    "run",
    "request",
    "trace",
    "span",
    "event",
    "message",
    "msg",
    "customer",
    "account",
    "acct",
    "batch",
    "job",
    "issue",
    "case",
    "imei",
    "phone",
    "tel",
    "timestamp",
    "time",
    "ts",
    "seq",
    "offset",
    "size",
    "bytes",
    "snowflake",
    "user",
    "number of",
    "no.",
    "nr",
    "version",
    "commit",
    "hash",
    "checksum",
    "crc",
    "isbn",
    "issn",
    "ean",
    "gtin",
    "upc",
    "sku",
    "barcode",
];

/// Units of other long numbers.
const UNITS: &[&str] = &[" us", " ns", " ms", " s", " B", " bytes", " km", " m", " EUR", " USD"];

/// The bytes before a number in which a word counts.
const WORDS_BEFORE: usize = 40;

/// The bytes after it.
const WORDS_AFTER: usize = 24;
