//! Tests of which paths are valid, and of their canonical forms.

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
    for name in names.split(' ').chain(["a b", "a\u{a0}b"]) {
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
        (" a", InvalidPath::OuterSpace),
        ("\u{e9}\u{3000}", InvalidPath::OuterSpace),
        ("\u{200D}", InvalidPath::Invisible),
        (" ", InvalidPath::Invisible),
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
    assert_eq!(invalid(&format!("/memories{deep}/d")), InvalidPath::Deep(20));

    let full = format!("/memories/{name}/{name}/{name}/{}", "n".repeat(246));
    assert_eq!(canonical(&format!("{full}//")).len(), 1_024);
    assert_eq!(invalid(&format!("{full}n")), InvalidPath::LongPath(1_024));
    // U+0958 is excluded from composition: its three bytes become six in NFC.
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
    assert_eq!(deep.join("d"), Err(PathError::Invalid(InvalidPath::Deep(20))));
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
        assert!(started.elapsed() < Duration::from_secs(60), "a path of 4 MiB");
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
