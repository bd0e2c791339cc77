//! Finds files of a crate that import each other in a circle.

#![allow(clippy::indexing_slicing, reason = "a test that meets the unexpected should stop there")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;

use proc_macro2::TokenStream;

use super::sources;
use super::tokens::{Prefix, Reader, What};

/// What a file of a crate has: where its paths lead, and what its children are.
#[derive(Default)]
pub(crate) struct Imports {
    /// Paths from the root of the crate that its code names, without those that it only passes on.
    names: Vec<Vec<String>>,
    /// Names in its scope by a `use`, the paths that they stand for, and whether those may begin in another crate.
    aliases: HashMap<String, (Vec<String>, bool)>,
    /// The modules that it declares, without those for tests.
    declares: Vec<String>,
}

pub(crate) type Files = BTreeMap<Vec<String>, Imports>;

/// Returns the circles of files in a crate that import each other.
pub(crate) fn circles(folder: &str) -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Files::new();
    let mut names = BTreeMap::new();
    for path in sources(&folder) {
        let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().replace('\\', "/");
        let module = module_of(&name);
        // A crate with a library and a program is two crates; `main.rs` names the library from outside.
        if name == "main.rs" && folder.join("lib.rs").exists() {
            continue;
        }
        names.insert(
            module.join("::"),
            path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string(),
        );
        files.insert(module, imports(&fs::read_to_string(&path).unwrap(), &name));
    }
    assert!(!files.is_empty(), "the sources of {} were not found", folder.display());
    let with_paths = |circle: Vec<String>| circle.iter().map(|it| names[it].clone()).collect();
    circles_of(&files).into_iter().map(with_paths).collect()
}

pub(crate) fn module_of(name: &str) -> Vec<String> {
    let mut module: Vec<String> =
        name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

pub(crate) fn imports(source: &str, name: &str) -> Imports {
    let tokens: TokenStream = source.parse().unwrap();
    let module = module_of(name);
    let mut reader = Reader::without_tests(module.clone());
    reader.read(tokens, &Prefix::None);
    let mut imports = Imports::default();
    for named in reader.names {
        let (path, is_guess) = match named.what {
            What::Root(path) => (path, false),
            // It may begin with the name of a child.
            What::Crate(path) => (module.iter().cloned().chain(path).collect(), true),
            What::WholeCrate | What::File => continue,
        };
        if let Some(alias) = named.alias {
            imports.aliases.insert(alias, (path.clone(), is_guess));
        }
        if !named.is_passed_on {
            imports.names.push(path);
        }
    }
    imports.declares = reader.declares;
    imports
}

pub(crate) fn circles_of(files: &Files) -> Vec<Vec<String>> {
    let mut shipped = vec![Vec::new()];
    let mut at = 0;
    while let Some(module) = shipped.get(at).cloned() {
        at += 1;
        for child in files.get(&module).into_iter().flat_map(|file| &file.declares) {
            let child: Vec<String> = module.iter().chain([child]).cloned().collect();
            shipped.extend(files.contains_key(&child).then_some(child));
        }
    }
    let edges: BTreeMap<&Vec<String>, HashSet<&Vec<String>>> = shipped
        .iter()
        .filter_map(|module| Some((module, files.get(module)?)))
        .map(|(module, file)| {
            let found = file.names.iter().filter_map(|path| file_of(files, path, 0));
            (module, found.filter(|target| *target != module).collect())
        })
        .collect();
    let reached = |from: &Vec<String>| {
        let (mut reached, mut pending) = (HashSet::new(), vec![from]);
        while let Some(next) = pending.pop() {
            let targets = edges.get(next).into_iter().flatten().copied();
            pending.extend(targets.filter(|target| reached.insert((*target).clone())));
        }
        reached
    };
    let reached: BTreeMap<_, _> = edges.keys().map(|module| (*module, reached(module))).collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    for (module, targets) in &reached {
        let is_both =
            |other: &&&Vec<String>| targets.contains(**other) && reached[**other].contains(*module);
        let circle: Vec<String> = reached.keys().filter(is_both).map(|it| it.join("::")).collect();
        if circle.len() > 1 && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

/// The file that defines what a path from the root of the crate means.
fn file_of<'a>(files: &'a Files, path: &[String], depth: usize) -> Option<&'a Vec<String>> {
    let length = (0..=path.len()).rev().find(|length| files.contains_key(&path[..*length]))?;
    let (module, file) = files.get_key_value(&path[..length])?;
    let alias = path.get(length).and_then(|item| file.aliases.get(item));
    match alias.filter(|(alias, _)| depth < 8 && alias.as_slice() != path) {
        Some((alias, is_guess)) => {
            let found = file_of(files, &[alias, &path[length + 1..]].concat(), depth + 1);
            found.filter(|found| !is_guess || *found != module)
        }
        // The root of a crate only lists modules, and what it defines itself counts as a file of its own.
        None => Some(module).filter(|module| !module.is_empty()),
    }
}
