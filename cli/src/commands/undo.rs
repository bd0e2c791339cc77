//! `inmost undo`

use std::collections::BTreeSet;
use std::time::SystemTime;

use inmost::{
    FileText, History, UndoPlan, UndoStep, Undone, VersionInfo, VersionKind, VersionQuery,
};
use serde::Serialize;

use crate::args::{ActorArgs, StoreArgs, parse_actor};
use crate::completion;
use crate::display::{self, count};
use crate::exit::{Exit, Failure};
use crate::memory_path;
use crate::output::{print, though_unread};
use crate::progress::Progress;
use crate::store::opening::OpenOptions;
use crate::times::{self, parse_moment};
use crate::version::{self, nothing_found};
use crate::{confirm, json_line, streams};
use inmost_console::Wiped;

/// Undo changes: by an actor, since a time, or of a path
///
/// Each file that these changes touched goes back to its version before them. First the plan is listed, then you are asked.
/// A file that somebody else changed afterwards is left as it is, and listed: `inmost diff` and `inmost restore` help with
/// those one by one. So is a file whose text before is gone: forgotten, dropped for lack of room, or damaged.
///
/// Each file goes back in one atomic step, if it has not been changed since the plan, or in several if folders around it moved
/// in between. These steps are changes like any other: `inmost log` lists them, and they can be undone.
///
/// With --json each line of the plan is an object: path, plan (restore, delete, leave, or gone), version (the newest one that
/// the step undoes, or that leaves the file) and to (the version that it goes back to). Files that were left in spite of the plan
/// follow (path, left), then the counts.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost undo --store notes.inmost --by night-agent --since 12h --dry-run\n  \
    inmost undo --store notes.inmost --since 2026-11-21T22:00 /memories/projects")]
#[group(skip)]
#[command(group(clap::ArgGroup::new("which").args(["since", "by", "path"]).required(true).multiple(true)))]
pub(crate) struct Undo {
    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    actor: ActorArgs,

    /// Undo changes at this time or later: 2h or 3d ago, a day such as 2026-11-21, or a time such as 2026-11-21T18:30:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    since: Option<SystemTime>,

    /// Undo changes by this actor
    #[arg(long, value_name = "ACTOR", value_parser = parse_actor)]
    by: Option<String>,

    /// List the plan, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    /// Undo changes of this file, or of this folder and what is below it. A renamed folder above it stays where it is
    #[arg(value_parser = memory_path::parse, add = completion::memory_path())]
    path: Option<String>,
}

impl Undo {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::changing(&self.actor))?;
        let history = store.history();
        let mut plan = history.plan_undo(&self.query()).map_err(|error| match &self.path {
            Some(path) => Failure::at(path, error),
            None => error.into(),
        })?;
        let is_empty =
            |plan: &UndoPlan| plan.steps.is_empty() && plan.left.is_empty() && plan.gone.is_empty();
        if is_empty(&plan) && self.matches_any(history)? {
            return Err(Failure::new(
                Exit::Other,
                "There is nothing to undo: everything is already as it was before these changes.",
                "List the changes with `inmost log`. `inmost restore PATH` brings back a version of a deleted file.",
            ));
        }
        if let Some(path) = &self.path {
            plan.steps.retain(|step| !moves_folder_above(step, path));
        }
        if plan.unreadable > 0 {
            let entries = count(plan.unreadable, "entry", "entries");
            streams::warn(&format!(
                "{entries} of the history cannot be read, and what they changed stays; see `inmost check`"
            ));
        }
        if is_empty(&plan) {
            let message = "No change that is kept matches: there is nothing to undo.".to_owned();
            return Err(nothing_found(&history.status()?, message));
        }
        though_unread(print(self.listed(&plan)?.as_slice()))?;
        let steps = u64::try_from(plan.steps.len()).unwrap_or(u64::MAX);
        if steps == 0 {
            return Err(Failure::new(
                Exit::Other,
                "There is nothing to undo: every file listed is left as it is.",
                "Compare versions with `inmost diff PATH`, and bring one back with `inmost restore PATH`.",
            ));
        }
        if self.dry_run {
            return if self.json { Ok(()) } else { print(b"Nothing was changed.\n") };
        }
        let files = count(objects(plan.steps.iter()), "file or folder", "files and folders");
        confirm::ask(self.yes, &format!("Type yes to undo the changes of {files}: "), "yes")?;
        let mut progress = Progress::of(steps, "steps");
        let results = history.undo(&plan, |done| progress.update(done))?;
        drop((progress, store));
        self.report(&plan, &results)
    }

    /// The plan, one line for each step, and for each file and folder that is left.
    fn listed(&self, plan: &UndoPlan) -> Result<Wiped, Failure> {
        let mut text = Wiped::default();
        for step in &plan.steps {
            if self.json {
                json_line::append(&Planned::step(step), &mut text)?;
            } else {
                text.append(format!("{}: {}\n", place(step), what(step)).as_bytes());
            }
        }
        let left = plan.left.iter().map(|version| (version, "leave", why_left(version)));
        let gone = "because its text before is gone";
        let gone = plan.gone.iter().map(|version| (version, "gone", gone.to_owned()));
        for (version, plan, why) in left.chain(gone) {
            if self.json {
                json_line::append(&Planned::unchanged(version, plan), &mut text)?;
            } else {
                text.append(format!("{}: left, {why}\n", path_of(version)).as_bytes());
            }
        }
        Ok(text)
    }

    /// Prints what was done, and what was left in spite of the plan.
    fn report(&self, plan: &UndoPlan, results: &[Undone]) -> Result<(), Failure> {
        let mut text = Wiped::default();
        let results = || plan.steps.iter().zip(results);
        let left = results().filter(|(_, result)| matches!(result, Undone::Left(_)));
        let left = objects(left.map(|(step, _)| step));
        let done = objects(plan.steps.iter()) - left;
        for (step, result) in results() {
            let Undone::Left(error) = result else { continue };
            let why = error.to_string();
            if self.json {
                json_line::append(&Left { path: then(step), left: &why }, &mut text)?;
            } else {
                text.append(format!("{}: left. {}\n", place(step), display::path(&why)).as_bytes());
            }
        }
        if self.json {
            json_line::append(&Counts { undone: done, left }, &mut text)?;
        } else {
            let files = count(done, "file or folder", "files and folders");
            text.append(format!("Undid the changes of {files}.\n").as_bytes());
        }
        though_unread(print(text.as_slice()))?;
        if left == 0 {
            return Ok(());
        }
        let files = count(left, "file or folder", "files and folders");
        Err(Failure::new(
            Exit::Other,
            format!("{files} of the plan could not be undone, and were left unchanged."),
            "Look at their versions with `inmost log`, and bring one back with `inmost restore PATH`.",
        ))
    }

    /// Whether a change that is kept matches.
    fn matches_any(&self, history: History<'_>) -> Result<bool, Failure> {
        let mut before = None;
        loop {
            let page = history.page(&self.query(), before, PAGE)?;
            let is_change = |version: &VersionInfo| version.kind != VersionKind::Forgotten;
            match page.next {
                _ if page.items.iter().any(is_change) => return Ok(true),
                Some(next) => before = Some(next),
                None => return Ok(false),
            }
        }
    }

    fn query(&self) -> VersionQuery {
        let mut query = VersionQuery::all();
        if let Some(path) = &self.path {
            query = query.path(path);
        }
        if let Some(actor) = &self.by {
            query = query.actor(actor);
        }
        if let Some(since) = self.since {
            query = query.since(since);
        }
        query
    }
}

