//! Percent-encoded traversal: detects path segments that a decoding reader could take for something else.
//!
//! A segment is never decoded into a name. It is decoded only to be refused, because a host may pass names on to
//! programs that decode once, twice or with a lenient UTF-8 decoder.

use inmost_format::secret::Wiped;

/// The meaning of a segment once it is completely decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// An ordinary name.
    Name,
    /// Contains a NUL, which ends a C string.
    Nul,
    /// Is `.` or `..`, or contains `/` or `\`.
    Escape,
}

/// Classifies one segment, in time linear in its length. Does no I/O.
pub(super) fn meaning(segment: &str) -> Meaning {
    let decoded = decode(segment);
    if is_escape(&decoded) {
        Meaning::Escape
    } else if decoded.contains(&0) {
        Meaning::Nul
    } else {
        Meaning::Name
    }
}

/// Decodes `%XX` until none is left. A malformed `%` stays.
///
/// One pass has the same result as repeated passes: two `%XX` never overlap (`%` is not a hex digit), so the order of
/// decoding does not matter and the result is unique. The buffer holds no `%XX` when a byte is pushed, so a new one can
/// only be at its end. Each step shortens the buffer by two bytes, so there are fewer steps than bytes, however deeply
/// a hostile path is nested.
fn decode(segment: &str) -> Wiped<Vec<u8>> {
    let mut decoded = Wiped::new(Vec::with_capacity(segment.len()));
    for byte in segment.bytes() {
        decoded.push(byte);
        while let Some(value) = encoded_byte_at_end(&decoded) {
            let kept = decoded.len().saturating_sub(3);
            decoded.truncate(kept);
            decoded.push(value);
        }
    }
    decoded
}

fn encoded_byte_at_end(bytes: &[u8]) -> Option<u8> {
    let [.., b'%', high, low] = bytes else { return None };
    let value = hex_digit(*high)? << 4 | hex_digit(*low)?;
    u8::try_from(value).ok()
}

fn hex_digit(byte: u8) -> Option<u32> {
    char::from(byte).to_digit(16)
}

fn is_escape(decoded: &[u8]) -> bool {
    let mut rest = decoded;
    let mut characters = 0_usize;
    let mut only_dots = true;
    while let Some((character, after)) = split_first(rest) {
        if matches!(character, b'/' | b'\\') {
            return true;
        }
        only_dots &= character == b'.';
        characters += 1;
        rest = after;
    }
    only_dots && matches!(characters, 1 | 2)
}

/// Splits off the first character: an ASCII character in overlong form, or else the first byte.
fn split_first(bytes: &[u8]) -> Option<(u8, &[u8])> {
    overlong(bytes).or_else(|| bytes.split_first().map(|(first, rest)| (*first, rest)))
}

