//! Rules for single names: allowed characters, and the names that listings leave out.

use crate::limits;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

pub(crate) use inmost_format::record::totals::is_hidden;

/// The rule that an invalid path breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InvalidPath {
    /// A NUL, literal or after decoding.
    Nul,
    /// Another character of category Cc.
    Control,
    /// A character of category Cf other than U+200C and U+200D. It is invisible, so two names could look the same.
    Format,
    /// U+2028 or U+2029.
    Separator,
    /// An empty name.
    EmptyName,
    /// A name that begins or ends with white space. It looks like one without.
    OuterSpace,
    /// A name of which nothing is visible.
    Invisible,
    /// More than [`SEGMENT_BYTES`](crate::limits::SEGMENT_BYTES) in one name.
    LongName,
    /// More than this many bytes in all.
    LongPath(usize),
    /// More than this many names.
    Deep(usize),
}

impl InvalidPath {
    /// Describes the broken rule without quoting the path.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Nul => "it contains a NUL character".to_owned(),
            Self::Control => "it contains a control character".to_owned(),
            Self::Format => "it contains an invisible format character".to_owned(),
            Self::Separator => "it contains a line or paragraph separator".to_owned(),
            Self::EmptyName => "it contains an empty name".to_owned(),
            Self::OuterSpace => "a name begins or ends with white space".to_owned(),
            Self::Invisible => "a name has no visible character".to_owned(),
            Self::LongName => format!("a name is longer than {} bytes", limits::SEGMENT_BYTES),
            Self::LongPath(most) => format!("it is longer than {most} bytes"),
            Self::Deep(most) => format!("it is more than {most} levels below /memories"),
        }
    }
}

/// Checks that a name may contain this character of its NFC form. Does no I/O.
pub(super) fn check(character: char) -> Result<(), InvalidPath> {
    match character {
        '\0' => Err(InvalidPath::Nul),
        // Most characters of names need no table. Joiners are allowed: scripts and emoji need them.
        ' '..='~' | '\u{200C}' | '\u{200D}' => Ok(()),
        '\u{2028}' | '\u{2029}' => Err(InvalidPath::Separator),
        _ => match character.general_category() {
            GeneralCategory::Control => Err(InvalidPath::Control),
            GeneralCategory::Format => Err(InvalidPath::Format),
            _ => Ok(()),
        },
    }
}

/// Checks a name whose characters are allowed as a whole. Does no I/O.
pub(super) fn check_ends(name: &str) -> Result<(), InvalidPath> {
    if !name.chars().any(is_visible) {
        return Err(InvalidPath::Invisible);
    }
    let is_outer = name.starts_with(char::is_whitespace) || name.ends_with(char::is_whitespace);
    if is_outer { Err(InvalidPath::OuterSpace) } else { Ok(()) }
}

/// Whether a name shows this character: no space, no joiner, no Hangul filler, and no variation selector.
fn is_visible(character: char) -> bool {
    !character.is_whitespace()
        && !matches!(character, '\u{200C}' | '\u{200D}' | '\u{3164}')
        && !matches!(character, '\u{180B}'..='\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::path::MemoryPath;
    use inmost_storage::every_variant;

    /// The numbers are those of the limits.
    #[test]
    fn every_reason_is_a_phrase_that_quotes_nothing() {
        use InvalidPath as E;
        let table = every_variant!(InvalidPath {
            E::Nul => [E::Nul, "it contains a NUL character"];
            E::Control => [E::Control, "it contains a control character"];
            E::Format => [E::Format, "it contains an invisible format character"];
            E::Separator => [E::Separator, "it contains a line or paragraph separator"];
            E::EmptyName => [E::EmptyName, "it contains an empty name"];
            E::OuterSpace => [E::OuterSpace, "a name begins or ends with white space"];
            E::Invisible => [E::Invisible, "a name has no visible character"];
            E::LongName => [E::LongName, "a name is longer than 255 bytes"];
            E::LongPath(_) => [E::LongPath(limits::PATH_BYTES), "it is longer than 1024 bytes"];
            E::Deep(_) => [
                E::Deep(inmost_format::limits::PATH_DEPTH),
                "it is more than 20 levels below /memories"
            ];
        });
        for (reason, phrase) in table {
            assert_eq!(reason.describe(), phrase);
        }
    }

    #[test]
    fn invisible_and_control_characters_make_a_path_invalid() {
        for (characters, expected) in [
            ("\0", InvalidPath::Nul),
            ("\u{1}\n\t\r\u{1b}\u{7f}\u{80}\u{85}\u{9f}", InvalidPath::Control),
            ("\u{ad}\u{200B}\u{200E}\u{202E}\u{2060}\u{2066}\u{FEFF}", InvalidPath::Format),
            ("\u{600}\u{6DD}\u{70F}\u{180E}\u{110BD}\u{1D173}\u{E0041}", InvalidPath::Format),
            ("\u{2028}\u{2029}", InvalidPath::Separator),
        ] {
            for character in characters.chars() {
                assert_eq!(check(character), Err(expected), "{character:?}");
            }
        }
    }

    #[test]
    fn names_that_cannot_be_told_apart_are_invalid() {
        for name in [" a", "a ", "\u{a0}a", "a\u{3000}", "\u{2003}a b\u{2003}"] {
            assert_eq!(check_ends(name), Err(InvalidPath::OuterSpace), "{name:?}");
        }
        for name in
            [" ", "\u{a0}\u{3000}", "\u{200D}", "\u{3164}", "\u{FE0F}", "\u{E0100} \u{180B}"]
        {
            assert_eq!(check_ends(name), Err(InvalidPath::Invisible), "{name:?}");
        }
        for name in ["a b", "a\u{200D}", "\u{2764}\u{FE0F}", "\u{3164}a", "\u{1160}"] {
            assert_eq!(check_ends(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn joiners_spaces_private_and_unassigned_characters_are_fine() {
        for character in
            "\u{200C}\u{200D} \u{a0}\u{3000}\u{FE0F}\u{E000}\u{378}\u{FFFF}aé中😀".chars()
        {
            assert_eq!(check(character), Ok(()), "{character:?}");
        }
    }

    #[test]
    fn names_are_those_of_the_vectors() {
        #[derive(serde::Deserialize)]
        struct Case {
            name: String,
            is_valid: bool,
        }
        let cases: Vec<Case> =
            serde_json::from_str(include_str!("../../tests/vectors/names.json")).unwrap();
        assert!(cases.len() > 40);
        for Case { name, is_valid } in cases {
            let path = MemoryPath::root().join(&name);
            let is_itself = path.is_ok_and(|path| path.name() == Some(&name));
            assert_eq!(is_itself, is_valid, "{name:?}");
        }
    }

    #[test]
    fn dot_names_and_node_modules_are_hidden() {
        assert!(is_hidden(".git") && is_hidden("...") && is_hidden("node_modules"));
        assert!(!is_hidden("a.b") && !is_hidden("node_modules2") && !is_hidden("Node_modules"));
    }
}
