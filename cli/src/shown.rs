//! Text for people: paths of the memory and counts. Does no I/O.

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

/// The line that stands for what a long list leaves out; none if that is nothing.
pub(crate) fn unlisted(number: u64) -> String {
    if number == 0 {
        return String::new();
    }
    format!("and {} not listed\n", count(number, "more that is", "more that are"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_command_a_terminal_is_written_out() {
        assert_eq!(path("/memories/caf\u{e9} \u{1f600}"), "/memories/caf\u{e9} \u{1f600}");
        assert_eq!(path("a\u{1b}[2Jb\u{202e}"), "a\\u{1b}[2Jb\\u{202e}");
        assert_eq!(path_of(&["a".to_owned(), "b\n".to_owned()]), "/memories/a/b\\u{a}");
        assert_eq!(path_of(&[]), "/memories");
    }

    #[test]
    fn what_is_not_listed_is_counted() {
        assert_eq!(
            [0, 1, 7].map(unlisted).concat(),
            "and 1 more that is not listed\nand 7 more that are not listed\n"
        );
    }
}
