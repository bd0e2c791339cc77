//! The class `inmost.Store`: an unlocked store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inmost::{BackupOptions, FreshnessMark, Session, ToolOptions};
use inmost_bindings::{Failure, Quotas, ToolLimits};
use inmost_keyd::{ConnectOptions, OpenStore};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::arguments::{argument, optional};
use crate::credential::Given;
use crate::errors;
use crate::expiry::Expiry;
use crate::files::Files;
use crate::history::History;
use crate::options;
use crate::place::Place;
use crate::progress::Progress;
use crate::records::{self, Record};
use crate::shared::Shared;
use crate::sync::Sync;
use crate::text::Text;
use crate::tool::MemoryTool;
use crate::upkeep::Keyslots;

/// An unlocked store. Use it in a `with` statement, which locks it at the end.
#[pyclass(frozen, weakref, module = "inmost")]
pub(crate) struct Store {
    shared: Arc<Shared>,
}

impl Store {
    fn of_session(session: Session, folder: Option<PathBuf>, actor: Option<&str>) -> Self {
        Self { shared: Shared::new(inmost_bindings::Shared::of_session(session, folder, actor)) }
    }
}

#[pymethods]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of the Python methods")]
#[expect(clippy::needless_pass_by_value, reason = "pyo3 converts arguments to owned values")]
impl Store {
    /// Creates a store in a new or empty folder, or a database, and unlocks it.
    #[staticmethod]
    #[pyo3(signature = (path, *, history=None, anchor=None, actor=None, idle_lock=None, max_file_bytes=None, max_files=None, max_store_bytes=None, **credential), text_signature = "(path, *, passphrase=None, keyfile=None, recovery_key=None, raw_key=None, history=None, anchor=None, actor=None, idle_lock=None, max_file_bytes=None, max_files=None, max_store_bytes=None)")]
    fn create(
        py: Python<'_>,
        path: Place,
        #[pyo3(from_py_with = optional)] history: Option<Duration>,
        #[pyo3(from_py_with = optional)] anchor: Option<PathBuf>,
        actor: Option<Text<'_>>,
        #[pyo3(from_py_with = optional)] idle_lock: Option<Duration>,
        #[pyo3(from_py_with = optional)] max_file_bytes: Option<u64>,
        #[pyo3(from_py_with = optional)] max_files: Option<u64>,
        #[pyo3(from_py_with = optional)] max_store_bytes: Option<u64>,
        credential: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let secret = Given::named(credential)?.secret(py)?;
        let quotas = Quotas { idle_lock, max_file_bytes, max_files, max_store_bytes };
        let options = quotas.vault(anchor).history(inmost_bindings::history(history, None));
        let folder = path.0.folder().ok().flatten();
        py.detach(|| path.0.create(&options, &secret))
            .map(|session| Self::of_session(session, folder, actor.as_deref()))
            .map_err(|error| errors::of(py, error))
    }

    /// Unlocks an existing store.
    #[staticmethod]
    #[pyo3(signature = (path, *, anchor=None, at_least=None, require_fresh=false, accept_rollback=false, actor=None, idle_lock=None, max_file_bytes=None, max_files=None, max_store_bytes=None, **credential), text_signature = "(path, *, passphrase=None, keyfile=None, recovery_key=None, raw_key=None, anchor=None, at_least=None, require_fresh=False, accept_rollback=False, actor=None, idle_lock=None, max_file_bytes=None, max_files=None, max_store_bytes=None)")]
    fn open(
        py: Python<'_>,
        path: Place,
        #[pyo3(from_py_with = optional)] anchor: Option<PathBuf>,
        #[pyo3(from_py_with = optional)] at_least: Option<Vec<u8>>,
        #[pyo3(from_py_with = argument)] require_fresh: bool,
        #[pyo3(from_py_with = argument)] accept_rollback: bool,
        actor: Option<Text<'_>>,
        #[pyo3(from_py_with = optional)] idle_lock: Option<Duration>,
        #[pyo3(from_py_with = optional)] max_file_bytes: Option<u64>,
        #[pyo3(from_py_with = optional)] max_files: Option<u64>,
        #[pyo3(from_py_with = optional)] max_store_bytes: Option<u64>,
        credential: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let secret = Given::named(credential)?.secret(py)?;
        let mut options =
            Quotas { idle_lock, max_file_bytes, max_files, max_store_bytes }.vault(anchor);
        if let Some(mark) = at_least {
            options = options.at_least(FreshnessMark::from_bytes(&mark));
        }
        if require_fresh {
            options = options.require_fresh();
        }
        let folder = path.0.folder().ok().flatten();
        py.detach(|| path.0.open(&options, &secret, accept_rollback))
            .map(|session| Self::of_session(session, folder, actor.as_deref()))
            .map_err(|error| errors::of(py, error))
    }