/// Decodes an overlong form: two to six bytes, as the first UTF-8 (RFC 2279) allowed, for a character that needs only
/// one.
fn overlong(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (lead, rest) = bytes.split_first()?;
    let length = usize::try_from(lead.leading_ones()).ok().filter(|n| (2..=6).contains(n))?;
    let (continuation, rest) = rest.split_at_checked(length.checked_sub(1)?)?;
    let mut value = u32::from(lead & (0x7F >> length));
    for byte in continuation {
        if byte & 0xC0 != 0x80 {
            return None;
        }
        value = value << 6 | u32::from(byte & 0x3F);
    }
    u8::try_from(value).ok().filter(u8::is_ascii).map(|character| (character, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// `character` as a UTF-8 sequence of `length` bytes, percent-encoded.
    fn overlong_form(character: u8, length: usize) -> String {
        let lead = [0xC0_u8, 0xE0, 0xF0, 0xF8, 0xFC][length - 2];
        let mut bytes = vec![0x80_u8; length];
        bytes[0] = lead;
        bytes[length - 1] |= character & 0x3F;
        bytes[length - 2] |= character >> 6;
        bytes.iter().flat_map(|byte| [format!("%{byte:02x}")]).collect()
    }

    #[test]
    fn dots_and_separators_are_escapes_in_every_encoding() {
        let segments = r". .. %2e %2E %2e. .%2e %2e%2e %252e %252e%252E %25252e a/b a\b \ %2f a%2Fb
            %5c %5Cx %255c x%252fy %%32e %%32%65 %2%65 %25%32%65 %%35c %c0%ae %C0%AE%c0%ae %c0%ae.
            a%c0%afb %c1%9c %25c0%25af %2f%00 %00%5c %e0%c0%af é%2f";
        for segment in segments.split_whitespace() {
            assert_eq!(meaning(segment), Meaning::Escape, "{segment}");
        }
    }

    #[test]
    fn every_overlong_length_of_every_forbidden_character_is_an_escape() {
        for length in 2..=6 {
            for character in [b'/', b'\\'] {
                let form = overlong_form(character, length);
                assert_eq!(meaning(&format!("a{form}b")), Meaning::Escape, "{form}");
            }
            let dot = overlong_form(b'.', length);
            assert_eq!(meaning(&dot), Meaning::Escape, "{dot}");
            assert_eq!(meaning(&format!("{dot}.")), Meaning::Escape, "{dot}.");
            assert_eq!(meaning(&format!("{dot}{dot}")), Meaning::Escape, "{dot}{dot}");
            assert_eq!(meaning(&format!("{dot}{dot}{dot}")), Meaning::Name, "three dots");
            assert_eq!(meaning(&format!("a{dot}")), Meaning::Name, "a dot inside a name");
        }
    }

    #[test]
    fn names_that_only_look_encoded_are_names() {
        let segments = "a a..b.txt 100%.txt a%2eb ... %2e%2e%2e .a ..a % %% %2 %zz %u002e %u002f
            %c0%2e %c0 %e0%80 %c2%ae %ae %c1%81 \u{2024} \u{FF0E}\u{FF0E} \u{2215} é %0a %+2";
        for segment in segments.split_whitespace().chain(["% 2e", ". ", " "]) {
            assert_eq!(meaning(segment), Meaning::Name, "{segment}");
        }
    }

    #[test]
    fn a_nul_is_found_however_often_it_is_encoded() {
        for segment in ["a\0", "a%00", "%2500", "%25%30%30b", "%%30%30"] {
            assert_eq!(meaning(segment), Meaning::Nul, "{segment}");
        }
    }

    #[test]
    fn one_pass_equals_repeated_passes() {
        let alphabet = ["%", "2", "5", "e", "0"];
        for mut number in 0..alphabet.len().pow(7) {
            let mut segment = String::new();
            for _ in 0..7 {
                segment.push_str(alphabet[number % alphabet.len()]);
                number /= alphabet.len();
            }
            let mut repeated = segment.clone().into_bytes();
            loop {
                let next = decode_once(&repeated);
                if next == repeated {
                    break;
                }
                repeated = next;
            }
            assert_eq!(*decode(&segment), repeated, "{segment}");
        }
    }

    fn decode_once(mut bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        while let Some((first, rest)) = bytes.split_first() {
            let encoded = bytes.first_chunk::<3>().and_then(|three| encoded_byte_at_end(three));
            out.push(encoded.unwrap_or(*first));
            bytes = if encoded.is_some() { &bytes[3..] } else { rest };
        }
        out
    }

    #[test]
    fn hostile_nesting_costs_linear_time() {
        let started = Instant::now();
        for (unit, count) in [("%25", 1 << 20), ("25", 2 << 20), ("%", 4 << 20), ("%2", 2 << 20)] {
            let segment = format!("%{}", unit.repeat(count));
            assert_eq!(meaning(&segment), Meaning::Name);
            assert_eq!(meaning(&format!("{segment}%2f")), Meaning::Escape, "{unit}");
        }
        assert!(started.elapsed() < Duration::from_secs(120), "eight paths of 4 MiB");
    }
}
