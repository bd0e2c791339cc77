//! Iterators over long results, which read the store page by page.

use std::iter;
use std::sync::{Arc, Mutex, PoisonError};

use inmost::{FileError, SearchMatch, StoreError, VersionInfo, WalkEntry};
use inmost_keyd::OpenStore;
use pyo3::prelude::*;

use crate::errors;
use crate::records::{self, Record};
use crate::shared::Shared;

/// An iterator over one kind of rows. It ends after an error.
#[pyclass(frozen, module = "inmost")]
pub(crate) struct Rows {
    shared: Arc<Shared>,
    rows: Mutex<Box<dyn Iterator<Item = Result<Row, FileError>> + Send>>,
}

/// One item.
pub(crate) enum Row {
    Walk(WalkEntry),
    Match(SearchMatch),
    Version(VersionInfo),
}

/// One page, and the position of the next.
pub(crate) type RowPage<C> = Result<(Vec<Row>, Option<C>), FileError>;

impl Rows {
    /// The rows of the pages that `page` reads, from the position that the page before it names.
    pub(crate) fn new<C: Send + 'static>(
        shared: &Arc<Shared>,
        mut page: impl FnMut(&OpenStore, Option<&C>) -> RowPage<C> + Send + 'static,
    ) -> Self {
        let store = Arc::clone(shared);
        let (mut items, mut position) = (Vec::new().into_iter(), Some(None));
        let rows = iter::from_fn(move || {
            loop {
                if let Some(item) = items.next() {
                    return Some(Ok(item));
                }
                let after = position.take()?;
                match page(&store.handle(), after.as_ref()) {
                    Ok((rows, next)) => (items, position) = (rows.into_iter(), next.map(Some)),
                    Err(error) => return Some(Err(error)),
                }
            }
        });
        Self { shared: Arc::clone(shared), rows: Mutex::new(Box::new(rows)) }
    }
}

#[pymethods]
impl Rows {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    /// Raises `Locked` if this process has locked the store: for callers that have read rows ahead.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        if self.shared.is_locked_here() {
            return Err(errors::of(py, StoreError::Locked));
        }
        Ok(())
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.shared.refuse_in_progress()?;
        // Never waits for the other lock while it holds the interpreter's.
        let row = py.detach(|| {
            let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
            let row = rows.next();
            if matches!(row, Some(Ok(_))) && self.shared.is_locked_here() {
                // What was read before the lock is wiped, and not handed out.
                *rows = Box::new(iter::empty());
                return Some(Err(FileError::Store(StoreError::Locked)));
            }
            row
        });
        match row {
            None => Ok(None),
            Some(Ok(row)) => row.into_record(py).map(Some),
            Some(Err(error)) => Err(errors::of(py, error)),
        }
    }
}

impl Row {
    fn into_record(self, py: Python<'_>) -> Record<'_> {
        match self {
            Self::Walk(entry) => records::walk_entry(py, &entry),
            Self::Match(found) => records::search_match(py, &found),
            Self::Version(version) => records::version(py, &version),
        }
    }
}

/// Items of a page.
pub(crate) const PAGE: usize = 1_000;
