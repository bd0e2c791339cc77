//! SECURITY.md names a test for each promise, and the files with unsafe code. These tests check that they exist and are run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What is in backquotes.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').skip(1).step_by(2)
}

/// Returns the names in backquotes that look like test names: lower case, with at least two underscores.
fn named(page: &str) -> BTreeSet<&str> {
    quoted(page)
        .filter(|name| {
            name.matches('_').count() > 1
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        })
        .collect()
}

/// Adds the names of the functions below a folder that are marked as tests and not ignored.
fn tests(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            tests(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            let marked = source.split("#[test]").skip(1);
            found.extend(marked.filter_map(|after| {
                let (attributes, name) = after.split_once("fn ")?;
                let name = name.split(['(', '<']).next()?;
                (!attributes.contains("#[ignore")).then(|| name.to_owned())
            }));
        }
    }
}

#[test]
fn every_test_that_the_security_page_names_is_there_and_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let mut found = BTreeSet::new();
    for folder in ["src", "crates", "cli", "tests", "fuzz/bodies"] {
        tests(&root.join(folder), &mut found);
    }
    let named = named(&page);
    assert!(named.len() > 30, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|name| !found.contains(**name)).collect();
    assert!(missing.is_empty(), "tests that do not exist or are ignored: {missing:?}");
    let is_script = |it: &&str| it.starts_with("tests/") || it.contains("/tests/");
    let missing: Vec<_> =
        quoted(&page).filter(is_script).filter(|it| !root.join(it).exists()).collect();
    assert!(missing.is_empty(), "scripts that do not exist: {missing:?}");
}

/// Every footnote in the table of adversaries is explained, and every explanation is used.
#[test]
fn every_claim_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let (_, table) = page.split_once("| | who |").unwrap();
    let (claims, rest) = table.split_once("| | shown by |").unwrap();
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let number = |run: &str| {
        run.chars().fold(0, |number, digit| {
            number * 10 + digits.iter().position(|it| *it == digit).unwrap()
        })
    };
    let used: BTreeSet<usize> = claims
        .split(|it| !digits.contains(&it))
        .filter(|run| !run.is_empty())
        .map(number)
        .collect();
    let explained: BTreeSet<usize> = rest
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(used, explained);
    assert_eq!(used.len(), used.iter().max().copied().unwrap());
    for row in claims.lines().filter(|line| line.contains("**yes**")) {
        for cell in row.split('|').filter(|cell| cell.contains("**yes**")) {
            let is_explained = cell.chars().any(|it| digits.contains(&it));
            // A store that somebody else has made contains no data of the victim, so there is no claim to test.
            assert!(is_explained || row.contains("crafted store"), "no test for {cell} in {row}");
        }
    }
}

/// Adds the files below a folder that allow or have unsafe code, except tests.
fn allow_unsafe(root: &Path, folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_source = !path.ends_with("target") && !path.ends_with("tests");
        if path.is_dir() && is_source {
            allow_unsafe(root, &path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            let signs =
                ["allow(unsafe_code", "expect(unsafe_code", "unsafe {", "unsafe fn", "unsafe impl"];
            let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
            if code.flat_map(|line| signs.map(|sign| line.contains(sign))).any(|is_sign| is_sign) {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                found.insert(name.replace('\\', "/"));
            }
        }
    }
}

#[test]
fn unsafe_code_is_where_the_security_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let (_, rest) = page.split_once("`unsafe` code is denied").unwrap();
    let paragraph = rest.split("\n\n").next().unwrap();
    let named: BTreeSet<String> =
        quoted(paragraph).filter(|name| name.contains('/')).map(str::to_owned).collect();
    let mut found = BTreeSet::new();
    for folder in ["src", "crates", "cli", "nodejs", "python"] {
        allow_unsafe(root, &root.join(folder), &mut found);
    }
    assert_eq!(named, found);
}
