//! Tests that the map from the contract to its tests names only existing tests.

use std::path::Path;

const MAP: &str = include_str!("../transcripts/COVERAGE.md");

/// Returns the comments of a transcript as one text.
fn comments_of(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts");
    let text = std::fs::read_to_string(Path::new(folder).join(name))
        .unwrap_or_else(|_| panic!("COVERAGE.md names {name}, which does not exist"));
    text.lines().filter_map(|line| line.strip_prefix("# ")).collect::<Vec<_>>().join("\n")
}

/// Returns the source of every programmatic test, to search for names.
fn sources() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/contract");
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

/// In the last column, a test is named as `file.txt`, as `file.txt: start of a comment in it`, or as
/// `function()`.
#[test]
fn the_map_names_only_existing_tests() {
    let sources = sources();
    let mut named = 0;
    for row in MAP.lines().filter(|line| line.starts_with("| ")) {
        let Some(cell) = row.trim_end_matches(" |").rsplit(" | ").next() else { continue };
        for name in cell.split('`').skip(1).step_by(2) {
            named += 1;
            if let Some(function) = name.strip_suffix("()") {
                assert!(sources.contains(&format!("fn {function}(")), "no test {function}");
            } else if let Some((file, comment)) = name.split_once(": ") {
                let found = comments_of(file).lines().any(|line| line.starts_with(comment));
                assert!(found, "{file} has no comment that begins with {comment:?}");
            } else {
                comments_of(name);
            }
        }
    }
    assert!(named > 100, "too few tests were found in the map");
}
