//! The names that Windows does not accept for a file, or silently changes.
//!
//! Win32 strips dots and spaces at the end of a name, and takes some names for devices in every folder, also before an
//! extension. (Microsoft, "Naming Files, Paths, and Namespaces".) So a file of the memory would be written under another
//! name, or to a device.

/// Whether a file with this name can be written on Windows and keeps the name. Does no I/O.
pub(crate) fn is_accepted(name: &str) -> bool {
    let is_forbidden = |letter: char| letter < ' ' || r#"<>:"/\|?*"#.contains(letter);
    !name.is_empty()
        && !name.ends_with(['.', ' '])
        && !name.contains(is_forbidden)
        && !is_device(name)
}

/// Whether Windows takes the name for a device, with any extension.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end_matches(' ').to_uppercase();
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(&stem.as_str()) {
        return true;
    }
    let number = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    number.is_some_and(|number| {
        let mut digits = number.chars();
        matches!(
            (digits.next(), digits.next()),
            (Some('0'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}'), None)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_windows_changes_or_takes_for_a_device_is_not_accepted() {
        for name in [
            "a.",
            "b ",
            "...",
            " ",
            "",
            "CON",
            "con",
            "nul.txt",
            "NUL .tar.gz",
            "aux",
            "PRN",
            "Com1",
            "LPT9.md",
            "COM\u{b9}",
            "CONIN$",
            "a<b",
            "a>b",
            "a:b",
            "a\"b",
            "a|b",
            "what?",
            "*",
            "a\\b",
            "a/b",
            "tab\tname",
        ] {
            assert!(!is_accepted(name), "{name:?}");
        }
    }

    #[test]
    fn other_names_are_accepted() {
        for name in [
            "notes.md", ".hidden", " a", "console", "com", "COM10", "LPT", "nulls", "a.con",
            "a..b", "ü ß",
        ] {
            assert!(is_accepted(name), "{name:?}");
        }
    }
}
