//! The classes `inmost.History` and `inmost.UndoPlan`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use inmost::{Undone, VersionChannel, VersionInfo, VersionKind, VersionQuery};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::arguments::{argument, named, optional, wrong_type};
use crate::errors;
use crate::pages::{PAGE, Row, Rows};
use crate::progress::Progress;
use crate::records::{self, Record};
use crate::shared::Shared;
use crate::text::Text;

/// The history of a store.
#[pyclass(frozen, module = "inmost")]
pub(crate) struct History {
    shared: Arc<Shared>,
}

/// What an undo would do.
#[pyclass(frozen, module = "inmost")]
pub(crate) struct UndoPlan {
    plan: inmost::UndoPlan,
}

impl History {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

#[pymethods]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of the Python methods")]
impl History {
    /// The changes, the newest first.
    #[pyo3(signature = (path=None, *, confined=false, file=None, actor=None, kind=None, channel=None, since=None, until=None))]
    fn log(
        &self,
        path: Option<Text<'_>>,
        #[pyo3(from_py_with = argument)] confined: bool,
        #[pyo3(from_py_with = optional)] file: Option<u64>,
        actor: Option<Text<'_>>,
        kind: Option<Text<'_>>,
        channel: Option<Text<'_>>,
        #[pyo3(from_py_with = optional)] since: Option<SystemTime>,
        #[pyo3(from_py_with = optional)] until: Option<SystemTime>,
    ) -> PyResult<Rows> {
        let query = Query { path, confined, file, actor, kind, channel, since, until }.parse()?;
        Ok(Rows::new(&self.shared, move |store, before: Option<&u64>| {
            let page = store.versions().versions(&query, before.copied(), PAGE)?;
            Ok((page.items.into_iter().map(Row::Version).collect(), page.next))
        }))
    }

    /// The text of a file as a change made it.
    fn text<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument)] number: u64,
    ) -> PyResult<Bound<'py, PyString>> {
        let text = self.shared.with(py, |store| store.versions().version_text(number))?;
        Ok(PyString::new(py, text.as_str()))
    }

    /// Brings a version back. Returns the number of the new version.
    #[pyo3(signature = (number, to=None))]
    fn restore(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument)] number: u64,
        to: Option<Text<'_>>,
    ) -> PyResult<u64> {
        self.shared.with(py, |store| store.versions().restore(number, to.as_deref()))
    }

    /// Plans to undo the changes that `log` lists with the same arguments. Changes nothing.
    #[pyo3(signature = (path=None, *, confined=false, file=None, actor=None, kind=None, channel=None, since=None, until=None))]
    fn plan_undo(
        &self,
        py: Python<'_>,
        path: Option<Text<'_>>,
        #[pyo3(from_py_with = argument)] confined: bool,
        #[pyo3(from_py_with = optional)] file: Option<u64>,
        actor: Option<Text<'_>>,
        kind: Option<Text<'_>>,
        channel: Option<Text<'_>>,
        #[pyo3(from_py_with = optional)] since: Option<SystemTime>,
        #[pyo3(from_py_with = optional)] until: Option<SystemTime>,
    ) -> PyResult<UndoPlan> {
        let query = Query { path, confined, file, actor, kind, channel, since, until }.parse()?;
        let plan = self.shared.with(py, |store| store.history().plan_undo(&query))?;
        Ok(UndoPlan { plan })
    }

    /// Makes the steps of a plan.
    #[pyo3(signature = (plan, *, progress=None))]
    fn undo<'py>(
        &self,
        py: Python<'py>,
        plan: &Bound<'py, PyAny>,
        progress: Option<Progress>,
    ) -> PyResult<Bound<'py, PyList>> {
        let plan = plan.cast::<UndoPlan>().map_err(|_| wrong_type(plan, "an UndoPlan"));
        let plan = named(py, "plan", plan)?.get();
        let undone = self.shared.reporting(py, progress, |store, progress| {
            store.history().undo(&plan.plan, progress)
        })?;
        let results = PyList::empty(py);
        for step in undone {
            results.append(match step {
                Undone::Done(number) => records::undone(py, Some(number), None)?,
                Undone::Left(reason) => records::undone(py, None, Some(errors::of(py, reason)))?,
                _ => records::undone(py, None, None)?,
            })?;
        }
        Ok(results)
    }

    /// Removes versions of what is or was at or below a path: all, or those up to and including `until`. Returns how many entries.
    #[pyo3(signature = (path, *, until=None, progress=None))]
    fn forget(
        &self,
        py: Python<'_>,
        path: Text<'_>,
        #[pyo3(from_py_with = optional)] until: Option<u64>,
        progress: Option<Progress>,
    ) -> PyResult<u64> {
        self.shared.reporting(py, progress, |store, progress| {
            store.versions().forget(&path, until, progress)
        })
    }

    /// The settings, and what the history holds.
    fn status<'py>(&self, py: Python<'py>) -> Record<'py> {
        let status = self.shared.with(py, |store| store.versions().history_status())?;
        records::history_status(py, &status)
    }

    /// Sets how long versions are kept; `None` keeps none and drops those that are kept.
    #[pyo3(signature = (keep, *, max_bytes=None))]
    fn set(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = optional)] keep: Option<Duration>,
        #[pyo3(from_py_with = optional)] max_bytes: Option<u64>,
    ) -> PyResult<()> {
        let settings = inmost_bindings::history(keep, max_bytes);
        self.shared.with(py, |store| store.versions().set_history(settings))
    }
}

