//! Versions as people name them: by the number that `inmost log` prints, or by a path and how far to go back.

use std::time::SystemTime;

use inmost::{FileError, History, VersionInfo, VersionQuery};

use crate::display;
use crate::exit::{Exit, Failure};
use crate::memory_path;
use crate::store::OpenStore;
use crate::version::{find, is_deletion, nothing_found};

/// The name of a version on the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum VersionName {
    Number(u64),
    /// A file, and how many versions before its newest; `None` if the name does not say.
    Path(String, Option<u64>),
}

/// A number, or a path with an optional `~N`. A file whose name is a number is `./2026`.
///
/// # Errors
/// If a path names a folder.
pub(crate) fn parse(text: &str) -> Result<VersionName, &'static str> {
    if let Ok(number) = text.parse() {
        return Ok(VersionName::Number(number));
    }
    let (path, back) = match text.rsplit_once('~').map(|(path, back)| (path, back.parse())) {
        Some((path, Ok(back))) => (path, Some(back)),
        _ => (text, None),
    };
    memory_path::of_file(path).map(|path| VersionName::Path(path, back))
}

impl VersionName {
    /// The path, if the version is named by one.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::Number(_) => None,
            Self::Path(path, _) => Some(path),
        }
    }

    /// The number of the version: the one that was the newest at a time, or so many before the newest, `back` if the name does
    /// not say.
    pub(crate) fn number(
        &self,
        store: &OpenStore,
        at: Option<SystemTime>,
        back: u64,
    ) -> Result<u64, Failure> {
        let (path, named) = match (self, at) {
            (Self::Number(number), None) => return Ok(*number),
            (Self::Path(path, back), _) if at.is_none() || back.is_none() => (path, *back),
            _ => {
                return Err(Failure::usage(
                    "--at goes with the path of a file alone.",
                    "Give the path, as in `inmost show people/ada.md --at 2h`.",
                ));
            }
        };
        let history = store.history();
        let mut back = named.unwrap_or(back);
        let mut next = newest(store, path)?;
        while let Some(number) = next {
            let version = find(history, number)?;
            let is_it = match at {
                Some(at) => version.as_ref().is_some_and(|version| version.time <= at),
                None => back == 0,
            };
            if is_it {
                return Ok(number);
            }
            back = back.saturating_sub(1);
            next = before(history, path, number, version.as_ref())?;
        }
        let what = if at.is_some() { "of that time" } else { "as old as that" };
        let message = format!("The history has no version of {} {what}.", display::path(path));
        Err(nothing_found(&history.status()?, message))
    }
}

/// The newest version of what is or was last at a path.
fn newest(store: &OpenStore, path: &str) -> Result<Option<u64>, Failure> {
    match store.files().version(path) {
        Ok(Some(now)) => Ok(Some(now.version)),
        Ok(None) | Err(FileError::NotFound) => match at_path(store.history(), path, None)? {
            Some(number) => Ok(Some(number)),
            None => Err(Failure::at(path, FileError::NotFound)),
        },
        Err(error) => Err(Failure::at(path, error)),
    }
}

/// The version before: of this file, else of a file that was at the path before it.
fn before(
    history: History<'_>,
    path: &str,
    number: u64,
    version: Option<&VersionInfo>,
) -> Result<Option<u64>, Failure> {
    match version.and_then(|version| version.previous) {
        Some(previous) => Ok(Some(previous)),
        None => at_path(history, path, Some(number)),
    }
}

/// The newest version of a file at exactly this path, before this number.
fn at_path(
    history: History<'_>,
    path: &str,
    mut before: Option<u64>,
) -> Result<Option<u64>, Failure> {
    let query = VersionQuery::all().path(path);
    loop {
        let page = history.page(&query, before, PAGE).map_err(|error| Failure::at(path, error))?;
        let mut files = page.items.iter().filter(|version| version.file.is_some());
        let found = files.find(|it| it.path.as_ref().is_some_and(|it| it.as_str() == path));
        match (found, page.next) {
            (Some(found), _) => return Ok(Some(found.number)),
            (None, Some(next)) => before = Some(next),
            (None, None) => return Ok(None),
        }
    }
}

/// The failure to print a version that has no text because the file was deleted then.
pub(crate) fn deleted_then(version: Option<&VersionInfo>) -> Option<Failure> {
    let version = version.filter(|version| is_deletion(version) && version.file.is_some())?;
    let path = version.path.as_ref().map_or_else(String::new, |path| display::path(path.as_str()));
    Some(Failure::new(
        Exit::Other,
        format!("Version {} is the deletion of {path}, which has no text.", version.number),
        format!("Its text before is `inmost show {}~1`.", display::quoted(&path)),
    ))
}

/// Versions read in one page.
const PAGE: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_number_or_a_path_with_a_distance() {
        let path = |path: &str, back| Ok(VersionName::Path(format!("/memories/{path}"), back));
        for (text, name) in [
            ("1216", Ok(VersionName::Number(1216))),
            ("./1216", path("1216", None)),
            ("a.md", path("a.md", None)),
            ("a.md~2", path("a.md", Some(2))),
            ("/memories/a.md~0", path("a.md", Some(0))),
            ("a.md~", path("a.md~", None)),
            ("a~b.md", path("a~b.md", None)),
        ] {
            assert_eq!(parse(text), name, "{text}");
        }
        assert!(parse("people/").is_err());
    }
}