    /// Creates a store that never touches the disk.
    #[staticmethod]
    #[pyo3(signature = (*, history=None, actor=None, idle_lock=None, max_file_bytes=None, max_files=None, max_store_bytes=None))]
    fn in_memory(
        py: Python<'_>,
        #[pyo3(from_py_with = optional)] history: Option<Duration>,
        actor: Option<Text<'_>>,
        #[pyo3(from_py_with = optional)] idle_lock: Option<Duration>,
        #[pyo3(from_py_with = optional)] max_file_bytes: Option<u64>,
        #[pyo3(from_py_with = optional)] max_files: Option<u64>,
        #[pyo3(from_py_with = optional)] max_store_bytes: Option<u64>,
    ) -> PyResult<Self> {
        let options = Quotas { idle_lock, max_file_bytes, max_files, max_store_bytes }.session();
        py.detach(|| inmost_bindings::in_memory(&options, history))
            .map(|session| Self::of_session(session, None, actor.as_deref()))
            .map_err(|error| errors::of(py, error))
    }

    /// Connects to the key daemon that holds a store.
    #[staticmethod]
    #[pyo3(signature = (path, *, anchor=None, actor=None))]
    fn connect(
        py: Python<'_>,
        #[pyo3(from_py_with = argument)] path: PathBuf,
        #[pyo3(from_py_with = optional)] anchor: Option<PathBuf>,
        actor: Option<Text<'_>>,
    ) -> PyResult<Self> {
        let actor = actor.as_deref();
        let connect =
            move || ConnectOptions::new().anchor(anchor.as_deref()).actor(actor).connect(path);
        let client = py
            .detach(connect)
            .map_err(|error| errors::of(py, error))?
            .ok_or_else(|| errors::of(py, Failure::no_daemon()))?;
        let shared = inmost_bindings::Shared::of_client(client);
        Ok(Self { shared: Shared::new(shared.map_err(|error| errors::of(py, error))?) })
    }

    /// The files of the store.
    #[getter]
    fn files(&self) -> Files {
        Files::new(Arc::clone(&self.shared))
    }

    /// The history of the store.
    #[getter]
    fn history(&self) -> History {
        History::new(Arc::clone(&self.shared))
    }

    /// The expiry of unused files.
    #[getter]
    fn expiry(&self) -> Expiry {
        Expiry::new(Arc::clone(&self.shared))
    }

    /// Its part in a circle of devices.
    #[getter]
    fn sync(&self) -> Sync {
        Sync::new(Arc::clone(&self.shared))
    }

    /// The keyslots of the store.
    #[getter]
    fn keyslots(&self) -> Keyslots {
        Keyslots::new(Arc::clone(&self.shared))
    }

