//! Checks the layers inside the crates of the library and of the fuzz targets by reading their sources: a
//! module must name only modules below it.
//!
//! The compiler checks the layers between crates: the engines cannot name a key, the format cannot name an
//! engine, and neither can name a session, because they do not depend on those crates. This test checks what
//! crate borders do not: the layers within the library and within the format, and the single place that may
//! name each third-party crate.
//!
//! Sources are read as tokens. Comments, documentation and strings do not count; code inside macro calls and
//! under `#[cfg(test)]` does. A path that a macro assembles from single identifiers is not detected.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected should stop there")]

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};

/// A crate: its source folder and its top-level modules, lowest first. Modules in one row must not name each
/// other. A crate without rows has no layers inside.
struct Crate {
    folder: &'static str,
    layers: &'static [&'static [&'static str]],
}

const CRATES: [Crate; 5] = [
    Crate { folder: "crates/inmost-storage/src", layers: &[] },
    Crate {
        folder: "crates/inmost-format/src",
        layers: &[
            // Exported macros, which are named from the crate root.
            &["assert_leaks_nowhere", "assert_not_impl"],
            &["limits", "secret"],
            &["crypto"],
            &["record"],
            &["header"],
        ],
    },
    Crate { folder: "crates/inmost-engines/src", layers: &[] },
    Crate {
        folder: "src",
        layers: &[
            &["limits", "printable"],
            &["session"],
            &["maintenance"],
            &["vfs"],
            &["tool"],
            &["api"],
            &["internals"],
        ],
    },
    Crate {
        folder: "fuzz/bodies/src",
        layers: &[
            &["input", "naive", "nodes"],
            &["tool_call"],
            &["model"],
            &["ops"],
            &["store"],
            &["stateful"],
            &[
                "call", "entries", "header", "journal", "path", "record", "render", "rope",
                "tamper", "tree",
            ],
        ],
    },
];

/// Third-party crates that only one place may name, with the path prefixes of that place.
const CONFINED: [(&str, &[&str]); 11] = [
    ("argon2", &["crates/inmost-format/src/crypto/"]),
    ("bincode", &["crates/inmost-format/src/record/codec.rs"]),
    // The example of docs/FORMAT.md is computed independently of our own code.
    (
        "blake2",
        &["crates/inmost-format/src/crypto/", "crates/inmost-format/src/record/format_example.rs"],
    ),
    ("chacha20", &["crates/inmost-format/src/crypto/aead"]),
    ("chacha20poly1305", &["crates/inmost-format/src/crypto/"]),
    ("getrandom", &["crates/inmost-format/src/crypto/rng.rs"]),
    ("redb", &["crates/inmost-engines/src/redb"]),
    ("ring", &["crates/inmost-format/src/crypto/aead/"]),
    ("rustls", &["crates/inmost-engines/src/postgres/"]),
    ("sled", &["crates/inmost-engines/src/sled"]),
    ("tokio_postgres", &["crates/inmost-engines/src/postgres/"]),
];

#[test]
fn every_module_names_only_lower_layers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut errors = Vec::new();
    for krate in &CRATES {
        let sources = sources(&root.join(krate.folder));
        assert!(sources.len() > 2, "the sources of {} were not found", krate.folder);
        for path in sources {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            errors.extend(check(&name, &fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(errors.is_empty(), "\n{}\n", errors.join("\n"));
}

#[test]
fn the_other_crates_reach_nothing_but_the_public_api() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [
        "cli",
        "crates/inmost-browse",
        "crates/inmost-console",
        "crates/inmost-keyd",
        "crates/inmost-screen",
        "nodejs",
        "python",
    ]
    .map(|folder| root.join(folder));
    for path in folders.iter().flat_map(|folder| sources(&folder.join("src"))) {
        let errors = check_foreign(&fs::read_to_string(&path).unwrap());
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    }
    for folder in folders {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        for internal in ["inmost-storage", "inmost-format", "inmost-engines"] {
            assert!(!manifest.contains(internal), "{} depends on {internal}", folder.display());
        }
    }
}

/// Files with one violation each: the name, the source, and a part of the error.
const VIOLATIONS: &[(&str, &str, &str)] = &[
    ("crates/inmost-format/src/crypto/kdf.rs", "use crate::header::Header;", "up to header"),
    (
        "crates/inmost-format/src/crypto/mod.rs",
        "use crate::{limits, secret::{SecretBytes}, record};",
        "up to record",
    ),
    (
        "crates/inmost-format/src/crypto/kdf.rs",
        "fn f() { let x = crate :: record :: seal(); }",
        "up to record",
    ),
    ("crates/inmost-format/src/secret.rs", "use crate::limits::PATH_BYTES;", "sideways to limits"),
    ("crates/inmost-format/src/limits.rs", "use super::secret::wipe;", "sideways to secret"),
    (
        "crates/inmost-format/src/record/tree/replace.rs",
        "use super::super::super::header::Header;",
        "up to header",
    ),
    ("crates/inmost-format/src/record/mod.rs", "use super::header::slots;", "up to header"),
    (
        "crates/inmost-format/src/record/codec.rs",
        "use super::super::{header, limits};",
        "up to header",
    ),
    (
        "src/session/open.rs",
        "#[cfg(test)] mod tests { use crate::tool::MemoryTool; }",
        "up to tool",
    ),
    (
        "src/session/open.rs",
        "mod tests { mod more { use super::super::super::super::vfs; } }",
        "up to vfs",
    ),
    ("src/session/open.rs", "macro_rules! m { () => { $crate::vfs::edit() } }", "up to vfs"),
    ("src/session/open.rs", "fn f() { assert!(crate::vfs::name::ok()); }", "up to vfs"),
    ("src/session/open.rs", "type T = Vec<crate::tool::Command>;", "up to tool"),
    ("src/session/open.rs", "pub(in crate::vfs) struct S;", "up to vfs"),
    ("src/session/open.rs", "use crate::MemoryTool;", "MemoryTool is in no layer"),
    ("src/session/open.rs", "use crate::*;", "the whole crate"),
    ("src/session/open.rs", "use super::super::*;", "the whole crate"),
    ("src/session/open.rs", "use crate as everything;", "the whole crate"),
    ("src/session/open.rs", "use crate::{self as everything};", "the whole crate"),
    ("src/session/open.rs", "extern crate self as inmost;", "the whole crate"),
    ("src/session/open.rs", "#[path = \"../tool/parse.rs\"] mod parse;", "a file by its path"),
    (
        "src/session/open.rs",
        "#[cfg_attr(test, path = \"../tool/parse.rs\")] mod parse;",
        "a file by its path",
    ),
    ("src/session/open.rs", "include!(\"../tool/parse.rs\");", "a file by its path"),
    (
        "crates/inmost-engines/src/local.rs",
        "use sled::Db;",
        "sled is named outside crates/inmost-engines/src/sled",
    ),
    (
        "crates/inmost-engines/src/local.rs",
        "fn f(db: &::sled::Db) {}",
        "sled is named outside crates/inmost-engines/src/sled",
    ),
    (
        "crates/inmost-engines/src/local.rs",
        "use {std::fs, sled as engine};",
        "sled is named outside crates/inmost-engines/src/sled",
    ),
    (
        "crates/inmost-engines/src/local.rs",
        "extern crate sled;",
        "sled is named outside crates/inmost-engines/src/sled",
    ),
    (
        "crates/inmost-format/src/record/node.rs",
        "use bincode::config;",
        "bincode is named outside crates/inmost-format/src/record/codec.rs",
    ),
    (
        "crates/inmost-format/src/crypto/keys.rs",
        "fn f() { getrandom::fill(b); }",
        "getrandom is named outside",
    ),
    (
        "crates/inmost-format/src/header/slots.rs",
        "use argon2::Argon2;",
        "argon2 is named outside crates/inmost-format/src/crypto/",
    ),
    ("src/helpers.rs", "", "helpers is in no layer"),
];

/// Cargo compiles only declared modules, and a test in any other file silently never runs.
#[test]
fn every_source_file_is_declared_as_a_module() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = CRATES.iter().map(|krate| krate.folder).chain([
        "cli/src",
        "crates/inmost-browse/src",
        "crates/inmost-console/src",
        "crates/inmost-keyd/src",
        "crates/inmost-screen/src",
        "nodejs/src",
        "python/src",
    ]);
    for folder in folders.map(|folder| root.join(folder)) {
        for path in sources(&folder) {
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let parent = path.parent().unwrap();
            if parent == folder && ["lib", "main"].contains(&stem) {
                continue;
            }
            let parents = if parent == folder {
                vec![folder.join("lib.rs"), folder.join("main.rs")]
            } else {
                vec![parent.with_extension("rs")]
            };
            let declaration = format!("mod {stem};");
            let is_declared = |file: &PathBuf| {
                let text = fs::read_to_string(file).unwrap_or_default();
                text.lines().any(|line| line.ends_with(&declaration))
            };
            assert!(parents.iter().any(is_declared), "{} is in no module", path.display());
        }
    }
}

#[test]
fn planted_violations_are_found() {
    for (name, source, expected) in VIOLATIONS {
        let errors = check(name, source);
        assert_eq!(errors.len(), 1, "{name}: {source}: {errors:?}");
        assert!(errors[0].contains(expected), "{name}: {source}: {errors:?}");
    }
    assert_eq!(check_foreign("#[path = \"../../src/session.rs\"] mod session;").len(), 1);
    assert_eq!(check_foreign("use inmost::internals::Path;").len(), 1);
    let lines = check("src/limits.rs", "\n\nuse crate::tool;\nuse crate::vfs;\n");
    assert_eq!(lines, ["src/limits.rs:3: up to tool", "src/limits.rs:4: up to vfs"]);
}

#[test]
fn allowed_sources_pass() {
    for (name, source) in [
        ("src/lib.rs", "mod tool; pub use tool::MemoryTool; use crate::session;"),
        ("src/tool/parse.rs", "use crate::{limits, session::{Session, StoreError}, vfs};"),
        ("src/internals.rs", "use crate::tool; use crate::{session, vfs};"),
        (
            "crates/inmost-format/src/crypto/kdf.rs",
            "//! See [`crate::header`].\n/* crate::tool */ const S: &str = \"crate::tool\";",
        ),
        (
            "crates/inmost-format/src/crypto/kdf.rs",
            "pub(crate) fn f() {} pub(super) fn g() {} pub(in crate::crypto) fn h() {}",
        ),
        (
            "crates/inmost-format/src/record/tree/replace.rs",
            "use super::super::codec; use super::super::{node, RecordError};",
        ),
        ("src/session/unlock.rs", "mod tests { use super::super::slots::Slot; use super::*; }"),
        (
            "crates/inmost-engines/src/mod.rs",
            "mod sled; mod local { use super::sled::SledEngine; } fn sled() {}",
        ),
        ("crates/inmost-engines/src/sled.rs", "use sled::Db; fn f() -> ::sled::Db {}"),
        ("crates/inmost-engines/src/sled/tests.rs", "use sled::Config;"),
        (
            "crates/inmost-format/src/record/codec.rs",
            "use bincode::serde; use super::super::limits;",
        ),
        ("src/vfs/path.rs", "fn f(crate_: u8) { let x = Self::vault; a.tool; b::tool::c(); }"),
    ] {
        assert_eq!(check(name, source), [""; 0], "{name}: {source}");
    }
}

/// Returns the errors in a source file of the library. `name` is its path in the workspace.
fn check(name: &str, source: &str) -> Vec<String> {
    let Some((krate, below)) = CRATES
        .iter()
        .find_map(|krate| Some((krate, name.strip_prefix(krate.folder)?.strip_prefix('/')?)))
    else {
        return vec![format!("{name} is in no crate; give it a row in CRATES")];
    };
    let mut module: Vec<String> =
        below.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
        module.pop();
    }
    // `lib.rs`, the list of modules and public items.
    let Some(layer) = module.first().cloned() else { return Vec::new() };
    if !krate.layers.is_empty() && krate.rank(&layer).is_none() {
        return vec![format!("{name}: {layer} is in no layer; give it a row in CRATES")];
    }
    let mut errors = Vec::new();
    for named in names_in(source, module) {
        let error = match &named.what {
            What::Root(target) => krate.points_wrong(&layer, target),
            What::WholeCrate if krate.layers.is_empty() => None,
            What::WholeCrate => Some("names the whole crate".to_owned()),
            What::File => Some("includes a file by its path".to_owned()),
            What::Crate(krate) => CONFINED
                .iter()
                .find(|(confined, _)| confined == krate)
                .filter(|(_, homes)| !homes.iter().any(|home| name.starts_with(home)))
                .map(|(_, homes)| format!("{krate} is named outside {}", homes.join(", "))),
        };
        errors.extend(error.map(|what| format!("{name}:{}: {what}", named.line)));
    }
    errors
}

/// Returns the errors in a source file of another package.
fn check_foreign(source: &str) -> Vec<String> {
    let mut errors = Vec::new();
    for named in names_in(source, Vec::new()) {
        if matches!(named.what, What::File) {
            errors.push(format!("{}: includes a file by its path", named.line));
        }
    }
    if source.contains("inmost::internals") {
        errors.push("uses the module for fuzz targets".to_owned());
    }
    errors
}

impl Crate {
    fn points_wrong(&self, layer: &str, target: &str) -> Option<String> {
        if self.layers.is_empty() || target == layer {
            return None;
        }
        let Some(height) = self.rank(target) else {
            return Some(format!("{target} is in no layer; name it through its module"));
        };
        match height.cmp(&self.rank(layer)?) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some(format!("sideways to {target}")),
            std::cmp::Ordering::Greater => Some(format!("up to {target}")),
        }
    }

