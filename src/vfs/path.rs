//! The path of a memory: parsed once, after which it cannot leave `/memories`.
//!
//! Parsing decides everything about a path that needs no store. It does not know what exists, and its
//! errors hold no text: whoever reports them has the path as it was sent.

use super::escape::{Meaning, meaning};
use super::name::{self, InvalidPath};
use crate::limits::{PATH_BYTES, PATH_DEPTH, SEGMENT_BYTES};
use std::fmt;
use std::hash::{Hash, Hasher};
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

const ROOT: &str = "/memories";

/// A canonical path. Holds, for every value:
///
/// - it is `/memories`, or `/memories/` and names joined by single `/`;
/// - each name is non-empty, in Unicode NFC, and at most [`SEGMENT_BYTES`] bytes;
/// - no name is or percent-decodes to `.` or `..`, nor holds or decodes to `/`, `\` or NUL;
/// - no character is a control, format (but U+200C and U+200D), line or paragraph separator;
/// - it has at most [`PATH_DEPTH`] names and [`PATH_BYTES`] bytes;
/// - parsing it again gives the same path.
///
/// Names are plaintext: the buffer is wiped on drop and `Debug` does not show it. There is no order,
/// because the order of a tree (by names) is not that of the strings (`/` sorts after `-`).
#[derive(Clone)]
pub(crate) struct MemoryPath {
    text: Zeroizing<String>,
}

/// Why a path is refused, in the order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathError {
    /// Its first segment is not `memories`.
    Prefix,
    /// Some segment could lead out of the tree.
    Escape,
    /// It is inside the tree but no path can look like that.
    Invalid(InvalidPath),
}

impl MemoryPath {
    /// The folder that always exists.
    pub(crate) fn root() -> Self {
        // Room for the longest path, so that no growth leaves an unwiped copy behind.
        let mut text = Zeroizing::new(String::with_capacity(PATH_BYTES));
        text.push_str(ROOT);
        Self { text }
    }

    /// Parses what a model or host sent, in time linear in its length. Does no I/O.
    ///
    /// # Errors
    /// The first of: not below the root, an escape in any segment, an invalid segment or a limit.
    pub(crate) fn parse(sent: &str) -> Result<Self, PathError> {
        let below = sent.strip_prefix(ROOT).ok_or(PathError::Prefix)?;
        if !below.is_empty() && !below.starts_with('/') {
            return Err(PathError::Prefix);
        }
        let names = || below.split('/').filter(|name| !name.is_empty());

        // All segments are judged before any is called invalid, however long the path. They are
        // judged as sent, not as folded: folding never makes one of the characters that matter
        // here (a test checks it), but can hide one, as in `%2f` before a combining dot.
        let mut holds_nul = false;
        for name in names() {
            match meaning(name) {
                Meaning::Escape => return Err(PathError::Escape),
                Meaning::Nul => holds_nul = true,
                Meaning::Name => {}
            }
        }
        if holds_nul {
            return Err(PathError::Invalid(InvalidPath::Nul));
        }

        let mut path = Self::root();
        for (depth, name) in names().enumerate() {
            if depth >= PATH_DEPTH {
                return Err(PathError::Invalid(InvalidPath::Deep));
            }
            path.push(name).map_err(PathError::Invalid)?;
        }
        Ok(path)
    }

    /// The path of `name` in this folder.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse), for a name that is no single segment or a path beyond the limits.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn join(&self, name: &str) -> Result<Self, PathError> {
        match meaning(name) {
            Meaning::Escape => return Err(PathError::Escape),
            Meaning::Nul => return Err(PathError::Invalid(InvalidPath::Nul)),
            Meaning::Name => {}
        }
        if self.depth() >= PATH_DEPTH {
            return Err(PathError::Invalid(InvalidPath::Deep));
        }
        let mut path = Self::root();
        path.text.push_str(self.below_root());
        path.push(name).map_err(PathError::Invalid)?;
        Ok(path)
    }

    /// The folder this path lies in; `None` for the root.
    pub(crate) fn parent(&self) -> Option<Self> {
        let (folder, _) = self.below_root().rsplit_once('/')?;
        let mut path = Self::root();
        path.text.push_str(folder);
        Some(path)
    }

    /// The last segment; `None` for the root.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn name(&self) -> Option<&str> {
        self.below_root().rsplit_once('/').map(|(_, name)| name)
    }

    /// The names from the root downwards, the root itself not among them.
    pub(crate) fn segments(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.below_root().split('/').filter(|name| !name.is_empty())
    }

    /// The number of [`segments`](Self::segments).
    pub(crate) fn depth(&self) -> usize {
        self.below_root().bytes().filter(|byte| *byte == b'/').count()
    }

    /// Whether this is the root.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn is_root(&self) -> bool {
        self.below_root().is_empty()
    }

    /// Whether `folder` is this path or one of its parents; whole segments count.
    pub(crate) fn starts_with(&self, folder: &Self) -> bool {
        self.as_str()
            .strip_prefix(folder.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The canonical text, such as `/memories/a/b`; never ends in `/`.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    fn below_root(&self) -> &str {
        self.text.strip_prefix(ROOT).unwrap_or_default()
    }

    /// Appends a segment that is no escape, and stops at the first byte beyond a limit.
    fn push(&mut self, name: &str) -> Result<(), InvalidPath> {
        if name.is_empty() {
            return Err(InvalidPath::EmptyName);
        }
        self.push_character('/')?;
        let start = self.text.len();
        for character in name.nfc() {
            name::check(character)?;
            self.push_character(character)?;
            if self.text.len().saturating_sub(start) > SEGMENT_BYTES {
                return Err(InvalidPath::LongName);
            }
        }
        Ok(())
    }

    fn push_character(&mut self, character: char) -> Result<(), InvalidPath> {
        if self.text.len().saturating_add(character.len_utf8()) > PATH_BYTES {
            return Err(InvalidPath::LongPath);
        }
        self.text.push(character);
        Ok(())
    }
}

impl PartialEq for MemoryPath {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for MemoryPath {}

impl Hash for MemoryPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for MemoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryPath").finish_non_exhaustive()
    }
}

