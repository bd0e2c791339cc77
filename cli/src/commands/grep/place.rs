//! Where to search: files and folders, and globs of them.

use globset::{Glob, GlobBuilder, GlobMatcher};
use inmost::{FileError, Files};

use crate::display;
use crate::exit::{Exit, Failure};
use crate::memory_path;

/// A file or folder to search, and which files of it.
pub(super) struct Place {
    pub(super) base: String,
    glob: Option<GlobMatcher>,
}

impl Place {
    /// # Errors
    /// If there is no such file or folder, or no file that matches.
    pub(super) fn find(path: &str, files: Files<'_>) -> Result<Self, Failure> {
        match files.metadata(path) {
            Ok(_) => return Ok(Self { base: path.to_owned(), glob: None }),
            Err(FileError::NotFound) if path.contains(['*', '?', '[', '{']) => {}
            Err(error) => return Err(Failure::at(path, error)),
        }
        let glob = compile(path)?;
        let base = base(path);
        for entry in files.walk(base) {
            let entry = entry.map_err(|error| Failure::at(base, error))?;
            if !entry.metadata.is_folder() && glob.is_match(entry.path.as_str()) {
                return Ok(Self { base: base.to_owned(), glob: Some(glob) });
            }
        }
        Err(Failure::new(
            Exit::NoSuchPath,
            format!("No file matches {}.", display::path(path)),
            "List the existing files with `inmost ls`.",
        ))
    }

    pub(super) fn includes(&self, path: &str) -> bool {
        self.glob.as_ref().is_none_or(|glob| glob.is_match(path))
    }
}

/// The deepest folder above every file that a glob can match. Does no I/O.
fn base(glob: &str) -> &str {
    let special = glob.find(['*', '?', '[', '{']).unwrap_or(glob.len());
    let literal = glob.get(..special).unwrap_or(glob);
    literal.rsplit_once('/').map_or(memory_path::ROOT, |(folder, _)| folder)
}

/// The globs of `-g`.
pub(super) struct Globs {
    included: Vec<GlobMatcher>,
    excluded: Vec<GlobMatcher>,
}

impl Globs {
    pub(super) fn parse(globs: &[String]) -> Result<Self, Failure> {
        let mut parsed = Self { included: Vec::new(), excluded: Vec::new() };
        for glob in globs {
            let (list, glob) = match glob.strip_prefix('!') {
                Some(rest) => (&mut parsed.excluded, rest),
                None => (&mut parsed.included, glob.as_str()),
            };
            let glob = if glob.contains('/') {
                memory_path::parse(glob).unwrap_or_default()
            } else {
                format!("**/{glob}")
            };
            list.push(compile(&glob)?);
        }
        Ok(parsed)
    }

    pub(super) fn include(&self, path: &str) -> bool {
        let matches = |globs: &[GlobMatcher]| globs.iter().any(|glob| glob.is_match(path));
        (self.included.is_empty() || matches(&self.included)) && !matches(&self.excluded)
    }
}

/// A `*` matches no slash, so that it stays in its folder.
fn compile(glob: &str) -> Result<GlobMatcher, Failure> {
    let compiled: Result<Glob, _> = GlobBuilder::new(glob).literal_separator(true).build();
    match compiled {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(Failure::usage(
            format!("The glob {} is not valid: {}.", display::path(glob), error.kind()),
            "Correct it, or put a backslash in front of a character that is meant as itself.",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_is_searched_from_its_deepest_folder() {
        for (glob, folder) in [
            ("/memories/a/b*.md", "/memories/a"),
            ("/memories/*/b", "/memories"),
            ("/memories/a/**/c", "/memories/a"),
        ] {
            assert_eq!(base(glob), folder);
        }
    }

    #[test]
    fn globs_include_and_exclude() {
        let globs = |list: &[&str]| {
            let list: Vec<String> = list.iter().map(ToString::to_string).collect();
            let globs = Globs::parse(&list).unwrap();
            ["/memories/a.md", "/memories/x/b.md", "/memories/x/c.log"]
                .map(|path| globs.include(path))
        };
        assert_eq!(globs(&[]), [true; 3]);
        assert_eq!(globs(&["*.md"]), [true, true, false]);
        assert_eq!(globs(&["x/*"]), [false, true, true]);
        assert_eq!(globs(&["!x/**"]), [true, false, false]);
        assert_eq!(globs(&["*.md", "!b.*"]), [true, false, false]);
        assert!(Globs::parse(&["[a".to_owned()]).is_err());
    }
}
