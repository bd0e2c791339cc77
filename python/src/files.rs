//! The class `inmost.Files`: files for programs that are not agents.

use std::sync::Arc;
use std::time::SystemTime;

use inmost::{
    FileError, LineRange, NewFile, PageCursor, Precondition, RankQuery, SearchQuery, Wiped,
    WriteOutcome,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::arguments::{argument, named, optional, wrong_type};
use crate::errors;
use crate::pages::{PAGE, Row, Rows};
use crate::records::{self, Record};
use crate::shared::Shared;
use crate::text::Text;

/// The files of a store.
#[pyclass(frozen, module = "inmost")]
pub(crate) struct Files {
    shared: Arc<Shared>,
}

impl Files {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn matches(&self, py: Python<'_>, path: &str, query: SearchQuery) -> PyResult<Rows> {
        // A pattern can take a while to compile.
        py.detach(|| query.check()).map_err(|error| errors::of(py, error))?;
        let path = Wiped::new(path.to_owned());
        Ok(Rows::new(&self.shared, move |store, after: Option<&PageCursor>| {
            let page = store.unlocked().search(&path, &query, after, PAGE)?;
            Ok((page.items.into_iter().map(Row::Match).collect(), page.next))
        }))
    }
}

#[pymethods]
impl Files {
    /// The whole text of a file.
    fn read<'py>(&self, py: Python<'py>, path: Text<'_>) -> PyResult<Bound<'py, PyString>> {
        let text = self.shared.with(py, |store| store.unlocked().read(&path, None))?;
        Ok(PyString::new(py, text.as_str()))
    }

    /// Some lines of a file, with their line ends.
    #[pyo3(signature = (path, first, last=None))]
    fn read_lines<'py>(
        &self,
        py: Python<'py>,
        path: Text<'_>,
        #[pyo3(from_py_with = argument)] first: u64,
        #[pyo3(from_py_with = optional)] last: Option<u64>,
    ) -> PyResult<Bound<'py, PyString>> {
        let lines = match last {
            Some(last) => LineRange::new(first, last),
            None => LineRange::from(first),
        };
        let text = self.shared.with(py, |store| store.unlocked().read(&path, Some(lines)))?;
        Ok(PyString::new(py, text.as_str()))
    }

    /// The metadata of a file or folder.
    fn metadata<'py>(&self, py: Python<'py>, path: Text<'_>) -> Record<'py> {
        records::metadata(py, &self.shared.with(py, |store| store.unlocked().metadata(&path))?)
    }

    /// Whether there is a file or folder.
    fn exists(&self, py: Python<'_>, path: Text<'_>) -> PyResult<bool> {
        self.shared.with(py, |store| match store.unlocked().metadata(&path) {
            Ok(_) => Ok(true),
            Err(FileError::NotFound) => Ok(false),
            Err(error) => Err(error),
        })
    }

    /// Writes a file, replacing an existing one.
    fn write(&self, py: Python<'_>, path: Text<'_>, text: Text<'_>) -> PyResult<()> {
        self.shared.with(py, |store| store.unlocked().write(&path, &text))
    }

    /// Appends text to a file; creates a missing one.
    fn append(&self, py: Python<'_>, path: Text<'_>, text: Text<'_>) -> PyResult<()> {
        self.shared.with(py, |store| store.unlocked().append(&path, &text))
    }

    /// The texts of files, or why one cannot be read.
    fn read_many<'py>(
        &self,
        py: Python<'py>,
        paths: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let given = items(paths, "paths", "an iterable of str")?;
        let paths = given.iter().map(PyAnyMethods::extract).collect::<PyResult<Vec<Text<'_>>>>();
        let paths = named(py, "each of paths", paths)?;
        let paths: Vec<&str> = paths.iter().map(|path| &**path).collect();
        let texts = self.shared.with(py, |store| store.unlocked().read_many(&paths))?;
        let results = PyList::empty(py);
        for text in texts {
            match text {
                Ok(text) => results.append(text.as_str())?,
                Err(error) => results.append(errors::of(py, error).into_value(py))?,
            }
        }
        Ok(results)
    }

    /// Writes files in their order, several in a commit.
    fn write_many<'py>(
        &self,
        py: Python<'py>,
        files: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let files = items(files, "files", "an iterable of NewFile")?;
        let files = files.iter().map(Owned::new).collect::<PyResult<Vec<_>>>()?;
        let new: Vec<_> = files.iter().map(Owned::borrow).collect();
        let written = self.shared.with(py, |store| store.unlocked().write_many(&new))?;
        let results = PyList::empty(py);
        for result in written {
            match result {
                Ok(WriteOutcome::Unchanged) => results.append("unchanged")?,
                Ok(_) => results.append("written")?,
                Err(error) => results.append(errors::of(py, error).into_value(py))?,
            }
        }
        Ok(results)
    }

    /// The entries of a folder, hidden ones included.
    #[pyo3(signature = (path=Text::ROOT), text_signature = "($self, path=\"/memories\")")]
    fn list<'py>(&self, py: Python<'py>, path: Text<'_>) -> PyResult<Bound<'py, PyList>> {
        let entries = self.shared.with(py, |store| {
            let (mut entries, mut after) = (Vec::new(), None);
            loop {
                let page = store.unlocked().list(&path, after.as_ref(), PAGE)?;
                entries.extend(page.items);
                match page.next {
                    Some(next) => after = Some(next),
                    None => return Ok::<_, FileError>(entries),
                }
            }
        })?;
        let list = PyList::empty(py);
        for entry in &entries {
            list.append(records::folder_entry(py, entry)?)?;
        }
        Ok(list)
    }

    /// Everything below a folder, depth first.
    #[pyo3(signature = (path=Text::ROOT, *, max_depth=None), text_signature = "($self, path=\"/memories\", *, max_depth=None)")]
    fn walk(
        &self,
        path: Text<'_>,
        #[pyo3(from_py_with = optional)] max_depth: Option<usize>,
    ) -> Rows {
        let path = Wiped::new((*path).to_owned());
        let max_depth = max_depth.unwrap_or(usize::MAX);
        Rows::new(&self.shared, move |store, after: Option<&PageCursor>| {
            let page = store.unlocked().walk(&path, max_depth, after, PAGE)?;
            Ok((page.items.into_iter().map(Row::Walk).collect(), page.next))
        })
    }

    /// The lines that contain a text.
    #[pyo3(signature = (text, path=Text::ROOT, *, ignore_case=false, max_matches_per_file=None), text_signature = "($self, text, path=\"/memories\", *, ignore_case=False, max_matches_per_file=None)")]
    fn search(
        &self,
        py: Python<'_>,
        text: Text<'_>,
        path: Text<'_>,
        #[pyo3(from_py_with = argument)] ignore_case: bool,
        #[pyo3(from_py_with = optional)] max_matches_per_file: Option<u64>,
    ) -> PyResult<Rows> {
        let most = max_matches_per_file.unwrap_or(u64::MAX);
        let query = SearchQuery::text(&*text).ignore_case(ignore_case).max_matches_per_file(most);
        self.matches(py, &path, query)
    }

    /// The lines that match a regular expression.
    #[pyo3(signature = (pattern, path=Text::ROOT, *, ignore_case=false, max_matches_per_file=None), text_signature = "($self, pattern, path=\"/memories\", *, ignore_case=False, max_matches_per_file=None)")]
    fn grep(
        &self,
        py: Python<'_>,
        pattern: Text<'_>,
        path: Text<'_>,
        #[pyo3(from_py_with = argument)] ignore_case: bool,
        #[pyo3(from_py_with = optional)] max_matches_per_file: Option<u64>,
    ) -> PyResult<Rows> {
        let most = max_matches_per_file.unwrap_or(u64::MAX);
        let query =
            SearchQuery::regex(&*pattern).ignore_case(ignore_case).max_matches_per_file(most);
        self.matches(py, &path, query)
    }

    /// The files that say most about some words, the best first.
    #[pyo3(signature = (words, path=Text::ROOT, *, limit=10, skip=0, since=None), text_signature = "($self, words, path=\"/memories\", *, limit=10, skip=0, since=None)")]
    fn rank<'py>(
        &self,
        py: Python<'py>,
        words: Text<'_>,
        path: Text<'_>,
        #[pyo3(from_py_with = argument)] limit: usize,
        #[pyo3(from_py_with = argument)] skip: usize,
        #[pyo3(from_py_with = optional)] since: Option<SystemTime>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let query = RankQuery::new(&*words).most(limit).skip(skip);
        let query = since.into_iter().fold(query, RankQuery::since);
        let ranked = self.shared.with(py, |store| store.unlocked().rank(&path, &query))?;
        records::ranked(py, &ranked)
    }

    /// Deletes a file, or a folder with everything below it.
    fn remove(&self, py: Python<'_>, path: Text<'_>) -> PyResult<()> {
        self.shared.with(py, |store| store.unlocked().remove(&path))
    }

    /// Moves a file, or a folder with everything below it.
    fn rename(&self, py: Python<'_>, old: Text<'_>, new: Text<'_>) -> PyResult<()> {
        self.shared.with(py, |store| store.unlocked().rename(&old, &new))
    }

    /// The state of a file, for a later change that is conditional on it.
    fn version<'py>(&self, py: Python<'py>, path: Text<'_>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let version = self.shared.with(py, |store| store.unlocked().version(&path))?;
        version.map(|version| records::file_version(py, &version)).transpose()
    }

    /// Writes a file if the condition holds.
    fn write_if<'py>(
        &self,
        py: Python<'py>,
        path: Text<'_>,
        text: Text<'_>,
        condition: &Bound<'py, PyAny>,
    ) -> Record<'py> {
        let condition = precondition(condition, "condition")?;
        let version =
            self.shared.with(py, |store| store.files().write_if(&path, &text, &condition))?;
        records::file_version(py, &version)
    }

    /// Deletes a file if the condition holds.
    fn remove_if(
        &self,
        py: Python<'_>,
        path: Text<'_>,
        condition: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let condition = precondition(condition, "condition")?;
        self.shared.with(py, |store| store.unlocked().remove_if(&path, &condition))
    }

    /// Moves a file if the condition holds for the old path.
    fn rename_if(
        &self,
        py: Python<'_>,
        old: Text<'_>,
        new: Text<'_>,
        condition: &Bound<'_, PyAny>,
    ) -> PyResult<u64> {
        let condition = precondition(condition, "condition")?;
        self.shared.with(py, |store| store.unlocked().rename_if(&old, &new, &condition))
    }

    /// Moves a file into the place of another if the conditions hold for both.
    fn replace_if<'py>(
        &self,
        py: Python<'py>,
        old: Text<'_>,
        new: Text<'_>,
        moved: &Bound<'py, PyAny>,
        replaced: &Bound<'py, PyAny>,
    ) -> Record<'py> {
        let (moved, replaced) =
            (precondition(moved, "moved")?, precondition(replaced, "replaced")?);
        let version = self
            .shared
            .with(py, |store| store.unlocked().replace_if(&old, &new, &moved, &replaced))?;
        records::file_version(py, &version)
    }
}

