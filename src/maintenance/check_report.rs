//! What a check reports.

use inmost_format::record::node::Name;

/// The result of a check.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CheckReport {
    /// Records read.
    pub records: u64,
    /// Files reachable from the root.
    pub files: u64,
    /// Bytes of text reachable from the root.
    pub bytes: u64,
    /// Intact records without a reference to them. They are harmless; the next purge removes them.
    pub orphans: u64,
    /// The problems in the order in which they were found; the first 10,000.
    pub problems: Vec<StoreProblem>,
    /// The number of further problems.
    pub unlisted: u64,
}

/// A problem in a store.
///
/// # Security
/// The names are plain strings for the application to show. They are not wiped.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StoreProblem {
    /// The names on the way from the root; empty for an object without a path.
    pub names: Vec<String>,
    /// The affected object, in general words.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::session::phrase"))]
    pub what: &'static std::primitive::str,
    /// The problem, in general words.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::session::phrase"))]
    pub how: &'static std::primitive::str,
}

impl std::fmt::Debug for StoreProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A store hides its names, so `Debug` does not show them.
        write!(f, "{} {} at depth {}", self.what, self.how, self.names.len())
    }
}

impl StoreProblem {
    pub(super) fn new(names: &[Name], what: &'static str, how: &'static str) -> Self {
        let names = names.iter().map(|name| name.as_str().to_owned()).collect();
        Self { names, what, how }
    }
}

/// Adds a problem to a list of bounded length, and counts the rest.
pub(crate) fn list_bounded<T>(listed: &mut Vec<T>, unlisted: &mut u64, item: impl FnOnce() -> T) {
    if listed.len() < LISTED {
        listed.push(item());
    } else {
        *unlisted = unlisted.saturating_add(1);
    }
}

impl CheckReport {
    pub(super) fn add(&mut self, names: &[Name], what: &'static str, how: &'static str) {
        list_bounded(&mut self.problems, &mut self.unlisted, || {
            StoreProblem::new(names, what, how)
        });
    }

    /// Whether the check found no problem.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether every record could be read. A history that began anew is a problem of the store, and none of its copy.
    pub(super) fn is_readable(&self) -> bool {
        self.unlisted == 0 && self.problems.iter().all(|problem| problem.how == BEGAN_ANEW)
    }
}

/// The problem of a history that replaced a damaged one.
pub(super) const BEGAN_ANEW: &str = "began anew, because an older one was damaged";

/// Problems listed in one report. Each may contain a path, and a crafted store can have one problem for each reference.
const LISTED: usize = 10_000;
