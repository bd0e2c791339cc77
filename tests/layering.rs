//! Checks the layers inside the crates of the library and of the fuzz targets by reading their sources: a
//! module must name only modules below it, and no more than two files may import each other in a circle.
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

use circles::{circles, circles_of, imports, module_of};
use tokens::{What, names_in};

#[path = "layering/circles.rs"]
mod circles;
#[path = "layering/tokens.rs"]
mod tokens;

/// A crate: its source folder and its top-level modules, lowest first. Modules in one row must not name each
/// other. A crate without rows has no layers inside.
struct Crate {
    folder: &'static str,
    layers: &'static [&'static [&'static str]],
}

const CRATES: [Crate; 10] = [
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
            &["vectors"],
        ],
    },
    Crate { folder: "crates/inmost-engines/src", layers: &[] },
    Crate {
        folder: "crates/inmost-search/src",
        layers: &[&["fold", "stem"], &["token"], &["words"], &["rank"], &["tests"]],
    },
    Crate { folder: "crates/inmost-sled/src", layers: &[] },
    Crate {
        folder: "crates/inmost-sync/src",
        layers: &[
            &["diff", "error", "names", "rules"],
            &["chains", "merge"],
            &["tree"],
            &["pool"],
            &["object"],
            &["place"],
            &["device", "invitation", "state_file", "store"],
            &["apply", "capture", "exchange", "forget", "snapshot"],
            &["sync"],
            &["internals", "tests"],
        ],
    },
    Crate { folder: "crates/inmost-redb/src", layers: &[] },
    Crate { folder: "crates/inmost-postgres/src", layers: &[] },
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
                "anchor", "call", "entries", "frames", "header", "journal", "objects", "path",
                "record", "render", "rope", "rows", "sled", "tamper", "tree",
            ],
        ],
    },
];

/// The rooms of a module: the modules inside it, lowest first. Those in one row must not name each other. Tests may name all.
const ROOMS: [(&str, &[&[&str]]); 1] = [(
    "session",
    &[
        &["engines", "sync"],
        &["error"],
        &["clock"],
        &["anchor", "cache", "expiry_settings", "history_settings", "idle", "options"],
        &["open"],
        &["transaction"],
        &["shared"],
        &["upkeep"],
        &["commit"],
        &["forgets"],
        &["vault"],
    ],
)];

/// The folders in which files are searched for circles of imports.
const SEARCHED: [&str; 19] = [
    "cli/src",
    "crates/inmost-bindings/src",
    "crates/inmost-browse/src",
    "crates/inmost-console/src",
    "crates/inmost-engines/src",
    "crates/inmost-format/src",
    "crates/inmost-keyd/src",
    "crates/inmost-mount/src",
    "crates/inmost-postgres/src",
    "crates/inmost-redb/src",
    "crates/inmost-screen/src",
    "crates/inmost-search/src",
    "crates/inmost-sled/src",
    "crates/inmost-storage/src",
    "crates/inmost-sync/src",
    "fuzz/bodies/src",
    "nodejs/src",
    "python/src",
    "src",
];

/// The one circle of more than two files: a node is one of the shapes, and the tree that three of the shapes share is made of nodes.
const SHAPES: [&str; 6] = [
    "crates/inmost-format/src/record.rs",
    "crates/inmost-format/src/record/file.rs",
    "crates/inmost-format/src/record/folder.rs",
    "crates/inmost-format/src/record/history.rs",
    "crates/inmost-format/src/record/node.rs",
    "crates/inmost-format/src/record/tree.rs",
];

/// Crates that only the library may depend on.
const INTERNAL: [&str; 6] = [
    "inmost-storage",
    "inmost-format",
    "inmost-engines",
    "inmost-sled",
    "inmost-redb",
    "inmost-postgres",
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
    ("redb", &["crates/inmost-redb/src/"]),
    ("ring", &["crates/inmost-format/src/crypto/aead/"]),
    ("rustls", &["crates/inmost-postgres/src/"]),
    ("sled", &["crates/inmost-sled/src/"]),
    ("tokio_postgres", &["crates/inmost-postgres/src/"]),
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
        "crates/inmost-bindings",
        "crates/inmost-browse",
        "crates/inmost-console",
        "crates/inmost-mount",
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
        for internal in INTERNAL {
            assert!(!manifest.contains(internal), "{} depends on {internal}", folder.display());
        }
    }
}

