//! Reads single JSON values leniently and exactly.
//!
//! Works on the raw text that `serde_json` has checked, because the values of `serde_json` lose information that
//! matters here: numbers beyond 64 bits, and the exact text that was sent. Strings are decoded here too, into a buffer
//! that is large enough from the start. `serde_json` unescapes in a growing buffer that is not wiped, and the text of a
//! memory must not stay behind in freed memory.

use super::wording::reason;
use inmost_format::secret::Wiped;
use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The values of an object by name.
pub(super) struct Object<'j>(Vec<(Wiped<String>, &'j RawValue)>);

impl Object<'_> {
    /// The value with this name, unless it is null; of duplicate names, the last.
    pub(super) fn present(&self, name: &str) -> Option<&RawValue> {
        let (_, value) = self.0.iter().rev().find(|(other, _)| other.as_str() == name)?;
        Some(*value).filter(|value| !is_null(value))
    }
}

fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// What a value says as a range of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SentRange {
    /// Nothing: a model has filled in a field that it does not use.
    Empty,
    /// The first and the last line.
    Lines(i64, i64),
    /// Something else.
    Unreadable,
}

/// Reads an object, or returns why the text cannot be read as one: it is another JSON value, it does not start like an object, it is not
/// valid JSON, or a name has an unpaired surrogate. The values of the object are checked to be JSON but not decoded.
pub(super) fn object(json: &str) -> Result<Object<'_>, &'static str> {
    if !json.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('{') {
        return Err(reason::NOT_AN_OBJECT);
    }
    raw_fields(json)
        .and_then(|fields| {
            fields.into_iter().map(|(name, raw)| Some((string(name)?, raw))).collect()
        })
        .map(Object)
        .ok_or(reason::NOT_JSON)
}

fn raw_fields(json: &str) -> Option<Vec<(&RawValue, &RawValue)>> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let fields = deserializer.deserialize_map(RawFields).ok()?;
    deserializer.end().ok()?;
    Some(fields)
}

/// Takes names as raw as values: `serde_json` would unescape them in a buffer that is not wiped.
struct RawFields;

impl<'j> Visitor<'j> for RawFields {
    type Value = Vec<(&'j RawValue, &'j RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(fields)
    }
}

/// Whether a string somewhere in this JSON has a surrogate escape without its other half.
pub(super) fn has_unpaired_surrogate(json: &str) -> bool {
    // A backslash occurs only in strings, so the text need not be parsed to find them.
    unescape(json, |_| {}).is_none()
}

/// Decodes `raw` as a string. Returns `None` for another value or an unpaired surrogate.
pub(super) fn string(raw: &RawValue) -> Option<Wiped<String>> {
    let body = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    // No escape is shorter than the character it encodes.
    let mut text = Wiped::new(String::with_capacity(body.len()));
    unescape(body, |piece| text.push_str(piece))?;
    Some(text)
}

/// Reads `raw` as an integer: an integral number in any notation, or a string of the form `-?[0-9]+`. Saturates beyond
/// 64 bits.
pub(super) fn integer(raw: &RawValue) -> Option<i64> {
    if let Some(text) = string(raw) {
        let digits = text.strip_prefix('-').unwrap_or(&text);
        let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        return is_integer.then(|| integral(&text)).flatten();
    }
    raw.get().starts_with(|c: char| c == '-' || c.is_ascii_digit()).then(|| integral(raw.get()))?
}

/// Reads `raw` as a range of lines: a list, or a string with one, as some clients send it. Some fill in fields that they do not use.
pub(super) fn range(raw: &RawValue) -> SentRange {
    let text = string(raw);
    let list = match text.as_ref().map(|text| text.as_str()) {
        Some("" | "null") => return SentRange::Empty,
        Some(list) => list.trim_matches([' ', '\t', '\n', '\r']),
        None => raw.get(),
    };
    range_of_list(list).unwrap_or(SentRange::Unreadable)
}

/// Reads JSON as a list of two integers, of which the last may be null for the end of the file.
fn range_of_list(json: &str) -> Option<SentRange> {
    // Check for a list first: for any other value `serde_json` makes an error that quotes it.
    json.strip_prefix('[')?;
    let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    match items.as_slice() {
        [] => Some(SentRange::Empty),
        [start, end] if is_null(start) && is_null(end) => Some(SentRange::Empty),
        [start, end] if is_null(end) => Some(SentRange::Lines(integer(start)?, -1)),
        [start, end] => Some(SentRange::Lines(integer(start)?, integer(end)?)),
        _ => None,
    }
}

