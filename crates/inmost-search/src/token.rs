//! The tokens of a text: words, the parts of identifiers, and bigrams where words are written without spaces.
//!
//! All work is linear in the text. Tokens are made in one buffer, which is wiped.

use unicode_segmentation::UnicodeSegmentation as _;
use zeroize::Zeroizing;

use crate::fold::{TOKEN_BYTES, fold_into, folded, is_mark};

/// Calls `each` with every token of a text, folded and in order. It may change the token.
pub(crate) fn for_each(text: &str, mut each: impl FnMut(&mut String)) {
    let mut token = Zeroizing::new(String::with_capacity(TOKEN_BYTES));
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let unspaced = is_unspaced(first);
        let run;
        (run, rest) =
            split_where(rest, |_, char, _| !is_mark(char) && is_unspaced(char) != unspaced);
        if unspaced {
            bigrams(run, &mut token, &mut each);
        } else {
            for word in run.unicode_words() {
                // An apostrophe joins what are different words in Italian, and ends an English one.
                for word in word.split(['\'', '\u{2019}']) {
                    identifier(word, &mut token, &mut each);
                }
            }
        }
    }
}

/// A word that consists of parts is a token, and so is each part: `read_file`, `read`, `file`.
fn identifier(word: &str, token: &mut String, each: &mut impl FnMut(&mut String)) {
    let word = word.trim_matches(|char| !is_letter(char));
    let (first, mut rest) = part(word);
    if first.len() < word.len() {
        fold_into(token, word);
        each(token);
    }
    let mut next = first;
    loop {
        let (letters, digits) = before_number(next).unwrap_or((next, ""));
        // `v1`, which is not yet a token.
        if !digits.is_empty() && next.len() == word.len() {
            fold_into(token, next);
            each(token);
        }
        for piece in [letters, digits] {
            fold_into(token, piece);
            if !token.is_empty() {
                each(token);
            }
        }
        if rest.is_empty() {
            return;
        }
        (next, rest) = part(rest.trim_start_matches(|char| !is_letter(char)));
    }
}

/// Splits off the first part of an identifier: up to a character that is no letter, or a change of case.
fn part(word: &str) -> (&str, &str) {
    split_where(word, |before, char, after| {
        let mut after = after.chars();
        let is_lower = |char: Option<char>| char.is_some_and(char::is_lowercase);
        let starts_word = char.is_uppercase()
            && (before.is_lowercase()
                // `HTTPServer`, but not `IDs`.
                || (before.is_uppercase() && is_lower(after.next()) && is_lower(after.next())));
        starts_word || !is_letter(char)
    })
}

/// Splits a part such as `python3` before its number. Parts in which letters and digits alternate are left whole: a hash is not
/// made of words.
fn before_number(part: &str) -> Option<(&str, &str)> {
    let (letters, digits) = part.split_at(part.find(char::is_numeric)?);
    (!letters.is_empty() && digits.chars().all(char::is_numeric)).then_some((letters, digits))
}

/// Every two adjacent characters, or a single one that stands alone.
fn bigrams(run: &str, token: &mut String, each: &mut impl FnMut(&mut String)) {
    let mut chars = folded(run).peekable();
    let mut is_first = true;
    while let Some(char) = chars.next() {
        let next = chars.peek().copied();
        if next.is_some() || is_first {
            token.clear();
            token.extend([Some(char), next].into_iter().flatten());
            each(token);
        }
        is_first = false;
    }
}

/// Splits a text before the first character, except for its very first, for which `is_border` is true of the character before,
/// it, and the text after it.
fn split_where(text: &str, is_border: impl Fn(char, char, &str) -> bool) -> (&str, &str) {
    let mut chars = text.chars();
    let Some(mut before) = chars.next() else {
        return (text, "");
    };
    loop {
        let rest = chars.as_str();
        let Some(char) = chars.next() else {
            return (text, "");
        };
        if is_border(before, char, chars.as_str()) {
            return text.split_at(text.len() - rest.len());
        }
        if !is_mark(char) {
            before = char;
        }
    }
}