/// How a path is echoed to whoever sent it: with exactly one final `/` removed, though `/` alone stays.
pub(crate) fn echo(sent: &str) -> &str {
    match sent.strip_suffix('/') {
        Some("") | None => sent,
        Some(shorter) => shorter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn canonical(sent: &str) -> String {
        match MemoryPath::parse(sent) {
            Ok(path) => path.as_str().to_owned(),
            Err(error) => panic!("{sent:?} is refused: {error:?}"),
        }
    }

    fn refusal(sent: &str) -> PathError {
        match MemoryPath::parse(sent) {
            Ok(path) => panic!("{sent:?} is accepted as {:?}", path.as_str()),
            Err(error) => error,
        }
    }

    #[test]
    fn accepted_paths_have_one_canonical_form() {
        for (below, expected) in [
            ("", ""),
            ("/", ""),
            ("//", ""),
            ("///", ""),
            ("/a", "/a"),
            ("/a/", "/a"),
            ("//a///b//", "/a/b"),
            ("/e\u{301}", "/\u{e9}"),
            ("/\u{212B}", "/\u{c5}"),
        ] {
            assert_eq!(canonical(&format!("/memories{below}")), format!("/memories{expected}"));
        }
    }

    #[test]
    fn unusual_names_are_names_and_canonical_as_they_are() {
        let names = "memories a..b.txt 100%.txt a%2eb ... %u002e %0a \u{301} \u{e9} .a A \
            a\u{200C}b\u{200D}";
        for name in names.split(' ').chain([" ", "a b "]) {
            let path = format!("/memories/{name}");
            assert_eq!(canonical(&path), path);
        }
    }

    #[test]
    fn the_root_must_be_the_whole_first_segment() {
        let sent = "/ //memories /memoriesfoo /etc/passwd memories memories/a /Memories /memorie \
            /memories\u{301} /memories\0 /memories\\a /memories%2fa /memories. /./memories \
            /a/../memories ..";
        for sent in sent.split(' ').chain(["", " /memories", "/memories "]) {
            assert_eq!(refusal(sent), PathError::Prefix, "{sent:?}");
        }
    }

    #[test]
    fn an_escape_is_refused_wherever_it_stands() {
        let below = ".. . ../memories a/../b ./a a/. a/%252e%252e %2e%2e/ /..// a\\b a%2fb \
            %c0%ae%c0%ae/x %e0%80%af %2f\u{307}";
        for below in below.split(' ') {
            assert_eq!(refusal(&format!("/memories/{below}")), PathError::Escape, "{below:?}");
        }
    }

    #[test]
    fn a_forbidden_character_is_found_in_any_segment() {
        for (name, expected) in [
            ("a\0b", InvalidPath::Nul),
            ("a%00b", InvalidPath::Nul),
            ("a%2500b", InvalidPath::Nul),
            ("a\nb", InvalidPath::Control),
            ("\u{FEFF}a", InvalidPath::Format),
            ("\u{2028}", InvalidPath::Separator),
        ] {
            for sent in [format!("/memories/{name}"), format!("/memories/x/{name}/y/")] {
                assert_eq!(refusal(&sent), PathError::Invalid(expected), "{sent:?}");
            }
        }
    }

    #[test]
    fn an_escape_comes_before_an_invalid_segment() {
        let long = "a".repeat(2_000);
        for before in ["\0", "\n", "%00", &long, &"a/".repeat(30)] {
            assert_eq!(refusal(&format!("/memories/{before}/..")), PathError::Escape);
        }
    }

    #[test]
    fn limits_hold_for_the_canonical_path() {
        let invalid = |sent: &str| match refusal(sent) {
            PathError::Invalid(reason) => reason,
            other => panic!("{other:?}"),
        };
        let name = "n".repeat(255);
        canonical(&format!("/memories/{name}"));
        assert_eq!(invalid(&format!("/memories/{name}n")), InvalidPath::LongName);

        let decomposed = "e\u{301}".repeat(127);
        assert_eq!(canonical(&format!("/memories/{decomposed}x")).len(), 10 + 255);
        assert_eq!(invalid(&format!("/memories/{decomposed}xx")), InvalidPath::LongName);

        let deep = "/d".repeat(20);
        canonical(&format!("/memories{deep}//"));
        assert_eq!(invalid(&format!("/memories{deep}/d")), InvalidPath::Deep);

        let full = format!("/memories/{name}/{name}/{name}/{}", "n".repeat(246));
        assert_eq!(canonical(&format!("{full}//")).len(), 1_024);
        assert_eq!(invalid(&format!("{full}n")), InvalidPath::LongPath);
        // U+0958 is excluded from composition: three bytes sent are six in NFC.
        assert_eq!(invalid(&format!("/memories/{}", "\u{958}".repeat(43))), InvalidPath::LongName);
    }

    #[test]
    fn folding_makes_none_of_the_characters_an_escape_is_made_of() {
        let matters = |c: char| c.is_ascii_hexdigit() || "%./\\\0".contains(c);
        let culprit = ('\u{80}'..=char::MAX).find(|character| character.nfc().any(matters));
        assert_eq!(culprit, None);
    }

    #[test]
    fn parts_of_a_path_are_whole_segments() {
        let path = MemoryPath::parse("/memories/a/b-c").unwrap();
        assert_eq!(path.segments().collect::<Vec<_>>(), ["a", "b-c"]);
        assert_eq!(path.depth(), 2);
        assert_eq!(path.name(), Some("b-c"));
        let folder = path.parent().unwrap();
        assert_eq!(folder.as_str(), "/memories/a");
        assert!(path.starts_with(&folder) && path.starts_with(&path));
        assert!(path.starts_with(&MemoryPath::root()) && !folder.starts_with(&path));
        assert!(!path.starts_with(&MemoryPath::parse("/memories/a/b").unwrap()));
        assert_eq!(folder.parent(), Some(MemoryPath::root()));
        assert_eq!(folder.join("b-c"), Ok(path));
    }

    #[test]
    fn the_root_has_no_parent_and_no_name() {
        let root = MemoryPath::root();
        assert!(root.is_root() && root.parent().is_none() && root.name().is_none());
        assert_eq!((root.segments().count(), root.depth()), (0, 0));
    }

    #[test]
    fn joining_obeys_the_rules_of_parsing() {
        let root = MemoryPath::root();
        assert_eq!(root.join(".."), Err(PathError::Escape));
        assert_eq!(root.join("a/b"), Err(PathError::Escape));
        assert_eq!(root.join(""), Err(PathError::Invalid(InvalidPath::EmptyName)));
        assert_eq!(root.join("%00"), Err(PathError::Invalid(InvalidPath::Nul)));
        assert_eq!(root.join(&"n".repeat(256)), Err(PathError::Invalid(InvalidPath::LongName)));
        let deep = MemoryPath::parse(&format!("/memories{}", "/d".repeat(20))).unwrap();
        assert_eq!(deep.join("d"), Err(PathError::Invalid(InvalidPath::Deep)));
    }

    #[test]
    fn an_echo_loses_exactly_one_final_slash() {
        assert_eq!(["", "/", "//", "a", "a/", "a//"].map(echo), ["", "/", "/", "a", "a", "a/"]);
    }

    #[test]
    fn debug_shows_no_name() {
        let path = MemoryPath::parse("/memories/diagnosis").unwrap();
        assert_eq!(format!("{path:?}"), "MemoryPath { .. }");
    }

    #[test]
    fn a_path_of_megabytes_is_refused_in_linear_time() {
        let timely = |sent: &str| {
            let started = Instant::now();
            let parsed = MemoryPath::parse(sent).map(|path| path.as_str().to_owned());
            assert!(started.elapsed() < Duration::from_secs(1), "a path of 4 MiB");
            parsed
        };
        let size = 4 << 20;
        for unit in ["%25", "%2525", "a", "a/", "%/", "/", "\u{301}", "e\u{301}", "\u{958}"] {
            let sent = format!("/memories/{}", unit.repeat(size / unit.len()));
            match timely(&sent) {
                Ok(path) => assert_eq!((unit, path.as_str()), ("/", "/memories")),
                Err(error) => assert!(matches!(error, PathError::Invalid(_)), "{unit}"),
            }
            assert_eq!(timely(&format!("{sent}/..")), Err(PathError::Escape), "{unit}");
        }
    }
}