/// The text as it was sent, without the white space between tokens.
pub(super) fn compact(raw: &RawValue) -> Wiped<String> {
    let mut text = Wiped::new(String::with_capacity(raw.get().len()));
    let mut in_string = false;
    let mut escaped = false;
    for character in raw.get().chars() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if character.is_ascii_whitespace() {
            continue;
        } else {
            in_string = character == '"';
        }
        text.push(character);
    }
    text
}

/// Passes on `text` in pieces, with its escapes decoded. Returns `None` at an unpaired surrogate.
fn unescape(text: &str, mut on_piece: impl FnMut(&str)) -> Option<()> {
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        on_piece(plain);
        let mut characters = escape.chars();
        let mut character = match characters.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            other => other,
        };
        rest = characters.as_str();
        if character == 'u' {
            (character, rest) = unicode_escape(rest)?;
        }
        on_piece(character.encode_utf8(&mut [0; 4]));
    }
    on_piece(rest);
    Some(())
}

/// Decodes a `\u` escape whose digits begin at `text`. Returns the character and the rest.
fn unicode_escape(text: &str) -> Option<(char, &str)> {
    let (first, rest) = utf16_unit(text)?;
    if let Some(character) = char::from_u32(u32::from(first)) {
        return Some((character, rest));
    }
    let (second, rest) = utf16_unit(rest.strip_prefix("\\u")?)?;
    let character = char::decode_utf16([first, second]).next()?.ok()?;
    Some((character, rest))
}

fn utf16_unit(text: &str) -> Option<(u16, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    Some((u16::from_str_radix(digits, 16).ok()?, rest))
}

/// The exact value of a JSON number, if it is integral. `1e400` is integral, `1e-400` is not.
fn integral(number: &str) -> Option<i64> {
    let (is_negative, number) = match number.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, number),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let zeros = i64::try_from(digits.len().saturating_sub(significant.len())).ok()?;
    let decimals = i64::try_from(fraction.len()).ok()?;
    let power = saturating_exponent(exponent).saturating_add(zeros).saturating_sub(decimals);
    let power = u64::try_from(power).ok()?;

    let ten_times = |value: u64, digit: u32| value.saturating_mul(10).saturating_add(digit.into());
    let mut value = significant.chars().filter_map(|c| c.to_digit(10)).fold(0, ten_times);
    // Twenty more digits saturate any value.
    for _ in 0..power.min(20) {
        value = ten_times(value, 0);
    }
    Some(if is_negative {
        0_i64.saturating_sub_unsigned(value)
    } else {
        0_i64.saturating_add_unsigned(value)
    })
}

