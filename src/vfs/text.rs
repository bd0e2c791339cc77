//! The tool's operations on text, as pure functions: lines, numbering and cuts.
//!
//! One line rule holds everywhere: a line ends at `\n`, and a final `\n` opens no new line. A character is a Unicode
//! scalar value. These functions do no I/O and contain no texts for the model.

use inmost_format::secret::{self, Wiped};

/// The number of lines: `a\nb\n` and `a\nb` have two, the empty text has none.
pub(crate) fn count_lines(text: &str) -> u64 {
    count_newlines(text).saturating_add(u64::from(is_unclosed(text)))
}

/// The number of `\n`.
pub(crate) fn count_newlines(text: impl AsRef<[u8]>) -> u64 {
    u64::try_from(newlines(text.as_ref()).count()).unwrap_or(u64::MAX)
}

/// The offsets of all `\n`.
pub(crate) fn newlines(text: &[u8]) -> memchr::Memchr<'_> {
    memchr::memchr_iter(b'\n', text)
}

/// The first `lines` lines of a text, or all of it, and the number of `\n` in them.
pub(crate) fn first_lines(text: &str, lines: u64) -> (&str, u64) {
    let Some(last) = lines.checked_sub(1) else { return ("", 0) };
    let all = count_newlines(text);
    // Mostly all of a file is wanted, and counting is faster than finding each.
    if all < lines || (all == lines && text.ends_with('\n')) {
        return (text, all);
    }
    let last = usize::try_from(last).unwrap_or(usize::MAX);
    let end = newlines(text.as_bytes()).nth(last).map_or(text.len(), |at| at.saturating_add(1));
    (text.get(..end).unwrap_or(text), lines)
}

/// Whether the last line lacks its `\n`.
pub(crate) fn is_unclosed(text: &str) -> bool {
    !text.is_empty() && !text.ends_with('\n')
}

/// Appends the lines of `text` with their numbers, joined by `\n`; the last line has none.
///
/// A number is right-aligned in six columns, wider if needed, and followed by a tab. `out` must have a spare capacity
/// of [`numbered_size`], so that no growth leaves an unwiped copy.
pub(crate) fn number_lines(first_number: u64, text: &str, out: &mut String) {
    let mut number = first_number;
    let mut rest = text;
    while !rest.is_empty() {
        let end =
            memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at.saturating_add(1));
        let (line, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(number);
        out.push_str("      ".get(digits.len()..).unwrap_or_default());
        out.push_str(digits);
        out.push('\t');
        out.push_str(line);
        number = number.saturating_add(1);
        rest = after;
    }
    if text.ends_with('\n') {
        out.pop();
    }
}

/// The most bytes that [`number_lines`] appends.
pub(crate) fn numbered_size(text: &str) -> usize {
    const NUMBER_AND_TAB: usize = 20 + 1;
    let lines = usize::try_from(count_lines(text)).unwrap_or(usize::MAX);
    lines.saturating_mul(NUMBER_AND_TAB).saturating_add(text.len())
}

/// The bytes that `insert` splices in at its offset.
///
/// The contract's rule depends on three facts: whether *h* (the text before the offset) is non-empty and unclosed,
/// whether *t* (the text after it) is empty, and whether the file was non-empty and unclosed. The offset is always the
/// start of a line or the end of the file. So *h* is unclosed exactly if the offset is the end of an unclosed file, and
/// only in that case does the text stay unclosed. One fact remains.
pub(crate) fn insertion(text: &str, at_end_of_unclosed_file: bool) -> Wiped<String> {
    if at_end_of_unclosed_file {
        return secret::join(&["\n", text]);
    }
    secret::join(&[text, if text.ends_with('\n') { "" } else { "\n" }])
}

/// The part of the requested lines that fits a view.
#[derive(PartialEq, Eq)]
pub(crate) struct Cut<'t> {
    /// The text to number and show.
    pub(crate) text: &'t str,
    /// How much of the requested lines it is.
    pub(crate) shown: Shown,
}

/// How much of the requested lines a [`Cut`] shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// All of them; no notice is needed.
    All,
    /// Whole lines up to this one, and at least one more was requested.
    Lines {
        /// The number of the last line shown.
        last: u64,
    },
    /// The beginning of the first line and nothing else.
    PartOfFirstLine {
        /// Characters of that line, its `\n` not counted.
        characters: u64,
        /// Characters of that line that are shown.
        shown: u64,
    },
}

