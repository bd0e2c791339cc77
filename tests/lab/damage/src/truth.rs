//! What a store holds, and what it ever held: by path, and by file, which keeps its number when it is renamed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// A digest of a text. Every text of the lab is unlike any other.
pub type Digest = u64;

pub fn digest(text: &str) -> Digest {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[derive(Clone, Default)]
pub struct Truth {
    /// The present text of each path.
    pub now: BTreeMap<String, Digest>,
    /// The file that each text belonged to.
    pub files: HashMap<Digest, u64>,
    /// The paths that each file ever had.
    paths: BTreeSet<(u64, String)>,
}

impl Truth {
    pub fn write(&mut self, path: &str, file: u64, text: &str) {
        let digest = digest(text);
        self.now.insert(path.to_owned(), digest);
        assert!(self.files.insert(digest, file).is_none(), "two texts have the same digest");
        self.paths.insert((file, path.to_owned()));
    }

    pub fn remove(&mut self, path: &str) {
        self.now.remove(path).unwrap();
    }

    pub fn rename(&mut self, old: &str, new: &str) {
        let digest = self.now.remove(old).unwrap();
        self.now.insert(new.to_owned(), digest);
        self.paths.insert((self.files[&digest], new.to_owned()));
    }

    pub fn had_path(&self, file: u64, path: &str) -> bool {
        self.paths.contains(&(file, path.to_owned()))
    }

    pub fn save(&self, to: &Path) {
        let mut lines = String::new();
        for (path, digest) in &self.now {
            writeln!(lines, "now\t{digest}\t{path}").unwrap();
        }
        for (digest, file) in &self.files {
            writeln!(lines, "text\t{digest}\t{file}").unwrap();
        }
        for (file, path) in &self.paths {
            writeln!(lines, "path\t{file}\t{path}").unwrap();
        }
        fs::write(to, lines).unwrap();
    }

    pub fn load(from: &Path) -> Self {
        let mut truth = Self::default();
        for line in fs::read_to_string(from).unwrap().lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let number = fields[1].parse().unwrap();
            match fields[0] {
                "now" => drop(truth.now.insert(fields[2].to_owned(), number)),
                "text" => drop(truth.files.insert(number, fields[2].parse().unwrap())),
                _ => drop(truth.paths.insert((number, fields[2].to_owned()))),
            }
        }
        truth
    }
}