#[test]
fn no_more_than_two_files_import_each_other() {
    let mut found: Vec<Vec<String>> = SEARCHED.iter().flat_map(|folder| circles(folder)).collect();
    found.retain(|circle| circle.len() > 2 && *circle != SHAPES);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn circles_are_found_through_groups_and_reexports() {
    let files = |sources: &[(&str, &str)]| {
        let sources = sources.iter().map(|(name, source)| (module_of(name), imports(source, name)));
        circles_of(&sources.collect())
    };
    let lib = ("lib.rs", "mod a; mod b; mod c; #[cfg(test)] mod d;");
    let circle = files(&[
        lib,
        ("a.rs", "use crate::{b::{self, B}, c};"),
        ("b.rs", "mod inner; pub use inner::B;"),
        ("b/inner.rs", "use super::super::c::C;"),
        ("c.rs", "fn f(a: &crate::a::A) {}"),
    ]);
    assert_eq!(circle, [["a", "b::inner", "c"]]);
    let none = files(&[
        lib,
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "mod inner; use crate::c; pub use self::inner::B; pub struct Other;"),
        ("b/inner.rs", "use super::Other;"),
        ("c.rs", "#[cfg(test)] mod tests { use crate::a; } #[cfg(test)] use crate::a::A;"),
        ("d.rs", "use crate::a;"),
    ]);
    assert!(none.is_empty(), "{none:?}");
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
        "sled is named outside crates/inmost-sled/src/",
    ),
    (
        "crates/inmost-engines/src/local.rs",
        "fn f(db: &::sled::Db) {}",
        "sled is named outside crates/inmost-sled/src/",
    ),
    (
        "crates/inmost-engines/src/local.rs",
        "use {std::fs, sled as engine};",
        "sled is named outside crates/inmost-sled/src/",
    ),
    (
        "crates/inmost-engines/src/local.rs",
        "extern crate sled;",
        "sled is named outside crates/inmost-sled/src/",
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
    ("src/session/open.rs", "use super::vault::Vault;", "up to session::vault"),
    ("src/session/open/root.rs", "use crate::session::{commit::Queue};", "up to session::commit"),
    ("src/session/cache.rs", "use super::anchor::Anchor;", "sideways to session::anchor"),
    ("src/session/open.rs", "use super::Session;", "session::Session is in no layer or room"),
    ("src/session/helpers.rs", "", "session::helpers is in no room"),
];

/// Cargo compiles only declared modules, and a test in any other file silently never runs.
#[test]
fn every_source_file_is_declared_as_a_module() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = CRATES.iter().map(|krate| krate.folder).chain([
        "cli/src",
        "crates/inmost-bindings/src",
        "crates/inmost-browse/src",
        "crates/inmost-console/src",
        "crates/inmost-keyd/src",
        "crates/inmost-mount/src",
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
        ("src/session/open.rs", "mod tests { use super::super::error::StoreError; use super::*; }"),
        ("src/session/open/tests.rs", "use crate::session::vault::Vault;"),
        ("src/session/vault/keyslots.rs", "use super::create; use crate::session::open::Open;"),
        (
            "crates/inmost-engines/src/mod.rs",
            "mod sled; mod local { use super::sled::SledEngine; } fn sled() {}",
        ),
        ("crates/inmost-sled/src/lib.rs", "use sled::Db; fn f() -> ::sled::Db {}"),
        ("crates/inmost-sled/src/tests.rs", "use sled::Config;"),
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
    let Some(layer) = module.first().cloned() else {
        return Vec::new();
    };
    if !krate.layers.is_empty() && krate.rank(&layer).is_none() {
        return vec![format!("{name}: {layer} is in no layer; give it a row in CRATES")];
    }
    let rooms = ROOMS.iter().find(|(divided, _)| krate.folder == "src" && *divided == layer);
    let is_test = module.iter().any(|part| part == "tests");
    let rooms = rooms.filter(|_| !is_test).zip(module.get(1).cloned());
    if let Some(((_, rows), room)) = &rooms
        && rank(rows, room).is_none()
    {
        return vec![format!("{name}: {layer}::{room} is in no room; give it a row in ROOMS")];
    }
    let mut errors: Vec<String> = Vec::new();
    for named in names_in(source, module) {
        let error = match &named.what {
            What::Root(path) => match (&rooms, path.as_slice()) {
                (Some(((_, rows), room)), [target, inside, ..]) if *target == layer => {
                    let is_test = inside == "tests";
                    let wrong = points_wrong(rows, room, inside).filter(|_| !is_test);
                    wrong.map(|what| what.replace(inside.as_str(), &format!("{layer}::{inside}")))
                }
                (_, [target, ..]) => krate.points_wrong(&layer, target),
                (_, []) => None,
            },
            What::WholeCrate if krate.layers.is_empty() => None,
            What::WholeCrate => Some("names the whole crate".to_owned()),
            // Tests walk the paths of a model in tests/model.
            What::File if ["/tests/", "/shared_tests/"].iter().any(|it| name.contains(it)) => None,
            What::File => Some("includes a file by its path".to_owned()),
            What::Crate(path) => CONFINED
                .iter()
                .find(|(confined, _)| path.first().is_some_and(|krate| confined == krate))
                .filter(|(_, homes)| !homes.iter().any(|home| name.starts_with(home)))
                .map(|(krate, homes)| format!("{krate} is named outside {}", homes.join(", "))),
        };
        errors.extend(error.map(|what| format!("{name}:{}: {what}", named.line)));
    }
    errors.dedup();
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
        if self.layers.is_empty() {
            return None;
        }
        points_wrong(self.layers, layer, target)
    }

    fn rank(&self, module: &str) -> Option<usize> {
        rank(self.layers, module)
    }
}

fn points_wrong(rows: &[&[&str]], from: &str, target: &str) -> Option<String> {
    if target == from {
        return None;
    }
    let Some(height) = rank(rows, target) else {
        return Some(format!("{target} is in no layer or room; name it through its module"));
    };
    match height.cmp(&rank(rows, from)?) {
        std::cmp::Ordering::Less => None,
        std::cmp::Ordering::Equal => Some(format!("sideways to {target}")),
        std::cmp::Ordering::Greater => Some(format!("up to {target}")),
    }
}

fn rank(rows: &[&[&str]], module: &str) -> Option<usize> {
    rows.iter().position(|row| row.contains(&module))
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