    fn rank(&self, module: &str) -> Option<usize> {
        self.layers.iter().position(|row| row.contains(&module))
    }
}

/// An item that a source file names.
struct Named {
    what: What,
    line: usize,
}

enum What {
    /// A path from the root of this crate, by its first segment.
    Root(String),
    /// The root of this crate itself, which gives access to everything.
    WholeCrate,
    /// A path that begins elsewhere: in another crate, or with a name in scope.
    Crate(String),
    /// Source text from a file outside the usual place of its module.
    File,
}

fn names_in(source: &str, module: Vec<String>) -> Vec<Named> {
    let tokens: TokenStream = source.parse().unwrap();
    let mut reader = Reader { module, names: Vec::new() };
    reader.read(tokens, &Prefix::None);
    reader.names
}

/// The prefix of the paths in a group.
enum Prefix {
    /// No prefix: ordinary code.
    None,
    /// No prefix, and each is a path: `use {a, b}`.
    Bare,
    /// The root of this crate: `use crate::{a, b}`.
    Root,
    /// A path that was already checked by its first segment.
    Judged,
}

struct Reader {
    /// The module that the tokens are in.
    module: Vec<String>,
    names: Vec<Named>,
}

impl Reader {
    fn read(&mut self, tokens: TokenStream, prefix: &Prefix) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let before = at.checked_sub(1).and_then(|before| tokens.get(before));
            at += 1;
            match token {
                TokenTree::Group(group) => {
                    if is_sign(before, '#') && sets_path(group.stream()) {
                        self.name(What::File, group.span());
                    }
                    let depth = self.module.len();
                    self.module.extend(inline_module(&tokens, at));
                    let bare = is_word(before, "use");
                    let prefix = if bare { Prefix::Bare } else { Prefix::None };
                    self.read(group.stream(), &prefix);
                    self.module.truncate(depth);
                }
                TokenTree::Ident(word) if !is_declared(before) => {
                    let explicit = matches!(prefix, Prefix::Bare) || is_word(before, "use");
                    at = match (word.to_string().as_str(), tokens.get(at)) {
                        ("include", sign) if is_sign(sign, '!') => {
                            self.name(What::File, word.span());
                            at
                        }
                        ("extern", Some(TokenTree::Ident(krate))) if krate == "crate" => {
                            at + 1 + self.extern_crate(tokens.get(at + 1))
                        }
                        _ => self.path(word, &tokens, at, prefix, explicit),
                    };
                }
                _ => {}
            }
        }
    }

    /// Reads a path from its first segment. Returns the position after it. A single segment counts as a path
    /// only if it is `explicit`.
    fn path(
        &mut self,
        first: &Ident,
        tokens: &[TokenTree],
        mut at: usize,
        prefix: &Prefix,
        explicit: bool,
    ) -> usize {
        let mut segments = vec![first.to_string()];
        let mut group = None;
        let begin = at - 1;
        while is_sign(tokens.get(at), ':') && is_sign(tokens.get(at + 1), ':') {
            match tokens.get(at + 2) {
                Some(TokenTree::Ident(segment)) => segments.push(segment.to_string()),
                Some(TokenTree::Group(list)) if list.delimiter() == Delimiter::Brace => {
                    group = Some(list.stream());
                }
                sign if is_sign(sign, '*') => {}
                _ => break,
            }
            at += 3;
        }
        let end = at;
        if is_word(tokens.get(at), "as") {
            at += 2; // the new name is not a reference
        }
        if matches!(prefix, Prefix::Judged) {
            return at;
        }

        let below = self.resolve(&segments, prefix);
        match below.as_deref() {
            None if explicit || end > begin + 1 => {
                self.name(What::Crate(segments.swap_remove(0)), first.span());
            }
            None => {}
            Some([module, ..]) => self.name(What::Root(module.clone()), first.span()),
            // The items of a group start from the root.
            Some([]) if group.is_some() => {}
            Some([]) if is_visibility(tokens, begin, end) => {}
            Some([]) => self.name(What::WholeCrate, first.span()),
        }
        if let Some(group) = group {
            let root = below.is_some_and(|path| path.is_empty());
            self.read(group, if root { &Prefix::Root } else { &Prefix::Judged });
        }
        at
    }

    /// Reads the tokens after `extern crate`. Returns their number.
    fn extern_crate(&mut self, name: Option<&TokenTree>) -> usize {
        let Some(TokenTree::Ident(name)) = name else { return 0 };
        let what = if name == "self" { What::WholeCrate } else { What::Crate(name.to_string()) };
        self.name(what, name.span());
        1
    }

    /// Converts a path to one from the root of this crate, or returns `None` if it begins elsewhere.
    fn resolve(&self, segments: &[String], prefix: &Prefix) -> Option<Vec<String>> {
        let mut segments = segments.iter().map(String::as_str).peekable();
        let mut path = match (prefix, *segments.peek()?) {
            (Prefix::Root, _) | (_, "crate") => Vec::new(),
            (_, "super" | "self") => self.module.clone(),
            _ => return None,
        };
        segments.next_if(|first| matches!(*first, "crate" | "self"));
        while segments.next_if_eq(&"super").is_some() {
            path.pop();
        }
        path.extend(segments.map(str::to_owned));
        Some(path)
    }

    fn name(&mut self, what: What, span: Span) {
        self.names.push(Named { what, line: span.start().line });
    }
}

