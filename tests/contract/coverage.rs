//! The map from the contract to its tests names only what is there.

use std::path::Path;

const MAP: &str = include_str!("../transcripts/COVERAGE.md");

/// The comments of a transcript, as one text.
fn comments_of(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts");
    let text = std::fs::read_to_string(Path::new(folder).join(name))
        .unwrap_or_else(|_| panic!("COVERAGE.md names {name}, which is not there"));
    text.lines().filter_map(|line| line.strip_prefix("# ")).collect::<Vec<_>>().join("\n")
}

/// Every programmatic test's source, so that a name can be looked for.
fn sources() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/contract");
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

/// In the last column a test is named as `file.txt`, as `file.txt: start of a comment in it`, or
/// as `function()`.
#[test]
fn the_map_names_what_is_there() {
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
    assert!(named > 100, "the map was read");
}
