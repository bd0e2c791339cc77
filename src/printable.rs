//! Text that is safe to print: paths of the host and words of an engine can hold control characters, which a terminal obeys
//! and which forge lines in a log. Does no I/O.

use std::borrow::Cow;

/// Whether a character has to be escaped: control characters and bidirectional formatting characters.
#[must_use]
pub fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with the characters escaped that [`is_unprintable`] names, such as `\u{1b}`.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_unprintable(letter) {
            escaped.extend(letter.escape_unicode());
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// The words of an engine or of the operating system, or `instead` if they may quote an absolute path of the host: a path
/// must not get into the log of an application.
pub(crate) fn without_path<'a>(words: &'a str, instead: &'a str) -> Cow<'a, str> {
    if words.contains(['/', '\\']) { Cow::Borrowed(instead) } else { Cow::Owned(printable(words)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unprintable_characters_are_escaped() {
        assert_eq!(printable("/srv/größe ☕"), "/srv/größe ☕");
        assert_eq!(printable("a\u{1b}[2J\n\u{202e}"), "a\\u{1b}[2J\\u{a}\\u{202e}");
    }

    #[test]
    fn words_with_a_path_are_replaced() {
        assert_eq!(without_path("crc mismatch", "damaged"), "crc mismatch");
        assert_eq!(without_path("cannot open \"/data/ada\"", "damaged"), "damaged");
        assert_eq!(without_path("cannot open C:\\ada", "damaged"), "damaged");
    }
}