/// The items of an iterable. An exception that it raises is its own.
fn items<'py>(
    given: &Bound<'py, PyAny>,
    name: &str,
    what: &str,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    // A `str` is an iterable of texts, and hardly one of paths.
    let items = match given.try_iter() {
        Ok(items) if !given.is_instance_of::<PyString>() => items,
        _ => return named(given.py(), name, Err(wrong_type(given, what))),
    };
    items.collect()
}

/// A file of `write_many`, from the attributes of an `inmost.NewFile`.
struct Owned {
    path: Wiped<String>,
    text: Wiped<String>,
    created: Option<SystemTime>,
    modified: Option<SystemTime>,
    replaces: bool,
}

impl Owned {
    fn new(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = given.py();
        let attribute = |name| {
            let missing = |_| wrong_type(given, "a NewFile");
            named(py, "each of files", given.getattr(name).map_err(missing))
        };
        let text = |name| {
            let text = attribute(name)?;
            let text = named(py, name, text.extract::<Text<'_>>())?;
            Ok::<_, PyErr>(Wiped::new(str::to_owned(&text)))
        };
        Ok(Self {
            path: text("path")?,
            text: text("text")?,
            created: named(py, "created", optional(&attribute("created")?))?,
            modified: named(py, "modified", optional(&attribute("modified")?))?,
            replaces: named(py, "replaces", argument(&attribute("replaces")?))?,
        })
    }

    fn borrow(&self) -> NewFile<'_> {
        let mut file = NewFile::new(&self.path, &self.text);
        file.created = self.created;
        file.modified = self.modified;
        file.replaces = self.replaces;
        file
    }
}

/// What must be at a path: `None` for nothing, or the version number or the hash of an `inmost.Precondition` or an
/// `inmost.FileVersion`.
fn precondition(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Precondition> {
    if given.is_none() {
        return Ok(Precondition::Absent);
    }
    let attribute = |name| {
        let what = "a FileVersion, a Precondition, or None for no file";
        let found = given.getattr(name).map_err(|_| wrong_type(given, what));
        named(given.py(), argument, found)
    };
    let version = named(given.py(), "version", optional::<u64>(&attribute("version")?))?;
    if let Some(version) = version {
        return Ok(Precondition::Version(version));
    }
    let hash = attribute("sha256")?;
    if hash.is_none() {
        return Ok(Precondition::Absent);
    }
    Precondition::of_sha256_digits(&named(given.py(), "sha256", hash.extract::<Text<'_>>())?)
        .ok_or_else(|| PyValueError::new_err("sha256 has 64 hexadecimal digits"))
}
