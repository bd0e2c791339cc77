//! Text for people: memory paths, texts, counts and ages. Does no I/O.

use std::time::{Duration, SystemTime};

use crate::Wiped;

/// A path with control characters escaped: a damaged store may contain any name.
pub fn path(path: &str) -> String {
    inmost::printable(path)
}

/// A text for a terminal with control characters escaped: an agent may have stored text that an attacker made it read.
/// Tabs and line ends are kept.
pub fn text(text: &str) -> Wiped {
    let mut escaped = Wiped::new(Vec::with_capacity(text.len()));
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_end = letter == '\n' || letter == '\r' && letters.peek() == Some(&'\n');
        if needs_escape(letter) && letter != '\t' && !is_end {
            escaped.append(letter.escape_unicode().to_string().as_bytes());
        } else {
            escaped.append(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    escaped
}

/// Control characters and bidirectional formatting characters.
pub fn needs_escape(letter: char) -> bool {
    inmost::is_unprintable(letter)
}

/// A word for the shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The path of these names below `/memories`. Without names it is `/memories` itself.
pub fn path_of(names: &[String]) -> String {
    let names: String = names.iter().flat_map(|name| ["/", name]).collect();
    path(&format!("/memories{names}"))
}

/// A number of bytes for people, such as `13.6K`: the rule of the memory tool. JSON has the exact number.
pub fn size(bytes: u64) -> String {
    inmost::human_size(bytes)
}

/// `1 file`, `2 files`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A duration in its two largest units, such as `1 h 30 min`.
pub fn duration(time: Duration) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let mut rest = time.as_secs();
    let mut parts = Vec::new();
    for (seconds, unit) in units {
        let number = rest / seconds;
        rest %= seconds;
        if number > 0 {
            parts.push(format!("{number} {unit}"));
        }
    }
    parts.truncate(2);
    if parts.is_empty() { "0 s".to_owned() } else { parts.join(" ") }
}

/// The age of `then`: `5s`, `12m`, `3h`, `4d`, `2y`.
pub fn age(now: SystemTime, then: SystemTime) -> String {
    // 0 if the clock was set back.
    let seconds = now.duration_since(then).unwrap_or_default().as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        86_400..31_536_000 => format!("{}d", seconds / 86_400),
        _ => format!("{}y", seconds / 31_536_000),
    }
}

/// The last line of a shortened list; empty if nothing was left out.
pub fn unlisted(number: u64) -> String {
    if number == 0 {
        return String::new();
    }
    format!("and {number} more, not listed\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("/data/a-b_c=1.md"), "/data/a-b_c=1.md");
        for (word, expected) in
            [("", "''"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("$(x)", "'$(x)'")]
        {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn control_characters_in_texts_are_escaped() {
        for (sent, expected) in [
            ("caf\u{e9}\ta\r\nb\n", "caf\u{e9}\ta\r\nb\n"),
            ("\u{1b}]0;x\u{7}\r\u{202e}", "\\u{1b}]0;x\\u{7}\\u{d}\\u{202e}"),
            ("a\r", "a\\u{d}"),
        ] {
            assert_eq!(text(sent).as_slice(), expected.as_bytes());
        }
    }

    #[test]
    fn ages_are_short() {
        let day = 86_400_000;
        let at = |ms| SystemTime::UNIX_EPOCH + Duration::from_millis(ms);
        for (past, expected) in [
            (0, "0s"),
            (59_999, "59s"),
            (60_000, "1m"),
            (7_200_000, "2h"),
            (day, "1d"),
            (364 * day, "364d"),
            (800 * day, "2y"),
        ] {
            assert_eq!(age(at(1_000 * day), at(1_000 * day - past)), expected);
        }
        assert_eq!(age(at(1), at(2_000)), "0s");
    }

    #[test]
    fn a_length_of_time_has_its_two_largest_units() {
        for (seconds, escaped) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (899, "14 min 59 s"),
            (28_800, "8 h"),
            (28_799, "7 h 59 min"),
            (90_061, "1 d 1 h"),
        ] {
            assert_eq!(duration(Duration::from_secs(seconds)), escaped);
        }
    }

    #[test]
    fn control_characters_in_paths_are_escaped() {
        assert_eq!(path("/memories/caf\u{e9} \u{1f600}"), "/memories/caf\u{e9} \u{1f600}");
        assert_eq!(path("a\u{1b}[2Jb\u{202e}"), "a\\u{1b}[2Jb\\u{202e}");
        assert_eq!(path_of(&["a".to_owned(), "b\n".to_owned()]), "/memories/a/b\\u{a}");
        assert_eq!(path_of(&[]), "/memories");
    }

    #[test]
    fn unlisted_items_are_counted() {
        assert_eq!(
            [0, 1, 7].map(unlisted).concat(),
            "and 1 more, not listed\nand 7 more, not listed\n"
        );
    }
}
