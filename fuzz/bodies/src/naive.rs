//! Simple implementations of paths, lines, search hits and sizes.
//!
//! They do not use the library, because the library is compared with them.

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Why a path is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// It is not below the root.
    Prefix,
    /// It could lead out of the root.
    Escape,
    /// It has forbidden characters, or is too long or too deep.
    Invalid,
}

/// The canonical form of a path that was sent.
pub(crate) fn canonical(sent: &str) -> Result<String, Refused> {
    if sent != "/memories" && !sent.starts_with("/memories/") {
        return Err(Refused::Prefix);
    }
    let names: Vec<&str> =
        sent["/memories".len()..].split('/').filter(|name| !name.is_empty()).collect();
    let decoded: Vec<Vec<u8>> = names.iter().map(|name| decode(name)).collect();
    if decoded.iter().any(|name| is_escape(name)) {
        return Err(Refused::Escape);
    }
    let folded: Vec<String> = names.iter().map(|name| name.nfc().collect()).collect();
    let path: String = ["/memories"]
        .into_iter()
        .chain(folded.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join("/");
    let is_invalid = decoded.iter().any(|name| name.contains(&0))
        || folded.iter().any(|name| name.len() > 255 || name.chars().any(is_forbidden))
        || folded.iter().any(|name| name.trim() != name || name.chars().all(is_invisible))
        || folded.len() > 20
        || path.len() > 1_024;
    if is_invalid { Err(Refused::Invalid) } else { Ok(path) }
}

fn is_forbidden(character: char) -> bool {
    match character {
        '\u{200c}' | '\u{200d}' => false,
        '\u{2028}' | '\u{2029}' => true,
        _ => character.is_control() || character.general_category() == GeneralCategory::Format,
    }
}

/// Whether nothing of a character is seen: spaces, joiners, the Hangul filler, variation selectors.
fn is_invisible(character: char) -> bool {
    let number = u32::from(character);
    let is_selector = [0x180b..0x1810, 0xfe00..0xfe10, 0xe0100..0xe01f0]
        .iter()
        .any(|range| range.contains(&number));
    character.is_whitespace() || is_selector || [0x200c, 0x200d, 0x3164].contains(&number)
}

/// Percent-decodes until nothing changes.
fn decode(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    loop {
        let found = bytes.windows(3).position(|three| {
            three[0] == b'%' && three[1].is_ascii_hexdigit() && three[2].is_ascii_hexdigit()
        });
        let Some(at) = found else { return bytes };
        let digits = std::str::from_utf8(&bytes[at + 1..at + 3]).unwrap();
        let value = u8::from_str_radix(digits, 16).unwrap();
        bytes.splice(at..at + 3, [value]);
    }
}

fn is_escape(decoded: &[u8]) -> bool {
    let mut plain = decoded.to_vec();
    for character in [b'.', b'/', b'\\'] {
        for form in overlong_forms(character) {
            while let Some(at) = plain.windows(form.len()).position(|window| window == form) {
                plain.splice(at..at + form.len(), [character]);
            }
        }
    }
    plain.contains(&b'/') || plain.contains(&b'\\') || plain == b"." || plain == b".."
}

/// The overlong encodings of a character in two to six bytes. The last two bytes carry its value.
fn overlong_forms(character: u8) -> Vec<Vec<u8>> {
    let low = 0x80 | (character & 0x3f);
    let high = character >> 6;
    let mut forms = vec![vec![0xc0 | high, low]];
    for (lead, filling) in [(0xe0, 0), (0xf0, 1), (0xf8, 2), (0xfc, 3)] {
        let mut form = vec![lead];
        form.extend(std::iter::repeat_n(0x80, filling));
        form.extend([0x80 | high, low]);
        forms.push(form);
    }
    forms
}

/// Every place where a text occurs, overlapping ones included.
pub(crate) fn hits(text: &str, needle: &str) -> Vec<usize> {
    let (text, needle) = (text.as_bytes(), needle.as_bytes());
    (0..text.len()).filter(|at| text[*at..].starts_with(needle)).collect()
}

/// A text as an error quotes it.
pub(crate) fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= 1_000 {
        return text.to_owned();
    }
    format!("{}… ({count} characters)", text.chars().take(1_000).collect::<String>())
}

/// The line of the only place that is the text when both are compared loosely.
pub(crate) fn near_line(text: &str, old: &str) -> Option<usize> {
    let (text, old) = (loose(text), loose(old));
    if old.chars().all(char::is_whitespace) {
        return None;
    }
    match hits(&text, &old).as_slice() {
        [at] => Some(text[..*at].matches('\n').count() + 1),
        _ => None,
    }
}

fn loose(text: &str) -> String {
    let line = |line: &str| {
        let mut plain = line.trim_matches([' ', '\t']).replace(['\t', '\u{a0}'], " ");
        while plain.contains("  ") {
            plain = plain.replace("  ", " ");
        }
        plain.replace(['\u{2018}', '\u{2019}'], "'").replace(['\u{201c}', '\u{201d}'], "\"")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n").nfc().collect()
}

/// Lines with their `\n`. A final `\n` starts no new line.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The numbered lines of a view, joined.
pub(crate) fn numbered(first: usize, lines: &[&str]) -> String {
    let number = |(at, line): (usize, &&str)| {
        format!("{:>6}\t{}", first + at, line.strip_suffix('\n').unwrap_or(line))
    };
    lines.iter().enumerate().map(number).collect::<Vec<_>>().join("\n")
}

/// Inserts a text after a line, exactly by the rule of the contract.
pub(crate) fn insertion(file: &str, line: usize, text: &str) -> String {
    let lines = lines(file);
    let (mut head, tail) = (lines[..line].concat(), lines[line..].concat());
    let mut text = text.to_owned();
    let is_unclosed = |text: &str| !text.is_empty() && !text.ends_with('\n');
    if is_unclosed(&head) {
        head.push('\n');
    }
    let stays_unclosed = tail.is_empty() && is_unclosed(file);
    if !text.ends_with('\n') && !stays_unclosed {
        text.push('\n');
    }
    [head, text, tail].concat()
}

/// A size with one decimal; ties are rounded to even.
pub(crate) fn size(bytes: u64) -> String {
    if bytes < 1_024 {
        return format!("{bytes}B");
    }
    // Exact, because the sizes in tests have far fewer bits than a float's mantissa.
    let mut value: f64 = bytes.to_string().parse().unwrap();
    for letter in ["K", "M"] {
        value /= 1_024.0;
        let shown = format!("{value:.1}");
        if !shown.starts_with("1024.") && value < 1_024.0 {
            return format!("{shown}{letter}");
        }
    }
    format!("{:.1}G", value / 1_024.0)
}

/// The number of `\n`.
pub(crate) fn newlines(text: &str) -> usize {
    text.matches('\n').count()
}

/// The last character boundary up to `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