fn is_letter(char: char) -> bool {
    char.is_alphanumeric() || is_mark(char)
}

/// Whether a character is of a script that writes words without spaces between them, or sticks particles to them: Han, kana,
/// Hangul, Thai, Lao, Burmese, Khmer.
fn is_unspaced(char: char) -> bool {
    char >= '\u{e00}'
        && char.is_alphanumeric()
        && matches!(char,
            '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1100}'..='\u{11ff}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{30ff}'
            | '\u{3130}'..='\u{318f}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{a960}'..='\u{a97f}'
            | '\u{ac00}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ffdc}'
            | '\u{1b000}'..='\u{1b16f}'
            | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn tokens(text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        for_each(text, |token| tokens.push(token.clone()));
        tokens
    }

    #[test]
    fn words_end_at_the_boundaries_of_unicode() {
        assert_eq!(
            tokens("Don't panic: 3.5 of 1,000 l'été."),
            ["don", "t", "panic", "3.5", "3", "5", "of", "1,000", "1", "000", "l", "ete"]
        );
        assert_eq!(tokens(" \t-- !? \u{1f600} _ ' \n"), [""; 0]);
    }

    #[test]
    fn identifiers_are_split_and_kept_whole() {
        for (text, expected) in [
            ("read_file", &["read_file", "read", "file"][..]),
            ("__init__", &["init"]),
            ("HashMap", &["hashmap", "hash", "map"]),
            ("readFile", &["readfile", "read", "file"]),
            ("HTTPServer", &["httpserver", "http", "server"]),
            ("IDs", &["ids"]),
            ("v1.2.3", &["v1.2.3", "v", "1", "2", "3"]),
            ("python3", &["python3", "python", "3"]),
            ("std::io", &["std", "io"]),
            ("user:name", &["user:name", "user", "name"]),
            ("kebab-case", &["kebab", "case"]),
            ("/memories/plan.md", &["memories", "plan.md", "plan", "md"]),
            ("3f2a9b", &["3f2a9b"]),
            ("e\u{301}tat_pre\u{301}sent", &["etat_present", "etat", "present"]),
        ] {
            assert_eq!(tokens(text), expected, "{text:?}");
        }
    }

    #[test]
    fn text_without_spaces_is_split_into_bigrams() {
        for (text, expected) in [
            ("東京都", &["東京", "京都"][..]),
            ("東", &["東"]),
            ("東京、大阪", &["東京", "大阪"]),
            ("メモリ", &["メモ", "モリ"]),
            ("ﾒﾓﾘ", &["メモ", "モリ"]),
            ("한국어 문서", &["한국", "국어", "문서"]),
            ("ไทย", &["ไท", "ทย"]),
            ("Pythonを使う", &["python", "を使", "使う"]),
        ] {
            assert_eq!(tokens(text), expected, "{text:?}");
        }
    }

    /// Printed, not asserted, except that quadratic work would take hours.
    #[test]
    fn work_is_linear_in_the_text() {
        for unit in [
            "a",
            "a_",
            "aB",
            "a1",
            "ABc",
            "a'",
            "a:\u{308}\u{308}",
            "\u{308}",
            "\u{200d}",
            "東",
            "東\u{3099}",
            "가",
            "\u{1f1e6}",
            "\u{1f469}\u{200d}",
            "a.",
            "1,",
            "\u{fdfa}",
            "\u{5d0}\"",
            "\u{e48}",
            "\u{1100}",
            "_",
        ] {
            let text = unit.repeat((1 << 20) / unit.len());
            let start = Instant::now();
            let mut count = 0;
            for_each(&text, |_| count += 1);
            println!("{unit:?}: {count} tokens of 1 MiB in {:?}", start.elapsed());
        }
        let marks = format!("a:{}", "\u{308}".repeat(1 << 19));
        for_each(&marks, |_| ());
    }
}
