//! Folds case, accents and widths of a word: `Ä`, `ä` and `a` are the same letter, `ß` is `ss`.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{canonical_combining_class, is_combining_mark};

/// A token has at most so many characters. What is longer is hardly a word, and is cut.
pub(crate) const TOKEN_CHARS: usize = 64;

/// The bytes of a buffer in which a token fits without moving. A buffer that moves leaves a copy behind.
pub(crate) const TOKEN_BYTES: usize = TOKEN_CHARS * 4;

/// Sets `token` to the folded text, cut to [`TOKEN_CHARS`].
pub(crate) fn fold_into(token: &mut String, text: &str) {
    token.clear();
    if text.is_ascii() {
        let bytes = text.bytes().take(TOKEN_CHARS);
        token.extend(bytes.map(|byte| char::from(byte.to_ascii_lowercase())));
    } else {
        token.extend(folded(text).take(TOKEN_CHARS));
    }
}

/// The folded characters of a text.
pub(crate) fn folded(text: &str) -> impl Iterator<Item = char> {
    let bare = text.nfkd().filter(|char| !is_dropped(*char));
    // Composed again, because the parts of a syllable of Hangul are not letters of a word.
    bare.flat_map(char::to_lowercase).flat_map(spelled).nfc()
}

/// Whether a character belongs to the one before it.
pub(crate) fn is_mark(char: char) -> bool {
    char > '\u{7f}' && (is_combining_mark(char) || is_invisible(char))
}

/// An accent, or a character that is not seen. Vowels and tones of Thai and Lao, the voicing of kana and the viramas of India
/// are marks too, but words differ by them.
fn is_dropped(char: char) -> bool {
    if char < '\u{ad}' {
        return false;
    }
    matches!(canonical_combining_class(char), 10..=36 | 200..) || is_invisible(char)
}

fn is_invisible(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
}

/// Letters that have no decomposition, as they are spelled without their sign.
fn spelled(char: char) -> impl Iterator<Item = char> {
    let (first, second) = match char {
        'ß' => ('s', Some('s')),
        'æ' => ('a', Some('e')),
        'œ' => ('o', Some('e')),
        'þ' => ('t', Some('h')),
        'ø' => ('o', None),
        'ł' => ('l', None),
        'đ' | 'ð' => ('d', None),
        'ı' => ('i', None),
        'ς' => ('σ', None),
        other => (other, None),
    };
    [Some(first), second].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(text: &str) -> String {
        let mut token = String::new();
        fold_into(&mut token, text);
        token
    }

    #[test]
    fn case_accents_and_widths_are_folded() {
        for (text, expected) in [
            ("HashMap", "hashmap"),
            ("Configuração", "configuracao"),
            ("e\u{301}te\u{301}", "ete"),
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("STRAẞE", "strasse"),
            ("Smørrebrød", "smorrebrod"),
            ("Łódź", "lodz"),
            ("Ærø", "aero"),
            ("İstanbul", "istanbul"),
            ("Ёлка", "елка"),
            ("случай", "случаи"),
            ("ΛΌΓΟΣ", "λογοσ"),
            ("λόγος", "λογοσ"),
            ("ﬁle", "file"),
            ("Ｆｕｌｌ", "full"),
            ("x²", "x2"),
            ("co\u{ad}operate", "cooperate"),
            ("שָׁלוֹם", "שלום"),
            ("مُحَمَّد", "محمد"),
        ] {
            assert_eq!(fold(text), expected, "{text:?}");
        }
    }

    #[test]
    fn marks_that_words_differ_by_are_kept() {
        for text in ["が", "한국어", "ที่นี่", "हिन्दी"] {
            assert_eq!(fold(text), text);
        }
    }

    #[test]
    fn a_token_is_cut_to_64_characters() {
        assert_eq!(fold(&"x".repeat(65)), "x".repeat(64));
        assert_eq!(fold(&"é".repeat(65)), "e".repeat(64));
        assert_eq!(fold(&"\u{fdfa}".repeat(65)).chars().count(), 64);
    }
}