#[pymethods]
impl UndoPlan {
    /// The steps, the newest change first.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for step in &self.plan.steps {
            list.append(records::undo_step(py, step)?)?;
        }
        Ok(list)
    }

    /// Files that someone else changed afterwards. An undo leaves them.
    #[getter]
    fn left<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        versions(py, &self.plan.left)
    }

    /// Files that cannot go back, because the text before is gone. An undo leaves them.
    #[getter]
    fn gone<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        versions(py, &self.plan.gone)
    }

    /// Entries of the history that cannot be read.
    #[getter]
    fn unreadable(&self) -> u64 {
        self.plan.unreadable
    }

    fn __repr__(&self) -> String {
        format!("UndoPlan(steps={}, left={})", self.plan.steps.len(), self.plan.left.len())
    }
}

fn versions<'py>(py: Python<'py>, versions: &[VersionInfo]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for version in versions {
        list.append(records::version(py, version)?)?;
    }
    Ok(list)
}

/// The arguments that say which changes.
struct Query<'a> {
    path: Option<Text<'a>>,
    confined: bool,
    file: Option<u64>,
    actor: Option<Text<'a>>,
    kind: Option<Text<'a>>,
    channel: Option<Text<'a>>,
    since: Option<SystemTime>,
    until: Option<SystemTime>,
}

impl Query<'_> {
    fn parse(self) -> PyResult<VersionQuery> {
        let mut query = VersionQuery::all();
        if let Some(path) = self.path {
            query = query.path(&path);
        }
        if self.confined {
            query = query.confined();
        }
        if let Some(file) = self.file {
            query = query.file(file);
        }
        if let Some(actor) = self.actor {
            query = query.actor(&actor);
        }
        if let Some(name) = self.kind {
            let names = VersionKind::ALL.map(VersionKind::name);
            let kind = VersionKind::from_name(&name);
            query = query.kind(kind.ok_or_else(|| unknown("kind", &names))?);
        }
        if let Some(name) = self.channel {
            let names = VersionChannel::ALL.map(VersionChannel::name);
            let channel = VersionChannel::from_name(&name);
            query = query.channel(channel.ok_or_else(|| unknown("channel", &names))?);
        }
        if let Some(time) = self.since {
            query = query.since(time);
        }
        if let Some(time) = self.until {
            query = query.until(time);
        }
        Ok(query)
    }
}

fn unknown(argument: &str, names: &[&str]) -> PyErr {
    PyValueError::new_err(format!("{argument} is one of: {}", names.join(", ")))
}
