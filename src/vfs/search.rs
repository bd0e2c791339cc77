//! Exact search through a file that arrives in pieces.
//!
//! The algorithm is Knuth-Morris-Pratt: it never looks back into earlier pieces, finds overlapping hits, and is linear
//! for every needle. Restarting a substring search after each hit is quadratic for `aaaa…`, and the needle comes from a
//! model.

use super::text::count_newlines;
use inmost_format::secret::Wiped;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Finds every occurrence of a text, overlapping ones included.
pub(crate) struct Searcher<'n> {
    needle: &'n [u8],
    /// For each prefix of the needle, the length of its longest proper prefix that is also its suffix. The table
    /// reveals repetitions in the needle, so it is wiped. Entries have four bytes, because a needle may be as large as
    /// a file.
    borders: Wiped<Vec<u32>>,
    needle_newlines: u64,
    /// The length of the needle's prefix that the text read so far ends with.
    matched: usize,
    bytes_read: u64,
    newlines_read: u64,
}

/// One occurrence of the needle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hit {
    /// Bytes of the file before the occurrence.
    pub(crate) offset: u64,
    /// The line on which it starts, counted from 1.
    pub(crate) line: u64,
}

impl<'n> Searcher<'n> {
    /// Starts a search at the beginning of a file. Returns `None` for a needle that is empty or has 4 GiB or more.
    pub(crate) fn new(needle: &'n str) -> Option<Self> {
        let needle = needle.as_bytes();
        let borders = borders(needle)?;
        let needle_newlines = count_newlines(needle);
        let (bytes_read, newlines_read) = (0, 0);
        Some(Self { needle, borders, needle_newlines, matched: 0, bytes_read, newlines_read })
    }

    /// Reads the next piece, cut anywhere, and reports the hits that end in it, by ascending offset.
    pub(crate) fn feed(&mut self, piece: &[u8], mut on_hit: impl FnMut(Hit)) {
        let Some(first) = self.needle.first() else { return };
        // Newlines are counted up to the end of the last hit.
        let (mut at, mut counted) = (0, 0);
        while let Some(rest) = piece.get(at..).filter(|rest| !rest.is_empty()) {
            if self.matched == 0 {
                let Some(skip) = memchr::memchr(*first, rest) else { break };
                at = at.saturating_add(skip);
            }
            let Some(byte) = piece.get(at) else { break };
            self.matched = step(self.needle, &self.borders, self.matched, *byte);
            at = at.saturating_add(1);
            if self.matched == self.needle.len() {
                self.count(piece.get(counted..at).unwrap_or_default());
                counted = at;
                on_hit(self.hit());
            }
        }
        self.count(piece.get(counted..).unwrap_or_default());
    }

    fn count(&mut self, read: &[u8]) {
        let bytes = u64::try_from(read.len()).unwrap_or(u64::MAX);
        self.bytes_read = self.bytes_read.saturating_add(bytes);
        self.newlines_read = self.newlines_read.saturating_add(count_newlines(read));
    }

    /// The hit that ends at the last byte read. Call it only if the text read ends with the needle.
    fn hit(&self) -> Hit {
        let length = u64::try_from(self.needle.len()).unwrap_or(u64::MAX);
        Hit {
            offset: self.bytes_read.saturating_sub(length),
            line: self.newlines_read.saturating_sub(self.needle_newlines).saturating_add(1),
        }
    }
}

/// Collects the facts about hits of `old_str` that an edit needs.
#[derive(Default)]
pub(crate) struct Occurrences {
    first: Option<Hit>,
    several: bool,
    lines: Vec<u64>,
    more: u64,
    last_line: Option<u64>,
}

/// The result of a search for an edit.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum SearchResult {
    /// The text does not occur.
    Nowhere,
    /// The text occurs exactly once.
    Once(Hit),
    /// The text occurs more than once.
    Several {
        /// The first [`LISTED_LINES`] lines on which it starts, distinct and ascending. There may be only one.
        lines: Vec<u64>,
        /// The number of further lines.
        more: u64,
    },
}

