//! Finds secrets that have no shape of their own by the name that stands before them, as in
//! `aws_secret_access_key = ...` or `"apiKey": "..."`.

use inmost::ScreenFind;

use super::SecretScreen;
use super::chars::{Alphabet, Occurring};

/// Adds the values that are assigned to a name of [`NAMES`].
pub(super) fn find(text: &str, finds: &mut Vec<ScreenFind>) {
    let bytes = text.as_bytes();
    let mut found_until = 0;
    for at in memchr::memchr3_iter(b'=', b':', b'>', bytes) {
        let Some(kind) = kind_of_name(bytes, at) else { continue };
        let Some(start) = value_start(bytes, at).filter(|start| *start >= found_until) else {
            continue;
        };
        let value = value_at(bytes, start, MOST_VALUE);
        if is_random(value, least_random(kind)) {
            // The next value begins after this one, so a long value is read to its end only once.
            found_until = start.saturating_add(value_at(bytes, start, usize::MAX).len());
            finds.push(ScreenFind::new(start..found_until, kind));
        }
    }
}

/// Up to `most` bytes of the value that begins at a place: a bearer token of RFC 6750. A full stop after it ends a
/// sentence.
fn value_at(text: &[u8], start: usize, most: usize) -> &[u8] {
    let rest = text.get(start..).unwrap_or_default();
    let is_value = |byte: &&u8| Alphabet::Bearer.has(**byte) && **byte != b'=';
    let length = rest.iter().take(most).take_while(is_value).count();
    let padding = rest.iter().skip(length).take(2).take_while(|byte| **byte == b'=').count();
    let value = rest.get(..length.saturating_add(padding)).unwrap_or_default();
    let stops = value.iter().rev().take_while(|byte| **byte == b'.').count();
    value.get(..value.len().saturating_sub(stops)).unwrap_or_default()
}

/// The kind of secret that the name before an operator announces.
fn kind_of_name(text: &[u8], operator: usize) -> Option<&'static str> {
    let before = text.get(operator.saturating_sub(MOST_NAME)..operator)?;
    let is_between = |byte: &&u8| {
        matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'`' | b'*' | b'_' | b'\\' | b'=' | b':')
    };
    let gap = before.iter().rev().take(MOST_GAP).take_while(is_between).count();
    let before = before.get(..before.len().saturating_sub(gap))?;
    if !before.last()?.is_ascii_alphanumeric() {
        return None;
    }
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let length = before.iter().rev().take_while(is_name).count();
    let (rest, last) = before.split_at_checked(before.len().saturating_sub(length))?;
    // As a person writes it, a name has two words, of which the first is whole: `API key`, but not `robot token`.
    let word = rest.strip_suffix(b" ").unwrap_or_default();
    let word = word.rsplit(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default();
    let is_known = |name: &str| {
        // Spelled backwards, in small letters, without separators. The text is not copied.
        let mut found = letters(last);
        name.bytes().rev().all(|byte| found.next() == Some(byte))
            || !word.is_empty() && letters(last).chain(letters(word)).eq(name.bytes().rev())
    };
    NAMES.iter().find(|(name, _)| is_known(name)).map(|(_, kind)| *kind)
}

fn letters(part: &[u8]) -> impl Iterator<Item = u8> {
    let letters = part.iter().rev().filter(|byte| byte.is_ascii_alphanumeric());
    letters.map(u8::to_ascii_lowercase)
}

/// The place after an operator at which a value begins: after spaces, quotes, stars and underscores of Markdown, the rest of the
/// operator, and the scheme of an HTTP header.
fn value_start(text: &[u8], operator: usize) -> Option<usize> {
    let skip = |at: usize| {
        let is_between = |byte: &&u8| {
            matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'`' | b'*' | b'\\' | b'=' | b'>')
        };
        let rest = text.get(at..).unwrap_or_default();
        at.saturating_add(rest.iter().take(MOST_GAP).take_while(is_between).count())
    };
    let mut start = skip(operator.saturating_add(1));
    let marks = text.get(start..)?.iter().take(MOST_GAP).take_while(|byte| **byte == b'_').count();
    let after = start.saturating_add(marks);
    // Those of Markdown end here, as in `__API key:__ ...`. Others are of the value.
    if marks > 0 && matches!(text.get(after), Some(b' ' | b'\t' | b'*')) {
        start = skip(after);
    }
    let rest = text.get(start..)?;
    for scheme in ["bearer ", "basic ", "token "] {
        if rest.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme.as_bytes())) {
            return Some(skip(start.saturating_add(scheme.len())));
        }
    }
    Some(start)
}

/// Whether a value is random rather than a word, a path, an expression or a placeholder: it has letters and digits, and
/// a long part without separators.
fn is_random(value: &[u8], least: usize) -> bool {
    let longest = value.split(|byte| !Alphabet::Base64.has(*byte)).map(<[u8]>::len).max();
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let mut occurring = Occurring::new();
    occurring.add(value);
    // Base64 may have slashes too, but has capitals.
    let is_path = value.contains(&b'/') && !value.iter().any(u8::is_ascii_uppercase);
    // A long value may have few digits, a name of a type has often one.
    let has_digits =
        |longest| digits >= LEAST_DIGITS || (digits > 0 && longest >= 2 * LEAST_RANDOM);
    longest.is_some_and(|longest| longest >= least && has_digits(longest))
        && letters >= LEAST_DIGITS
        && !is_path
        && !occurring.are_few()
}

/// Characters of the longest part of a random value at least.
fn least_random(kind: &str) -> usize {
    // Source code assigns names of types to fields of this name, and those are long too. A key of 32 bytes has 43
    // characters in base64.
    if kind == SecretScreen::PRIVATE_KEY { 40 } else { LEAST_RANDOM }
}

/// Ends of names, in small letters and without separators.
const NAMES: [(&str, &str); 22] = [
    ("privatekey", SecretScreen::PRIVATE_KEY),
    ("accesskey", SecretScreen::API_KEY),
    ("accesskeysecret", SecretScreen::API_KEY),
    ("accesstoken", SecretScreen::API_KEY),
    ("accountkey", SecretScreen::API_KEY),
    ("apikey", SecretScreen::API_KEY),
    ("apisecret", SecretScreen::API_KEY),
    ("apisecretkey", SecretScreen::API_KEY),
    ("apitoken", SecretScreen::API_KEY),
    ("authorization", SecretScreen::API_KEY),
    ("authtoken", SecretScreen::API_KEY),
    ("bearertoken", SecretScreen::API_KEY),
    ("bottoken", SecretScreen::API_KEY),
    ("clientsecret", SecretScreen::API_KEY),
    ("consumersecret", SecretScreen::API_KEY),
    ("devicekey", SecretScreen::API_KEY),
    ("masterkey", SecretScreen::API_KEY),
    ("refreshtoken", SecretScreen::API_KEY),
    ("secretaccesskey", SecretScreen::API_KEY),
    ("secretkey", SecretScreen::API_KEY),
    ("sessiontoken", SecretScreen::API_KEY),
    ("signingsecret", SecretScreen::API_KEY),
];

/// The bytes of a name, with what stands between it and its operator, that are read at most.
const MOST_NAME: usize = 64;

/// Spaces and quotes on each side of an operator at most.
const MOST_GAP: usize = 8;

/// The bytes of a value that decide whether it is random.
const MOST_VALUE: usize = 512;

/// Characters of the longest part of the value of an API key at least; more than those of a UUID or of most names.
const LEAST_RANDOM: usize = 16;

/// Digits of a random value at least, and letters.
const LEAST_DIGITS: usize = 2;
