//! `inmost log`

use std::io::{self, IsTerminal};
use std::time::SystemTime;

use inmost::{
    FileError, HistoryStatus, StoreError, VersionChannel, VersionInfo, VersionKind, VersionQuery,
};

use crate::args::{StoreArgs, parse_actor};
use crate::completion;
use crate::display::count;
use crate::exit::{Exit, Failure};
use crate::hints;
use crate::json_line;
use crate::memory_path;
use crate::output::print;
use crate::pager;
use crate::store::opening::OpenOptions;
use crate::times::parse_moment;
use crate::version::{OFF, TURN_ON};
use crate::version_line::{self, Object};
use inmost_console::Wiped;

/// List the changes of a store that its history keeps, the newest first
///
/// A line has the number of the version, the time, what was done, through which part of the program (`tool` is the model),
/// by whom, the size of the file afterwards, and the path. `(text gone)` follows where the text was dropped for lack of room
/// or lost to damage. The name of the actor is what the caller claimed, and no proof: this is a history to go back in, not an
/// audit log.
///
/// With a path, only changes of this file or folder and of what is below it are listed, by the paths at that time.
///
/// With --json each line is an object: version, time, kind, channel, actor, file (a number that survives renames), previous
/// (the file's version before), path, `old_path`, bytes, lines and text (kept, gone, none for a deletion or a folder, or
/// unknown). Times are in milliseconds since 1970.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost log --store notes.inmost --since 8h\n  \
    inmost log --store notes.inmost --by claude-code --kind deleted\n  \
    inmost log --store notes.inmost --json /memories/projects | jq .path")]
pub(crate) struct Log {
    #[command(flatten)]
    store: StoreArgs,

    /// List only changes by this actor
    #[arg(long, value_name = "ACTOR", value_parser = parse_actor)]
    by: Option<String>,

    /// List only changes of this kind
    #[arg(long, value_parser = version_line::kinds())]
    kind: Option<VersionKind>,

    /// List only changes through this part of the program
    #[arg(long, value_parser = version_line::channels())]
    channel: Option<VersionChannel>,

    /// List only changes at this time or later: 2h or 3d ago, a day such as 2026-11-21, or a time such as
    /// 2026-11-21T18:30:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    since: Option<SystemTime>,

    /// List only changes before this time
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    until: Option<SystemTime>,

    /// List at most this many changes
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    /// The file or folder
    #[arg(value_parser = memory_path::parse, add = completion::memory_path())]
    path: Option<String>,
}

impl Log {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::reading())?;
        let history = store.history();
        let query = self.query();
        let is_terminal = io::stdout().is_terminal();
        let (mut left, mut before) = (self.limit.unwrap_or(u64::MAX), None);
        let (mut text, mut found_any, mut unreadable) = (Wiped::default(), false, 0_u64);
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(PAGE).min(PAGE);
            let page = history.page(&query, before, most).map_err(|error| self.failure(error))?;
            left = left.saturating_sub(u64::try_from(page.items.len()).unwrap_or(u64::MAX));
            found_any |= !page.items.is_empty();
            unreadable = unreadable.saturating_add(page.unreadable);
            self.append(&page.items, &mut text)?;
            if !is_terminal {
                print(text.as_slice())?;
                text.wipe();
            }
            match page.next {
                Some(next) => before = Some(next),
                None => break,
            }
        }
        if !found_any && !self.json && unreadable == 0 {
            text.append(hints::runnable(&self.nothing(&history.status()?)).as_bytes());
        }
        // Before a person reads: without a key daemon, no other program could use the store meanwhile.
        drop(store);
        pager::page(text.as_slice())?;
        match unreadable {
            0 => Ok(()),
            _ => Err(damaged(format!(
                "{} of the history cannot be read.",
                count(unreadable, "entry", "entries")
            ))),
        }
    }

    fn failure(&self, error: FileError) -> Failure {
        match (error, &self.path) {
            (FileError::Store(error @ StoreError::Tampered { .. }), _) => {
                damaged(error.to_string())
            }
            (error, Some(path)) => Failure::at(path, error),
            (error, None) => error.into(),
        }
    }

    fn nothing(&self, status: &HistoryStatus) -> String {
        if status.settings.time().is_none() {
            return format!("{OFF} {TURN_ON}\n");
        }
        let has_filter = self.path.is_some()
            || self.by.is_some()
            || self.kind.is_some()
            || self.channel.is_some()
            || self.since.is_some()
            || self.until.is_some();
        let what = match status.entries {
            _ if has_filter => "No change that matches is kept.",
            0 => "No change is kept yet.",
            _ => {
                "No change is kept any longer: the time of all is over, and the next changes remove them."
            }
        };
        format!("{what}\n")
    }

    fn query(&self) -> VersionQuery {
        let mut query = VersionQuery::all();
        if let Some(path) = &self.path {
            query = query.path(path);
        }
        if let Some(actor) = &self.by {
            query = query.actor(actor);
        }
        if let Some(kind) = self.kind {
            query = query.kind(kind);
        }
        if let Some(channel) = self.channel {
            query = query.channel(channel);
        }
        if let Some(since) = self.since {
            query = query.since(since);
        }
        if let Some(until) = self.until {
            query = query.until(until);
        }
        query
    }

    fn append(&self, versions: &[VersionInfo], text: &mut Wiped) -> Result<(), Failure> {
        for version in versions {
            if self.json {
                json_line::append(&Object::of(version), text)?;
            } else {
                text.append(version_line::line(version).as_bytes());
            }
        }
        Ok(())
    }
}

fn damaged(message: String) -> Failure {
    Failure::new(
        Exit::Damaged,
        message,
        "The files are not affected if `inmost check` names nothing else. `inmost repair` keeps the versions that can be read; `inmost purge` drops the whole history.",
    )
}

/// Versions read in one page.
const PAGE: usize = 1_000;