/// Cuts the requested lines, which begin with line `first_line`, to at most `limit` characters, `\n` included.
///
/// `requested` may end early if [`Extent`] reported that it is enough.
///
/// The limit counts the `\n` of a line, but the line's length does not. So a first line of exactly `limit` characters
/// and a `\n` is `PartOfFirstLine` with two equal numbers: the whole line is shown but the lines after it are missing,
/// and the notice has the same wording as for any line that fills the view.
pub(crate) fn cut(requested: &str, first_line: u64, limit: usize) -> Cut<'_> {
    // Most texts have few enough bytes already.
    let beyond = (requested.len() > limit).then(|| requested.char_indices().nth(limit)).flatten();
    let Some((end, _)) = beyond else {
        return Cut { text: requested, shown: Shown::All };
    };
    let (fitting, _) = requested.split_at_checked(end).unwrap_or_default();
    if let Some((lines, _)) = fitting.rsplit_once('\n') {
        let last = first_line.saturating_add(count_newlines(lines));
        let (text, _) = fitting.split_at_checked(lines.len().saturating_add(1)).unwrap_or_default();
        return Cut { text, shown: Shown::Lines { last } };
    }
    let first = requested.split('\n').next().unwrap_or_default();
    let characters = count_characters(first);
    let shown = count_characters(fitting);
    Cut { text: fitting, shown: Shown::PartOfFirstLine { characters, shown } }
}

/// Tells a lazy reader when it has read enough of the requested lines for [`cut`]: they exceed the limit, and the first
/// line has ended, so its length is known.
#[derive(Default)]
pub(crate) struct Extent {
    characters: u64,
    first_line_ended: bool,
}

impl Extent {
    /// Adds the next piece of the requested lines. Returns whether further text can no longer change the cut.
    pub(crate) fn is_enough_after(&mut self, piece: &str, limit: usize) -> bool {
        self.characters = self.characters.saturating_add(count_characters(piece));
        self.first_line_ended = self.first_line_ended || piece.contains('\n');
        self.first_line_ended && usize::try_from(self.characters).is_ok_and(|n| n > limit)
    }
}