    /// The memory tool on this store.
    #[pyo3(signature = (*, read_only=false, subtree=None, create_overwrites=false, delete_forgets=false, actor=None, screen=None, locked_hint=None, max_file_bytes=None, max_files=None, max_store_bytes=None, max_view_characters=None, max_range_characters=None, max_listing_entries=None))]
    fn memory_tool(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument)] read_only: bool,
        subtree: Option<Text<'_>>,
        #[pyo3(from_py_with = argument)] create_overwrites: bool,
        #[pyo3(from_py_with = argument)] delete_forgets: bool,
        actor: Option<Text<'_>>,
        screen: Option<Text<'_>>,
        locked_hint: Option<Text<'_>>,
        #[pyo3(from_py_with = optional)] max_file_bytes: Option<u64>,
        #[pyo3(from_py_with = optional)] max_files: Option<u64>,
        #[pyo3(from_py_with = optional)] max_store_bytes: Option<u64>,
        #[pyo3(from_py_with = optional)] max_view_characters: Option<usize>,
        #[pyo3(from_py_with = optional)] max_range_characters: Option<usize>,
        #[pyo3(from_py_with = optional)] max_listing_entries: Option<usize>,
    ) -> PyResult<MemoryTool> {
        let switches = ToolOptions::new()
            .read_only(read_only)
            .create_overwrites(create_overwrites)
            .delete_forgets(delete_forgets);
        let limits = ToolLimits {
            max_file_bytes,
            max_files,
            max_store_bytes,
            max_view_characters,
            max_range_characters,
            max_listing_entries,
        };
        let mut options = options::screen(limits.of(switches), screen.as_deref())?;
        if let Some(folder) = subtree {
            options = options.subtree(&folder).map_err(|error| errors::of(py, error))?;
        }
        if let Some(actor) = actor {
            options = options.actor(&actor);
        }
        if let Some(hint) = locked_hint {
            options = options.locked_hint(&hint);
        }
        Ok(MemoryTool::new(Arc::clone(&self.shared), options))
    }

    /// Counts and sizes.
    fn status<'py>(&self, py: Python<'py>) -> Record<'py> {
        records::status(py, &self.shared.with(py, OpenStore::status)?)
    }

    /// Checks the whole store. Changes nothing.
    #[pyo3(signature = (*, progress=None))]
    fn check<'py>(&self, py: Python<'py>, progress: Option<Progress>) -> Record<'py> {
        let check = self.shared.reporting(py, progress, |store, progress| store.check(progress))?;
        records::check_report(py, &check)
    }

    /// Rewrites the store with the versions that it keeps, and removes what was deleted.
    #[pyo3(signature = (*, progress=None))]
    fn compact(&self, py: Python<'_>, progress: Option<Progress>) -> PyResult<()> {
        self.shared.reporting(py, progress, |store, progress| store.compact(progress))
    }

    /// Rewrites the store without any version.
    #[pyo3(signature = (*, progress=None))]
    fn purge(&self, py: Python<'_>, progress: Option<Progress>) -> PyResult<()> {
        self.shared.reporting(py, progress, |store, progress| store.purge(progress))
    }

    /// Whether `compact` is worth its cost.
    fn compaction_due(&self, py: Python<'_>) -> PyResult<bool> {
        self.shared.with(py, OpenStore::compaction_due)
    }

    /// Copies the store with its versions to a new place, and reads the copy back.
    #[pyo3(signature = (to, *, progress=None))]
    fn migrate(&self, py: Python<'_>, to: Place, progress: Option<Progress>) -> PyResult<()> {
        self.shared.reporting(py, progress, move |store, progress| to.0.fill(store, progress))
    }

    /// What was set aside in the folder of the store.
    fn set_aside<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for found in self.shared.with(py, OpenStore::set_aside)? {
            list.append(records::set_aside(py, &found)?)?;
        }
        Ok(list)
    }

    /// Removes what was set aside under a number.
    fn discard_set_aside(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument)] number: u64,
    ) -> PyResult<()> {
        self.shared.with(py, |store| store.discard_set_aside(number))
    }

    /// Makes a backup in a folder that may have earlier ones, and reads it back.
    #[pyo3(signature = (folder, *, with_versions=false, keep=10, keep_within=None, progress=None), text_signature = "($self, folder, *, with_versions=False, keep=10, keep_within=..., progress=None)")]
    fn backup_into<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument)] folder: PathBuf,
        #[pyo3(from_py_with = argument)] with_versions: bool,
        #[pyo3(from_py_with = argument)] keep: usize,
        #[pyo3(from_py_with = optional)] keep_within: Option<Duration>,
        progress: Option<Progress>,
    ) -> Record<'py> {
        let mut options = BackupOptions::default();
        (options.with_versions, options.keep) = (with_versions, keep);
        options.keep_within = keep_within.unwrap_or(options.keep_within);
        let report = self.shared.reporting(py, progress, move |store, progress| {
            store.backup_into(&folder, &options, progress)
        })?;
        records::backup_report(py, &report)
    }

    /// How far the store has come, sealed: what `at_least` of a later `open` takes.
    fn mark<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mark = self.shared.with(py, |_| self.shared.mark())?;
        Ok(PyBytes::new(py, mark.as_bytes()))
    }

    /// Whether the store is locked, or not usable in this process.
    fn is_locked(&self, py: Python<'_>) -> PyResult<bool> {
        self.shared.with(py, OpenStore::is_locked)
    }

    /// Locks the store and wipes its keys. A key daemon locks it for all programs.
    fn lock(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.with(py, OpenStore::lock)
    }

    /// Locks a store that this process opened; disconnects from a key daemon.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.with(py, |_| self.shared.close())
    }

    fn __repr__(&self) -> &'static str {
        if self.shared.is_locked_here() { "<inmost.Store, locked>" } else { "<inmost.Store>" }
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyAny>) -> PyResult<()> {
        let closed = self.close(py);
        // An exception of the block says more, and may be the same.
        let has_raised = exception.get_item(0).is_ok_and(|class| !class.is_none());
        if has_raised { Ok(()) } else { closed }
    }

    fn __reduce__(_this: &Bound<'_, Self>) -> PyResult<()> {
        options::not_picklable()
    }
}
