//! The history of a store.

use std::sync::Arc;

use inmost::{FileError, FileText, Undone, VersionChannel, VersionKind, VersionQuery};
use napi::Env;
use napi::bindgen_prelude::{Array, AsyncTask, JsValue, Unknown};
use napi_derive::napi;

use crate::errors::{self, Failure, Thrown};
use crate::options::{count, duration, time};
use crate::pages::{PAGE, Pages, Rows};
use crate::progress::{NativeProgress, counter};
use crate::records::{self, HistoryStatus, UndoStep, VersionInfo, number};
use crate::store::NativeStore;
use crate::task::{Work, plain};

/// Which changes.
#[napi(object, object_to_js = false)]
pub struct Query {
    pub path: Option<String>,
    pub confined: Option<bool>,
    pub file: Option<i64>,
    pub actor: Option<String>,
    pub kind: Option<String>,
    pub channel: Option<String>,
    pub since_ms: Option<i64>,
    pub until_ms: Option<i64>,
}

/// What an undo would do.
#[napi]
pub struct NativeUndoPlan {
    plan: Arc<inmost::UndoPlan>,
}

#[napi]
impl NativeStore {
    /// The changes, the newest first.
    #[napi]
    pub fn log(&self, env: Env, query: Query) -> napi::Result<Pages> {
        let query = query.parse().map_err(|error| error.into_error(&env))?;
        Ok(Pages::new(&self.shared, move |store, before: Option<&u64>| {
            let page = store.versions().versions(&query, before.copied(), PAGE)?;
            Ok((Rows::Versions(page.items), page.next))
        }))
    }

    /// The text of a file as a change made it.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn version_text(&self, version: i64) -> AsyncTask<Work<FileText>> {
        self.with(records::text, move |store| store.versions().version_text(count(version)))
    }

    /// Brings a version back. Returns the number of the new version.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn restore(&self, version: i64, to: Option<String>) -> AsyncTask<Work<i64>> {
        self.with(plain, move |store| {
            store.versions().restore(count(version), to.as_deref()).map(number)
        })
    }

    /// Plans to undo the changes that `log` lists. Changes nothing.
    #[napi(ts_return_type = "Promise<NativeUndoPlan>")]
    pub fn plan_undo(&self, query: Query) -> AsyncTask<Work<NativeUndoPlan>> {
        self.with(plain, move |store| {
            let plan = store.history().plan_undo(&query.parse()?)?;
            Ok::<_, Failure>(NativeUndoPlan { plan: Arc::new(plan) })
        })
    }

    /// Makes the steps of a plan.
    #[napi(ts_return_type = "Promise<Array<any>>")]
    pub fn undo(
        &self,
        plan: &NativeUndoPlan,
        progress: Option<&NativeProgress>,
    ) -> AsyncTask<Work<Vec<Undone>>> {
        let (plan, progress) = (Arc::clone(&plan.plan), counter(progress));
        self.with(undone, move |store| store.history().undo(&plan, progress))
    }

    /// Removes versions of what is or was at or below a path: all, or those up to and including `until`. Returns how many entries.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn forget(
        &self,
        path: String,
        until: Option<i64>,
        progress: Option<&NativeProgress>,
    ) -> AsyncTask<Work<i64>> {
        let mut progress = counter(progress);
        self.with(plain, move |store| {
            store.versions().forget(&path, until.map(count), &mut progress).map(number)
        })
    }

    /// The settings, and what the history holds.
    #[napi(ts_return_type = "Promise<HistoryStatus>")]
    pub fn history_status(&self) -> AsyncTask<Work<HistoryStatus>> {
        self.with(plain, |store| {
            store.versions().history_status().map(|status| records::history_status(&status))
        })
    }

    /// Sets how long versions are kept.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn set_history(&self, keep_ms: Option<i64>, max_bytes: Option<i64>) -> AsyncTask<Work<()>> {
        let (keep, max_bytes) = (keep_ms.map(duration), max_bytes.map(count));
        let settings = inmost_bindings::history(keep, max_bytes);
        self.with(plain, move |store| store.versions().set_history(settings))
    }
}

#[napi]
impl NativeUndoPlan {
    /// The steps, the newest change first.
    #[napi]
    pub fn steps(&self) -> Vec<UndoStep> {
        self.plan.steps.iter().map(records::undo_step).collect()
    }

    /// Files that someone else changed afterwards. An undo leaves them.
    #[napi]
    pub fn left(&self) -> Vec<VersionInfo> {
        self.plan.left.iter().map(records::version).collect()
    }

    /// Files that cannot go back, because the text before is gone. An undo leaves them.
    #[napi]
    pub fn gone(&self) -> Vec<VersionInfo> {
        self.plan.gone.iter().map(records::version).collect()
    }

    /// Entries of the history that cannot be read.
    #[napi]
    pub fn unreadable(&self) -> i64 {
        number(self.plan.unreadable)
    }
}

impl Query {
    fn parse(&self) -> Result<VersionQuery, Failure> {
        let mut query = VersionQuery::all();
        if let Some(path) = &self.path {
            query = query.path(path);
        }
        if self.confined.unwrap_or_default() {
            query = query.confined();
        }
        if let Some(file) = self.file {
            query = query.file(count(file));
        }
        if let Some(actor) = &self.actor {
            query = query.actor(actor);
        }
        if let Some(name) = &self.kind {
            let kind = VersionKind::from_name(name);
            query = query.kind(kind.ok_or_else(|| errors::argument("Unknown kind of change."))?);
        }
        if let Some(name) = &self.channel {
            let channel = VersionChannel::from_name(name);
            query = query.channel(channel.ok_or_else(|| errors::argument("Unknown channel."))?);
        }
        // A bound that is left out would select changes that nobody asked for, and an undo would take them back.
        if let Some(since) = self.since_ms {
            query = query.since(time(since)?);
        }
        if let Some(until) = self.until_ms {
            query = query.until(time(until)?);
        }
        Ok(query)
    }
}

/// The number of the new version, `null`, or a failure for each step.
fn undone(env: &Env, results: Vec<Undone>) -> napi::Result<Unknown<'_>> {
    let mut array = Array::from_vec(env, Vec::<String>::new())?;
    for result in results {
        match result {
            Undone::Done(version) => array.insert(number(version))?,
            Undone::Left(reason) => array.insert(of_file(env, reason)?)?,
            _ => array.insert(napi::bindgen_prelude::Null)?,
        }
    }
    Ok(array.to_unknown())
}

fn of_file(env: &Env, error: FileError) -> napi::Result<Unknown<'_>> {
    Failure::from(error).to_js(env)
}