impl Occurrences {
    /// Adds the next hit, in the order of [`Searcher::feed`].
    pub(crate) fn add(&mut self, hit: Hit) {
        self.several = self.first.is_some();
        self.first.get_or_insert(hit);
        if self.last_line == Some(hit.line) {
            return;
        }
        self.last_line = Some(hit.line);
        if self.lines.len() < LISTED_LINES {
            self.lines.push(hit.line);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// Returns the result after the last hit.
    pub(crate) fn result(self) -> SearchResult {
        match self.first {
            None => SearchResult::Nowhere,
            Some(hit) if !self.several => SearchResult::Once(hit),
            Some(_) => SearchResult::Several { lines: self.lines, more: self.more },
        }
    }
}

/// The line on which the only text begins that differs from `old` in spaces, tabs, quotes or the form of its characters alone.
/// Does no I/O.
pub(crate) fn near_line(text: &str, old: &str) -> Option<u64> {
    let old = loose(old);
    if old.trim().is_empty() {
        return None;
    }
    let (mut searcher, mut occurrences) = (Searcher::new(&old)?, Occurrences::default());
    searcher.feed(loose(text).as_bytes(), |hit| occurrences.add(hit));
    match occurrences.result() {
        SearchResult::Once(hit) => Some(hit.line),
        SearchResult::Nowhere | SearchResult::Several { .. } => None,
    }
}

/// A text as models tend to remember it: each line without spaces and tabs at its ends, one space for each run of them, plain
/// quotes, and in NFC. The lines stay as many.
fn loose(text: &str) -> Wiped<String> {
    let mut loose = Wiped::new(String::with_capacity(text.len()));
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            loose.push('\n');
        }
        let mut in_run = false;
        for character in line.trim_matches([' ', '\t']).chars() {
            let is_space = matches!(character, ' ' | '\t' | '\u{a0}');
            match character {
                _ if is_space && in_run => {}
                _ if is_space => loose.push(' '),
                '\u{2018}' | '\u{2019}' => loose.push('\''),
                '\u{201c}' | '\u{201d}' => loose.push('"'),
                other => loose.push(other),
            }
            in_run = is_space;
        }
    }
    if is_nfc_quick(loose.chars()) == IsNormalized::Yes {
        return loose;
    }
    let mut normal = Wiped::new(String::with_capacity(loose.len()));
    for character in loose.nfc() {
        normal.append(character.encode_utf8(&mut [0; 4]));
    }
    normal
}

/// Lines listed at most: a model cannot use a list of 80,000 numbers.
const LISTED_LINES: usize = 100;

fn borders(needle: &[u8]) -> Option<Wiped<Vec<u32>>> {
    let (_, rest) = needle.split_first()?;
    u32::try_from(needle.len()).ok()?;
    let mut borders = Wiped::new(Vec::with_capacity(needle.len()));
    borders.push(0);
    let mut matched = 0;
    for byte in rest {
        matched = step(needle, &borders, matched, *byte);
        borders.push(u32::try_from(matched).ok()?);
    }
    Some(borders)
}