/// Returns whether an attribute is `path = "..."`, or sets it conditionally. In the signature of a Python method it is the
/// default of an argument.
fn sets_path(attribute: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = attribute.into_iter().collect();
    if is_word(tokens.first(), "pyo3") {
        return false;
    }
    tokens.windows(2).any(|pair| is_word(pair.first(), "path") && is_sign(pair.get(1), '='))
        || tokens.into_iter().any(|token| match token {
            TokenTree::Group(group) => sets_path(group.stream()),
            _ => false,
        })
}

/// Returns the name of the module whose body ends just before `at`: `mod name { ... }`.
fn inline_module(tokens: &[TokenTree], at: usize) -> Option<String> {
    let [.., keyword, TokenTree::Ident(name), TokenTree::Group(_)] = tokens.get(..at)? else {
        return None;
    };
    is_word(Some(keyword), "mod").then(|| name.to_string())
}

/// Returns whether the next token declares a name or belongs to something already read.
fn is_declared(before: Option<&TokenTree>) -> bool {
    match before {
        Some(TokenTree::Ident(word)) => word == "mod" || word == "fn",
        Some(TokenTree::Punct(sign)) => sign.as_char() == '.',
        _ => false,
    }
}

fn is_sign(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

/// Returns whether parentheses contain only a path: `pub(crate)`, `pub(in super::super)`.
fn is_visibility(tokens: &[TokenTree], begin: usize, end: usize) -> bool {
    let opened = begin == 0 || begin == 1 && is_word(tokens.first(), "in");
    opened && end == tokens.len()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}
