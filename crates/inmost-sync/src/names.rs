//! Names beside a name that is taken: of conflict copies, and of files that want one path. And what names are made of.

/// The path with `suffix` before the extension of its name. What would be too long is cut from the name; if the folder leaves no
/// room for that, the file goes to the top. `suffix` is shorter than [`ROOM`] less [`EXTENSION`]. Does no I/O.
pub(crate) fn beside(path: &str, suffix: &str) -> String {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let room = PATH.saturating_sub(folder.len() + 1).min(NAME);
    let (folder, room) = if folder.is_empty() || room < ROOM { ("", NAME) } else { (folder, room) };
    let (stem, extension) = split(name);
    let mut end = stem.len().min(room.saturating_sub(suffix.len() + extension.len()));
    while !stem.is_char_boundary(end) {
        end -= 1;
    }
    let stem = stem.get(..end).unwrap_or_default();
    let slash = if folder.is_empty() { "" } else { "/" };
    format!("{folder}{slash}{stem}{suffix}{extension}")
}

/// Whether a file of this name is never merged, because lines that are right apart are wrong together.
pub(crate) fn is_structured(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let (_, extension) = split(name);
    STRUCTURED.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// The name up to its last dot, and the rest. A dot at the beginning of a name or far from its end separates nothing.
fn split(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= EXTENSION => name.split_at(dot),
        _ => (name, ""),
    }
}

/// The folders that a path is in.
pub(crate) fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(end, _)| path.get(..end))
}

/// Two lower-case digits for each byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// The day of a time in milliseconds since 1970, as in `2026-11-27` (UTC). Uses the algorithm of Howard Hinnant ("chrono-Compatible
/// Low-Level Date Algorithms"). Times after the year 9999 count as its last day.
pub(crate) fn day(time: u64) -> String {
    let days = (time / DAY).min(LAST_DAY) + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year)
}

/// Milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1_000;
/// The days from 1970-01-01 to 9999-12-31.
const LAST_DAY: u64 = 2_932_896;
/// The most bytes of a name.
const NAME: usize = 255;
/// The most bytes of a path below `/memories/`.
const PATH: usize = 1_014;
/// The least bytes that a folder must leave for a name.
const ROOM: usize = 96;
/// The most bytes of an extension, its dot included.
const EXTENSION: usize = 16;
/// Extensions of files that are not merged.
const STRUCTURED: [&str; 7] = [".json", ".yaml", ".yml", ".toml", ".xml", ".html", ".ipynb"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_goes_before_the_extension_and_never_makes_a_name_too_long() {
        assert_eq!(beside("a/b.md", " (1)"), "a/b (1).md");
        assert_eq!(beside(".env", " (1)"), ".env (1)");
        assert_eq!(beside("a.b/c", " (1)"), "a.b/c (1)");
        assert_eq!(beside("a.a long extension", " (1)"), "a.a long extension (1)");
        let long = beside(&format!("a/x{}.md", "\u{e9}".repeat(126)), " (1)");
        assert_eq!(long.len(), "a/".len() + 254);
        assert!(long.ends_with("\u{e9} (1).md"));
        let deep = format!("{}/name.md", vec!["d".repeat(200); 5].join("/"));
        assert_eq!(beside(&deep, " (1)"), "name (1).md");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (time, expected) in [
            (0, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (1_795_737_600_000 + DAY - 1, "2026-11-27"),
            (u64::MAX, "9999-12-31"),
        ] {
            assert_eq!(day(time), expected);
        }
    }

    #[test]
    fn structured_files_are_known_by_their_extension() {
        assert!(is_structured("a/b.JSON") && is_structured("x.tar.yml"));
        assert!(!is_structured("a.json/b") && !is_structured(".json") && !is_structured("json"));
    }
}