fn saturating_exponent(text: &str) -> i64 {
    let beyond = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    text.parse().unwrap_or(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn integers_are_read_in_every_notation_and_saturate() {
        let digits = "9".repeat(40);
        for (json, expected) in [
            ("0", 0),
            ("-0", 0),
            ("-0.0", 0),
            ("2", 2),
            ("2.0", 2),
            ("-3.000", -3),
            ("1e3", 1_000),
            ("1E+3", 1_000),
            ("1.5e1", 15),
            ("1200e-2", 12),
            ("0e999999999999999999999", 0),
            ("0.00e-7", 0),
            ("9223372036854775807", i64::MAX),
            ("9223372036854775808", i64::MAX),
            ("18446744073709551616", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("-9223372036854775809", i64::MIN),
            ("1e400", i64::MAX),
            ("-1e400", i64::MIN),
            ("1e99999999999999999999999", i64::MAX),
            (&digits, i64::MAX),
            (&format!("-{digits}.0"), i64::MIN),
            (&format!("\"-{digits}\""), i64::MIN),
            ("\"7\"", 7),
            ("\"-3\"", -3),
            ("\"007\"", 7),
            ("\"-0\"", 0),
            ("\"\\u0031\"", 1),
        ] {
            assert_eq!(integer(&raw(json)), Some(expected), "{json}");
        }
    }

    #[test]
    fn nothing_else_is_an_integer() {
        for json in [
            "true",
            "false",
            "null",
            "[]",
            "[1]",
            "{}",
            "1.5",
            "1e-1",
            "1e-400",
            "15e-1",
            "0.1",
            "1e-99999999999999999999",
            "\"\"",
            "\"-\"",
            "\"+1\"",
            "\"1.0\"",
            "\"1e3\"",
            "\" 1\"",
            "\"1 \"",
            "\"--1\"",
            "\"0x1\"",
            "\"١\"",
            "\"one\"",
        ] {
            assert_eq!(integer(&raw(json)), None, "{json}");
        }
    }

    #[test]
    fn strings_are_decoded_as_serde_json_does() {
        for json in [
            r#""""#,
            r#""plain é 😀""#,
            r#""\"\\\/\b\f\n\r\t""#,
            r#""\u0000a\u00e9\uD83D\uDE00z\ufffd""#,
            r#""\\u0041\\\\u0041""#,
            r#""C:\\new\\\"x\"""#,
        ] {
            let expected: String = serde_json::from_str(json).unwrap();
            let decoded = string(&raw(json)).unwrap();
            assert_eq!(*decoded, expected, "{json}");
            assert!(decoded.capacity() <= json.len(), "{json}: the buffer has grown");
        }
        for json in ["1", "null", "[\"a\"]", "{\"a\":\"b\"}", "true"] {
            assert!(string(&raw(json)).is_none(), "{json}");
        }
    }

    #[test]
    fn unpaired_surrogates_are_found_wherever_they_are() {
        for json in [
            r#""\ud800""#,
            r#""\uDFFF""#,
            r#""\ud800a""#,
            r#""\ud800\n""#,
            r#""\ud800\ud800""#,
            r#""\ud800\u0041""#,
            r#""\udc00\ud800""#,
            r#"["a", {"b": "\ud83d"}]"#,
            r#"{"\udc00": 1}"#,
            r#""\\\ud800""#,
            r#""\ud83d\\ude00""#,
        ] {
            assert!(has_unpaired_surrogate(raw(json).get()), "{json}");
        }
        for json in [r#""\ud83d\ude00""#, r#""\\ud800""#, r#"["\ud83d\ude00", 1]"#, "1", "null"] {
            assert!(!has_unpaired_surrogate(raw(json).get()), "{json}");
        }
    }

    #[test]
    fn a_range_is_a_list_of_exactly_two_or_a_string_with_one() {
        for (json, lines) in [
            ("[1, 2]", (1, 2)),
            ("[4.0,\"-1\"]", (4, -1)),
            ("[3,null]", (3, -1)),
            ("\"[1, 2]\"", (1, 2)),
            ("\" [1,\\n null] \"", (1, -1)),
        ] {
            let (start, end) = lines;
            assert_eq!(range(&raw(json)), SentRange::Lines(start, end), "{json}");
        }
        for json in ["[]", "\"\"", "\"null\"", "[null, null]", "\"[]\""] {
            assert_eq!(range(&raw(json)), SentRange::Empty, "{json}");
        }
        for json in [
            "[1]",
            "[1,2,3]",
            "[null,1]",
            "[true,2]",
            "1",
            "\"1,2\"",
            "\"\\\"[1,2]\\\"\"",
            "{}",
            "\" \"",
        ] {
            assert_eq!(range(&raw(json)), SentRange::Unreadable, "{json}");
        }
    }

    #[test]
    fn compacting_leaves_strings_and_numbers_alone() {
        for (json, expected) in [
            ("[ 1.0 ,\n\t2 , 3 ]", "[1.0,2,3]"),
            (r#"{ "a b" : [ "\" \\", " ]" , null ] }"#, r#"{"a b":["\" \\"," ]",null]}"#),
            (r#""1, 2""#, r#""1, 2""#),
            ("[\"\u{a0} é\" , true]", "[\"\u{a0} é\",true]"),
        ] {
            assert_eq!(*compact(&raw(json)), expected);
        }
    }

    #[test]
    fn the_last_of_duplicate_names_wins() {
        let object = object(r#" {"a": 1, "\u0061": [2]} "#).unwrap();
        assert_eq!(object.present("a").map(RawValue::get), Some("[2]"));
    }

    #[test]
    fn a_value_other_than_an_object_is_reported() {
        for json in ["", "null", "[]", "\"{}\"", "1", "\u{feff}{}", "x"] {
            assert_eq!(object(json).map(|_| ()), Err(reason::NOT_AN_OBJECT), "{json}");
        }
        for json in ["{", "{}x", "{} {}", "{'a':1}", "{\"a\":01}", "{\"a\":NaN}", "{\"\\ud800\":1}"]
        {
            assert_eq!(object(json).map(|_| ()), Err(reason::NOT_JSON), "{json}");
        }
    }
}
