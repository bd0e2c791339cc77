//! Text for people: paths of the memory and counts. Does no I/O.

use std::time::Duration;

/// A path with whatever could command a terminal written out: a damaged store may hold any name.
pub(crate) fn path(path: &str) -> String {
    let mut shown = String::with_capacity(path.len());
    for letter in path.chars() {
        // Controls, and the marks that turn the direction of writing around.
        let is_hidden = letter.is_control()
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if is_hidden { shown.extend(letter.escape_unicode()) } else { shown.push(letter) }
    }
    shown
}

/// The path that these names lead along, from `/memories` down; nothing leads to what has none.
pub(crate) fn path_of(names: &[String]) -> String {
    let names: String = names.iter().flat_map(|name| ["/", name]).collect();
    path(&format!("/memories{names}"))
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A length of time in its two largest units, such as `1 h 30 min`.
pub(crate) fn duration(time: Duration) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_has_its_two_largest_units() {
        for (seconds, shown) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (899, "14 min 59 s"),
            (28_800, "8 h"),
            (28_799, "7 h 59 min"),
            (90_061, "1 d 1 h"),
        ] {
            assert_eq!(duration(Duration::from_secs(seconds)), shown);
        }
    }

    #[test]
    fn what_could_command_a_terminal_is_written_out() {
        assert_eq!(path("/memories/caf\u{e9} \u{1f600}"), "/memories/caf\u{e9} \u{1f600}");
        assert_eq!(path("a\u{1b}[2Jb\u{202e}"), "a\\u{1b}[2Jb\\u{202e}");
        assert_eq!(path_of(&["a".to_owned(), "b\n".to_owned()]), "/memories/a/b\\u{a}");
        assert_eq!(path_of(&[]), "/memories");
    }
}