/// The number of files and folders that these steps change.
fn objects<'p>(steps: impl Iterator<Item = &'p UndoStep>) -> u64 {
    let object = |step: &UndoStep| step.newest.file.ok_or(step.newest.number);
    let objects: BTreeSet<Result<u64, u64>> = steps.map(object).collect();
    u64::try_from(objects.len()).unwrap_or(u64::MAX)
}

/// Whether a step moves a folder above the path, with all that is beside the path. A folder above it that is deleted now comes
/// back: the path is in it.
fn moves_folder_above(step: &UndoStep, path: &str) -> bool {
    let newest = &step.newest;
    if newest.file.is_some() || newest.kind == VersionKind::Deleted && newest.restored.is_none() {
        return false;
    }
    let is_above = |folder: &FileText| {
        path.strip_prefix(folder.as_str())
            .is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
    };
    newest.path.as_ref().is_some_and(is_above) || newest.old_path.as_ref().is_some_and(is_above)
}

/// Where a step changes something.
fn place(step: &UndoStep) -> String {
    let is_deleted = version::is_deletion(&step.newest);
    let now = step.newest.path.as_ref().filter(|_| !is_deleted).map(FileText::as_str);
    let then = step.path.as_ref().map(FileText::as_str);
    match (now, then) {
        (Some(now), Some(then)) if now != then => {
            format!("{} -> {}", display::path(now), display::path(then))
        }
        (_, Some(path)) | (Some(path), None) => display::path(path),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// What a step does.
fn what(step: &UndoStep) -> String {
    match (step.newest.file, step.to, step.newest.kind) {
        (Some(_), Some(to), _) => format!("goes back to version {to}"),
        (Some(_), None, _) => "is deleted, because it did not exist before".to_owned(),
        (None, _, VersionKind::Deleted) => "the deleted folder comes back".to_owned(),
        (None, _, VersionKind::Renamed) => "the folder moves back".to_owned(),
        (None, ..) => "the folder that was brought back is deleted again".to_owned(),
    }
}

fn path_of(version: &VersionInfo) -> String {
    version.path.as_ref().map_or_else(|| UNKNOWN.to_owned(), |path| display::path(path.as_str()))
}

fn why_left(version: &VersionInfo) -> String {
    let (kind, time) = (version.kind.name(), times::local(version.time));
    let by = match version.actor.as_str() {
        "" => String::new(),
        actor => format!(" by {}", display::path(actor)),
    };
    format!("because it was {kind}{by} on {time}, as version {}", version.number)
}

/// The path that a step leads to; `None` if it is not known any more.
fn then(step: &UndoStep) -> Option<&str> {
    step.path.as_ref().or(step.newest.path.as_ref()).map(FileText::as_str)
}

/// A line of the plan as JSON.
#[derive(Serialize)]
struct Planned<'a> {
    path: Option<&'a str>,
    plan: &'static str,
    /// The newest version of the file.
    version: u64,
    /// The version that it goes back to.
    to: Option<u64>,
}

impl<'a> Planned<'a> {
    fn step(step: &'a UndoStep) -> Self {
        let plan = match (step.newest.file, step.to, step.newest.kind) {
            (Some(_), None, _) | (None, _, VersionKind::Restored) => "delete",
            _ => "restore",
        };
        Self { path: then(step), plan, version: step.newest.number, to: step.to }
    }

    fn unchanged(version: &'a VersionInfo, plan: &'static str) -> Self {
        let path = version.path.as_ref().map(FileText::as_str);
        Self { path, plan, version: version.number, to: None }
    }
}

/// A file that was left in spite of the plan, as JSON.
#[derive(Serialize)]
struct Left<'a> {
    path: Option<&'a str>,
    left: &'a str,
}

/// The last line as JSON.
#[derive(Serialize)]
struct Counts {
    undone: u64,
    left: u64,
}

/// Versions read in one page.
const PAGE: usize = 1_000;

const UNKNOWN: &str = "(unknown)";