fn count_characters(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_newlines_and_a_final_one_opens_no_line() {
        for (text, lines) in [
            ("", 0),
            ("\n", 1),
            ("a", 1),
            ("a\n", 1),
            ("a\nb", 2),
            ("a\nb\n", 2),
            ("\n\n", 2),
            ("a\r\nb\r\n", 2),
            ("a\rb\u{2028}c\u{85}d\u{b}e", 1),
            ("a\n\n", 2),
            ("\na", 2),
        ] {
            assert_eq!(count_lines(text), lines, "{text:?}");
        }
    }

    fn numbered(first: u64, text: &str) -> String {
        let mut out = String::new();
        number_lines(first, text, &mut out);
        assert!(out.len() <= numbered_size(text), "{text:?}");
        out
    }

    #[test]
    fn numbers_are_right_aligned_in_six_columns_and_widen() {
        assert_eq!(numbered(1, ""), "");
        assert_eq!(numbered(1, "\n"), "     1\t");
        assert_eq!(numbered(1, "a\nb"), "     1\ta\n     2\tb");
        assert_eq!(numbered(1, "a\nb\n"), "     1\ta\n     2\tb");
        assert_eq!(numbered(9, "a\n\n"), "     9\ta\n    10\t");
        assert_eq!(numbered(999_999, "a\r\n\tb"), "999999\ta\r\n1000000\t\tb");
        assert_eq!(numbered(u64::MAX - 1, "a\n"), format!("{}\ta", u64::MAX - 1));
    }

    /// The contract's rule word for word, as a reference implementation.
    fn insert_by_the_rule(file: &str, line: usize, text: &str) -> String {
        let lines: Vec<&str> = file.split_inclusive('\n').collect();
        let mut head: String = lines[..line].concat();
        let tail: String = lines[line..].concat();
        let mut text = text.to_owned();
        if is_unclosed(&head) {
            head.push('\n');
        }
        let stays_unclosed = tail.is_empty() && is_unclosed(file);
        if !text.ends_with('\n') && !stays_unclosed {
            text.push('\n');
        }
        head + &text + &tail
    }

    fn texts(alphabet: &[char], length: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..length {
            last = last
                .iter()
                .flat_map(|text| alphabet.iter().map(move |c| format!("{text}{c}")))
                .collect();
            all.extend_from_slice(&last);
        }
        all
    }

    #[test]
    fn an_insertion_obeys_the_byte_rule_on_every_small_file() {
        for file in texts(&['a', '\n'], 5) {
            let lines: Vec<&str> = file.split_inclusive('\n').collect();
            for line in 0..=lines.len() {
                let offset = lines[..line].concat().len();
                for text in texts(&['x', '\n'], 2) {
                    let at_end = offset == file.len() && is_unclosed(&file);
                    let mut spliced = file.clone();
                    spliced.insert_str(offset, &insertion(&text, at_end));
                    assert_eq!(
                        spliced,
                        insert_by_the_rule(&file, line, &text),
                        "{text:?} after line {line} of {file:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn an_empty_insertion_still_makes_a_line() {
        assert_eq!(*insertion("", true), "\n");
        assert_eq!(*insertion("", false), "\n");
        assert_eq!(*insertion("x\n", false), "x\n");
        assert_eq!(*insertion("x", true), "\nx");
    }

    fn lines(last: u64) -> Shown {
        Shown::Lines { last }
    }

    fn part(characters: u64, shown: u64) -> Shown {
        Shown::PartOfFirstLine { characters, shown }
    }

    #[test]
    fn a_cut_shows_whole_lines_within_the_limit() {
        for (requested, limit, text, shown) in [
            ("", 0, "", Shown::All),
            ("ab\ncd\n", 6, "ab\ncd\n", Shown::All),
            ("ab\ncd", 5, "ab\ncd", Shown::All),
            ("ab\ncd\n", 5, "ab\n", lines(10)),
            ("ab\ncd", 4, "ab\n", lines(10)),
            ("ab\ncd\n", 3, "ab\n", lines(10)),
            ("a\nb\nc\n", 4, "a\nb\n", lines(11)),
            ("a\nb\nc\n", 5, "a\nb\n", lines(11)),
            ("\n\n\n", 2, "\n\n", lines(11)),
            ("ééé\né\n", 4, "ééé\n", lines(10)),
            ("ab\nlong line", 6, "ab\n", lines(10)),
        ] {
            let cut = cut(requested, 10, limit);
            assert_eq!((cut.text, cut.shown), (text, shown), "{requested:?} within {limit}");
        }
    }

    #[test]
    fn a_first_line_too_long_is_cut_at_a_character() {
        for (requested, limit, text, shown) in [
            ("abcdef", 4, "abcd", part(6, 4)),
            ("abcdef\nx\n", 4, "abcd", part(6, 4)),
            ("éééé\nx", 3, "ééé", part(4, 3)),
            ("abcd\nx", 4, "abcd", part(4, 4)),
            ("abcd\n", 4, "abcd", part(4, 4)),
            ("a\u{301}b", 1, "a", part(3, 1)),
            ("ab", 0, "", part(2, 0)),
            ("\n", 0, "", part(0, 0)),
        ] {
            let cut = cut(requested, 1, limit);
            assert_eq!((cut.text, cut.shown), (text, shown), "{requested:?} within {limit}");
        }
    }

    #[test]
    fn reading_ends_when_the_limit_is_passed_and_the_first_line_known() {
        for (pieces, enough) in [
            (["ab\n", "c", "d"], [false, false, true]),
            (["abcdef", "gh", "\n"], [false, false, true]),
            (["abcd\n", "e", "f"], [true, true, true]),
            (["abc\n", "", "\n"], [false, false, true]),
        ] {
            let mut extent = Extent::default();
            assert_eq!(pieces.map(|piece| extent.is_enough_after(piece, 4)), enough, "{pieces:?}");
        }
    }

    #[test]
    fn reading_until_it_is_enough_never_changes_the_cut() {
        for requested in texts(&['a', 'é', '\n'], 6) {
            for limit in 0..7 {
                let mut extent = Extent::default();
                let mut read = String::new();
                for character in requested.chars() {
                    read.push(character);
                    if extent.is_enough_after(&character.to_string(), limit) {
                        break;
                    }
                }
                assert!(
                    cut(&read, 1, limit) == cut(&requested, 1, limit),
                    "{requested:?}, {limit}"
                );
            }
        }
    }
}