/// The number of matched bytes of the needle after one more byte. It falls back at most as often as it advanced before,
/// so a whole text costs at most two comparisons a byte.
fn step(needle: &[u8], borders: &[u32], mut matched: usize, byte: u8) -> usize {
    loop {
        if needle.get(matched) == Some(&byte) {
            return matched.saturating_add(1);
        }
        let Some(shorter) = matched.checked_sub(1).and_then(|last| borders.get(last)) else {
            return 0;
        };
        matched = usize::try_from(*shorter).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn hits(text: &str, needle: &str, piece: usize) -> Vec<Hit> {
        let mut found = Vec::new();
        let mut searcher = Searcher::new(needle).unwrap();
        for piece in text.as_bytes().chunks(piece) {
            searcher.feed(piece, |hit| found.push(hit));
        }
        found
    }

    fn hits_by_trying_everywhere(text: &str, needle: &str) -> Vec<Hit> {
        let bytes = text.as_bytes();
        let newlines = |at| text.get(..at).unwrap().matches('\n').count();
        (0..bytes.len())
            .filter(|at| bytes[*at..].starts_with(needle.as_bytes()))
            .map(|at| Hit {
                offset: u64::try_from(at).unwrap(),
                line: u64::try_from(newlines(at)).unwrap() + 1,
            })
            .collect()
    }

    fn texts(alphabet: &[char], lengths: std::ops::RangeInclusive<usize>) -> Vec<String> {
        lengths
            .flat_map(|length| {
                (0..alphabet.len().pow(u32::try_from(length).unwrap())).map(move |mut number| {
                    (0..length)
                        .map(|_| {
                            let character = alphabet[number % alphabet.len()];
                            number /= alphabet.len();
                            character
                        })
                        .collect()
                })
            })
            .collect()
    }

    #[test]
    fn every_hit_is_found_in_every_small_text_however_it_is_cut() {
        for needle in texts(&['a', 'b', '\n'], 1..=4) {
            for text in texts(&['a', 'b', '\n'], 0..=6) {
                let expected = hits_by_trying_everywhere(&text, &needle);
                for piece in [1, 2, 3, 100] {
                    assert_eq!(hits(&text, &needle, piece), expected, "{needle:?} in {text:?}");
                }
            }
        }
    }

    #[test]
    fn a_hit_across_pieces_of_a_character_has_its_offset_and_line() {
        let text = "eins\nzwölf\nzwölf";
        let expected = [Hit { offset: 5, line: 2 }, Hit { offset: 12, line: 3 }];
        for piece in 1..text.len() {
            assert_eq!(hits(text, "zwölf", piece), expected);
        }
        assert_eq!(hits(text, "s\nzwölf\nz", 4), [Hit { offset: 3, line: 1 }]);
    }

    #[test]
    fn no_character_is_special() {
        assert_eq!(hits("a$1^.*\\n", "$1^.*\\n", 3), [Hit { offset: 1, line: 1 }]);
        assert_eq!(hits("a\0b\r\n", "\0b\r", 1), [Hit { offset: 1, line: 1 }]);
    }

    #[test]
    fn an_empty_needle_is_refused() {
        assert!(Searcher::new("").is_none());
    }

    fn found(text: &str, needle: &str) -> SearchResult {
        let mut occurrences = Occurrences::default();
        Searcher::new(needle).unwrap().feed(text.as_bytes(), |hit| occurrences.add(hit));
        occurrences.result()
    }

    #[test]
    fn occurrences_are_none_one_or_several_with_distinct_lines() {
        assert_eq!(found("abc", "x"), SearchResult::Nowhere);
        assert_eq!(found("a\nbc", "c"), SearchResult::Once(Hit { offset: 3, line: 2 }));
        assert_eq!(found("aaa", "aa"), SearchResult::Several { lines: vec![1], more: 0 });
        assert_eq!(found("a a\nb\na\n", "a"), SearchResult::Several { lines: vec![1, 3], more: 0 });
        assert_eq!(found("\n\n\n", "\n\n"), SearchResult::Several { lines: vec![1, 2], more: 0 });
        let many = found(&"a\n".repeat(250), "a");
        assert_eq!(many, SearchResult::Several { lines: (1..=100).collect(), more: 150 });
    }

    #[test]
    fn a_near_miss_is_found_if_it_is_the_only_one() {
        let text =
            "one\n  two\u{a0}\t three \nsays \u{201c}it\u{2019}s\u{201d}\ncafe\u{301}\nx  y\nx y\n";
        for (old, line) in [
            ("two three", Some(2)),
            ("two three\nsays", Some(2)),
            ("\t one \ntwo   three", Some(1)),
            ("says \"it's\"", Some(3)),
            ("caf\u{e9}", Some(4)),
            ("e  \u{201d}it", None),
            ("twothree", None),
            ("x\ty", None),
            (" ", None),
            ("\n", None),
            ("\u{a0}\n\t", None),
        ] {
            assert_eq!(near_line(text, old), line, "{old:?}");
        }
    }

    #[test]
    fn hostile_repetition_costs_linear_time() {
        let started = Instant::now();
        let text = "a".repeat(4 << 20);
        let half = "a".repeat(2 << 20);
        assert_eq!(hits(&text, &half, 4_096).len(), (2 << 20) + 1);
        assert_eq!(hits(&text, &(half + "b"), 4_096).len(), 0);
        assert!(started.elapsed() < Duration::from_secs(60), "two searches of 4 MiB");
    }
}
